//! The loss check: curves of both sides to a verdict per metric.

use super::CheckOutcome;
use crate::policy::Policy;
use crate::read::curve::CurveFile;
use crate::verdict::CheckId;

/// Judges the curves of both sides.
pub fn check(_baseline: &[CurveFile], _candidate: &[CurveFile], _policy: &Policy) -> CheckOutcome {
    CheckOutcome::new(CheckId::Loss)
}
