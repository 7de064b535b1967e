//! The sides of a run, with their artifacts.

use sha2::{Digest, Sha256};

use super::discover::Inventory;
use crate::judge::loss::noise::SampleRun;
use crate::judge::samples::runs::SampleRuns;
use crate::result::Verified;
use crate::verdict::{PerSide, Side};

/// Runs of both sides beyond the first of each, which [`Sides`] holds.
pub(super) struct Sampled {
    /// Further runs of the baseline, and of the candidate.
    pub(super) further_runs: PerSide<Vec<Inventory>>,
    /// All runs by name and seed.
    pub(super) runs: SampleRuns,
    /// Locations of both sides, as documents may show them.
    pub(super) locations: PerSide<String>,
    /// Runs of the baseline that a file recorded, in place of runs that are opened.
    pub(super) recorded: Option<RecordedRuns>,
}

/// Curves of the baseline's runs, as `precision-gate noise` recorded them.
pub(super) type RecordedRuns = Vec<SampleRun>;

/// Inventories of both locations.
pub(super) struct Sides {
    pub(super) baseline: Inventory,
    pub(super) candidate: Inventory,
    /// A third run, where the policy names one.
    pub(super) reference: Option<Inventory>,
    /// Proof of the baseline, where it is named by a manifest.
    pub(super) verified: Option<Verified>,
    /// Further runs of both sides, where there are several.
    pub(super) samples: Option<Sampled>,
    /// Whether the candidate is judged alone; the baseline has no files then.
    pub(super) is_alone: bool,
}

impl Sides {
    /// All runs of both sides, each with its name where there are several.
    pub(super) fn runs(&self) -> impl Iterator<Item = (Side, &str, &Inventory)> {
        self.present_sides().flat_map(move |(side, first)| {
            let samples = self.samples.iter().filter(move |_| !self.is_recorded(side));
            let names = samples.clone().flat_map(move |sampled| &sampled.runs.sides[side]);
            let names = names.map(|run| run.name.as_str()).chain([""]);
            let more = samples.flat_map(move |sampled| &sampled.further_runs[side]);
            [first].into_iter().chain(more).zip(names).map(move |(run, name)| (side, name, run))
        })
    }

    /// Digest of a side; for several runs, the digest of their digests.
    pub(super) fn digest(&self, side: Side) -> String {
        let first = if side == Side::Baseline { &self.baseline } else { &self.candidate };
        let more = self.samples.iter().flat_map(|sampled| &sampled.further_runs[side]);
        let digests: Vec<String> = [first].into_iter().chain(more).map(Inventory::digest).collect();
        match digests.as_slice() {
            [only] => only.clone(),
            _ => format!("sha256:{:x}", Sha256::digest(digests.join(" "))),
        }
    }

    /// Whether a side's runs were recorded in a file.
    pub(super) fn is_recorded(&self, side: Side) -> bool {
        side == Side::Baseline && self.samples.as_ref().is_some_and(|sampled| sampled.recorded.is_some())
    }

    /// The sides that a run has, the baseline first.
    pub(super) fn present_sides(&self) -> impl Iterator<Item = (Side, &Inventory)> {
        let baseline = (!self.is_alone).then_some((Side::Baseline, &self.baseline));
        baseline.into_iter().chain([(Side::Candidate, &self.candidate)])
    }
}
