//! Judges all models of a run together: tests, the correction for their number, and the findings that follow.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::decision::{self, TestedDrop};
use super::draft::{self, UnitDraft};
use super::measure::TestInput;
use super::texts::{Lengths, count_lengths, text_places};
use super::{change, comparable, excerpt, rules, shard};
use crate::compare::evaluation::{binomial, holm};
use crate::judge::rule::Rule;
use crate::kind::SampleId;
use crate::pair::evaluation::PairedModel;
use crate::policy::Policy;
use crate::policy::evaluation::margin::MetricScale;
use crate::policy::evaluation::{Correction, EvaluationPolicy};
use crate::policy::value::Pattern;
use crate::read::evaluation::EvaluationRun;
use crate::result::finding::Finding;
use crate::result::number::Number;
use crate::result::unit::{EvaluationUnit, FlippedSample};
use crate::verdict::{Profile, Severity, Side};

pub use super::texts::TextReader;

/// Most sample ids that a unit lists.
const EXAMPLES: usize = 20;
/// Most samples whose texts are shown.
const FLIPPED: usize = 3;
/// Rules about scores that got worse.
const DROPS: [&Rule; 2] = [&rules::DROP, &rules::SMALL_DROP];

/// The judged units of a run, with all findings.
#[derive(Debug, Default)]
pub struct JudgedEvaluation {
    /// The units with their own findings; verdicts follow once the policy is applied.
    pub units: Vec<JudgedEvaluationUnit>,
    /// Findings about a task, or about a one-sided model and all of its tasks, indexed by the `task` of units.
    pub tasks: Vec<Vec<Finding>>,
    /// Findings about models and the policy.
    pub rest: Vec<Finding>,
    /// Keys of `evaluation.margin` that fitted a unit.
    pub used: BTreeSet<String>,
}

/// A unit with its findings.
#[derive(Debug)]
pub struct JudgedEvaluationUnit {
    /// The unit.
    pub unit: EvaluationUnit,
    /// Findings about it alone.
    pub findings: Vec<Finding>,
    /// Index of its task among the `tasks` of the run; `None` for pooled units.
    pub task: Option<usize>,
}

/// Judges paired `models`, and reports the one-sided models in `lonely`. `texts` reads the texts of samples that are shown.
pub fn judge(
    models: &[PairedModel<'_>],
    lonely: &[(Side, &EvaluationRun)],
    policy: &Policy,
    texts: &TextReader<'_>,
) -> JudgedEvaluation {
    let mut judged = JudgedEvaluation::default();
    let mut drafts = Vec::new();
    for model in models {
        judged.rest.extend(comparable::model_findings(model));
        let mut of_tasks = draft::model_drafts(model, policy, &mut judged.tasks);
        leave_out(model, &mut of_tasks, &policy.evaluation);
        let pools = draft::pool_drafts(model, &of_tasks, policy);
        drafts.extend(of_tasks);
        drafts.extend(pools);
    }
    for (side, run) in lonely {
        // Findings about the model apply to each of its tasks.
        judged.tasks.push(comparable::missing_model_findings(*side, run));
        let place = judged.tasks.len() - 1;
        for (name, task) in run.tasks.iter().filter(|(name, _)| policy.evaluation.judges(name)) {
            drafts.extend(draft::unpaired_units(&run.model, name, task, *side, place));
        }
    }
    test(&mut drafts, policy);
    changes(&mut drafts, policy);
    drafts.par_iter_mut().for_each(|draft| explain(draft, texts));
    name_other_extraction(&mut drafts);
    lengths_of(&mut drafts, texts);
    judged.used = drafts.iter().filter_map(|draft| draft.key.clone()).collect();
    judged.units = drafts
        .into_iter()
        .map(|draft| JudgedEvaluationUnit { unit: draft.unit, findings: draft.findings, task: draft.task })
        .collect();
    judged
}

/// Runs all tests, corrects for their number, and adds the findings about drops.
fn test(drafts: &mut [UnitDraft<'_>], policy: &Policy) {
    let evaluation = &policy.evaluation;
    let tests = drafts.iter().filter(|draft| draft.unit.test.is_some()).count() as u64;
    let chances: Vec<_> = drafts
        .par_iter()
        .map(|draft| {
            let evidence = draft.measured.evidence.as_ref().filter(|_| draft.unit.test.is_some())?;
            Some(evidence.chances(tests, draft.unit.higher_is_better.is_some()))
        })
        .collect();
    let raw: Vec<f64> = chances.iter().flatten().map(|chances| chances.worse).collect();
    let mut adjusted = corrected(&raw, evaluation).into_iter();
    for (draft, chances) in drafts.iter_mut().zip(chances) {
        let Some(chances) = chances else { continue };
        let adjusted = adjusted.next().unwrap_or(1.0);
        (draft.unit.p_value, draft.unit.p_adjusted) = (Some(Number(chances.worse)), Some(Number(adjusted)));
        let Some(drop) = draft.unit.drop else { continue };
        let decided = TestedDrop { unit: &draft.unit, drop: drop.0, adjusted, better: chances.better };
        let better = chances.better;
        draft.findings.extend(decision::drop_finding(&decided, evaluation));
        draft.findings.extend(decision::lost_answers_finding(&decided, lacks_answers(draft), evaluation));
        draft.findings.extend(decision::too_good(&draft.unit, better, evaluation));
        let detectable = draft.unit.detectable.map_or(0.0, |detectable| detectable.0);
        let most = evaluation.max_detectable.get() * unit_size(draft);
        if policy.profile == Profile::Release && detectable > most {
            let finding =
                decision::metric_finding(&rules::NOT_DETECTABLE, &draft.unit).with_severity(Severity::Incomplete);
            draft.findings.push(finding.with("detectable", detectable).with("most", most));
        }
    }
    if let Some(preset) = evaluation.preset {
        for draft in drafts.iter_mut().filter(|draft| draft.source.is_some()) {
            draft.findings.extend(decision::outside_band_finding(&draft.unit, preset));
        }
    }
}

/// Counts the tasks that the policy leaves out, in the account of the model's first unit.
fn leave_out(model: &PairedModel<'_>, drafts: &mut [UnitDraft<'_>], policy: &EvaluationPolicy) {
    let Some(draft) = drafts.first_mut() else { return };
    let names: BTreeSet<&String> = model.baseline.tasks.keys().chain(model.candidate.tasks.keys()).collect();
    for name in names.into_iter().filter(|name| !policy.judges(name)) {
        draft.unit.evidence.left_out += 1;
        draft.unit.evidence.example("left-out", name.as_str());
    }
}

/// Whether the baseline has the answers of a metric with their values, and the candidate only has the score. Damaged answers have a
/// finding of their own.
fn lacks_answers(draft: &UnitDraft<'_>) -> bool {
    let is_by_scores = matches!(draft.measured.evidence, Some(TestInput::Scores(_)));
    draft.source.is_some_and(|(metric, [baseline, candidate])| {
        is_by_scores
            && baseline.has_values(&metric.filter, &metric.metric)
            && !candidate.has_values(&metric.filter, &metric.metric)
            && candidate.damages.is_empty()
    })
}

/// Length of a metric's scale: 100 for points, else 1.
fn unit_size(draft: &UnitDraft<'_>) -> f64 {
    let is_points = draft.measured.scale == Some(MetricScale::Points) && !draft.unit.is_relative;
    if is_points { 100.0 } else { 1.0 }
}

fn corrected(chances: &[f64], policy: &EvaluationPolicy) -> Vec<f64> {
    match policy.correction {
        Correction::Holm => holm::adjust(chances),
        Correction::None => chances.to_vec(),
    }
}

/// Adds findings about answers that changed in both directions, where no drop or gain is reported.
fn changes(drafts: &mut [UnitDraft<'_>], policy: &Policy) {
    let evaluation = &policy.evaluation;
    let expected = evaluation.answers_changed.get();
    let is_exact = policy.profile == Profile::BitExact;
    let counts = |draft: &&mut UnitDraft<'_>| {
        matches!(draft.measured.evidence, Some(TestInput::Counts { .. }))
            && draft.unit.test.is_some()
            && !draft.unit.is_sampled
    };
    let mut family: Vec<&mut UnitDraft<'_>> = drafts.iter_mut().filter(|draft| is_exact || counts(draft)).collect();
    let chance = |unit: &EvaluationUnit| binomial::upper_tail(unit.worse + unit.better, unit.paired, expected);
    let chances: Vec<f64> = family.iter().map(|draft| chance(&draft.unit)).collect();
    for (draft, chance) in family.iter_mut().zip(corrected(&chances, evaluation)) {
        let says = |rule| draft.findings.iter().any(|finding| finding.is(rule));
        if says(&rules::DROP) || says(&rules::BETTER) && !is_exact {
            continue;
        }
        if is_exact && draft.unit.worse + draft.unit.better > 0 {
            draft.findings.push(decision::changed_answers_finding(&draft.unit, 0.0, Severity::Fail));
        } else if chance <= evaluation.alpha.get() && counts(draft) {
            let severity = rules::ANSWERS_CHANGED.severity;
            draft.findings.push(decision::changed_answers_finding(&draft.unit, expected, severity));
        }
    }
}

/// Adds details from the samples: examples, their texts, and classes of document numbers.
fn explain(draft: &mut UnitDraft<'_>, texts: &TextReader<'_>) {
    let Some((metric, sides)) = draft.source.filter(|_| draft.unit.test.is_some()) else { return };
    let mut worse: Vec<(usize, f64)> = draft.measured.losses.iter().copied().filter(|(_, loss)| *loss > 0.0).collect();
    worse.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    worse.truncate(EXAMPLES);
    let pair = |(place, _): &(usize, f64)| metric.pairs.get(*place);
    draft.unit.examples = worse.iter().filter_map(pair).map(|pair| pair.id.clone()).collect();
    let is_told = draft.findings.iter().any(|finding| finding.severity > Severity::Info);
    if is_told {
        let flipped = worse.iter().filter_map(pair).take(FLIPPED).filter_map(|pair| {
            let (baseline, candidate) = text_places(metric, sides, pair.places)?;
            Some(excerpt::flipped_sample(pair.id.clone(), &texts(baseline, candidate)?))
        });
        draft.unit.flipped = flipped.collect::<Vec<FlippedSample>>();
        let changes = worse.iter().filter_map(pair).filter_map(|pair| change::kind(pair, metric, sides, texts));
        let change = change::common(&changes.collect::<Vec<_>>());
        let first: Vec<String> = draft.unit.examples.iter().take(FLIPPED).map(sample_name).collect();
        for finding in draft.findings.iter_mut().filter(|finding| finding.is_any(&DROPS) && !first.is_empty()) {
            finding.facts.insert("first".to_owned(), first.clone().into());
            finding.facts.extend(change.map(|change| ("change".to_owned(), change.as_str().into())));
        }
    }
    let numbered: Vec<(u64, bool)> = draft
        .measured
        .losses
        .iter()
        .filter_map(|(place, loss)| Some((shard::number(&metric.pairs.get(*place)?.id)?, *loss > 0.0)))
        .collect();
    if let Some(found) = shard::find(&numbered) {
        draft.unit.shard = Some(found.shard);
        let finding = decision::metric_finding(&rules::SHARD_PATTERN, &draft.unit)
            .with("modulus", found.shard.modulus)
            .with("remainder", found.shard.remainder);
        draft.findings.push(finding.with("inside", found.inside).with("worse", found.worse));
    }
}

/// Notes with a drop that another extraction of the same answers and metric keeps its score: the form of the answers changed.
fn name_other_extraction(drafts: &mut [UnitDraft<'_>]) {
    /// Share of the drop up to which another extraction's counts as none.
    const KEPT: f64 = 0.25;
    let drop = |unit: &EvaluationUnit| unit.drop.map(|drop| drop.0).filter(|_| unit.test.is_some());
    let own = |unit: &EvaluationUnit| (unit.model.clone(), unit.task.clone(), unit.metric.clone());
    let all: Vec<_> = drafts
        .iter()
        .filter_map(|draft| Some((own(&draft.unit), draft.unit.filter.clone()?, drop(&draft.unit)?)))
        .collect();
    for draft in drafts.iter_mut().filter(|draft| draft.unit.filter.is_some()) {
        let (place, Some(lost)) = (own(&draft.unit), drop(&draft.unit)) else { continue };
        let kept = all.iter().find(|(other, _, drop)| *other == place && *drop <= KEPT * lost);
        for finding in draft.findings.iter_mut().filter(|finding| finding.is_any(&DROPS)) {
            finding.facts.extend(kept.map(|(_, filter, _)| ("kept_by".to_owned(), filter.as_str().into())));
        }
    }
}

/// The number or name of a sample.
fn sample_name(id: &SampleId) -> String {
    match id {
        SampleId::Number(number) => number.to_string(),
        SampleId::Text(text) => text.clone(),
    }
}

/// Adds findings about answers that end early or late, once per task, to a unit with a drop where there is one.
fn lengths_of(drafts: &mut [UnitDraft<'_>], texts: &TextReader<'_>) {
    let mut by_task: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (place, draft) in drafts.iter().enumerate() {
        if let Some(task) = draft.task.filter(|_| draft.source.is_some() && draft.unit.test.is_some()) {
            by_task.entry(task).or_default().push(place);
        }
    }
    for places in by_task.into_values() {
        let has_drop = |place: &&usize| {
            let draft = drafts.get(**place);
            draft.is_some_and(|draft| draft.findings.iter().any(|finding| finding.is(&rules::DROP)))
        };
        let Some(place) = places.iter().find(has_drop).or(places.first()) else { continue };
        let Some(draft) = drafts.get_mut(*place) else { continue };
        let Some((metric, sides)) = draft.source else { continue };
        let found = count_lengths(metric, sides, texts);
        draft.findings.extend(of_lengths(&draft.unit, found));
    }
}

fn of_lengths(unit: &EvaluationUnit, found: Lengths) -> Vec<Finding> {
    let kinds = [(&rules::TRUNCATED, found.truncated), (&rules::OVERLONG, found.overlong)];
    let patterns = kinds.into_iter().filter(|(_, count)| found.is_pattern(*count));
    let finding = |(rule, count): (_, u64)| {
        let share = count as f64 / found.pairs as f64;
        decision::metric_finding(rule, unit).with("count", count).with("paired", found.pairs).with("share", share)
    };
    patterns.map(finding).collect()
}

/// Findings about tasks that the policy names but of which nothing was tested. `tasks` are the tasks of all units, each with whether it was
/// tested.
pub fn missing_required_tasks(tasks: &[(&str, bool)], policy: &EvaluationPolicy) -> Vec<Finding> {
    let lacks = |pattern: &&Pattern| !tasks.iter().any(|(task, is_tested)| *is_tested && pattern.matches(task));
    // A name in the policy that matches no task may be misspelled, and would silently leave its task out.
    let is_idle = |pattern: &&Pattern| !tasks.iter().any(|(task, _)| pattern.matches(task));
    let missing = policy.required.iter().filter(lacks).chain(policy.tasks.iter().filter(is_idle));
    let missing: BTreeSet<&str> = missing.map(Pattern::as_str).collect();
    missing.into_iter().map(|task| Finding::new(&rules::REQUIRED_TASK_MISSING, task).with("task", task)).collect()
}
