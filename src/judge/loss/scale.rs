//! Scale that the differences of a pair are measured on.

use crate::compare::curve::CurveScale;
use crate::kind::Role;
use crate::pair::curve::CurvePair;
use crate::pair::curve::align::PairedBy;
use crate::pair::curve::source::resolution;
use crate::policy::loss::LossPolicy;
use crate::read::curve::series::Steps;

/// Scale of a pair's differences.
///
/// Printed digits count for losses alone: a learning rate of 1e-5 has five decimals and full precision.
pub(super) fn scale<'p>(pair: &'p CurvePair<'_>, policy: &LossPolicy) -> CurveScale<'p> {
    let printed = if matches!(pair.role, Role::Loss | Role::EvalLoss) {
        resolution(&pair.baseline.series).max(resolution(&pair.candidate.series))
    } else {
        0.0
    };
    CurveScale { floor: policy.absolute_floor.get(), resolution: printed, steps: weighing_steps(pair) }
}

/// Steps by which the points of a pair are weighted; `None` where each point counts once. Only points of a training loss of
/// supervised training stand for the steps since the point before: those of the baseline, or those of the joined windows. An
/// evaluation counts once, and so does a value of sampled answers.
pub(super) fn weighing_steps<'p>(pair: &'p CurvePair<'_>) -> Option<&'p Steps> {
    let is_trained = pair.role == Role::Loss && !pair.is_rl;
    let steps = if pair.points.by == PairedBy::Window { &pair.points.steps } else { &pair.baseline.series.steps };
    is_trained.then_some(steps)
}
