//! A gradient norm of the candidate that is not finite at updates that took place.

use super::super::curves::Curves;
use super::super::entry::Cause;
use super::super::faults;
use crate::judge::loss::code as curve_rules;
use crate::result::diagnosis::Diagnosis;

pub(super) const CAUSE: Cause = Cause { in_curves, ..Cause::new("gradient-non-finite") };

fn in_curves(curves: &Curves<'_>) -> Option<Diagnosis> {
    faults::diagnosis(&CAUSE, &curve_rules::GRADIENT_NON_FINITE, curves)
}
