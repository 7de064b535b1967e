//! A gradient norm of the candidate that is not finite at updates that took place, before its loss is.

use super::super::curves::RunCurves;
use super::super::entry::Cause;
use super::super::faults;
use crate::judge::loss::code as curve_rules;
use crate::result::diagnosis::Diagnosis;

pub(super) const CAUSE: Cause = Cause { in_curves, ..Cause::new("gradient-non-finite") };

fn in_curves(curves: &RunCurves<'_>) -> Option<Diagnosis> {
    // A gradient that is not finite only follows from a loss that broke before it or at the same step; a loss written
    // as 0.0 broke with it.
    let finding = curves.finding(&[&curve_rules::GRADIENT_NON_FINITE])?;
    let is_behind = |first: &u64| *first <= faults::step_of(finding);
    let is_hidden = curves.finding(&[&curve_rules::HIDDEN_FAILURE]).is_some();
    if is_hidden || curves.loss.non_finite_steps.first().is_some_and(is_behind) {
        return None;
    }
    faults::fault_diagnosis(&CAUSE, &curve_rules::GRADIENT_NON_FINITE, curves)
}
