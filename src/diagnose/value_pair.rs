//! A value that an operation has on both sides, with its records and how they compare.

use crate::compare::dump::{LeafComparison, Measurement, OperationComparison};
use crate::dtype::Dtype;
use crate::read::dump::{Leaf, Operation, TensorKind, TensorRecord, Value};

/// A value on both sides.
#[derive(Clone, Copy)]
pub(super) struct ValuePair<'a> {
    pub(super) kind: TensorKind,
    pub(super) baseline: &'a Leaf,
    pub(super) candidate: &'a Leaf,
    pub(super) comparison: &'a LeafComparison,
}

/// The values that both operations have.
pub(super) fn values_of<'a>(
    comparison: &'a OperationComparison,
    baseline: &'a Operation,
    candidate: &'a Operation,
) -> impl Iterator<Item = ValuePair<'a>> {
    comparison.leaves.iter().filter_map(|leaf| {
        let ours = baseline.leaves.get(leaf.pair.baseline?)?;
        let theirs = candidate.leaves.get(leaf.pair.candidate?)?;
        Some(ValuePair { kind: theirs.kind, baseline: ours, candidate: theirs, comparison: leaf })
    })
}

impl<'a> ValuePair<'a> {
    /// The records of both sides, where both are tensors.
    pub(super) fn records(&self) -> Option<(&'a TensorRecord, &'a TensorRecord)> {
        record(self.baseline).zip(record(self.candidate))
    }

    pub(super) fn measured(&self) -> Option<&'a Measurement> {
        self.comparison.measured.as_ref()
    }

    /// Element types of both sides.
    pub(super) fn dtypes(&self) -> Option<(Dtype, Dtype)> {
        let (baseline, candidate) = self.records()?;
        Dtype::parse(&baseline.dtype).zip(Dtype::parse(&candidate.dtype))
    }
}

/// A leaf's record, where it is a tensor.
pub(super) fn record(leaf: &Leaf) -> Option<&TensorRecord> {
    match &leaf.value {
        Value::Tensor(record) => Some(record),
        _ => None,
    }
}
