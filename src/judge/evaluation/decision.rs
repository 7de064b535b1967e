//! Rules over a measured unit: a drop that chance does not explain, and answers that changed both ways.

use super::rules;
use crate::judge::rule::Rule;
use crate::judge::rule::artifacts::TOO_GOOD;
use crate::policy::evaluation::{EvaluationPolicy, EvaluationPreset};
use crate::result::finding::Finding;
use crate::result::unit::{EvaluationScope, EvaluationTest, EvaluationUnit};
use crate::verdict::{CheckId, Severity};

/// Share of the margin below which even a significant drop is not reported. Answers that are right or wrong have no such floor.
const FLOOR: f64 = 0.1;
/// Half-width of the band of `vllm-ascend`: relative to the candidate's score, and absolute. Scores are
/// rounded to four digits there (`np.isclose(baseline, candidate, rtol=0.05)`).
const BAND: (f64, f64) = (0.05, 1e-8);
/// Scale by which the candidate's score is rounded before the band is laid around it.
const FOUR_DIGITS: f64 = 1e4;
/// Factor above which a score is too good to be that of the same model.
const FACTOR: f64 = 3.0;

/// A unit with its drop and the p-values that decide about it.
pub(crate) struct TestedDrop<'a> {
    /// The unit.
    pub unit: &'a EvaluationUnit,
    /// The drop.
    pub drop: f64,
    /// P-value of the drop, corrected for the number of tests.
    pub adjusted: f64,
    /// P-value of the gain, not corrected.
    pub better: f64,
}

/// A finding about a metric, with the facts that all of them have.
pub(super) fn metric_finding(rule: &Rule, unit: &EvaluationUnit) -> Finding {
    let title = unit.title();
    let finding = Finding::new(rule, &title)
        .with("unit", title)
        .with("model", unit.model.as_str())
        .with("task", unit.task.as_str())
        .with("metric", unit.metric.as_str())
        .with("scope", unit.scope.as_str());
    match &unit.filter {
        Some(filter) => finding.with("filter", filter.as_str()),
        None => finding,
    }
}

/// Returns the finding about a drop or gain, if it is large and sure enough for one.
pub(crate) fn drop_finding(decided: &TestedDrop<'_>, policy: &EvaluationPolicy) -> Option<Finding> {
    let TestedDrop { unit, drop, adjusted, better } = *decided;
    let alpha = policy.alpha.get();
    let alpha_warn = policy.alpha_warn.get().max(alpha);
    let margin = unit.margin.0;
    let floor = if unit.test == Some(EvaluationTest::Mcnemar) { 0.0 } else { FLOOR * margin };
    let is_drop = drop > 0.0 && drop >= margin;
    let rule = if unit.higher_is_better.is_none() {
        // The metric has no known direction, so a change is only worth a look.
        (adjusted <= alpha_warn && is_drop).then_some((&rules::POSSIBLE_DROP, adjusted))
    } else if adjusted <= alpha && is_drop {
        Some((&rules::DROP, adjusted))
    } else if adjusted <= alpha && drop > 0.0 && drop >= floor {
        Some((&rules::SMALL_DROP, adjusted))
    } else if adjusted <= alpha_warn && is_drop {
        Some((&rules::POSSIBLE_DROP, adjusted))
    } else {
        (better <= alpha && drop < 0.0 && -drop >= margin).then_some((&rules::BETTER, better))
    };
    let (rule, chance) = rule?;
    Some(with_numbers(metric_finding(rule, unit), unit, drop.abs(), chance))
}

/// Returns the finding about a drop of the candidate's scores that only answers could decide. `lacks` says whether the baseline has
/// answers and the candidate has none.
pub(super) fn lost_answers_finding(
    decided: &TestedDrop<'_>,
    lacks: bool,
    policy: &EvaluationPolicy,
) -> Option<Finding> {
    let TestedDrop { unit, drop, adjusted, .. } = *decided;
    let is_drop = drop > 0.0 && drop >= unit.margin.0;
    // A policy that accepts scores alone has chosen the weaker test, and a significant drop needs no stronger one.
    let is_told = policy.accept_scores || adjusted <= policy.alpha.get() && unit.higher_is_better.is_some();
    if !lacks || !is_drop || is_told {
        return None;
    }
    Some(with_numbers(metric_finding(&rules::ANSWERS_NEEDED, unit), unit, drop, adjusted))
}

/// Returns the finding about a score that is too good for the same model: above three times the baseline's, or below a third of it where
/// less is better. `better` is the p-value of the gain.
pub(super) fn too_good(unit: &EvaluationUnit, better: f64, policy: &EvaluationPolicy) -> Option<Finding> {
    let (baseline, candidate) = (unit.baseline?.0, unit.candidate?.0);
    let kind = match unit.higher_is_better? {
        true if candidate > FACTOR * baseline && baseline >= 0.0 => "best",
        false if candidate < baseline / FACTOR && candidate >= 0.0 => "below",
        _ => return None,
    };
    let is_judged = unit.scope == EvaluationScope::Task && better <= policy.alpha.get();
    let finding = || metric_finding(&TOO_GOOD, unit).of_check(CheckId::Evaluation).with("kind", kind);
    is_judged.then(|| finding().with("value", candidate).with("reference", baseline))
}

fn with_numbers(mut finding: Finding, unit: &EvaluationUnit, drop: f64, chance: f64) -> Finding {
    finding = finding.with("drop", drop).with("margin", unit.margin.0).with("paired", unit.paired).with("p", chance);
    let scores = [("baseline", unit.baseline), ("candidate", unit.candidate), ("detectable", unit.detectable)];
    for (name, number) in scores.into_iter().filter_map(|(name, number)| Some((name, number?))) {
        finding = finding.with(name, number.0);
    }
    if let Some(test) = unit.test {
        finding = finding.with("test", test.as_str());
        if test != EvaluationTest::Unpaired {
            finding = finding.with("worse", unit.worse).with("better", unit.better);
        }
    }
    for (name, _) in [("relative", unit.is_relative), ("sampled", unit.is_sampled)].into_iter().filter(|(_, is)| *is) {
        finding = finding.with(name, "true");
    }
    if unit.higher_is_better.is_none() {
        finding = finding.with("two_sided", "true");
    }
    finding
}

/// The finding about answers that changed in both directions; `expected` is the share that noise explains.
pub(super) fn changed_answers_finding(unit: &EvaluationUnit, expected: f64, severity: Severity) -> Finding {
    metric_finding(&rules::ANSWERS_CHANGED, unit)
        .with_severity(severity)
        .with("changed", unit.worse + unit.better)
        .with("worse", unit.worse)
        .with("better", unit.better)
        .with("paired", unit.paired)
        .with("expected", expected)
}

/// The finding about a score outside of the band of a preset.
pub(crate) fn outside_band_finding(unit: &EvaluationUnit, preset: EvaluationPreset) -> Option<Finding> {
    let (baseline, candidate) = (unit.baseline?.0, unit.candidate?.0);
    let rounded = (candidate * FOUR_DIGITS).round() / FOUR_DIGITS;
    let (relative, absolute) = BAND;
    let is_inside = (baseline - rounded).abs() <= absolute + relative * rounded.abs();
    let is_judged = unit.scope == EvaluationScope::Task && baseline.is_finite() && candidate.is_finite();
    (is_judged && !is_inside).then(|| {
        metric_finding(&rules::OUTSIDE_BAND, unit)
            .with("baseline", baseline)
            .with("candidate", candidate)
            .with("band", relative)
            .with("preset", preset.as_str())
    })
}
