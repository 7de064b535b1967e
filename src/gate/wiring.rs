//! Entry of a check in the gate: its recogniser, and the functions by which it judges.

use super::discover::{Inventory, Recogniser};
use super::outcome::CheckOutcome;
use super::request::Request;
use super::sides::Sides;
use super::surroundings::{Shared, Surroundings};
use crate::compare::measurements::Measurements;
use crate::error::Result;
use crate::fetch::progress::Progress;
use crate::policy::Policy;

/// Judges a candidate without a baseline.
pub(super) type Health = fn(&Inventory, &Policy, &dyn Progress) -> CheckOutcome;

/// Judges several runs of each side together, and adds the number of its tests.
pub(super) type Several = fn(&mut Sides, &Shared<'_>, &mut usize) -> Result<CheckOutcome>;

/// Judges a tree of source.
pub(super) type Tree = fn(&Surroundings<'_>, &Shared<'_>) -> Option<CheckOutcome>;

/// A check, as the gate runs it. Each lies in the module of its name, as `CHECK`.
pub(super) struct GateCheck {
    /// Says which files are the check's.
    pub(super) recogniser: Recogniser,
    /// Judges what lies on both sides.
    pub(super) judge: fn(&Sides, &Surroundings<'_>, &Shared<'_>) -> Result<CheckOutcome>,
    /// Judges the candidate without a baseline; `None` where nothing can be said of one run.
    pub(super) judge_alone: Option<Health>,
    /// Judges several runs of each side together; `None` where each candidate is judged by itself.
    pub(super) judge_samples: Option<Several>,
    /// Judges a tree of source instead of runs; `None` where a check judges runs.
    pub(super) judge_tree: Option<Tree>,
    /// Measures one part of a run that is measured in parts; `None` where judging always reads the data itself.
    pub(super) measure: Option<fn(&Measuring<'_>) -> Result<()>>,
}

/// Inputs of measuring one part of a run.
#[derive(Clone, Copy)]
pub(super) struct Measuring<'a> {
    /// The trusted side.
    pub(super) baseline: &'a Inventory,
    /// The side to judge.
    pub(super) candidate: &'a Inventory,
    /// Runs to judge later, and how.
    pub(super) request: &'a Request,
    /// Takes the measurements.
    pub(super) measurements: &'a Measurements,
    /// Receiver of progress.
    pub(super) progress: &'a dyn Progress,
}
