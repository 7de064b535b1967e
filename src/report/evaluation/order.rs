//! The order of evaluations: units and findings by their importance.

use std::cmp::{Ordering, Reverse};
use std::collections::HashMap;

use crate::judge::evaluation::rules as evaluation_rules;
use crate::judge::rule::Rule;
use crate::result::GateResult;
use crate::result::finding::{Fact, Finding};
use crate::result::unit::{AnyUnit, EvaluationScope, EvaluationUnit, GenerationUnit, RolloutUnit, Unit};
use crate::verdict::CheckId;

/// Rules that explain why a score dropped.
const REASONS: [&Rule; 3] =
    [&evaluation_rules::SHARD_PATTERN, &evaluation_rules::OVERLONG, &evaluation_rules::TRUNCATED];

/// Rules about a score that got worse.
const DROPS: [&Rule; 4] = [
    &evaluation_rules::DROP,
    &evaluation_rules::SMALL_DROP,
    &evaluation_rules::POSSIBLE_DROP,
    &evaluation_rules::ANSWERS_CHANGED,
];

/// The scores of a result, the worst first: by verdict, then by the drop against the margin.
pub(in crate::report) fn scores(result: &GateResult) -> Vec<&EvaluationUnit> {
    let mut units: Vec<&EvaluationUnit> = units(result)
        .filter_map(|unit| match unit {
            Unit::Evaluation(unit) => Some(unit.as_ref()),
            _ => None,
        })
        .collect();
    units.sort_by(|a, b| by_weight(a, b));
    units
}

/// The generations of a result, the worst first.
pub(in crate::report) fn generations(result: &GateResult) -> Vec<&GenerationUnit> {
    let mut units: Vec<&GenerationUnit> = units(result)
        .filter_map(|unit| match unit {
            Unit::Generation(unit) => Some(unit.as_ref()),
            _ => None,
        })
        .collect();
    units.sort_by_key(|unit| (Reverse(unit.verdict), Reverse(unit.far + unit.length), Reverse(unit.changed)));
    units
}

/// The steps of rollouts of a result, the worst first.
pub(in crate::report) fn rollouts(result: &GateResult) -> Vec<&RolloutUnit> {
    let mut units: Vec<&RolloutUnit> = units(result)
        .filter_map(|unit| match unit {
            Unit::Rollout(unit) => Some(unit.as_ref()),
            _ => None,
        })
        .collect();
    units.sort_by_key(|unit| Reverse(unit.verdict));
    units
}

fn units(result: &GateResult) -> impl Iterator<Item = &Unit> {
    result.checks.iter().flat_map(|check| &check.units)
}

fn by_weight(a: &EvaluationUnit, b: &EvaluationUnit) -> Ordering {
    let p = |unit: &EvaluationUnit| unit.p_adjusted.map_or(f64::INFINITY, |p| p.0);
    (b.verdict.cmp(&a.verdict))
        .then_with(|| weight(b).total_cmp(&weight(a)))
        .then_with(|| p(a).total_cmp(&p(b)))
        .then_with(|| a.title().cmp(&b.title()))
}

/// The drop in multiples of the margin: infinite for a score that is not finite, negative infinity without a comparison.
pub(in crate::report) fn weight(unit: &EvaluationUnit) -> f64 {
    match (unit.drop, unit.candidate) {
        (Some(drop), _) if drop.0.is_finite() => drop.0 / unit.margin.0.max(f64::MIN_POSITIVE),
        (Some(_), _) => f64::INFINITY,
        (None, Some(score)) if !score.0.is_finite() => f64::INFINITY,
        (None, _) => f64::NEG_INFINITY,
    }
}

/// The smallest drop that the test detects, in multiples of the margin; 0 if it is not known.
pub(super) fn detectable_drop(unit: &EvaluationUnit) -> f64 {
    unit.detectable.map_or(0.0, |detectable| detectable.0 / unit.margin.0.max(f64::MIN_POSITIVE))
}

/// Whether a finding is about an evaluation.
pub(in crate::report) fn is_about_evaluation(finding: &Finding) -> bool {
    finding.check == CheckId::Evaluation
}

/// The most informative of the findings as severe as `finding`: that of the worst unit, and a single task before several tasks.
pub(in crate::report) fn leading_finding<'a>(result: &'a GateResult, finding: &'a Finding) -> &'a Finding {
    let is_pooled = |unit: &&EvaluationUnit| unit.scope != EvaluationScope::Task;
    let mut scores = scores(result);
    scores.sort_by_key(|unit| (Reverse(unit.verdict), is_pooled(unit)));
    let names = scores.into_iter().map(EvaluationUnit::title);
    let mut places: HashMap<String, usize> = HashMap::new();
    for (place, name) in names.chain(generations(result).into_iter().map(AnyUnit::name)).enumerate() {
        places.entry(name).or_insert(place);
    }
    let place = |other: &Finding| places.get(&other.place).copied().unwrap_or(usize::MAX);
    let alike = result.findings.iter().filter(|other| is_about_evaluation(other) && other.severity == finding.severity);
    alike.min_by_key(|other| place(other)).unwrap_or(finding)
}

/// Findings that explain why the score of `finding` dropped; none if it is not about a score that got worse.
pub(in crate::report) fn drop_reasons<'a>(result: &'a GateResult, finding: &Finding) -> Vec<&'a Finding> {
    if !finding.is_any(&DROPS) {
        return Vec::new();
    }
    let task = |finding: &Finding| match finding.facts.get("task") {
        Some(Fact::Text(task)) => Some(task.clone()),
        _ => None,
    };
    let is_alike =
        |other: &Finding| other.place == finding.place || (task(other).is_some() && task(other) == task(finding));
    let reason = |rule: &&Rule| result.findings.iter().find(|other| other.is(rule) && is_alike(other));
    REASONS.iter().filter_map(reason).collect()
}
