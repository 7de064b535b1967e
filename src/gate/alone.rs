//! Judging a candidate without a baseline: each check reports what one run shows by itself.

use super::discover::Inventory;
use super::outcome::CheckOutcome;
use super::wiring::GateCheck;
use crate::fetch::progress::Progress;
use crate::judge::rule::artifacts::{NEEDS_BASELINE, NO_BASELINE};
use crate::policy::Policy;
use crate::result::finding::Finding;

/// Returns the finding that every run without a baseline has.
pub(super) fn no_baseline(location: &str) -> Finding {
    Finding::new(&NO_BASELINE, location)
}

/// Judges the candidate's artifacts of `check`. A check that cannot judge one run alone becomes incomplete.
pub(super) fn judge(
    check: &GateCheck,
    candidate: &Inventory,
    policy: &Policy,
    progress: &dyn Progress,
) -> CheckOutcome {
    let id = check.recogniser.check;
    match check.judge_alone {
        Some(health) => health(candidate, policy, progress),
        None if candidate.has_files_of(id) => {
            let mut outcome = CheckOutcome::new(id);
            let finding = Finding::new(&NEEDS_BASELINE, id.as_str()).of_check(id).with("check", id.as_str());
            outcome.add_findings([finding]);
            outcome
        }
        None => CheckOutcome::new(id),
    }
}
