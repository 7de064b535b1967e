//! Completeness of both curves: missing steps, values that are not finite, and failures that hide behind healthy-looking numbers.
//!
//! These rules apply whichever other rules the policy chooses.

use std::collections::BTreeSet;

use super::code;
use super::rule_results::RuleResults;
use super::standstill;
use crate::kind::Role;
use crate::pair::curve::CurvePair;
use crate::pair::curve::align::{AlignedPoints, StepCoverage};
use crate::read::curve::series::{Series, Steps};
use crate::read::metric;
use crate::result::outcome::{Note, RuleOutcome};
use crate::verdict::{Severity, Verdict};

/// Rule about the share of the baseline's steps that were compared.
pub(crate) const COVERAGE: &str = "coverage";
/// Steps that are listed by number.
pub(crate) const LISTED: usize = 100;
/// Least number of equal values in a row of a frozen loss.
const FROZEN: usize = 3;
/// Least length of a constant curve that is reported.
const CONSTANT_FROM: usize = 10;

/// Other curves of the same run, and the coverage it needs.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'r, 'a> {
    /// The gradient norm, in which a hidden failure shows.
    pub gradients: Option<&'r CurvePair<'a>>,
    /// Coverage of the run's loss or reward; `None` where the curve itself is that metric.
    pub lead: Option<&'r StepCoverage>,
    /// Whether the run has another loss.
    pub has_other_losses: bool,
    /// The share of steps that must be covered.
    pub needed: f64,
}

/// Applies all rules of this file.
pub fn judge(pair: &CurvePair<'_>, around: &Surroundings<'_, '_>, results: &mut RuleResults) {
    coverage(pair, around, results);
    extra(pair, around, results);
    non_finite(pair, results);
    baseline_non_finite(pair, results);
    if pair.role == Role::Loss {
        hidden_failure(pair, around.gradients, results);
        standstill::judge(pair, results);
        constant(pair, around.has_other_losses, results);
    }
}

/// Whether every step of a metric is needed: of a loss, and of all metrics in reinforcement learning. A part is enough of a
/// secondary metric.
pub(crate) fn must_be_whole(role: Role, is_rl: bool) -> bool {
    is_rl || matches!(role, Role::Loss | Role::EvalLoss)
}

fn severity_of_gap(pair: &CurvePair<'_>, share: f64) -> Severity {
    if must_be_whole(pair.role, pair.is_rl) || share <= 0.0 { Severity::Incomplete } else { Severity::Warn }
}

fn coverage(pair: &CurvePair<'_>, around: &Surroundings<'_, '_>, results: &mut RuleResults) {
    let (coverage, needed) = (&pair.points.coverage, around.needed);
    let share = coverage.share();
    let whole = coverage.both == coverage.baseline && coverage.both > 0;
    let holds = share >= needed && coverage.both > 0;
    // Steps that the loss lacks as well are reported once, with the loss.
    let of_lead = around.lead.map(StepCoverage::share).filter(|of_lead| *of_lead < 1.0);
    let told = of_lead.is_some_and(|of_lead| share > 0.0 && share + 0.01 >= of_lead)
        || pair.obstacle().is_some()
        || is_last_evaluation(pair, around.lead);
    // A missing step is never counted as agreement, not even a single one.
    let severity = if told {
        Severity::Info
    } else if holds {
        Severity::Warn
    } else {
        severity_of_gap(pair, share)
    };
    let verdict = if whole {
        Verdict::Pass
    } else if told {
        Verdict::Skipped
    } else {
        severity.verdict()
    };
    let covered = Note::new(Note::STEPS_COVERED).with("both", coverage.both).with("baseline", coverage.baseline);
    results.add_outcome(RuleOutcome::new(COVERAGE, Some(share), (None, Some(needed)), verdict).noting([covered]));
    if !whole && !told {
        results.add_finding(&code::COVERAGE, |finding| {
            finding
                .with_severity(severity)
                .with("both", coverage.both)
                .with("baseline", coverage.baseline)
                .with("share", share)
                .with("limit", needed)
                .with("missing", ranges(&coverage.missing))
        });
    }
}

/// Whether each side evaluated once, at different steps, while the training loss is fully covered: each run evaluated at its own
/// end, and nothing is missing.
fn is_last_evaluation(pair: &CurvePair<'_>, lead: Option<&StepCoverage>) -> bool {
    // A single value that is not finite is a failure, and no evaluation at another step.
    let is_single = |series: &Series| matches!(series.values.as_slice(), [value] if value.is_finite());
    let is_evaluation = matches!(pair.role, Role::EvalLoss | Role::EvalScore);
    let is_alone = is_single(&pair.baseline.series) && is_single(&pair.candidate.series) && pair.points.is_empty();
    is_evaluation && is_alone && lead.is_some_and(|lead| lead.both > 0 && lead.both == lead.baseline)
}

/// Reports steps that only the candidate has; extra steps that its loss has as well are reported once, with the loss.
///
/// A candidate may run longer, but most of its steps must have a baseline.
fn extra(pair: &CurvePair<'_>, around: &Surroundings<'_, '_>, results: &mut RuleResults) {
    let coverage = &pair.points.coverage;
    let said = around.lead.is_some_and(|lead| lead.candidate_only > 0);
    // A part of the baseline is enough for a secondary metric.
    let is_most_beyond = around.lead.is_none() && coverage.beyond > coverage.span;
    let severity = if is_most_beyond { Severity::Incomplete } else { code::BASELINE_SHORTER.severity };
    if coverage.both > 0 && coverage.candidate_only > 0 && !said {
        results.add_finding(&code::BASELINE_SHORTER, |finding| {
            let finding = finding.with_severity(severity);
            finding.with("extra", coverage.candidate_only).with("both", coverage.both)
        });
    }
}

fn ranges(missing: &[(u64, u64)]) -> Vec<String> {
    missing
        .iter()
        .map(|(first, last)| if first == last { first.to_string() } else { format!("{first}..{last}") })
        .collect()
}

/// Steps at which one side only is not finite.
pub(crate) fn one_sided_non_finite<'a>(points: &'a AlignedPoints<'a>) -> impl Iterator<Item = u64> + 'a {
    points.iter().filter(|(_, b, c)| b.is_finite() != c.is_finite()).map(|(step, ..)| step)
}

/// The first step from which on the candidate is not finite to the end, while the baseline is.
pub(crate) fn lasting_failure(points: &AlignedPoints<'_>) -> Option<u64> {
    let values = points.baseline.iter().zip(points.candidate.iter()).rev();
    let broken = values.take_while(|(b, c)| b.is_finite() && !c.is_finite()).count();
    if broken == 0 { None } else { points.steps.get(points.len() - broken) }
}

/// Fails a metric of any kind that is not finite on the candidate side alone; adds nothing for other metrics.
pub(crate) fn fail_non_finite(pair: &CurvePair<'_>, results: &mut RuleResults) {
    if pair.points.iter().any(|(_, b, c)| b.is_finite() && !c.is_finite()) {
        non_finite(pair, results);
    }
}

fn non_finite(pair: &CurvePair<'_>, results: &mut RuleResults) {
    let points = &pair.points;
    let of_candidate: Vec<u64> =
        points.iter().filter(|(_, b, c)| b.is_finite() && !c.is_finite()).map(|(step, ..)| step).collect();
    let is_speed = pair.role.is_performance() || metric::is_count(&pair.metric);
    let severity = if is_speed { Severity::Info } else { Severity::Fail };
    let first = of_candidate.first().copied();
    let verdict = if first.is_none() { Verdict::Pass } else { severity.verdict() };
    #[allow(clippy::cast_precision_loss, reason = "a count of steps")]
    let count = of_candidate.len() as f64;
    results.add_outcome(
        RuleOutcome::new("non_finite", Some(count), (None, Some(0.0)), verdict)
            .noting(Note::at_step(Note::FROM_STEP, first)),
    );
    if let Some(first) = first {
        let code = if is_speed { &code::NON_FINITE_SPEED } else { &code::NON_FINITE };
        results.add_finding(code, |finding| {
            let is_nan = points.iter().all(|(_, b, c)| !b.is_finite() || c.is_finite() || c.is_nan());
            let finding = finding.with_severity(severity).with("count", of_candidate.len());
            finding.with("step", first.to_string()).with("is_nan", u64::from(is_nan))
        });
    }
}

/// Steps without a finite value in the baseline cannot be judged: beyond one step in twenty it is not a baseline.
fn baseline_non_finite(pair: &CurvePair<'_>, results: &mut RuleResults) {
    let steps: Vec<u64> = pair.points.iter().filter(|(_, b, _)| !b.is_finite()).map(|(step, ..)| step).collect();
    let Some(first) = steps.first() else { return };
    let severity = if steps.len() * 20 > pair.points.len() { Severity::Incomplete } else { Severity::Warn };
    results.add_finding(&code::NON_FINITE_BASELINE, |finding| {
        finding.with_severity(severity).with("count", steps.len()).with("step", first.to_string())
    });
}

/// Detects NaN that a trainer filtered out of the logged loss, by writing 0.0 or repeating the last good value: the gradient norm
/// at these steps is NaN, infinite or 0.
fn hidden_failure(pair: &CurvePair<'_>, gradients: Option<&CurvePair<'_>>, results: &mut RuleResults) {
    let bad = |of: fn(&(u64, f64, f64)) -> f64| -> BTreeSet<u64> {
        let all = gradients.map(|gradients| &gradients.points).into_iter().flat_map(AlignedPoints::iter);
        all.filter(|point| !of(point).is_finite() || of(point) == 0.0).map(|(step, ..)| step).collect()
    };
    let candidate = frozen(&pair.points.steps, &pair.points.candidate, &bad(|(.., c)| *c));
    let baseline = frozen(&pair.points.steps, &pair.points.baseline, &bad(|(_, b, _)| *b));
    let alone: Vec<u64> = candidate.difference(&baseline).copied().collect();
    let (steps, side, severity) = match (alone.is_empty(), baseline.is_empty(), candidate.is_empty()) {
        (false, ..) => (alone, "candidate", Severity::Fail),
        (true, false, true) => (baseline.iter().copied().collect(), "baseline", Severity::Incomplete),
        (true, false, false) => (candidate.iter().copied().collect(), "both", Severity::Warn),
        (true, true, _) => (Vec::new(), "", Severity::Info),
    };
    let first = steps.first().copied();
    let verdict = if first.is_none() { Verdict::Pass } else { severity.verdict() };
    let unknown = (first.is_none() && gradients.is_none()).then(|| Note::new(Note::NO_GRADIENT_NORM));
    #[allow(clippy::cast_precision_loss, reason = "a count of steps")]
    let count = gradients.map(|_| steps.len() as f64);
    results.add_outcome(
        RuleOutcome::new("hidden_failure", count, (None, Some(0.0)), verdict)
            .noting(Note::at_step(Note::FROM_STEP, first))
            .noting(unknown),
    );
    if let Some(first) = first {
        let value_at = |points: &AlignedPoints, of: fn(&(u64, f64, f64)) -> f64| {
            points.iter().find(|(step, ..)| *step == first).map_or(0.0, |point| of(&point))
        };
        let of: fn(&(u64, f64, f64)) -> f64 = if side == "baseline" { |(_, b, _)| *b } else { |(.., c)| *c };
        let is_zero = value_at(&pair.points, of) == 0.0;
        let gradient = gradients.map_or(0.0, |gradients| value_at(&gradients.points, of));
        results.add_finding(&code::HIDDEN_FAILURE, |finding| {
            finding
                .with_severity(severity)
                .with("count", steps.len())
                .with("step", first.to_string())
                .with("side", side)
                .with("logged", if is_zero { "zero" } else { "repeated" })
                .with("gradient", if gradient == 0.0 { "zero" } else { "non-finite" })
        });
    }
}

/// Steps at which the loss is 0.0 or repeats its value, and the gradient norm is NaN, infinite or 0 (`bad`).
fn frozen(steps: &Steps, values: &[f64], bad: &BTreeSet<u64>) -> BTreeSet<u64> {
    let mut found = BTreeSet::new();
    if bad.is_empty() {
        return found;
    }
    let points: Vec<(u64, f64)> = steps.iter().zip(values.iter().copied()).collect();
    for equal in points.chunk_by(|a, b| a.1.to_bits() == b.1.to_bits()) {
        let zero = equal.first().is_some_and(|(_, value)| *value == 0.0);
        if zero || equal.len() >= FROZEN {
            found.extend(equal.iter().map(|(step, _)| *step).filter(|step| bad.contains(step)));
        }
    }
    found
}

fn constant(pair: &CurvePair<'_>, has_other: bool, results: &mut RuleResults) {
    let still = |values: &[f64]| {
        values.len() >= CONSTANT_FROM
            && values.first().is_some_and(|first| values.iter().all(|value| value.to_bits() == first.to_bits()))
    };
    let side = match (still(&pair.points.baseline), still(&pair.points.candidate)) {
        (true, true) => "both",
        (true, false) => "baseline",
        (false, true) if !results.has_finding(&code::FROZEN) => "candidate",
        (false, _) => return,
    };
    // A part of the loss that is switched off on both sides says nothing about the other losses.
    let severity = if side == "both" && has_other { Severity::Info } else { code::CONSTANT.severity };
    results.add_finding(&code::CONSTANT, |finding| finding.with_severity(severity).with("side", side));
}
