//! The flow of error through a unit: what each operation received, and up to where its values are explained.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::limits::Band;
use super::noise::UnitNoise;
use super::suspicion::Suspicion;
use super::update::Parameters;

/// Error that reached an operation, and the limits that follow for its values.
#[derive(Clone, Debug)]
pub struct OperationFlow {
    /// The largest error among what the operation was computed from.
    pub input_error: f64,
    /// The band of its outputs.
    pub band: Band,
    /// One entry per leaf comparison.
    pub leaves: Box<[LeafFlow]>,
    /// Whether each side recorded another node of the graph, so that the results were not compared.
    pub is_other_node: bool,
}

/// Judgement of one value.
#[derive(Clone, Debug)]
pub struct LeafFlow {
    /// The error up to which it is explained.
    pub limit: f64,
    /// The part of its error that what it received does not explain; 0 where that explains all of it.
    pub added: f64,
    /// Whether it lies beyond noise, or differs in an exact property.
    pub differs: bool,
    /// Whether what was recorded is memory that nobody wrote yet, or that the call had written already: no number of the run.
    pub is_unread: bool,
    /// Suspicion that an error starts here; `None` without evidence for that.
    pub suspicion: Option<Box<Suspicion>>,
}

impl LeafFlow {
    /// A value that nothing is said of.
    pub(super) fn undecided() -> Self {
        Self { limit: 0.0, added: 0.0, differs: false, is_unread: false, suspicion: None }
    }

    /// A value that no number of the run is.
    pub(super) fn unread() -> Self {
        Self { is_unread: true, ..Self::undecided() }
    }
}

/// Errors that reach a unit from outside: from other ranks and earlier steps.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// Largest input error over all ranks of the step, by name of a collective operation.
    pub collectives: HashMap<String, f64>,
    /// Largest error of the same rank at an earlier step; leaf inputs of a later step carry it.
    pub earlier_steps: f64,
    /// The same of half of the gradients of an earlier step: the error of a gradient as it commonly is.
    pub earlier_gradients: f64,
    /// Leaf inputs of the same rank at the step before.
    pub parameters: Arc<Parameters>,
    /// Whether no later step follows, which would be told the leaf inputs of this one.
    pub is_last_step: bool,
    /// Hashes of the rows of leaf inputs whose copies on the ranks are one in the baseline and part in the candidate.
    pub parted: HashSet<u64>,
    /// Recorded noise of the unit, where there is some.
    pub noise: Option<Arc<UnitNoise>>,
}

/// Tensors without data that a limit needs the elements of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uncounted {
    /// Index of the first such limit in the policy.
    pub rule: usize,
    /// Row of the first such tensor.
    pub first: String,
    /// Number of such tensors.
    pub count: usize,
}

/// A unit's errors, followed through its operations.
#[derive(Debug)]
pub struct Followed {
    /// One entry per operation of the comparison.
    pub flows: Vec<OperationFlow>,
    /// Use of every limit rule of the policy, in its order: true where the rule fitted something.
    pub limits_used: Vec<bool>,
    /// Tensors that a limit of the policy needs the elements of, and that have none in either dump.
    pub uncounted: Option<Uncounted>,
    /// The largest error with a size that an operation made, for later steps.
    pub largest_error: f64,
    /// The error of a gradient as it commonly is: that of half of them.
    pub gradients: f64,
    /// The first operation whose error lies far beyond the band, and that error.
    pub accumulated: Option<(usize, f64)>,
    /// Leaf inputs, for the next step.
    pub parameters: Parameters,
}
