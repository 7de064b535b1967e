//! The divergence profile: the error of every operation, in execution order.

use super::View;
use crate::compare::dump::LeafComparison;
use crate::judge::dump::flow::LeafFlow;
use crate::judge::dump::limits::band_of_dtype;
use crate::kind::TensorKind;
use crate::result::number::Number;
use crate::result::unit::ProfilePoint;

/// Most points of the divergence profile.
const MOST_POINTS: usize = 2000;

/// A point without the name of its operation: a profile keeps few of those that it is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    order: usize,
    is_suspect: bool,
    error: f64,
}

impl Point {
    /// Whether it says more than `other`.
    fn is_worse(&self, other: &Self) -> bool {
        (self.is_suspect, self.error) > (other.is_suspect, other.error)
    }
}

impl View<'_> {
    /// The worst point of each of at most [`MOST_POINTS`] equal stretches of the candidate's operations.
    pub(super) fn profile(&self) -> Vec<ProfilePoint> {
        let points = self.operations().filter_map(|(_, comparison, _)| self.candidate_operation(comparison)).count();
        let size = points.div_ceil(MOST_POINTS);
        worst_of_stretches(self.points(), size).into_iter().filter_map(|point| self.named(point)).collect()
    }

    /// The points of all operations of the candidate.
    fn points(&self) -> impl Iterator<Item = Point> {
        self.operations().filter_map(|(order, comparison, flow)| {
            let operation = self.candidate_operation(comparison)?;
            let is_output = |leaf: &&LeafComparison| {
                let kind = leaf.pair.candidate().and_then(|index| operation.leaves.kind(index));
                kind.is_some_and(|kind| !matches!(kind, TensorKind::Input | TensorKind::Parameter))
            };
            let errors = comparison.leaves.iter().filter(is_output).filter_map(|leaf| leaf.measured.as_ref());
            let error = errors.map(|measured| measured.error).fold(0.0, f64::max);
            let is_suspect = |leaf: &LeafFlow| leaf.suspicion.as_ref().is_some_and(|suspicion| suspicion.is_culprit);
            Some(Point { order, is_suspect: flow.leaves.iter().any(is_suspect), error })
        })
    }

    fn named(&self, Point { order, is_suspect, error }: Point) -> Option<ProfilePoint> {
        let operation = self.candidate_operation(self.input.comparison.operations.get(order)?)?;
        Some(ProfilePoint {
            order: order as u64,
            op: operation.name.to_owned(),
            error: Number(error),
            limit: Number(band_of_dtype(self.flows.get(order)?.loosest).noise),
            suspect: is_suspect,
        })
    }
}

/// The worst point of each stretch of `size` points; a suspect goes before a larger error, and the last of equal points counts.
fn worst_of_stretches(points: impl Iterator<Item = Point>, size: usize) -> Vec<Point> {
    let mut worst: Vec<Point> = Vec::new();
    for (index, point) in points.enumerate() {
        match worst.last_mut().filter(|_| !index.is_multiple_of(size)) {
            Some(last) if last.is_worse(&point) => {}
            Some(last) => *last = point,
            None => worst.push(point),
        }
    }
    worst
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn each_stretch_keeps_its_worst_point(
            values in proptest::collection::vec((proptest::bool::ANY, 0_u8..4), 0..40),
            size in 1_usize..9,
        ) {
            let points: Vec<Point> = values
                .iter()
                .enumerate()
                .map(|(order, (is_suspect, error))| Point { order, is_suspect: *is_suspect, error: f64::from(*error) })
                .collect();
            let key = |point: &&Point| (point.is_suspect, point.error.to_bits());
            let expected: Vec<Point> =
                points.chunks(size).filter_map(|stretch| stretch.iter().max_by_key(key).copied()).collect();
            proptest::prop_assert_eq!(worst_of_stretches(points.into_iter(), size), expected);
        }
    }
}
