//! Does an evaluation contradict itself? Its counts, test and drop against each other, its findings and the target's policy.

use super::refusal::{Checked, claims, demand, shown};
use super::said::{Key, Said, everything, is_of, number, says};
use crate::compare::evaluation::{binomial, holm, interval};
use crate::judge::evaluation::decision::{Decided, of_band, of_drop};
use crate::judge::evaluation::{margin, rules, run};
use crate::judge::rule::Rule;
use crate::policy::Policy;
use crate::policy::evaluation::margin::MetricScale;
use crate::policy::evaluation::{Correction, EvaluationPolicy, Tie};
use crate::result::GateResult;
use crate::result::finding::{Finding, verdict_of};
use crate::result::number::Number;
use crate::result::unit::{
    AnyUnit, Check, DivergenceKind, EvaluationScope, EvaluationTest, EvaluationUnit, FlippedSample, GenerationUnit,
    Unit,
};
use crate::verdict::{Profile, Verdict};

/// Ids and texts of samples that a unit lists.
const EXAMPLES: usize = 20;
const FLIPPED: usize = 3;
/// Characters of a text; a cut one has signs that say so.
const CHARACTERS: usize = 240;
/// Findings about a drop, of which a unit has one at most.
const OF_DROPS: [&Rule; 4] = [&rules::DROP, &rules::SMALL_DROP, &rules::POSSIBLE_DROP, &rules::BETTER];
/// Scales that a metric may have.
const SCALES: [Option<MetricScale>; 5] = [
    Some(MetricScale::Rate),
    Some(MetricScale::Points),
    Some(MetricScale::Perplexity),
    Some(MetricScale::BitsPerByte),
    None,
];

/// Refuses a metric that contradicts itself.
pub(super) fn check(unit: &EvaluationUnit, key: &Key, said: &Said<'_>, at: &str) -> Checked {
    let findings: Vec<&Finding> = said.all(key).collect();
    claims(unit.verdict, verdict(unit, said, said.counting(key)), at)?;
    counts(unit, at)?;
    arithmetic(unit, at)?;
    drops(unit, &findings, at)?;
    let has = |rule: &Rule| findings.iter().any(|finding| finding.code == rule.code);
    let broken = unit.baseline.is_some_and(|score| score.0.is_finite())
        && unit.candidate.is_some_and(|score| !score.0.is_finite());
    demand(!broken || has(&rules::NON_FINITE), at, || "its score is not finite, and no finding says so".into())?;
    demand(unit.shard.is_some() == has(&rules::SHARD_PATTERN), at, || {
        "its class of documents and its findings disagree".into()
    })
}

/// Refuses generations that contradict themselves.
pub(super) fn generations(unit: &GenerationUnit, key: &Key, said: &Said<'_>, at: &str) -> Checked {
    let findings: Vec<&Finding> = said.all(key).collect();
    claims(unit.verdict, of_generations(unit, said.counting(key)), at)?;
    let parts = [unit.near_ties, unit.far, unit.length, unit.unexplained];
    let total = parts.into_iter().fold(0, u64::saturating_add);
    demand(total == unit.changed && unit.changed <= unit.compared, at, || {
        format!("says that {} prompts changed, and tells of {total}", unit.changed)
    })?;
    let wrong = unit.far.saturating_add(unit.length);
    for (rule, count) in
        [(&rules::DIVERGES, unit.far), (&rules::STOP_DIFFERS, unit.length), (&rules::UNEXPLAINED, unit.unexplained)]
    {
        let told = |finding: &&Finding| {
            let same = number_is(finding, "count", count) && number_is(finding, "compared", unit.compared);
            finding.code == rule.code && same && number_is(finding, "wrong", wrong)
        };
        demand(count == 0 || findings.iter().any(told), at, || {
            format!("has {count} prompts that no finding `{}` tells", rule.code)
        })?;
    }
    let left = unit.unmatched > 0 || unit.compared == 0;
    let missing = [&rules::SAMPLES_UNPAIRED, &rules::DAMAGED, &rules::PROMPTS_DIFFER, &rules::METRIC_ERROR];
    demand(!left || says(&findings, &missing), at, || "lacks prompts, and no finding says so".into())?;
    let first = unit.first_divergence.as_ref();
    demand(first.is_some() == (unit.changed > 0), at, || "its first difference and its counts disagree".into())?;
    let Some(first) = first else { return Ok(()) };
    let is_wrong = matches!(first.kind, DivergenceKind::Far | DivergenceKind::Length);
    demand(is_wrong == (wrong > 0), at, || "its first difference is of a kind that its counts deny".into())?;
    first.texts.iter().try_for_each(|texts| short(texts, at))
}

/// Refuses chances that were corrected for another number of tests than there are.
pub(super) fn corrected(check: &Check, at: &str) -> Checked {
    let follows = |by: Correction| is_corrected(check, by);
    demand(follows(Correction::Holm) || follows(Correction::None), at, || {
        "its corrected chances do not follow from its tests".into()
    })
}

/// Refuses what the target's policy would have decided otherwise.
pub(super) fn fits(check: &Check, result: &GateResult, said: &Said<'_>, policy: &Policy) -> Checked {
    let at = || format!("checks.{}", check.id.as_str());
    let evaluation = &policy.evaluation;
    demand(is_corrected(check, evaluation.correction), &at(), || {
        "was not corrected for the number of tests as the target's policy says".into()
    })?;
    for unit in &check.units {
        let at = format!("{}, {}", at(), shown(&unit.name()));
        match unit {
            Unit::Evaluation(unit) => {
                unit_fits(unit, &said.all(&(check.id, unit.place())).collect::<Vec<_>>(), policy, &at)?
            }
            Unit::Generation(unit) => {
                generations_fit(unit, &said.all(&(check.id, unit.place())).collect::<Vec<_>>(), evaluation, &at)?;
            }
            _ => return Ok(()),
        }
    }
    required(check, result, evaluation, &at())
}

/// The verdict of a metric: that of its own findings and its task's, and none where nothing was tested.
pub(super) fn verdict(unit: &EvaluationUnit, said: &Said<'_>, own: &[&Finding]) -> Verdict {
    let is_task = unit.scope == EvaluationScope::Task;
    let of_task = if is_task { said.of_task(&unit.model, &unit.task) } else { &[] };
    run::verdict(unit, verdict_of(own.iter().chain(of_task).copied()))
}

/// The verdict of generations.
pub(super) fn of_generations(unit: &GenerationUnit, own: &[&Finding]) -> Verdict {
    match verdict_of(own.iter().copied()) {
        Verdict::Pass if unit.compared == 0 => Verdict::Skipped,
        verdict => verdict,
    }
}

fn number_is(finding: &Finding, name: &str, count: u64) -> bool {
    #[allow(clippy::cast_precision_loss, reason = "counts are held below 2^53")]
    let count = count as f64;
    number(finding, name) == Some(count)
}

/// Counts that fit each other, and lists that are as short as the gate writes them.
fn counts(unit: &EvaluationUnit, at: &str) -> Checked {
    let changed = unit.worse.saturating_add(unit.better);
    demand(changed <= unit.paired && unit.paired <= unit.samples, at, || {
        format!("says that {changed} of {} pairs changed, of {} samples", unit.paired, unit.samples)
    })?;
    let listed = unit.examples.len() <= EXAMPLES && unit.flipped.len() <= FLIPPED;
    demand(listed && unit.examples.len() as u64 <= unit.worse, at, || "lists more samples than it has".into())?;
    let known = |flipped: &&FlippedSample| unit.examples.contains(&flipped.id);
    demand(unit.flipped.iter().all(|flipped| known(&flipped)), at, || "shows a sample that it does not list".into())?;
    unit.flipped.iter().try_for_each(|flipped| short(flipped, at))
}

fn short(texts: &FlippedSample, at: &str) -> Checked {
    let all = [&texts.question, &texts.target, &texts.baseline, &texts.candidate];
    let is_short = all.into_iter().all(|text| text.chars().nth(CHARACTERS).is_none());
    demand(is_short, at, || format!("shows a text of more than {CHARACTERS} characters"))
}

/// Drop, interval and chance that follow from the counts, where they do.
fn arithmetic(unit: &EvaluationUnit, at: &str) -> Checked {
    let numbers = [unit.drop, unit.p_value, unit.p_adjusted, unit.detectable];
    let some = numbers.iter().flatten().count() + usize::from(unit.interval.is_some());
    let whole = if unit.test.is_some() { some == numbers.len() + 1 } else { some == 0 };
    demand(whole, at, || "has some numbers of a test and lacks others".into())?;
    let chance = |value: Option<Number>| value.is_none_or(|value| (0.0..=1.0).contains(&value.0));
    let margin = unit.margin.0;
    demand(chance(unit.p_value) && chance(unit.p_adjusted) && margin.is_finite() && margin >= 0.0, at, || {
        "has a chance or a margin that is none".into()
    })?;
    if let (Some(Number(drop)), Some([Number(low), Number(high)])) = (unit.drop, unit.interval) {
        // What is not finite has no ends.
        let within = (low..=high).contains(&drop) || !drop.is_finite() || low.is_nan() || high.is_nan();
        demand(within, at, || "its drop lies outside of its interval".into())?;
    }
    let Some(test) = unit.test else { return Ok(()) };
    let is_paired = unit.paired > 0;
    demand(is_paired == (test != EvaluationTest::Unpaired), at, || "has pairs, or none, against its test".into())?;
    if test != EvaluationTest::Mcnemar {
        return Ok(());
    }
    let (worse, better) = (binomial::mcnemar(unit.worse, unit.better), binomial::mcnemar(unit.better, unit.worse));
    let due = if unit.higher_is_better.is_some() { worse } else { (2.0 * worse.min(better)).min(1.0) };
    demand(unit.p_value == Some(Number(due)), at, || "its chance does not follow from its counts".into())?;
    if unit.is_relative {
        return Ok(());
    }
    #[allow(clippy::cast_precision_loss, reason = "counts are held below 2^53")]
    let drop = (unit.worse as f64 - unit.better as f64) / unit.paired as f64;
    let drop = if unit.higher_is_better.is_none() { drop.abs() } else { drop };
    let found = interval::detectable_rate(unit.worse, unit.better, unit.paired).map(Number);
    demand(unit.drop == Some(Number(drop)) && unit.detectable == found, at, || {
        "its drop does not follow from its counts".into()
    })
}

/// At most one finding about a drop, with the unit's own numbers, and none that its drop denies.
fn drops(unit: &EvaluationUnit, findings: &[&Finding], at: &str) -> Checked {
    let mut told = findings.iter().filter(|finding| is_of(finding, &OF_DROPS));
    let Some(finding) = told.next() else { return Ok(()) };
    demand(told.next().is_none(), at, || "has two findings about one drop".into())?;
    let is = |rule: &Rule| finding.code == rule.code;
    let drop = unit.drop.map(|drop| drop.0);
    let same = number(finding, "drop") == drop.map(f64::abs) && number(finding, "margin") == Some(unit.margin.0);
    let chance = is(&rules::BETTER) || number(finding, "p") == unit.p_adjusted.map(|chance| chance.0);
    demand(same && chance, at, || "its drop and the finding about it have different numbers".into())?;
    let large = drop.is_some_and(|drop| drop.abs() >= unit.margin.0);
    let falls = drop.is_some_and(|drop| drop > 0.0);
    let fits = if is(&rules::BETTER) { large && !falls } else { falls && (large || is(&rules::SMALL_DROP)) };
    demand(fits, at, || format!("its drop is not what `{}` says", finding.code))
}

fn tested<'c>(check: &'c Check) -> Vec<&'c EvaluationUnit> {
    let tested = |unit: &'c Unit| match unit {
        Unit::Evaluation(unit) if unit.test.is_some() => Some(unit.as_ref()),
        _ => None,
    };
    check.units.iter().filter_map(tested).collect()
}

fn is_corrected(check: &Check, by: Correction) -> bool {
    let tested = tested(check);
    let raw: Vec<f64> = tested.iter().map(|unit| unit.p_value.map_or(f64::NAN, |chance| chance.0)).collect();
    let due = match by {
        Correction::Holm => holm::adjust(&raw),
        Correction::None => raw,
    };
    tested.iter().zip(due).all(|(unit, due)| unit.p_adjusted == Some(Number(due)))
}

/// Margin, decision, band and size of what could be found, under the target's policy.
fn unit_fits(unit: &EvaluationUnit, findings: &[&Finding], policy: &Policy, at: &str) -> Checked {
    let evaluation = &policy.evaluation;
    let matters = |scale| margin::of(&unit.task, &unit.metric, scale, &evaluation.margin);
    let is_due = |scale: Option<MetricScale>| {
        let due = matters(scale);
        Number(due.value) == unit.margin && due.is_relative == unit.is_relative
    };
    // A metric that its name does not tell has the scale of its values, which the result does not hold.
    let scores = [unit.baseline, unit.candidate].into_iter().flatten().map(|score| score.0);
    let named = MetricScale::of(&unit.metric).is_some_and(|scale| scale != MetricScale::Points);
    let scale = margin::scale(&unit.metric, scores);
    let fits = if named && scale.is_some() { is_due(scale) } else { SCALES.into_iter().any(is_due) };
    demand(fits, at, || "has another margin than the target's policy".into())?;
    let has = |rule: &Rule| findings.iter().any(|finding| finding.code == rule.code);
    if let (Some(drop), Some(adjusted)) = (unit.drop, unit.p_adjusted) {
        let better = binomial::mcnemar(unit.better, unit.worse);
        let better = if unit.test == Some(EvaluationTest::Mcnemar) { better } else { 1.0 };
        let decided = Decided { unit, drop: drop.0, adjusted: adjusted.0, better };
        let due = of_drop(&decided, evaluation);
        let told = findings.iter().find(|finding| is_of(finding, &OF_DROPS));
        let is_better = told.is_some_and(|finding| finding.code == rules::BETTER.code);
        let due = due.map(|finding| finding.code);
        let same = due.as_ref() == told.map(|finding| &finding.code) || due.is_none() && is_better;
        demand(same, at, || "was not decided by the target's levels".into())?;
    }
    let outside = evaluation.preset.and_then(|preset| of_band(unit, preset)).is_some();
    demand(outside == has(&rules::OUTSIDE_BAND), at, || "was not judged by the policy's preset".into())?;
    let points = if MetricScale::of(&unit.metric) == Some(MetricScale::Points) { 100.0 } else { 1.0 };
    let most = evaluation.max_detectable.get() * points;
    let coarse = policy.profile == Profile::Release && unit.detectable.is_some_and(|least| least.0 > most);
    demand(!coarse || has(&rules::NOT_DETECTABLE), at, || "could not have seen a drop, and no finding says so".into())
}

/// Limits of the target's policy on generations.
fn generations_fit(unit: &GenerationUnit, findings: &[&Finding], policy: &EvaluationPolicy, at: &str) -> Checked {
    if let (Tie::Nats(nats), Some(limit)) = (policy.tie, unit.tie_limit) {
        demand(limit == Number(nats.get()), at, || "was judged by another tie limit than the target's policy".into())?;
    }
    let beyond = unit.logprob_mean_abs.is_some_and(|mean| mean.0 > policy.logprob_mean.get());
    let told = findings.iter().any(|finding| finding.code == rules::LOGPROBS_DIFFER.code);
    demand(!beyond || told, at, || "its log-probabilities differ, and no finding says so".into())
}

/// Tasks that the target's policy demands were judged, or a finding says that they were not.
fn required(check: &Check, result: &GateResult, policy: &EvaluationPolicy, at: &str) -> Checked {
    let tasks: Vec<(&str, bool)> = check.units.iter().filter_map(tested_task).collect();
    if tasks.is_empty() {
        return Ok(());
    }
    let due = run::required(&tasks, policy);
    let told = |due: &Finding| everything(result).any(|finding| finding.code == due.code && finding.place == due.place);
    let untold = due.iter().find(|due| !told(due));
    demand(untold.is_none(), at, || {
        format!("lacks {}, which the target's policy requires", shown(untold.map_or("", |finding| &finding.place)))
    })
}

/// The task of a unit, and whether it was tested.
fn tested_task(unit: &Unit) -> Option<(&str, bool)> {
    match unit {
        Unit::Evaluation(unit) => Some((&unit.task, unit.test.is_some())),
        Unit::Generation(unit) => Some((&unit.task, unit.compared > 0)),
        _ => None,
    }
}
