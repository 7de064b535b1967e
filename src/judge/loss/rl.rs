//! Judging runs of reinforcement learning.
//!
//! Rollouts are sampled: two healthy runs share the first step at best, and single steps of their policy losses differ by as much
//! as their own size. Healthy runs share the trend, so these rules compare means of windows, medians and shares. `docs/rl.md`
//! says where the limits come from.

mod centre;
mod delay;
mod levels;
mod measured;
mod mismatch;
mod onset;
mod rules;
mod trend;

pub use delay::{Rooms, Widened};
pub(crate) use delay::{level_rooms, reached_by_two_windows};
pub(crate) use measured::TREND_FROM;
pub use measured::TrendMeasure;
pub(crate) use mismatch::level_alone;
pub use rules::NAMES;
pub(crate) use rules::trend_measures;
pub use trend::{Trend, Window};

use super::judged::JudgedCurve;
use super::limits::LimitPair;
use super::noise::{MetricNoise, RepeatMeasures};
use super::rule_results::{MeasuredRule, RuleResults};
use super::secondary_metrics::SCHEDULE;
use super::settings::LossSettings;
use super::{code, downsample};
use crate::compare::curve::{CurveMeasures, CurvePoint};
use crate::error::Result;
use crate::kind::{Role, curve_name};
use crate::pair::curve::source::StoredSource;
use crate::pair::curve::{CurvePair, PairedSources};
use crate::policy::loss::Kind;
use crate::read::metric::{self, role_in_rl};
use crate::result::number::Number;
use crate::result::unit::{CurveUnit, CurveWindows, Evidence};
use crate::verdict::{Profile, Verdict};

/// Name of the mode in results.
pub(crate) const MODE: &str = "rl";

/// Roles of metrics other than the reward that distinguish a run on another path from a run that is just late.
const WITNESSES: [Role; 4] = [Role::Length, Role::Truncation, Role::Kl, Role::Entropy];

/// Whether a metric other than the reward can show that a run took another path.
pub(crate) fn is_witness(pair: &PairedSources<'_>) -> bool {
    pair.is_rl && WITNESSES.contains(&pair.role)
}

/// Whether such a metric shows that the run took another path: one of its rules warns, by limits that allow the delay of a healthy
/// run.
pub(crate) fn witness_warns(pair: &CurvePair<'_>, noise: Option<&MetricNoise>) -> bool {
    let beyond =
        |measured: TrendMeasure| limits_by_noise(&measured, noise).warn.is_some_and(|warn| measured.value > warn);
    trend_measures(pair.role, &pair.metric, &Trend::new(pair.points.iter())).into_iter().any(beyond)
}

/// Judges a metric of a run of reinforcement learning by its role. If another metric shows that the run took another path
/// (`is_on_another_way`), the failing limit of a reward gets no more room than its warning limit.
pub fn judge(
    pair: &CurvePair<'_>,
    measures: &CurveMeasures,
    profile: Profile,
    noise: Option<&MetricNoise>,
    is_on_another_way: bool,
    results: &mut RuleResults,
) {
    if profile == Profile::BitExact {
        super::level::bit_exact(measures, results);
    }
    let trend = Trend::new(pair.points.iter());
    for measured in trend_measures(pair.role, &pair.metric, &trend) {
        let limits = measured.limits_without_delay.filter(|_| is_on_another_way).unwrap_or(measured.limits);
        let said = results.findings.len();
        results.judge_measured(outcome(&TrendMeasure { limits, ..measured }, noise));
        if let Some(finding) = results.findings.get_mut(said) {
            levels::note(finding, measured.rule, &pair.metric, &trend);
        }
    }
    if pair.role == Role::Reward && trend.len() < TREND_FROM {
        results
            .add_finding(&code::RL_TOO_SHORT, |finding| finding.with("steps", trend.len()).with("needed", TREND_FROM));
    }
}

/// Judges a mismatch metric of rollout and training that only the candidate logs; `None` for any other metric.
///
/// # Errors
/// Errors of the disk, where its points lie there.
pub(crate) fn judge_alone(
    (metric, rank): &(String, Option<u64>),
    source: &StoredSource<'_>,
    settings: LossSettings<'_>,
) -> Result<Option<JudgedCurve>> {
    let role = role_in_rl(metric);
    if role != Role::Mismatch {
        return Ok(None);
    }
    let series = source.series.load()?;
    let trend = Trend::new(series.points().map(|(step, value)| (step, value, value)));
    let mut results = RuleResults::new(curve_name(metric, *rank), settings.profile);
    let Some(level) = level_alone(metric, &trend) else { return Ok(None) };
    results.judge_measured(outcome(&level, None));
    let unit = CurveUnit {
        metric: metric.clone(),
        rank: *rank,
        role: Some(role),
        better: metric::better_direction(metric, role),
        candidate_file: source.path.clone(),
        mode: MODE.to_owned(),
        mode_source: if settings.policy.kind == Kind::Rl { "declared" } else { "inferred" }.to_owned(),
        evidence: Evidence { one_sided: [0, series.values.len() as u64], ..Evidence::default() },
        rules: std::mem::take(&mut results.rules),
        series: downsample::one_sided_series(&series),
        ..CurveUnit::empty()
    };
    Ok(Some(JudgedCurve { unit, findings: results.findings, counts: true }))
}

fn outcome(measured: &TrendMeasure, noise: Option<&MetricNoise>) -> MeasuredRule {
    MeasuredRule {
        rule: measured.rule,
        code: measured.code,
        value: measured.value,
        limits: limits_by_noise(measured, noise),
        step: measured.step,
        note: None,
        at_worst: Verdict::Fail,
    }
}

/// The limits of a rule, replaced by limits from recorded repeats where there are some, but never below a third of its own.
fn limits_by_noise(measured: &TrendMeasure, noise: Option<&MetricNoise>) -> LimitPair {
    let own = measured.limits;
    let recorded = noise.and_then(|noise| Some(noise.factors()).zip(noise.trends.get(measured.rule)));
    let Some(((warn, fail), largest)) = recorded.filter(|_| measured.is_noisy) else { return own };
    let limit = |own: Option<f64>, factor: f64| own.map(|own| (factor * largest).max(own / 3.0));
    LimitPair { warn: limit(own.warn, warn), fail: limit(own.fail, fail) }
}

/// Means of windows for the picture; `None` for curves that are too short, or not of reinforcement learning.
pub(crate) fn windows_of_pair(pair: &CurvePair<'_>) -> Option<CurveWindows> {
    if !pair.is_rl {
        return None;
    }
    windows_of_trend(&Trend::new(pair.points.iter()))
}

/// Means of the windows of a trend; `None` where it is too short.
pub(crate) fn windows_of_trend(trend: &Trend) -> Option<CurveWindows> {
    let windows = trend.windows();
    (trend.len() >= TREND_FROM).then(|| CurveWindows {
        to_step: windows.iter().map(|window| window.to_step).collect(),
        baseline: windows.iter().map(|window| Number(window.baseline)).collect(),
        candidate: windows.iter().map(|window| Number(window.candidate)).collect(),
    })
}

/// Values of the rules whose limits recorded repeats replace; `None` without such rules.
pub(crate) fn trend_repeat_measures(pair: &CurvePair<'_>) -> Option<RepeatMeasures> {
    // Both orders are measured, because neither repeat is the baseline.
    let swapped = pair.points.iter().map(|(step, b, c)| (step, c, b));
    let both = [Trend::new(pair.points.iter()), Trend::new(swapped)];
    let all = both.iter().flat_map(|trend| trend_measures(pair.role, &pair.metric, trend));
    let noisy: Vec<_> =
        all.filter(|measured| measured.is_noisy).map(|measured| (measured.rule, measured.value)).collect();
    (!noisy.is_empty()).then_some(RepeatMeasures::Trend(noisy))
}

/// Judges a setting that is logged at every step.
pub(crate) fn judge_constant(pair: &CurvePair<'_>, results: &mut RuleResults) {
    let Some(largest) = constant_difference(pair.points.iter()) else { return };
    results.judge_measured(MeasuredRule {
        rule: "constant",
        code: &code::RL_CONSTANT,
        value: largest.value,
        limits: LimitPair { warn: None, fail: Some(SCHEDULE) },
        step: Some(largest.step),
        note: None,
        at_worst: Verdict::Fail,
    });
}

/// The largest relative difference of a setting: over all steps, or only at the first step if the baseline's own value changes,
/// because an adaptive controller changes it by what was sampled.
pub(crate) fn constant_difference(points: impl Iterator<Item = (u64, f64, f64)>) -> Option<CurvePoint> {
    let finite: Vec<_> = points.filter(|(_, b, c)| b.is_finite() && c.is_finite()).collect();
    let (_, first, _) = *finite.first()?;
    let relative = |size: f64, b: f64| if size > 0.0 { (size / b.abs()).min(f64::MAX) } else { 0.0 };
    let apart = |b: f64, c: f64| relative((c - b).abs(), b);
    let still = finite.iter().all(|(_, b, _)| apart(first, *b) <= SCHEDULE);
    let judged = if still { finite.len() } else { 1 };
    let all = finite.iter().take(judged).map(|(step, b, c)| CurvePoint { step: *step, value: apart(*b, *c) });
    all.reduce(|a, b| if b.value > a.value { b } else { a })
}
