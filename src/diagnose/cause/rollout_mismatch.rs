//! The rollout engine is not the model that is trained: stale or coarse weights, another temperature, another kernel.

use super::super::rl::Rollouts;
use super::{Cause, finding_as_evidence};
use crate::result::diagnosis::{Diagnosis, Sureness};
use crate::verdict::Severity;

pub(super) const CAUSE: Cause = Cause { in_rl, ..Cause::new("rollout-mismatch") };

/// Settings that differ, and a reward that teaches nothing, change what rollouts are like.
const EXPLAINS: [&str; 3] = ["rl-constant", "learning-rate-differs", "rl-reward-dead"];

fn in_rl(rollouts: &Rollouts<'_>) -> Option<Diagnosis> {
    let finding = rollouts.finding("rl-mismatch")?;
    if EXPLAINS.iter().any(|code| rollouts.finding(code).is_some()) {
        return None;
    }
    let sureness = if finding.severity == Severity::Fail { Sureness::Likely } else { Sureness::Possible };
    Some(Diagnosis::new(&CAUSE, finding.place.as_str(), sureness).because(finding_as_evidence(finding)))
}
