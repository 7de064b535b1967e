//! Units before they are tested: a metric of a task, of a pool, or of a task that one side lacks.

use std::collections::BTreeSet;

use rayon::prelude::*;

use super::margin::{self, MetricMargin};
use super::measure::{self, Effect, MeasuredMetric, TestInput};
use super::pooled::{self, Member, Pool};
use super::{account, comparable, decision, rules, witness};
use crate::pair::evaluation::{PairedMetric, PairedModel, PairedTask};
use crate::policy::Policy;
use crate::policy::evaluation::margin::MetricScale;
use crate::read::evaluation::{EvaluationTask, SampleValue, ScoreName};
use crate::result::finding::Finding;
use crate::result::number::Number;
use crate::result::unit::EvaluationUnit;
use crate::verdict::Side;

/// A unit while it is judged.
pub(super) struct UnitDraft<'a> {
    /// The unit.
    pub(super) unit: EvaluationUnit,
    /// Measured numbers of its metric.
    pub(super) measured: MeasuredMetric,
    /// The metric and both sides of its task; `None` for pooled units and for what one side lacks.
    pub(super) source: Option<(&'a PairedMetric, [&'a EvaluationTask; 2])>,
    /// Index of the findings about its task; `None` for pooled units.
    pub(super) task: Option<usize>,
    /// Key of the policy that sets its margin; `None` for a built-in margin.
    pub(super) key: Option<String>,
    /// Findings about it alone.
    pub(super) findings: Vec<Finding>,
}

/// Drafts for the tasks of a model. Findings about each task are added to `told`.
pub(super) fn model_drafts<'a>(
    model: &'a PairedModel<'_>,
    policy: &Policy,
    told: &mut Vec<Vec<Finding>>,
) -> Vec<UnitDraft<'a>> {
    let evaluation = &policy.evaluation;
    let mut drafts = Vec::new();
    for task in model.tasks.iter().filter(|task| evaluation.judges(&task.name)) {
        let sides = [model.baseline, model.candidate].map(|run| run.tasks.get(&task.name));
        let of_task = comparable::task_findings(task, sides, evaluation).into_iter();
        told.push(of_task.map(|finding| finding.with("model", model.name.as_str())).collect());
        let place = told.len() - 1;
        let [Some(baseline), Some(candidate)] = sides else { continue };
        let sides = [baseline, candidate];
        let measured: Vec<UnitDraft<'a>> =
            task.metrics.par_iter().map(|metric| draft(model, task, metric, sides, policy, place)).collect();
        drafts.extend(measured);
        for (side, name) in &task.metrics_missing {
            let (metric, filter) = name.split_once(',').map_or((name.as_str(), None), |(m, f)| (m, Some(f)));
            let run = if *side == Side::Baseline { candidate } else { baseline };
            let name = ScoreName { metric: metric.to_owned(), filter: filter.map(str::to_owned) };
            drafts.push(unpaired_unit(&model.name, &task.name, run, &name, comparable::other_side(*side), place));
        }
    }
    for (side, name) in model.missing.iter().filter(|(_, name)| evaluation.judges(name)) {
        told.push(vec![comparable::missing_task_finding(*side, name).with("model", model.name.as_str())]);
        let run = if *side == Side::Baseline { model.candidate } else { model.baseline };
        if let Some(task) = run.tasks.get(name) {
            drafts.extend(unpaired_units(&model.name, name, task, comparable::other_side(*side), told.len() - 1));
        }
    }
    drafts
}

/// Units of a task that one side lacks: one per metric, none of them tested.
pub(super) fn unpaired_units<'a>(
    model: &str,
    name: &str,
    task: &EvaluationTask,
    side: Side,
    place: usize,
) -> Vec<UnitDraft<'a>> {
    let nameless = ScoreName { metric: String::new(), filter: None };
    let mut names: BTreeSet<ScoreName> = task.scores.keys().cloned().collect();
    for (filter, samples) in task.samples.iter().flat_map(|samples| &samples.by_filter) {
        // All samples of a filter have the same metrics unless the file is damaged.
        let metrics = samples.first().into_iter().flat_map(|sample| sample.values.keys());
        names.extend(metrics.map(|metric| ScoreName { metric: metric.clone(), filter: filter.clone() }));
    }
    if names.is_empty() {
        names.insert(nameless);
    }
    names.iter().map(|of| unpaired_unit(model, name, task, of, side, place)).collect()
}

fn unpaired_unit<'a>(
    model: &str,
    name: &str,
    task: &EvaluationTask,
    of: &ScoreName,
    side: Side,
    place: usize,
) -> UnitDraft<'a> {
    let score = task.scores.get(of);
    let mut unit = EvaluationUnit::untested(model, name, &of.metric, of.filter.clone());
    unit.is_sampled = task.is_sampled;
    unit.higher_is_better = score.and_then(|score| score.higher_is_better);
    let value = score.map(|score| Number(score.value));
    unit.evidence.add_alone(side, samples_of(task, &of.filter).max(1));
    unit.evidence.offered = unit.evidence.unpaired_count();
    let place_of = if side == Side::Baseline { &mut unit.baseline } else { &mut unit.candidate };
    *place_of = value;
    unit.samples = samples_of(task, &of.filter);
    let matters = margin::metric_margin(
        name,
        &of.metric,
        margin::scale(&of.metric, value.map(|value| value.0)),
        &Default::default(),
    );
    (unit.margin, unit.is_relative) = (Number(matters.value), matters.is_relative);
    UnitDraft {
        unit,
        measured: MeasuredMetric::default(),
        source: None,
        task: Some(place),
        key: None,
        findings: Vec::new(),
    }
}

/// Number of samples that a task holds under a filter.
fn samples_of(task: &EvaluationTask, filter: &Option<String>) -> u64 {
    task.samples.as_ref().and_then(|samples| samples.by_filter.get(filter)).map_or(0, Vec::len) as u64
}

/// A metric of a task, measured and not yet tested.
fn draft<'a>(
    model: &PairedModel<'_>,
    task: &PairedTask,
    metric: &'a PairedMetric,
    sides: [&'a EvaluationTask; 2],
    policy: &Policy,
    place: usize,
) -> UnitDraft<'a> {
    let is_equal = task.unequal.is_empty();
    let errors = sides.iter().map(|side| side.errors).sum::<u64>();
    let mut measured = measure::measure(metric, errors == 0);
    if !is_equal {
        measured.evidence = None;
    }
    let matters = margin::metric_margin(&task.name, &metric.metric, measured.scale, &policy.evaluation.margin);
    let mut unit = EvaluationUnit::untested(&model.name, &task.name, &metric.metric, metric.filter.clone());
    unit.higher_is_better = metric.higher_is_better;
    unit.is_sampled = task.is_sampled;
    unit.samples = metric.samples;
    unit.baseline = measured.baseline.map(Number);
    unit.candidate = measured.candidate.map(Number);
    fill(&mut unit, &measured, &matters);
    unit.evidence = account::metric_account(&unit, metric, &measured, sides);
    let mut findings = Vec::new();
    if is_equal {
        findings.extend(of_values(&unit, metric, &measured));
        findings.extend(witness::contradiction_findings(&unit, metric, sides));
    }
    UnitDraft { unit, measured, source: Some((metric, sides)), task: Some(place), key: matters.key, findings }
}

/// Writes the measured numbers into a unit.
fn fill(unit: &mut EvaluationUnit, measured: &MeasuredMetric, matters: &MetricMargin) {
    (unit.margin, unit.is_relative) = (Number(matters.value), matters.is_relative);
    let Some(evidence) = &measured.evidence else { return };
    let Some(effect) = measured.effect(matters.is_relative) else { return };
    let is_paired = !matches!(evidence, TestInput::Scores(_));
    // A change of a metric without a direction has a size but no sign.
    let effect = if unit.higher_is_better.is_none() { absolute(effect) } else { effect };
    unit.test = Some(evidence.test());
    unit.drop = Some(Number(effect.drop));
    unit.interval = Some(effect.interval.map(Number));
    unit.detectable = Some(Number(effect.detectable));
    if is_paired {
        (unit.worse, unit.better) = measured.changed();
        unit.paired = measured.losses.len() as u64;
    }
}

fn absolute(effect: Effect) -> Effect {
    let [low, high] = effect.interval;
    match effect.drop < 0.0 {
        true => Effect { drop: -effect.drop, interval: [-high, -low], ..effect },
        false => effect,
    }
}

/// Findings about values that are not finite, were not computed, or have no usable standard error.
fn of_values(unit: &EvaluationUnit, metric: &PairedMetric, measured: &MeasuredMetric) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some((baseline, candidate)) = measured.non_finite {
        let finding = decision::metric_finding(&rules::NON_FINITE, unit).with("baseline", baseline);
        findings.push(finding.with("candidate", candidate));
    }
    if measured.uncomputed > 0 {
        let finding = decision::metric_finding(&rules::METRIC_ERROR, unit).with("count", measured.uncomputed);
        findings.push(finding.with("total", metric.samples).with("side", Side::Baseline.as_str()));
    }
    let left = metric.left_out;
    let is_told = left.documents + left.prompts + comparable::failed_samples(metric) + left.contradictory > 0
        || left.only_baseline + left.only_candidate > 0
        || !findings.is_empty();
    for side in measured.replaced_errors.iter().copied() {
        findings.push(decision::metric_finding(&rules::STDERR_REPLACED, unit).with("side", side.as_str()));
    }
    if unit.test.is_none() && (measured.lacks_error || !is_told) {
        findings.push(decision::metric_finding(&rules::NO_STDERR, unit));
    }
    findings
}

/// Pooled units of a model.
pub(super) fn pool_drafts<'a>(
    model: &PairedModel<'_>,
    drafts: &[UnitDraft<'_>],
    policy: &Policy,
) -> Vec<UnitDraft<'a>> {
    let members: Vec<Member> = drafts.iter().filter_map(member).collect();
    let mut groups = model.baseline.groups.clone();
    for (name, tasks) in &model.candidate.groups {
        groups.entry(name.clone()).or_insert_with(|| tasks.clone());
    }
    let pools = pooled::pools(&members, &groups);
    pools.into_iter().filter_map(|pool| pooled_draft(&model.name, pool, policy)).collect()
}

fn member(draft: &UnitDraft<'_>) -> Option<Member> {
    let (metric, _) = draft.source?;
    let evidence = draft.measured.evidence.clone().filter(|_| draft.measured.is_binary())?;
    let mut sums = (0.0, 0.0);
    for (place, _) in &draft.measured.losses {
        let pair = metric.pairs.get(*place)?;
        if let (SampleValue::Number(baseline), SampleValue::Number(candidate)) = (pair.baseline, pair.candidate) {
            sums = (sums.0 + baseline, sums.1 + candidate);
        }
    }
    Some(Member {
        task: draft.unit.task.clone(),
        metric: draft.unit.metric.clone(),
        filter: draft.unit.filter.clone(),
        higher_is_better: draft.unit.higher_is_better?,
        is_sampled: draft.unit.is_sampled,
        evidence,
        paired: draft.unit.paired,
        samples: draft.unit.samples,
        sums,
    })
}

fn pooled_draft<'a>(model: &str, pool: Pool, policy: &Policy) -> Option<UnitDraft<'a>> {
    let Pool { worse, better, paired, .. } = pool;
    let matters = margin::metric_margin(&pool.name, &pool.metric, Some(MetricScale::Rate), &policy.evaluation.margin);
    let mut unit = EvaluationUnit::untested(model, &pool.name, &pool.metric, pool.filter);
    unit.scope = pool.scope;
    unit.higher_is_better = Some(pool.higher_is_better);
    unit.is_sampled = pool.is_sampled;
    unit.samples = pool.samples;
    (unit.baseline, unit.candidate) = (Some(Number(pool.rates.0)), Some(Number(pool.rates.1)));
    let measured =
        MeasuredMetric::from_counts(measure::rate_effect(worse, better, paired)?, (worse, better), pool.rates);
    fill(&mut unit, &measured, &matters);
    (unit.worse, unit.better, unit.paired) = (worse, better, paired);
    Some(UnitDraft { unit, measured, source: None, task: None, key: matters.key, findings: Vec::new() })
}
