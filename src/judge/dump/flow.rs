//! The flow of error through a unit: the error that reaches each operation, and the error that is explained at each value.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::noise::UnitNoise;
use super::suspicion::Suspicion;
use super::update::StepParameters;
use crate::dtype::Dtype;

/// Error that reached an operation, and the limits that follow for its values.
#[derive(Clone, Debug)]
pub struct OperationFlow {
    /// The largest error among the operation's inputs.
    pub input_error: f64,
    /// The loosest type of its inputs and of what they were made of; `None` where none is known. The limits of its outputs follow.
    pub loosest: Option<Dtype>,
    /// One entry per leaf comparison.
    pub leaves: Box<[LeafFlow]>,
    /// Whether each side recorded another node of the graph, so that the results were not compared.
    pub is_other_node: bool,
}

/// Judgement of one value.
#[derive(Clone, Debug)]
pub struct LeafFlow {
    /// The error up to which the value is explained.
    pub limit: f64,
    /// The part of its error that the operation's inputs do not explain; 0 if they explain all of it.
    pub added: f64,
    /// Whether it lies beyond noise, or differs in an exact property.
    pub differs: bool,
    /// Whether the record holds memory that no operation wrote yet, or that the call had overwritten already: no value that the
    /// operation read.
    pub is_unread: bool,
    /// Suspicion that an error starts here; `None` without evidence for that.
    pub suspicion: Option<Box<Suspicion>>,
}

impl LeafFlow {
    /// A value without a judgement.
    pub(super) fn undecided() -> Self {
        Self { limit: 0.0, added: 0.0, differs: false, is_unread: false, suspicion: None }
    }

    /// A value whose record is not what the operation read.
    pub(super) fn unread() -> Self {
        Self { is_unread: true, ..Self::undecided() }
    }
}

/// Errors that reach a unit from outside: from other ranks and earlier steps.
#[derive(Clone, Debug, Default)]
pub struct UnitContext {
    /// Largest input error over all ranks of the step, by name of a collective operation.
    pub collectives: HashMap<String, f64>,
    /// Errors of the messages that this rank received from others, by name of the call.
    pub received: HashMap<String, f64>,
    /// Largest error of the same rank at an earlier step; leaf inputs of a later step carry it.
    pub earlier_error: f64,
    /// Median error of the gradients that differed at an earlier step.
    pub earlier_gradient_error: f64,
    /// Leaf inputs of the same rank at the step before.
    pub parameters: Arc<StepParameters>,
    /// Whether no later step follows that would need the leaf inputs of this one.
    pub is_last_step: bool,
    /// Hashes of the rows of leaf inputs whose copies are equal over the ranks of the baseline and differ over those of the candidate.
    pub parted: HashSet<u64>,
    /// Recorded noise of the unit, where there is some.
    pub noise: Option<Arc<UnitNoise>>,
}

/// Tensors without data that a limit needs the elements of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UncountedTensors {
    /// Index of the first such limit in the policy.
    pub rule: usize,
    /// Row of the first such tensor.
    pub first: String,
    /// Number of such tensors.
    pub count: usize,
}

/// A unit's errors, followed through its operations.
#[derive(Debug)]
pub(crate) struct UnitFlow {
    /// One entry per operation of the comparison.
    pub flows: Vec<OperationFlow>,
    /// Use of every limit rule of the policy, in its order: true where the rule fitted something.
    pub limits_used: Vec<bool>,
    /// Tensors that a limit of the policy needs the elements of, and that have none in either dump.
    pub uncounted: Option<UncountedTensors>,
    /// The largest error with a size that an operation made, for later steps.
    pub largest_error: f64,
    /// Median error of the gradients that differ.
    pub gradient_error: f64,
    /// Index of the first operation whose error lies far beyond the band, and that error.
    pub accumulated: Option<(usize, f64)>,
    /// Leaf inputs, for the next step.
    pub parameters: StepParameters,
}
