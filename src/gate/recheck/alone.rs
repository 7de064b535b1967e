//! Does a result say consistently whether there was a baseline? A health result is never taken for a comparison.

use super::refusal::{Checked, demand};
use crate::judge::rule::artifacts::NO_BASELINE;
use crate::result::GateResult;
use crate::verdict::{CheckId, Profile};

/// Refuses a result whose mode, baseline and findings contradict each other.
pub(super) fn consistent(result: &GateResult) -> Checked {
    let has_none = result.is_alone() || result.is_of_source();
    demand(has_none == result.baseline.is_none(), "baseline", || {
        "is there in a result of mode `health`, or missing in a comparison".into()
    })?;
    let is_said = result.measured.iter().any(|one| one.finding.code == NO_BASELINE.code);
    demand(result.is_alone() == is_said, "mode", || {
        format!(
            "contradicts the finding `{}`, which stands in every result without a baseline and in no other",
            NO_BASELINE.code
        )
    })?;
    let is_source = result.checks.iter().all(|check| check.id == CheckId::Source);
    demand(!result.is_of_source() || is_source, "mode", || "is `source`, and there are other checks".into())?;
    demand(!result.is_alone() || result.profile != Profile::Release, "profile", || {
        "is `release`, which needs a baseline".into()
    })
}

/// Refuses a result without a baseline: nothing in it shows that its numbers were looked at.
pub(super) fn refuse(result: &GateResult) -> Checked {
    demand(!result.is_alone(), "mode", || {
        "is `health`: the run was judged without a baseline, which can only be repeated on its artifacts".into()
    })
}
