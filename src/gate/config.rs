//! The config check: packs of both sides to a verdict per checker.

use super::CheckOutcome;
use crate::policy::Policy;
use crate::read::pack::Pack;
use crate::verdict::CheckId;

/// Judges the packs of both sides.
pub fn check(_baseline: &[Pack], _candidate: &[Pack], _policy: &Policy) -> CheckOutcome {
    CheckOutcome::new(CheckId::Config)
}
