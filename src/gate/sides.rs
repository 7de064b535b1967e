//! The sides of a run, with what lies there.

use super::discover::Inventory;
use crate::result::Verified;
use crate::verdict::Side;

/// Inventories of both locations.
pub(super) struct Sides {
    pub(super) baseline: Inventory,
    pub(super) candidate: Inventory,
    /// A third run, where the policy names one.
    pub(super) reference: Option<Inventory>,
    /// Proof of the baseline, where it is named by a manifest.
    pub(super) verified: Option<Verified>,
    /// Whether the candidate is judged alone; the baseline has no files then.
    pub(super) is_alone: bool,
}

impl Sides {
    /// The sides that a run has, the baseline first.
    pub(super) fn there(&self) -> impl Iterator<Item = (Side, &Inventory)> {
        let baseline = (!self.is_alone).then_some((Side::Baseline, &self.baseline));
        baseline.into_iter().chain([(Side::Candidate, &self.candidate)])
    }
}
