//! A learning rate of the candidate that is 0 at every step.

use super::super::curves::RunCurves;
use super::super::entry::Cause;
use super::super::faults;
use crate::judge::loss::code as curve_rules;
use crate::result::diagnosis::Diagnosis;

pub(super) const CAUSE: Cause = Cause { in_curves, ..Cause::new("learning-rate-zero") };

fn in_curves(curves: &RunCurves<'_>) -> Option<Diagnosis> {
    faults::fault_diagnosis(&CAUSE, &curve_rules::LEARNING_RATE_ZERO, curves)
}
