//! Metrics other than the loss: learning rate, scores, rewards, speed, memory, and those that the policy names.

use super::code;
use super::level::worsening;
use super::limits::LimitPair;
use super::rule_results::{MeasuredRule, RuleResults};
use crate::compare::curve::{CurveMeasures, CurvePoint};
use crate::kind::Role;
use crate::median::upper_median;
use crate::pair::curve::CurvePair;
use crate::policy::loss::limit::Band;
use crate::policy::loss::{Better, Hardware, MetricPolicy};
use crate::read::metric;
use crate::verdict::Verdict;

/// Relative difference up to which two learning rates are one schedule, printed with different digits.
pub(crate) const SCHEDULE: f64 = 1e-3;
/// Limits of scores and rewards: reviewers of MindSpeed and ROLL ask for 2 %, and ROLL accepted 4 %.
pub(crate) const SCORE: LimitPair = LimitPair::new(0.02, 0.04);
/// Number of first steps that are left out of a mean speed (MindSpeed's tests leave out as many).
const WARM_UP: usize = 5;

/// The largest difference of two schedules, relative to the rate, or to a hundredth of the peak where the rate is smaller.
pub(crate) fn schedule_difference(points: impl Iterator<Item = (u64, f64, f64)>) -> Option<CurvePoint> {
    let finite: Vec<(u64, f64, f64)> = points.filter(|(_, b, c)| b.is_finite() && c.is_finite()).collect();
    let peak = finite.iter().map(|(_, b, c)| b.abs().max(c.abs())).fold(0.0, f64::max);
    let of = |(step, b, c): (u64, f64, f64)| {
        let scale = b.abs().max(0.01 * peak);
        CurvePoint { step, value: if scale > 0.0 { (c - b).abs() / scale } else { 0.0 } }
    };
    finite.into_iter().map(of).reduce(|a, b| if b.value > a.value { b } else { a })
}

/// Judges the learning rate: if the schedules differ, the loss cannot be judged.
pub(crate) fn judge_schedule(pair: &CurvePair<'_>, results: &mut RuleResults) {
    let Some(largest) = schedule_difference(pair.points.iter()) else { return };
    results.judge_measured(MeasuredRule {
        rule: "learning_rate",
        code: &code::LEARNING_RATE,
        value: largest.value,
        limits: LimitPair { warn: None, fail: Some(SCHEDULE) },
        step: Some(largest.step),
        note: None,
        at_worst: Verdict::Fail,
    });
}

/// Judges by how much the mean of a score or reward is worse, with `room` for runs on different data. A better mean passes.
pub(crate) fn judge_score(pair: &CurvePair<'_>, measures: &CurveMeasures, room: (f64, f64), results: &mut RuleResults) {
    let (difference, _) = measures.mean_difference;
    let worse = if pair.more_is_better() == Some(false) { difference } else { -difference };
    results.judge_measured(MeasuredRule {
        rule: "worse_mean",
        code: &code::WORSE,
        // NaN stays NaN, and fails.
        value: if worse <= 0.0 { 0.0 } else { worse / measures.median.max(1.0) },
        limits: SCORE.raised((room.0 / measures.median.max(1.0), room.1 / measures.median.max(1.0))),
        step: None,
        note: None,
        at_worst: Verdict::Fail,
    });
}

/// Applies limits that the policy names for a metric.
pub(crate) fn judge_declared(
    pair: &CurvePair<'_>,
    own: &MetricPolicy,
    measures: &CurveMeasures,
    hardware: &Hardware,
    results: &mut RuleResults,
) {
    if pair.role.is_performance() && !hardware.is_equal() {
        return results.add_finding(&code::HARDWARE, |finding| {
            finding
                .with("metric", pair.metric.as_str())
                .with("baseline", hardware.baseline.as_str())
                .with("candidate", hardware.candidate.as_str())
        });
    }
    let (difference, baseline) = if pair.role.is_performance() { steady(pair) } else { measures.mean_difference };
    let mut measure = |rule, code, value, band: Option<Band>| {
        if band.is_some() {
            let limits = LimitPair::NONE.overridden(band);
            results.judge_measured(MeasuredRule {
                rule,
                code,
                value,
                limits,
                step: None,
                note: None,
                at_worst: Verdict::Fail,
            });
        }
    };
    measure("declared_mean_rel", &code::MEAN, measures.mean_rel, own.mean);
    measure("declared_difference", &code::DIFFERENCE, difference, own.difference);
    let better = own.better.map(|better| better == Better::More).or(pair.more_is_better()).unwrap_or(false);
    measure("declared_worse", &code::WORSE, worsening(difference, baseline, better), own.worse);
}

/// Difference of the means and mean of the baseline once both runs are warm.
fn steady(pair: &CurvePair<'_>) -> (f64, f64) {
    let skip = if pair.points.len() > 2 * WARM_UP { WARM_UP } else { 0 };
    let finite: Vec<(f64, f64)> = pair
        .points
        .iter()
        .skip(skip)
        .filter(|(_, b, c)| b.is_finite() && c.is_finite())
        .map(|(_, b, c)| (b, c))
        .collect();
    #[allow(clippy::cast_precision_loss, reason = "a count of steps")]
    let count = finite.len().max(1) as f64;
    let sum = finite.iter().fold((0.0, 0.0), |sum, (b, c)| (sum.0 + b, sum.1 + c));
    ((sum.1 - sum.0) / count, sum.0 / count)
}

/// The relative change of the mean of a metric that no rule knows, if it is large: above a fifth, and above five times the
/// baseline's median change from step to step. `None` for a smaller change and for any other metric.
pub(crate) fn large_change(pair: &CurvePair<'_>, measures: Option<&CurveMeasures>) -> Option<f64> {
    const SHARE: f64 = 0.2;
    const VARIATIONS: f64 = 5.0;
    if pair.is_rl || pair.role != Role::Other || metric::is_count(&pair.metric) {
        return None;
    }
    let (difference, baseline) = measures?.mean_difference;
    let values = &pair.points.baseline;
    let changes: Vec<f64> = values.iter().zip(values.iter().skip(1)).map(|(a, b)| (b - a).abs()).collect();
    let variation = upper_median(changes).unwrap_or(0.0);
    let is_large = difference.abs() > SHARE * baseline.abs() && difference.abs() > VARIATIONS * variation;
    (is_large && baseline.abs() > 0.0).then(|| difference / baseline.abs())
}

/// Shows the relative change of the mean of a metric that no rule judges.
pub(crate) fn show_change(measures: Option<&CurveMeasures>, results: &mut RuleResults) {
    let Some(measures) = measures else { return };
    let (difference, baseline) = measures.mean_difference;
    let value = if baseline.abs() > 0.0 { difference / baseline.abs() } else { 0.0 };
    results.show_only(|results| {
        results.judge_measured(MeasuredRule {
            rule: "mean_change",
            code: &code::DIFFERENCE,
            value,
            limits: LimitPair::NONE,
            step: None,
            note: None,
            at_worst: Verdict::Pass,
        });
    });
}
