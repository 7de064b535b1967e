//! Does a curve of reinforcement learning follow from its series? Its rules are measured again.

use super::refusal::{Checked, demand, shown};
use super::said::everything;
use crate::judge::loss::rl::{self, Trend, TrendMeasure};
use crate::kind::Role;
use crate::policy::Policy;
use crate::policy::loss::Kind;
use crate::read::metric;
use crate::result::GateResult;
use crate::result::number::Number;
use crate::result::outcome::RuleOutcome;
use crate::result::unit::{CurveUnit, curves};
use crate::verdict::CheckId;

/// Sums of a series that was read again may differ by rounding.
const ROUNDING: f64 = 1e-9;
/// Limits that depend on scatter are at most this many times those of the thinned series, which keeps the extremes.
const THINNED: f64 = 2.0;

/// Whether a curve was judged as one of reinforcement learning.
pub(super) fn is_rl(unit: &CurveUnit) -> bool {
    unit.mode == rl::MODE
}

/// Whether any curve was.
pub(super) fn any_rl(result: &GateResult) -> bool {
    curves(&result.checks).any(is_rl)
}

/// The role of a curve in its run.
pub(super) fn role_of(unit: &CurveUnit) -> Role {
    if is_rl(unit) { metric::role_in_rl(&unit.metric) } else { metric::role(&unit.metric) }
}

/// Whether it is a metric of rollout and training that the candidate alone logs.
pub(super) fn is_alone(unit: &CurveUnit) -> bool {
    is_rl(unit) && unit.paired == 0 && unit.series.baseline.iter().all(Option::is_none)
}

/// The kind of training is the one that the policy declares, or that the metrics show.
pub(super) fn kind(result: &GateResult, policy: &Policy) -> Checked {
    let (rl, declared) = (any_rl(result), policy.loss.kind);
    let other = curves(&result.checks).find(|unit| is_rl(unit) != (declared == Kind::Rl));
    demand(declared == Kind::Auto || other.is_none(), "checks.loss", || {
        format!(
            "{} was judged as another kind of training than the policy declares",
            shown(&other.map_or_else(String::new, |unit| unit.metric.clone()))
        )
    })?;
    let names = || {
        let one_sided = everything(result).filter(|finding| finding.check == CheckId::Loss);
        curves(&result.checks).map(|unit| unit.metric.as_str()).chain(one_sided.map(|finding| finding.place.as_str()))
    };
    demand(!rl || declared == Kind::Rl || metric::is_rl(names(), names()), "checks.loss", || {
        "was judged as reinforcement learning, and its metrics are of none".into()
    })
}

/// Rules, their values and the windows, against the series.
pub(super) fn check(unit: &CurveUnit, at: &str) -> Checked {
    let trend = trend_of(unit);
    let whole = trend_is_whole(unit);
    for measured in due(unit, &trend) {
        let found = unit.rules.iter().find(|outcome| outcome.rule == measured.rule);
        demand(found.is_some(), at, || format!("lacks the rule `{}`", measured.rule))?;
        let same = found.and_then(|outcome| outcome.value).is_some_and(|value| is_close(value.0, measured.value));
        demand(same || !whole, at, || format!("the value of `{}` does not follow from its series", measured.rule))?;
    }
    let known = |outcome: &&RuleOutcome| {
        !rl::NAMES.iter().any(|(name, _)| *name == outcome.rule)
            || outcome.rule == "constant"
            || due(unit, &trend).iter().any(|measured| measured.rule == outcome.rule)
    };
    let other = unit.rules.iter().find(|outcome| !known(outcome));
    demand(other.is_none(), at, || {
        format!("has the rule {}, which is none of its role", shown(other.map_or("", |outcome| &outcome.rule)))
    })?;
    windows(unit, &trend, whole, at)
}

fn windows(unit: &CurveUnit, trend: &Trend, whole: bool, at: &str) -> Checked {
    let wanted = if is_alone(unit) { None } else { rl::windows_of(trend) };
    let (Some(found), Some(wanted)) = (&unit.windows, &wanted) else {
        return demand(unit.windows.is_none() && (wanted.is_none() || !whole), at, || {
            "has no windows, or has them without steps to make them of".into()
        });
    };
    let same = |found: &[Number], wanted: &[Number]| {
        found.len() == wanted.len() && found.iter().zip(wanted).all(|(a, b)| !whole || is_close(a.0, b.0))
    };
    let steps = if whole { found.to_step == wanted.to_step } else { found.to_step.is_sorted_by(|a, b| a < b) };
    let fits = steps && found.to_step.len() == wanted.to_step.len();
    let sides = same(&found.baseline, &wanted.baseline) && same(&found.candidate, &wanted.candidate);
    demand(fits && sides, at, || "its windows do not follow from its series".into())
}

/// Limits of the rules, against those of the series; `has_noise` where recorded repeats may have replaced them.
pub(super) fn limits(unit: &CurveUnit, has_noise: bool, at: &str) -> Checked {
    let whole = trend_is_whole(unit);
    let trend = trend_of(unit);
    for measured in due(unit, &trend).into_iter().filter(|measured| !(has_noise && measured.is_noisy)) {
        let Some(found) = unit.rules.iter().find(|outcome| outcome.rule == measured.rule) else { continue };
        let fits = |found: Option<Number>, own: Option<f64>| match (found, own) {
            (Some(found), Some(own)) if whole => is_close(found.0, own),
            (Some(found), Some(own)) => found.0 <= THINNED * own,
            // A waived level has none, where the series itself says so.
            (found, own) => found.is_none() == own.is_none(),
        };
        demand(fits(found.warn, measured.limits.warn) && fits(found.fail, measured.limits.fail), at, || {
            format!("the rule {} has other limits than its series gives it", shown(measured.rule))
        })?;
    }
    Ok(())
}

fn due(unit: &CurveUnit, trend: &Trend) -> Vec<TrendMeasure> {
    if is_alone(unit) {
        return rl::level_alone(&unit.metric, trend).into_iter().collect();
    }
    rl::measure(role_of(unit), &unit.metric, trend)
}

/// The finite pairs of the series; of a metric of the candidate alone, its values.
fn trend_of(unit: &CurveUnit) -> Trend {
    let series = &unit.series;
    let alone = is_alone(unit);
    let points = series.step.iter().zip(series.baseline.iter().zip(&series.candidate));
    Trend::new(points.filter_map(|(step, (b, c))| {
        let candidate = c.as_ref()?.0;
        let baseline = if alone { candidate } else { b.as_ref()?.0 };
        Some((*step, baseline, candidate))
    }))
}

/// Whether the series holds every paired step.
fn trend_is_whole(unit: &CurveUnit) -> bool {
    let series = &unit.series;
    let both = series.baseline.iter().zip(&series.candidate).filter(|(b, c)| b.is_some() && c.is_some()).count();
    let alone = is_alone(unit) && unit.evidence.alone() == series.step.len() as u64;
    alone || both as u64 == unit.paired && !is_alone(unit)
}

fn is_close(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan() || (a - b).abs() <= ROUNDING * a.abs().max(b.abs()).max(1e-3)
}
