//! Updates that the candidate's log calls skipped, beyond the baseline's.

use super::super::curves::RunCurves;
use super::super::entry::Cause;
use super::super::faults;
use crate::judge::loss::code as curve_rules;
use crate::result::diagnosis::Diagnosis;

pub(super) const CAUSE: Cause = Cause { in_curves, ..Cause::new("updates-skipped") };

fn in_curves(curves: &RunCurves<'_>) -> Option<Diagnosis> {
    faults::fault_diagnosis(&CAUSE, &curve_rules::UPDATES_SKIPPED, curves)
}
