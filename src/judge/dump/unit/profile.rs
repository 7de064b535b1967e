//! The divergence profile: the error of every operation, in execution order.

use super::View;
use crate::compare::dump::LeafComparison;
use crate::kind::TensorKind;
use crate::result::number::Number;
use crate::result::unit::ProfilePoint;

/// Most points of the divergence profile.
const MOST_POINTS: usize = 2000;

impl View<'_> {
    pub(super) fn profile(&self) -> Vec<ProfilePoint> {
        let points: Vec<ProfilePoint> = self
            .operations()
            .filter_map(|(order, comparison, flow)| {
                let operation = self.candidate_operation(comparison)?;
                let is_output = |leaf: &&LeafComparison| {
                    let kind =
                        leaf.pair.candidate().and_then(|index| operation.leaves.get(index)).map(|leaf| leaf.kind);
                    kind.is_some_and(|kind| !matches!(kind, TensorKind::Input | TensorKind::Parameter))
                };
                let errors = comparison.leaves.iter().filter(is_output).filter_map(|leaf| leaf.measured.as_ref());
                let error = errors.map(|measured| measured.error).fold(0.0, f64::max);
                Some(ProfilePoint {
                    order: order as u64,
                    op: operation.name.to_owned(),
                    error: Number(error),
                    limit: Number(flow.band.noise),
                    suspect: flow
                        .leaves
                        .iter()
                        .any(|leaf| leaf.suspicion.as_ref().is_some_and(|suspicion| suspicion.is_culprit)),
                })
            })
            .collect();
        thinned(points)
    }
}

/// Keeps the worst point of each of at most [`MOST_POINTS`] equal stretches, and every suspect among them.
fn thinned(points: Vec<ProfilePoint>) -> Vec<ProfilePoint> {
    if points.len() <= MOST_POINTS {
        return points;
    }
    let size = points.len().div_ceil(MOST_POINTS);
    let rank = |point: &ProfilePoint| (point.suspect, point.error.0);
    let worst = |stretch: &[ProfilePoint]| {
        stretch.iter().max_by(|a, b| rank(a).partial_cmp(&rank(b)).unwrap_or(std::cmp::Ordering::Equal)).cloned()
    };
    points.chunks(size).filter_map(worst).collect()
}
