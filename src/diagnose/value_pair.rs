//! A value that an operation has on both sides, with its records and how they compare.

use crate::compare::dump::{Details, LeafComparison, Measurement, OperationComparison};
use crate::dtype::Dtype;
use crate::judge::dump::unit::UnitInput;
use crate::kind::TensorKind;
use crate::read::dump::{Leaf, Operation, TensorRecord};

/// A value on both sides.
#[derive(Clone, Copy)]
pub(super) struct ValuePair<'a> {
    pub(super) kind: TensorKind,
    pub(super) baseline: Leaf<'a>,
    pub(super) candidate: Leaf<'a>,
    pub(super) comparison: &'a LeafComparison,
}

/// The values that both operations have.
pub(super) fn values_of<'a>(
    comparison: &'a OperationComparison,
    baseline: Operation<'a>,
    candidate: Operation<'a>,
) -> impl Iterator<Item = ValuePair<'a>> {
    comparison.leaves.iter().filter_map(move |leaf| {
        let baseline = baseline.leaves.get(leaf.pair.baseline()?)?;
        let candidate = candidate.leaves.get(leaf.pair.candidate()?)?;
        Some(ValuePair { kind: candidate.kind, baseline, candidate, comparison: leaf })
    })
}

impl<'a> ValuePair<'a> {
    /// The records of both sides, where both are tensors.
    pub(super) fn records(&self) -> Option<(TensorRecord<'a>, TensorRecord<'a>)> {
        self.baseline.record().zip(self.candidate.record())
    }

    /// The statistics of both sides, where all are finite numbers.
    pub(super) fn finite_statistics(&self) -> Option<[[f64; 4]; 2]> {
        let (baseline, candidate) = self.records()?;
        Some([baseline.finite_statistics()?, candidate.finite_statistics()?])
    }

    pub(super) fn measured(&self) -> Option<&'a Measurement> {
        self.comparison.measured.as_ref()
    }

    /// Further numbers of the comparison.
    pub(super) fn details(&self) -> Details {
        self.comparison.details(self.baseline, self.candidate)
    }

    /// Element types of both sides.
    pub(super) fn dtypes(&self) -> Option<(Dtype, Dtype)> {
        let (baseline, candidate) = self.records()?;
        Dtype::parse(baseline.dtype).zip(Dtype::parse(candidate.dtype))
    }
}

/// The two operations of a pair.
pub(super) fn operations_of<'a>(
    input: &UnitInput<'a>,
    comparison: &OperationComparison,
) -> Option<(Operation<'a>, Operation<'a>)> {
    let (baseline, candidate) = comparison.operations(input.baseline, input.candidate);
    baseline.zip(candidate)
}
