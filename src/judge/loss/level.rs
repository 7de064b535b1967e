//! Distance between the losses: average, start, tail, spread and single steps.

use super::code;
use super::curve_limits::CurveLimits;
use super::limits::{self, LimitPair, allowed_outside, allowed_single};
use super::mode::{ResolvedMode, Weights};
use super::rule_results::{MeasuredRule, RuleResults};
use super::start::{FORWARD_NOISE, Start};
use crate::compare::curve::rank::is_below;
use crate::compare::curve::{CurveMeasures, FLIPPED, relative_difference};
use crate::judge::rule::Rule;
use crate::kind::Role;
use crate::result::outcome::Note;
use crate::verdict::{Profile, Verdict};

/// Least correlation of the changes from step to step of two runs on the same data, whatever randomness is left in (measured:
/// 0.98 with dropout, -0.25 to 0.2 with another data order).
const TOGETHER: f64 = 0.9;
/// Correlation of the changes below which the two runs do not see the same data.
pub(crate) const APART: f64 = 0.3;
/// Largest share of the steps that may differ in one direction: randomness moves a loss both ways, a defect one way.
const ONE_SIDED: f64 = 0.8;
/// Factor of the limit up to which randomness may move the mean.
const RANDOM_FACTOR: f64 = 2.0;
/// Least ratio of the median to the mean: randomness acts at every step, and a median far below the mean shows single bad steps.
const CONCENTRATED: f64 = 0.25;
/// Factor from one step to the next above which an onset is abrupt (measured: noise grows by up to 3 times, a change of what is
/// trained by 1000 times).
pub(crate) const ABRUPT: f64 = 20.0;
/// Largest factor by which noise grows from one step to the next (measured).
const GROWTH: f64 = 3.0;
/// Least number of evaluations that are judged by their mean: the first evaluations, where the loss falls fastest, dominate the
/// mean of fewer.
pub(crate) const EVALUATIONS: usize = 20;

/// Mode, limits and profile that a loss is judged by.
#[derive(Clone, Copy, Debug)]
pub struct LevelContext<'a> {
    /// Same weights or own.
    pub mode: ResolvedMode,
    /// The limits.
    pub limits: &'a CurveLimits,
    /// Limits of the mean before the runs' own scatter widens them.
    pub mean: LimitPair,
    /// Profile, which sets how severe the gate is.
    pub profile: Profile,
}

/// Judges a training loss.
pub fn judge(measures: &CurveMeasures, context: &LevelContext<'_>, results: &mut RuleResults) {
    if context.profile == Profile::BitExact {
        bit_exact(measures, results);
    }
    mode(context, results, measures);
    floor(measures, results);
    let random = is_random(measures, context);
    let at_worst = if random { Verdict::Warn } else { Verdict::Fail };
    let limits = context.limits;
    let rule = |rule, code: &'static Rule, value, limits, step, at_worst| MeasuredRule {
        rule,
        code,
        value,
        limits,
        step,
        note: None,
        at_worst,
    };
    if let Some(first) = measures.first {
        let first = rule("step_1_rel", &code::STEP_1, first.value, limits.step_1, Some(first.step), Verdict::Fail);
        results.judge_measured(MeasuredRule { note: uniform(context.mode.start), ..first });
    }
    if let Some(head) = measures.head {
        results.judge_measured(rule("head_max_rel", &code::HEAD, head.value, limits.head, Some(head.step), at_worst));
    }
    results.judge_measured(rule("mean_rel", &code::MEAN, measures.mean_rel, limits.mean, None, at_worst));
    // Randomness leaves the mean of few steps uncertain, and a tail within that uncertainty shows nothing.
    let uncertain = measures.tail.abs() <= 2.0 * measures.tail_error
        && limits.tail.fail.is_some_and(|limit| measures.tail.abs() <= RANDOM_FACTOR * limit);
    let at_worst_tail = if random && uncertain { Verdict::Warn } else { Verdict::Fail };
    results.judge_measured(rule("tail_signed_rel", &code::TAIL, measures.tail, limits.tail, None, at_worst_tail));
    spread(measures, context, at_worst, results);
    judge_longest_run(measures, context, results);
    peak(measures, context, results);
    spikes(measures, results);
    onset(measures, context, results);
    together(measures, context, random, results);
}

/// Applies the bit-exact profile: nothing may differ, not even below the floor.
pub(super) fn bit_exact(measures: &CurveMeasures, results: &mut RuleResults) {
    results.judge_measured(MeasuredRule {
        rule: "bit_exact",
        code: &code::DIFFERENCE,
        value: measures.mean_abs,
        limits: LimitPair { warn: None, fail: Some(0.0) },
        step: None,
        note: None,
        at_worst: Verdict::Fail,
    });
}

fn mode(context: &LevelContext<'_>, results: &mut RuleResults, measures: &CurveMeasures) {
    let mode = &context.mode;
    let first = mode.first.map_or(f64::NAN, |first| first.value);
    if mode.is_too_loose() {
        results.add_finding(&code::MODE_TOO_LOOSE, |finding| finding.with("value", first));
    }
    if !mode.is_loose_unasked() {
        return;
    }
    match mode.start {
        Some(Start::Uniform(classes)) => results.add_finding(&code::UNIFORM_START, |finding| {
            let loss = measures.start.first().map_or(f64::NAN, |(baseline, _)| *baseline);
            finding.with("loss", loss).with("classes", classes.map(u64::from).unwrap_or_default())
        }),
        Some(Start::Chance) => results.add_finding(&code::FIRST_STEP, |finding| {
            let head = measures.head.map_or(f64::NAN, |head| head.value);
            finding.with("value", head).with("limit", super::start::UPDATE_NOISE).with("steps", measures.start.len())
        }),
        _ => {
            results.add_finding(&code::FIRST_STEP, |finding| finding.with("value", first).with("limit", FORWARD_NOISE))
        }
    }
}

/// The note that the first step is a uniform prediction; `None` for any other start.
fn uniform(start: Option<Start>) -> Option<Note> {
    match start {
        Some(Start::Uniform(_)) => Some(Note::new(Note::UNIFORM)),
        _ => None,
    }
}

/// Warns of an absolute floor above a tenth of the loss: it hides differences that matter.
fn floor(measures: &CurveMeasures, results: &mut RuleResults) {
    if measures.median > 0.0 && measures.floor * 10.0 > measures.median {
        results
            .add_finding(&code::FLOOR, |finding| finding.with("floor", measures.floor).with("median", measures.median));
    }
}

fn spread(measures: &CurveMeasures, context: &LevelContext<'_>, at_worst: Verdict, results: &mut RuleResults) {
    let (n, band, weights) = (measures.rel.len(), context.limits.spread, context.mode.weights);
    #[allow(clippy::cast_precision_loss, reason = "counts of steps")]
    let (outside, allowed) = (measures.steps_above(band) as f64, allowed_outside(n, weights) as f64);
    results.judge_measured(MeasuredRule {
        rule: "spread",
        code: &code::SPREAD,
        note: measures.is_smoothed().then(|| Note::new(Note::SMOOTHED)),
        value: outside,
        limits: LimitPair { warn: None, fail: Some(allowed) },
        step: measures.max.filter(|_| outside > allowed).map(|at| at.step),
        at_worst,
    });
    if measures.is_smoothed() {
        #[allow(clippy::cast_precision_loss, reason = "counts of steps")]
        let (outliers, allowed) = (measures.outliers_above(band) as f64, allowed_single(n) as f64);
        results.judge_measured(MeasuredRule {
            rule: "outliers",
            code: &code::SPREAD,
            value: outliers,
            limits: LimitPair { warn: None, fail: Some(allowed) },
            step: measures.max.filter(|_| outliers > allowed).map(|at| at.step),
            note: None,
            at_worst,
        });
    }
}

/// Judges the longest run of steps outside the spread in a long curve. It finds a fault that heals, however long the training is.
fn judge_longest_run(measures: &CurveMeasures, context: &LevelContext<'_>, results: &mut RuleResults) {
    // In a shorter curve the limit on the number of steps outside the spread is as strict.
    if !measures.is_smoothed() {
        return;
    }
    let longest = measures.longest_above(context.limits.spread);
    let steps = longest.map_or(0, |longest| longest.steps);
    #[allow(clippy::cast_precision_loss, reason = "counts of steps")]
    results.judge_measured(MeasuredRule {
        rule: "longest_run",
        code: &code::DEPARTURE,
        value: steps as f64,
        limits: limits::longest_run_limits(context.mode.weights),
        step: longest.map(|longest| longest.first),
        note: Some(Note::new(Note::SMOOTHED)),
        // Randomness is spread over the run and does not stay beyond a limit for so long.
        at_worst: Verdict::Fail,
    });
}

/// Judges the largest single difference.
fn peak(measures: &CurveMeasures, context: &LevelContext<'_>, results: &mut RuleResults) {
    let Some(peak) = measures.max else { return };
    results.judge_measured(MeasuredRule {
        rule: "max_rel",
        code: &code::PEAK,
        value: peak.value,
        limits: context.limits.peak,
        step: Some(peak.step),
        note: None,
        at_worst: Verdict::Warn,
    });
}

/// Judges the onset of differences. From the same weights they grow gradually. A difference that is there at once shows a change of
/// what is trained, unless it is no larger than a first rounding in the other direction, or many steps lie between two points.
fn onset(measures: &CurveMeasures, context: &LevelContext<'_>, results: &mut RuleResults) {
    let band = context.limits.head.warn.filter(|_| context.mode.weights == Weights::Same);
    let Some(onset) = band.and_then(|band| measures.onset(band)) else { return };
    let grown = GROWTH.powi(i32::try_from(onset.gap.saturating_sub(1)).unwrap_or(i32::MAX));
    let limit = ABRUPT * grown;
    // A first rounding in the other direction stays within the limit, whatever lies before it.
    let before = onset.before.max(FLIPPED / limit);
    results.judge_measured(MeasuredRule {
        rule: "abrupt_onset",
        code: &code::ONSET,
        value: onset.size / before,
        limits: LimitPair { warn: Some(limit).filter(|limit| limit.is_finite()), fail: None },
        step: Some(onset.step),
        note: None,
        at_worst: Verdict::Warn,
    });
}

/// Judges the number of isolated spikes: a few are normal; twice as many as the baseline has, and at least three more, warn.
fn spikes(measures: &CurveMeasures, results: &mut RuleResults) {
    let (baseline, candidate) = measures.spikes;
    #[allow(clippy::cast_precision_loss, reason = "counts of steps")]
    results.judge_measured(MeasuredRule {
        rule: "spikes",
        code: &code::SPIKES,
        value: candidate as f64,
        limits: LimitPair { warn: Some((baseline * 2).max(baseline + 3) as f64 - 1.0), fail: None },
        step: None,
        note: None,
        at_worst: Verdict::Warn,
    });
}

/// Whether the differences are what healthy randomness makes of them: both runs change together from step to
/// step, the differences go both ways and are spread over the run, and the mean stays within twice its limit.
///
/// Never where the weights are declared equal: then no randomness should be left.
fn is_random(measures: &CurveMeasures, context: &LevelContext<'_>) -> bool {
    let declared_same = context.mode.declared && context.mode.weights == Weights::Same;
    let mean = match context.mode.weights {
        // The limit for different weights, because randomness may show only after the first step.
        Weights::Same => Some(1e-2),
        Weights::Own => context.mean.fail,
    };
    !declared_same
        && correlation(measures, context.mode.weights).is_some_and(|together| together >= TOGETHER)
        && measures.majority <= ONE_SIDED
        && measures.median_rel >= CONCENTRATED * measures.mean_rel
        && mean.is_some_and(|limit| measures.mean_rel <= RANDOM_FACTOR * limit)
}

/// Correlation of the changes from step to step that is judged. With the same weights it is that of the worse half, because another
/// data order may begin late. With different weights it is that of the later half, because a model that has learned little does
/// not show which batches are hard.
fn correlation(measures: &CurveMeasures, weights: Weights) -> Option<f64> {
    measures.together.map(|together| if weights == Weights::Same { together.lowest } else { together.later })
}

/// Whether the runs see different data: their changes correlate less than chance explains for runs on the same data, and the mean
/// difference is beyond its limit.
pub(crate) fn sees_other_data(measures: &CurveMeasures, weights: Weights, mean: LimitPair) -> bool {
    let seldom = |together: f64| measures.together.is_some_and(|all| is_below(together, TOGETHER, all.changes));
    correlation(measures, weights).is_some_and(|together| together < APART && seldom(together))
        && mean.warn.is_some_and(|warn| measures.mean_rel > warn)
}

/// Judges whether both runs change together. They do not if the correlation is low, and lower than chance explains for runs on the
/// same data.
fn together(measures: &CurveMeasures, context: &LevelContext<'_>, random: bool, results: &mut RuleResults) {
    let Some(together) = correlation(measures, context.mode.weights) else { return };
    let apart = sees_other_data(measures, context.mode.weights, context.mean);
    results.judge_measured(MeasuredRule {
        rule: "change_apart",
        code: &code::ORDER,
        value: 1.0 - together,
        limits: if apart { LimitPair { warn: Some(1.0 - APART), fail: None } } else { LimitPair::NONE },
        step: None,
        note: None,
        at_worst: Verdict::Warn,
    });
    let judged_loosely = context.mean.warn.is_some_and(|warn| measures.mean_rel > warn);
    if random && judged_loosely {
        results.add_finding(&code::RANDOMNESS, |finding| {
            finding.with("together", together).with("majority", measures.majority).with("value", measures.mean_rel)
        });
    }
}

/// Judges a loss on held-out data by its level and its end only. The median is the level of few points; their mean, which also
/// shows a fault in the middle, only warns.
pub(crate) fn judge_eval(measures: &CurveMeasures, paired: usize, limits: &CurveLimits, results: &mut RuleResults) {
    let rule = |rule, value, limits| MeasuredRule {
        rule,
        code: &code::MEAN,
        value,
        limits,
        step: None,
        note: None,
        at_worst: Verdict::Fail,
    };
    if paired < EVALUATIONS {
        results.judge_measured(rule("median_rel", measures.median_rel, limits.mean));
        results.judge_measured(rule("mean_rel", measures.mean_rel, LimitPair { fail: None, ..limits.mean }));
    } else {
        results.judge_measured(rule("mean_rel", measures.mean_rel, limits.mean));
    }
    let last = measures.rel.last().copied().zip(measures.steps.get(measures.rel.len().saturating_sub(1)));
    if let Some((value, step)) = last {
        results.judge_measured(MeasuredRule {
            rule: "last_rel",
            code: &code::TAIL,
            value,
            limits: limits.tail,
            step: Some(step),
            note: None,
            at_worst: Verdict::Fail,
        });
    }
}

/// Judges a gradient norm or an auxiliary loss: by the mean, with room for their noise.
pub(crate) fn judge_noisy(role: Role, measures: &CurveMeasures, limits: &CurveLimits, results: &mut RuleResults) {
    let (rule, code) = match role {
        Role::GradNorm => ("grad_norm_mean_rel", &code::GRAD_NORM),
        _ => ("mean_rel", &code::MEAN),
    };
    results.judge_measured(MeasuredRule {
        rule,
        code,
        value: measures.mean_rel,
        limits: limits.grad_norm,
        step: None,
        note: None,
        at_worst: Verdict::Fail,
    });
}

/// The change of a mean relative to the baseline's, in its worse direction; 0 where it became better.
pub(crate) fn worsening(difference: f64, baseline: f64, more_is_better: bool) -> f64 {
    let worse = if more_is_better { -difference } else { difference };
    if worse <= 0.0 { 0.0 } else { relative_difference(baseline.abs(), baseline.abs() + worse, 0.0) }
}
