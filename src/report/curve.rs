//! Functions that pictures and diagrams of a curve share.

use super::ends;
use crate::judge::loss::{code, rl};
use crate::judge::rule::Rule;
use crate::kind::Role;
use crate::result::GateResult;
use crate::result::finding::Finding;
use crate::result::number::Number;
use crate::result::outcome::{LimitDirection, RuleOutcome};
use crate::result::unit::{AnyUnit, Check, CurveUnit, curves};
use crate::verdict::{CheckId, Severity, Verdict};

/// The curve that a report shows first: the worst one, and of equally bad ones the first, since the plain loss comes first.
pub(crate) fn leading_curve(result: &GateResult) -> Option<&CurveUnit> {
    let judged = curves(&result.checks).filter(|unit| !unit.series.step.is_empty() && unit.verdict != Verdict::Skipped);
    let worst = judged.clone().reduce(|a, b| if b.verdict > a.verdict { b } else { a })?;
    // The order of metrics of reinforcement learning has no meaning: the one furthest over its limit comes first.
    let is_blamed = worst.mode == rl::MODE && worst.verdict >= Verdict::Warn;
    let alike = judged.clone().filter(|unit| is_blamed && unit.verdict == worst.verdict && unit.mode == rl::MODE);
    let worst = alike.reduce(|a, b| if furthest(b) > furthest(a) { b } else { a }).unwrap_or(worst);
    // If no metric is to blame, the reward represents a run of reinforcement learning.
    let mut rewards = judged.filter(|unit| worst.mode == rl::MODE && unit.role == Some(Role::Reward));
    Some(rewards.next().filter(|_| worst.verdict < Verdict::Warn).unwrap_or(worst))
}

/// Whether the check `id` of a result judged curves.
pub(super) fn is_judged_by(result: &GateResult, id: CheckId) -> bool {
    let own = |check: &&Check| check.id == id;
    result.checks.iter().find(own).is_some_and(has_curves)
}

/// The failing finding that a curve is NaN or infinite on the candidate alone; where its log shows none, that the log hides it.
pub(super) fn broken_finding<'a>(result: &'a GateResult, unit: &CurveUnit) -> Option<&'a Finding> {
    let own = |rule: &Rule| {
        let mut failing = result.counting().filter(|finding| finding.severity >= Severity::Fail);
        failing.find(|finding| finding.is(rule) && finding.place == unit.name())
    };
    own(&code::NON_FINITE).or_else(|| own(&code::HIDDEN_FAILURE))
}

/// Whether a check judged curves.
pub(super) fn has_curves(check: &Check) -> bool {
    curves(std::slice::from_ref(check)).next().is_some()
}

pub(super) fn curve_by_name<'a>(result: &'a GateResult, name: &str) -> Option<&'a CurveUnit> {
    curves(&result.checks).find(|unit| unit.name() == name)
}

/// The limit of the mean of the differences.
pub(crate) fn mean_limit(unit: &CurveUnit) -> Option<f64> {
    let rule = unit.rules.iter().find(|rule| rule.rule.ends_with("mean_rel"))?;
    rule.fail.map(|limit| limit.0).filter(|limit| limit.is_finite() && *limit > 0.0)
}

/// The rule that decides a curve's verdict: for a spike the rule of the largest step, otherwise the first rule that is as bad as
/// the verdict; `None` for a pass.
pub(crate) fn deciding_rule(unit: &CurveUnit) -> Option<&RuleOutcome> {
    let counts = unit.verdict >= Verdict::Warn;
    let of_spike = |rule: &&RuleOutcome| rule.rule == "max_rel" && rule.verdict >= Verdict::Warn;
    let spike = unit.rules.iter().find(of_spike).filter(|_| Spike::from_curve(unit).is_some());
    let mut alike = unit.rules.iter().filter(|rule| rule.verdict == unit.verdict);
    let first = alike.next();
    let by_far = |one, other| if excess_over_limit(other) > excess_over_limit(one) { other } else { one };
    // Metrics of one scale: the worst value is the most informative. Rules of a plain curve are ordered by how informative they are.
    let is_dead = first.is_some_and(is_dead_reward);
    let worst = if unit.mode == rl::MODE && !is_dead { first.map(|first| alike.fold(first, by_far)) } else { first };
    spike.or(worst).filter(|_| counts)
}

/// Ratio of the worst value of a curve to its limit.
fn furthest(unit: &CurveUnit) -> f64 {
    let is_dead = unit.rules.iter().any(|rule| is_dead_reward(rule) && rule.verdict >= Verdict::Warn);
    if is_dead { f64::INFINITY } else { deciding_rule(unit).map_or(0.0, excess_over_limit) }
}

/// Whether a rule reports a reward that teaches nothing, which explains all other failures.
fn is_dead_reward(rule: &RuleOutcome) -> bool {
    rule.rule == "reward_dead"
}

/// Ratio of a rule's value to the limit that decided its verdict: 1 at the limit, more beyond it.
pub(super) fn excess_over_limit(rule: &RuleOutcome) -> f64 {
    let limit = if rule.verdict == Verdict::Warn { rule.warn.or(rule.fail) } else { rule.fail.or(rule.warn) };
    let (Some(Number(value)), Some(Number(limit))) = (rule.value, limit) else { return 0.0 };
    let (over, under) = if rule.direction == LimitDirection::AtLeast { (limit, value) } else { (value, limit) };
    let times = over.abs() / under.abs();
    // NaN is beyond every limit, except that 0 is within a limit of 0.
    if times.is_nan() { if over == 0.0 { 0.0 } else { f64::INFINITY } } else { times }
}

/// Factor by which a spike exceeds the differences before and after it.
const SPIKE: f64 = 10.0;

/// A step that differs far more than all steps before it, and than all steps from some later step on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spike {
    /// The step.
    pub(super) step: f64,
    /// The difference as a fraction of the baseline.
    pub(super) difference: f64,
    /// The first step after which the curves stay close again.
    pub(super) recovery_step: f64,
}

impl Spike {
    /// The spike of a curve; `None` if its largest difference is not a spike.
    pub(super) fn from_curve(unit: &CurveUnit) -> Option<Self> {
        let all = DrawnCurve::from_unit(unit).differences();
        let largest = all.iter().copied().enumerate().max_by(|a, b| a.1.1.abs().total_cmp(&b.1.1.abs()));
        let (place, (step, apart)) = largest?;
        let is_calm = |(_, other): &&(f64, f64)| other.abs() * SPIKE <= apart.abs();
        let (before, after) = (all.get(..place)?, all.get(place + 1..)?);
        let calm = after.iter().rev().take_while(is_calm).count();
        let (recovered, _) = *after.get(after.len() - calm)?;
        before.iter().all(|other| is_calm(&other)).then_some(Self { step, difference: apart, recovery_step: recovered })
    }
}

/// A curve as numbers to draw.
#[derive(Debug, Default)]
pub(crate) struct DrawnCurve {
    /// Steps.
    pub step: Vec<f64>,
    /// Baseline values; `None` at a step without one.
    pub baseline: Vec<Option<f64>>,
    /// Candidate values; `None` at a step without one.
    pub candidate: Vec<Option<f64>>,
    /// The recorded noise around the baseline, relative to it; empty if none was recorded.
    pub band: Vec<f64>,
    /// First and last step of each stretch of steps at which exactly one side is not finite.
    pub broken: Vec<(f64, f64)>,
    /// Means over windows of steps, which the rules of reinforcement learning judge; empty for other curves.
    pub windows: Vec<DrawnWindow>,
}

/// A window of a curve as numbers to draw.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DrawnWindow {
    /// The first and the last step.
    pub steps: (f64, f64),
    /// Mean of the baseline.
    pub baseline: f64,
    /// Mean of the candidate.
    pub candidate: f64,
}

impl DrawnCurve {
    /// The numbers of a unit.
    #[allow(clippy::cast_precision_loss, reason = "steps in a picture")]
    pub(crate) fn from_unit(unit: &CurveUnit) -> Self {
        let series = &unit.series;
        let numbers = |values: &[Option<Number>]| values.iter().map(|value| value.map(|number| number.0)).collect();
        let mut shown = Self {
            step: series.step.iter().map(|step| *step as f64).collect(),
            baseline: numbers(&series.baseline),
            candidate: numbers(&series.candidate),
            band: series.band.iter().map(|number| number.0).collect(),
            broken: Vec::new(),
            windows: Vec::new(),
        };
        shown.windows = windows_of(unit, shown.step.first().copied());
        shown.broken = shown.find_broken();
        shown
    }

    /// Whether no step has a baseline value.
    pub(crate) fn has_no_baseline(&self) -> bool {
        self.baseline.iter().all(Option::is_none)
    }

    fn find_broken(&self) -> Vec<(f64, f64)> {
        if self.has_no_baseline() {
            return self.stretches_of(|_, candidate| candidate.is_some_and(|candidate| !candidate.is_finite()));
        }
        self.stretches_of(|baseline, candidate| {
            baseline.zip(candidate).is_some_and(|(baseline, candidate)| baseline.is_finite() != candidate.is_finite())
        })
    }

    /// First and last step of each stretch of steps whose two values satisfy `is_of_kind`.
    fn stretches_of(&self, is_of_kind: impl Fn(Option<f64>, Option<f64>) -> bool) -> Vec<(f64, f64)> {
        let mut found: Vec<(f64, f64)> = Vec::new();
        let mut inside = false;
        for ((step, baseline), candidate) in self.step.iter().zip(&self.baseline).zip(&self.candidate) {
            let broken = is_of_kind(*baseline, *candidate);
            match (broken, inside, found.last_mut()) {
                (true, true, Some((_, last))) => *last = *step,
                (true, ..) => found.push((*step, *step)),
                _ => {}
            }
            inside = broken;
        }
        found
    }

    /// Steps and differences where both sides are finite; positive if the candidate is higher. Differences are fractions of the
    /// baseline, or in the metric's own unit for reinforcement learning, whose values lie around 0.
    pub(crate) fn differences(&self) -> Vec<(f64, f64)> {
        let is_relative = self.windows.is_empty();
        let both = self.step.iter().zip(self.baseline.iter().zip(&self.candidate));
        both.filter_map(|(step, (b, c))| Some((*step, (*b)?, (*c)?)))
            .filter(|(_, b, c)| b.is_finite() && c.is_finite())
            .map(|(step, b, c)| (step, if is_relative && b.abs() > 0.0 { (c - b) / b.abs() } else { c - b }))
            .collect()
    }

    /// Smallest and largest value that an axis of both sides shows; `None` without a finite value.
    pub(super) fn value_range(&self) -> Option<(f64, f64)> {
        ends::usual_range(self.baseline.iter().chain(&self.candidate).flatten().copied())
    }

    /// The largest absolute difference that an axis shows; `None` without a difference.
    pub(super) fn largest_difference(&self) -> Option<f64> {
        let of = if self.windows.is_empty() { None } else { self.value_range() };
        ends::largest_difference(self.differences().into_iter().map(|(_, apart)| apart), of)
    }

    /// First and last step of each stretch of steps that the candidate lacks.
    pub(crate) fn missing_stretches(&self) -> Vec<(f64, f64)> {
        self.stretches_of(|baseline, candidate| baseline.is_some() && candidate.is_none())
    }

    /// Unbroken stretches of finite values; a missing value or a long gap between steps ends a stretch.
    pub(crate) fn stretches(&self, values: &[Option<f64>]) -> Vec<Vec<(f64, f64)>> {
        let points = self.step.iter().zip(values).map(|(step, value)| (*step, value.filter(|value| value.is_finite())));
        self.split(points)
    }

    /// Unbroken stretches of differences.
    pub(crate) fn stretches_of_differences(&self) -> Vec<Vec<(f64, f64)>> {
        self.split(self.differences().into_iter().map(|(step, apart)| (step, Some(apart))))
    }

    #[allow(clippy::cast_precision_loss, reason = "at most 2000 points")]
    fn split(&self, points: impl Iterator<Item = (f64, Option<f64>)>) -> Vec<Vec<(f64, f64)>> {
        let span = self.step.last().unwrap_or(&0.0) - self.step.first().unwrap_or(&0.0);
        // Thinned curves have uneven steps, up to seven times the usual distance.
        let gap = 12.0 * span / self.step.len().max(1) as f64;
        let mut stretches: Vec<Vec<(f64, f64)>> = vec![Vec::new()];
        for (step, value) in points {
            let far = stretches.last().and_then(|stretch| stretch.last()).is_some_and(|(last, _)| step - last > gap);
            if far || value.is_none() {
                stretches.push(Vec::new());
            }
            if let (Some(value), Some(stretch)) = (value, stretches.last_mut()) {
                stretch.push((step, value));
            }
        }
        stretches.retain(|stretch| !stretch.is_empty());
        stretches
    }
}

/// The windows of a unit; the first one starts at the step `first`.
#[allow(clippy::cast_precision_loss, reason = "steps in a picture")]
fn windows_of(unit: &CurveUnit, first: Option<f64>) -> Vec<DrawnWindow> {
    let Some((windows, first)) = unit.windows.as_ref().zip(first) else { return Vec::new() };
    let ends = windows.to_step.iter().map(|step| *step as f64);
    let starts = std::iter::once(first).chain(ends.clone());
    let means = windows.baseline.iter().zip(&windows.candidate);
    let of = |((from, to), (b, c)): ((f64, f64), (&Number, &Number))| DrawnWindow {
        steps: (from, to.max(from)),
        baseline: b.0,
        candidate: c.0,
    };
    starts.zip(ends).zip(means).map(of).collect()
}

/// A centred moving average whose window is a fortieth of the points.
#[allow(clippy::cast_precision_loss, reason = "at most 2000 points")]
pub(crate) fn smooth(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let half = (points.len() / 80).max(1);
    let at = |index: usize| {
        // The window shrinks towards both ends, so that it stays centred.
        let half = half.min(index).min(points.len() - 1 - index);
        let window = points.get(index - half..=index + half).unwrap_or_default();
        window.iter().map(|(_, value)| value).sum::<f64>() / window.len().max(1) as f64
    };
    points.iter().enumerate().map(|(index, (step, _))| (*step, at(index))).collect()
}
