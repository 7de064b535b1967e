//! Scale that the differences of a pair are measured on.

use crate::compare::curve::Scale;
use crate::kind::Role;
use crate::pair::curve::CurvePair;
use crate::pair::curve::source::resolution;
use crate::policy::loss::LossPolicy;

/// Scale of a pair's differences.
///
/// Printed digits count for losses alone: a learning rate of 1e-5 has five decimals and full precision.
pub(super) fn scale(pair: &CurvePair<'_>, policy: &LossPolicy) -> Scale {
    let printed = if matches!(pair.role, Role::Loss | Role::EvalLoss) {
        resolution(&pair.baseline.series).max(resolution(&pair.candidate.series))
    } else {
        0.0
    };
    Scale { floor: policy.absolute_floor.get(), resolution: printed }
}
