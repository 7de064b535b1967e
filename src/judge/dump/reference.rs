//! Errors of both sides relative to a third run of the same model, and the side that is off.
//!
//! A side is judged relative to the other's own error, as operators are accepted against two references
//! (`docs/dump.md`, section "A third run").

use std::collections::HashMap;

use crate::compare::dump::{Basis, ExactDifference, LeafComparison, Measurement, OperationComparison, UnitComparison};
use crate::result::number::Number;
use crate::result::operation::{FromReference, OffSide};

/// Ratio of the two errors above which a side is off: the ratio of root mean squares from which on the acceptance of operators calls
/// a device worse than its reference.
const RATIO: f64 = 2.0;

/// Place of a value in a dump: the index of its operation, and its own index in the operation.
type Place = (usize, usize);

/// Errors of the values of both sides, each against the reference.
#[derive(Debug, Default)]
pub struct ReferenceErrors {
    baseline: HashMap<Place, f64>,
    candidate: HashMap<Place, f64>,
}

impl ReferenceErrors {
    /// The errors from a comparison of the reference with each side.
    pub fn new(baseline: &UnitComparison, candidate: &UnitComparison) -> Self {
        Self { baseline: errors(baseline), candidate: errors(candidate) }
    }

    /// The errors of a compared value; `None` where the reference has no such value on either side.
    pub(super) fn errors_of(
        &self,
        operation: &OperationComparison,
        leaf: &LeafComparison,
        limit: f64,
    ) -> Option<FromReference> {
        let baseline = *self.baseline.get(&(operation.pair.baseline()?, leaf.pair.baseline()?))?;
        let candidate = *self.candidate.get(&(operation.pair.candidate()?, leaf.pair.candidate()?))?;
        let off_side = off_side(baseline, candidate, limit);
        Some(FromReference { baseline: Number(baseline), candidate: Number(candidate), off_side })
    }
}

/// The side that is off, by the errors of both relative to the reference. `limit` is that of the error between the two sides.
pub fn off_side(baseline: f64, candidate: f64, limit: f64) -> OffSide {
    let is_off = |error: f64, other: f64| error > limit && error > RATIO * other;
    if is_off(candidate, baseline) {
        OffSide::Candidate
    } else if is_off(baseline, candidate) {
        OffSide::Baseline
    } else if baseline > limit && candidate > limit {
        OffSide::Both
    } else {
        OffSide::Neither
    }
}

/// Errors of one side's values, by their places in its own dump; the reference is the baseline of `comparison`.
fn errors(comparison: &UnitComparison) -> HashMap<Place, f64> {
    let of = |operation: &OperationComparison| {
        let place = operation.pair.candidate().filter(|_| operation.is_paired());
        let leaves =
            operation.leaves.iter().filter_map(move |leaf| Some(((place?, leaf.pair.candidate()?), error(leaf)?)));
        leaves.collect::<Vec<_>>()
    };
    comparison.operations.iter().flat_map(of).collect()
}

/// The error of a value as a number; infinite for an exact difference. Types may differ, because the reference may be computed in a
/// wider one.
fn error(leaf: &LeafComparison) -> Option<f64> {
    let Measurement { error, exact, basis, .. } = leaf.measured.filter(|_| leaf.unreadable().is_none())?;
    match exact {
        None | Some(ExactDifference::Dtype | ExactDifference::RequiresGrad) => Some(error),
        Some(ExactDifference::Checksum) => Some(error).filter(|_| basis != Basis::Checksum),
        Some(_) => Some(f64::INFINITY),
    }
    .filter(|error| !error.is_nan())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_side_that_is_off_is_told_by_the_other_sides_own_error() {
        for (baseline, candidate, expected) in [
            (3e-4, 0.21, OffSide::Candidate),
            (0.21, 3e-4, OffSide::Baseline),
            (0.2, 0.21, OffSide::Both),
            (3e-4, 5e-4, OffSide::Neither),
            (0.008, 0.012, OffSide::Neither),
            (0.0, f64::INFINITY, OffSide::Candidate),
            (f64::INFINITY, 0.0, OffSide::Baseline),
            (f64::INFINITY, f64::INFINITY, OffSide::Both),
        ] {
            assert_eq!(off_side(baseline, candidate, 0.01), expected, "{baseline} {candidate}");
        }
    }
}
