//! The limits that the target's policy gives a rule of a curve.

use super::trend;
use crate::judge::loss::curve_limits::CurveLimits;
use crate::judge::loss::level::{ABRUPT, APART, EVALUATIONS};
use crate::judge::loss::limits::{Limits, allowed_outside, allowed_single, in_a_row};
use crate::judge::loss::mode::Weights;
use crate::judge::loss::own_policy;
use crate::judge::loss::secondary_metrics::{SCHEDULE, SCORE};
use crate::kind::Role;
use crate::policy::loss::LossPolicy;
use crate::policy::loss::limit::Band;
use crate::result::unit::CurveUnit;

/// Whether a rule has limits that the policy gives it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Due {
    /// Exactly these limits.
    These(Limits),
    /// Exactly these limits, or none.
    TheseOrNone(Limits),
    /// Limits that are not looser than this: they depend on how much was measured.
    AtMost(f64),
    /// The limits were measured, or recorded elsewhere.
    Unknown,
}

/// The limits that `rule` of a curve has under `policy`. With a noise band, which this job has not read, those that it may
/// move are not known.
pub(super) fn due(rule: &str, unit: &CurveUnit, policy: &LossPolicy, has_noise: bool) -> Due {
    let weights = if unit.mode == Weights::Same.as_str() { Weights::Same } else { Weights::Own };
    let limits = CurveLimits::resolve(weights, policy, None);
    let by_noise = |limits| if has_noise { Due::Unknown } else { Due::These(limits) };
    let only_warn = |warn| Limits { warn, fail: None };
    let only_fail = |fail| Due::These(Limits { warn: None, fail: Some(fail) });
    let own = own_policy(&policy.metrics, &unit.metric);
    let declared = |band: Option<Band>| Due::These(Limits::NONE.overridden(band));
    let paired = usize::try_from(unit.paired).unwrap_or(usize::MAX);
    #[allow(clippy::cast_precision_loss, reason = "counts of steps")]
    let at_most = |steps: usize| Due::AtMost(steps as f64);
    match (rule, trend::role_of(unit)) {
        ("coverage", _) => only_fail(policy.coverage.get()),
        ("bit_exact", _) => only_fail(0.0),
        ("step_1_rel", _) => Due::These(limits.step_1),
        ("head_max_rel", _) => by_noise(limits.head),
        ("mean_rel", Role::AuxiliaryLoss | Role::ValueLoss) => Due::These(limits.grad_norm),
        ("mean_rel", Role::EvalLoss) if paired < EVALUATIONS => by_noise(Limits { fail: None, ..limits.mean }),
        ("mean_rel" | "median_rel", _) => by_noise(limits.mean),
        ("tail_signed_rel" | "last_rel", _) => Due::These(limits.tail),
        ("spread", _) => at_most(allowed_outside(paired, weights)),
        ("outliers", _) => at_most(allowed_single(paired)),
        ("longest_run", _) => Due::These(in_a_row(weights)),
        ("max_rel", _) => by_noise(limits.peak),
        ("abrupt_onset", _) => Due::These(only_warn(Some(ABRUPT))),
        ("change_apart", _) => Due::TheseOrNone(only_warn(Some(1.0 - APART))),
        ("grad_norm_mean_rel", _) => Due::These(limits.grad_norm),
        ("learning_rate" | "constant", _) => only_fail(SCHEDULE),
        ("worse_mean", _) => Due::These(SCORE),
        ("declared_mean_rel", _) => declared(own.and_then(|own| own.mean)),
        ("declared_difference", _) => declared(own.and_then(|own| own.difference)),
        ("declared_worse", _) => declared(own.and_then(|own| own.worse)),
        _ => Due::Unknown,
    }
}
