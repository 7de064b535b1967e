//! All models of a run judged together: tests, the correction for their number, and the findings that follow.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::decision::{self, Decided};
use super::margin::{self, Matters};
use super::measure::{self, Effect, Evidence, Measured};
use super::pooled::{self, Member, Pool};
use super::texts::{Lengths, lengths, places};
use super::{comparable, excerpt, rules, shard};
use crate::compare::evaluation::{binomial, holm};
use crate::judge::finding::Finding;
use crate::judge::number::Number;
use crate::judge::unit::{EvaluationScope, EvaluationUnit, FlippedSample};
use crate::pair::evaluation::{PairedMetric, PairedModel, PairedTask};
use crate::policy::Policy;
use crate::policy::evaluation::margin::MetricScale;
use crate::policy::evaluation::{Correction, EvaluationPolicy};
use crate::policy::value::Pattern;
use crate::read::evaluation::{Run, SampleId, ScoreName, Task, Value};
use crate::verdict::{Profile, Severity, Side, Verdict};

pub use super::texts::Texts;

/// Ids that a unit lists.
const EXAMPLES: usize = 20;
/// Samples whose texts are shown.
const FLIPPED: usize = 3;

/// Units of a run and what is said of them.
#[derive(Debug, Default)]
pub struct Judged {
    /// The units, each with findings of its own; their verdicts follow once the policy has applied all.
    pub units: Vec<JudgedUnit>,
    /// Findings about a task, or about a model of one side with all its tasks, by [`JudgedUnit::task`].
    pub tasks: Vec<Vec<Finding>>,
    /// Findings about models and the policy.
    pub rest: Vec<Finding>,
    /// Keys of `evaluation.margin` that fitted a unit.
    pub used: BTreeSet<String>,
}

/// A unit with its findings.
#[derive(Debug)]
pub struct JudgedUnit {
    /// The unit.
    pub unit: EvaluationUnit,
    /// Findings about it alone.
    pub findings: Vec<Finding>,
    /// Its task's place in [`Judged::tasks`]; `None` for pooled units.
    pub task: Option<usize>,
}

/// A unit while it is judged.
struct Draft<'a> {
    unit: EvaluationUnit,
    measured: Measured,
    /// The metric and both sides of its task; `None` for pooled units and what one side lacks.
    source: Option<(&'a PairedMetric, [&'a Task; 2])>,
    task: Option<usize>,
    key: Option<String>,
    findings: Vec<Finding>,
}

/// Judges paired `models`, and says what `lonely` ones of one side are. `texts` reads the texts of samples that are shown.
pub fn judge(models: &[PairedModel<'_>], lonely: &[(Side, &Run)], policy: &Policy, texts: &Texts<'_>) -> Judged {
    let mut judged = Judged::default();
    let mut drafts = Vec::new();
    for model in models {
        judged.rest.extend(comparable::of_model(model));
        let of_tasks = of_model(model, policy, &mut judged.tasks);
        let pools = pools_of(model, &of_tasks, policy);
        drafts.extend(of_tasks);
        drafts.extend(pools);
    }
    for (side, run) in lonely {
        // What is said of the model holds for each of its tasks.
        judged.tasks.push(comparable::of_missing_model(*side, run));
        let place = judged.tasks.len() - 1;
        for (name, task) in run.tasks.iter().filter(|(name, _)| policy.evaluation.judges(name)) {
            drafts.extend(unpaired_units(&run.model, name, task, *side, place));
        }
    }
    test(&mut drafts, policy);
    changes(&mut drafts, policy);
    drafts.par_iter_mut().for_each(|draft| explain(draft, texts));
    lengths_of(&mut drafts, texts);
    judged.used = drafts.iter().filter_map(|draft| draft.key.clone()).collect();
    judged.units = drafts
        .into_iter()
        .map(|draft| JudgedUnit { unit: draft.unit, findings: draft.findings, task: draft.task })
        .collect();
    judged
}

/// The tasks of a model, their findings added to `told`.
fn of_model<'a>(model: &'a PairedModel<'_>, policy: &Policy, told: &mut Vec<Vec<Finding>>) -> Vec<Draft<'a>> {
    let evaluation = &policy.evaluation;
    let mut drafts = Vec::new();
    for task in model.tasks.iter().filter(|task| evaluation.judges(&task.name)) {
        let sides = [model.baseline, model.candidate].map(|run| run.tasks.get(&task.name));
        let of_task = comparable::of_task(task, sides, evaluation).into_iter();
        told.push(of_task.map(|finding| finding.with("model", model.name.as_str())).collect());
        let place = told.len() - 1;
        let [Some(baseline), Some(candidate)] = sides else { continue };
        let sides = [baseline, candidate];
        let measured: Vec<Draft<'a>> =
            task.metrics.par_iter().map(|metric| draft(model, task, metric, sides, policy, place)).collect();
        drafts.extend(measured);
        for (side, name) in &task.metrics_missing {
            let (metric, filter) = name.split_once(',').map_or((name.as_str(), None), |(m, f)| (m, Some(f)));
            let run = if *side == Side::Baseline { candidate } else { baseline };
            let name = ScoreName { metric: metric.to_owned(), filter: filter.map(str::to_owned) };
            drafts.push(unpaired_unit(&model.name, &task.name, run, &name, comparable::other(*side), place));
        }
    }
    for (side, name) in model.missing.iter().filter(|(_, name)| evaluation.judges(name)) {
        told.push(vec![comparable::of_missing_task(*side, name).with("model", model.name.as_str())]);
        let run = if *side == Side::Baseline { model.candidate } else { model.baseline };
        if let Some(task) = run.tasks.get(name) {
            drafts.extend(unpaired_units(&model.name, name, task, comparable::other(*side), told.len() - 1));
        }
    }
    drafts
}

/// Units of a task that one side lacks: one per metric, none of them tested.
fn unpaired_units<'a>(model: &str, name: &str, task: &Task, side: Side, place: usize) -> Vec<Draft<'a>> {
    let nameless = ScoreName { metric: String::new(), filter: None };
    let mut names: BTreeSet<ScoreName> = task.scores.keys().cloned().collect();
    for (filter, samples) in task.samples.iter().flat_map(|samples| &samples.by_filter) {
        // All samples of a filter have the same metrics, but for damage.
        let metrics = samples.first().into_iter().flat_map(|sample| sample.values.keys());
        names.extend(metrics.map(|metric| ScoreName { metric: metric.clone(), filter: filter.clone() }));
    }
    if names.is_empty() {
        names.insert(nameless);
    }
    names.iter().map(|of| unpaired_unit(model, name, task, of, side, place)).collect()
}

fn unpaired_unit<'a>(model: &str, name: &str, task: &Task, of: &ScoreName, side: Side, place: usize) -> Draft<'a> {
    let score = task.scores.get(of);
    let mut unit = EvaluationUnit::untested(model, name, &of.metric, of.filter.clone());
    unit.is_sampled = task.is_sampled;
    unit.higher_is_better = score.and_then(|score| score.higher_is_better);
    let value = score.map(|score| Number(score.value));
    let place_of = if side == Side::Baseline { &mut unit.baseline } else { &mut unit.candidate };
    *place_of = value;
    let samples = task.samples.as_ref().and_then(|samples| samples.by_filter.get(&of.filter));
    unit.samples = samples.map_or(0, Vec::len) as u64;
    let matters =
        margin::of(name, &of.metric, margin::scale(&of.metric, value.map(|value| value.0)), &Default::default());
    (unit.margin, unit.is_relative) = (Number(matters.value), matters.is_relative);
    Draft { unit, measured: Measured::default(), source: None, task: Some(place), key: None, findings: Vec::new() }
}

/// A metric of a task, measured and not yet tested.
fn draft<'a>(
    model: &PairedModel<'_>,
    task: &PairedTask,
    metric: &'a PairedMetric,
    sides: [&'a Task; 2],
    policy: &Policy,
    place: usize,
) -> Draft<'a> {
    let is_equal = task.unequal.is_empty();
    let errors = sides.iter().map(|side| side.errors).sum::<u64>();
    let mut measured = measure::measure(metric, errors == 0);
    if !is_equal {
        measured.evidence = None;
    }
    let matters = margin::of(&task.name, &metric.metric, measured.scale, &policy.evaluation.margin);
    let mut unit = EvaluationUnit::untested(&model.name, &task.name, &metric.metric, metric.filter.clone());
    unit.higher_is_better = metric.higher_is_better;
    unit.is_sampled = task.is_sampled;
    unit.samples = metric.samples;
    unit.baseline = measured.baseline.map(Number);
    unit.candidate = measured.candidate.map(Number);
    fill(&mut unit, &measured, &matters);
    let mut findings = Vec::new();
    if is_equal {
        findings.extend(of_values(&unit, metric, &measured));
    }
    Draft { unit, measured, source: Some((metric, sides)), task: Some(place), key: matters.key, findings }
}

/// Enters what was measured into a unit.
fn fill(unit: &mut EvaluationUnit, measured: &Measured, matters: &Matters) {
    (unit.margin, unit.is_relative) = (Number(matters.value), matters.is_relative);
    let Some(evidence) = &measured.evidence else { return };
    let Some(effect) = measured.effect(matters.is_relative) else { return };
    let is_paired = !matches!(evidence, Evidence::Scores(_));
    // A change of a metric without a direction has a size alone.
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

/// Findings about values: not finite, not computed, without an error.
fn of_values(unit: &EvaluationUnit, metric: &PairedMetric, measured: &Measured) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some((baseline, candidate)) = measured.non_finite {
        let finding = decision::about(&rules::NON_FINITE, unit).with("baseline", baseline);
        findings.push(finding.with("candidate", candidate));
    }
    if measured.uncomputed > 0 {
        let finding = decision::about(&rules::METRIC_ERROR, unit).with("count", measured.uncomputed);
        findings.push(finding.with("total", metric.samples).with("side", Side::Baseline.as_str()));
    }
    let left = metric.left_out;
    let is_told = left.documents + left.prompts + comparable::failed_samples(metric) + left.contradictory > 0
        || left.only_baseline + left.only_candidate > 0
        || !findings.is_empty();
    if unit.test.is_none() && (measured.lacks_error || !is_told) {
        findings.push(decision::about(&rules::NO_STDERR, unit));
    }
    findings
}

/// Pooled units of a model.
fn pools_of<'a>(model: &PairedModel<'_>, drafts: &[Draft<'_>], policy: &Policy) -> Vec<Draft<'a>> {
    let members: Vec<Member> = drafts.iter().filter_map(member).collect();
    let mut groups = model.baseline.groups.clone();
    for (name, tasks) in &model.candidate.groups {
        groups.entry(name.clone()).or_insert_with(|| tasks.clone());
    }
    let pools = pooled::pools(&members, &groups);
    pools.into_iter().filter_map(|pool| pooled_draft(&model.name, pool, policy)).collect()
}

fn member(draft: &Draft<'_>) -> Option<Member> {
    let (metric, _) = draft.source?;
    let evidence = draft.measured.evidence.clone().filter(|_| draft.measured.is_binary())?;
    let mut sums = (0.0, 0.0);
    for (place, _) in &draft.measured.losses {
        let pair = metric.pairs.get(*place)?;
        if let (Value::Number(baseline), Value::Number(candidate)) = (pair.baseline, pair.candidate) {
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

fn pooled_draft<'a>(model: &str, pool: Pool, policy: &Policy) -> Option<Draft<'a>> {
    let Pool { worse, better, paired, .. } = pool;
    let matters = margin::of(&pool.name, &pool.metric, Some(MetricScale::Rate), &policy.evaluation.margin);
    let mut unit = EvaluationUnit::untested(model, &pool.name, &pool.metric, pool.filter);
    unit.scope = pool.scope;
    unit.higher_is_better = Some(pool.higher_is_better);
    unit.is_sampled = pool.is_sampled;
    unit.samples = pool.samples;
    (unit.baseline, unit.candidate) = (Some(Number(pool.rates.0)), Some(Number(pool.rates.1)));
    let measured = Measured::of_counts(measure::rate_effect(worse, better, paired)?, (worse, better), pool.rates);
    fill(&mut unit, &measured, &matters);
    (unit.worse, unit.better, unit.paired) = (worse, better, paired);
    Some(Draft { unit, measured, source: None, task: None, key: matters.key, findings: Vec::new() })
}

/// Runs all tests, corrects for their number, and adds the findings about drops.
fn test(drafts: &mut [Draft<'_>], policy: &Policy) {
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
        let decided = Decided { unit: &draft.unit, drop: drop.0, adjusted, better: chances.better };
        draft.findings.extend(decision::of_drop(&decided, evaluation));
        let detectable = draft.unit.detectable.map_or(0.0, |detectable| detectable.0);
        let most = evaluation.max_detectable.get() * unit_size(draft);
        if policy.profile == Profile::Release && detectable > most {
            let finding = decision::about(&rules::NOT_DETECTABLE, &draft.unit).with_severity(Severity::Incomplete);
            draft.findings.push(finding.with("detectable", detectable).with("most", most));
        }
    }
    if let Some(preset) = evaluation.preset {
        for draft in drafts.iter_mut().filter(|draft| draft.source.is_some()) {
            draft.findings.extend(decision::of_band(&draft.unit, preset));
        }
    }
}

/// The whole of a metric's scale: points count to a hundred.
fn unit_size(draft: &Draft<'_>) -> f64 {
    let is_points = draft.measured.scale == Some(MetricScale::Points) && !draft.unit.is_relative;
    if is_points { 100.0 } else { 1.0 }
}

fn corrected(chances: &[f64], policy: &EvaluationPolicy) -> Vec<f64> {
    match policy.correction {
        Correction::Holm => holm::adjust(chances),
        Correction::None => chances.to_vec(),
    }
}

/// Adds findings about answers that changed both ways, where no drop or gain says more.
fn changes(drafts: &mut [Draft<'_>], policy: &Policy) {
    let evaluation = &policy.evaluation;
    let expected = evaluation.answers_changed.get();
    let is_exact = policy.profile == Profile::BitExact;
    let counts = |draft: &&mut Draft<'_>| {
        matches!(draft.measured.evidence, Some(Evidence::Counts { .. }))
            && draft.unit.test.is_some()
            && !draft.unit.is_sampled
    };
    let mut family: Vec<&mut Draft<'_>> = drafts.iter_mut().filter(|draft| is_exact || counts(draft)).collect();
    let chance = |unit: &EvaluationUnit| binomial::upper_tail(unit.worse + unit.better, unit.paired, expected);
    let chances: Vec<f64> = family.iter().map(|draft| chance(&draft.unit)).collect();
    for (draft, chance) in family.iter_mut().zip(corrected(&chances, evaluation)) {
        let says = |code| draft.findings.iter().any(|finding| finding.code == code);
        if says(rules::DROP.code) || says(rules::BETTER.code) && !is_exact {
            continue;
        }
        if is_exact && draft.unit.worse + draft.unit.better > 0 {
            draft.findings.push(decision::of_changes(&draft.unit, 0.0, Severity::Fail));
        } else if chance <= evaluation.alpha.get() && counts(draft) {
            let severity = rules::ANSWERS_CHANGED.severity;
            draft.findings.push(decision::of_changes(&draft.unit, expected, severity));
        }
    }
}

/// Adds what the samples say: examples, their texts, and classes of documents.
fn explain(draft: &mut Draft<'_>, texts: &Texts<'_>) {
    let Some((metric, sides)) = draft.source.filter(|_| draft.unit.test.is_some()) else { return };
    let mut worse: Vec<(usize, f64)> = draft.measured.losses.iter().copied().filter(|(_, loss)| *loss > 0.0).collect();
    worse.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    worse.truncate(EXAMPLES);
    let pair = |(place, _): &(usize, f64)| metric.pairs.get(*place);
    draft.unit.examples = worse.iter().filter_map(pair).map(|pair| pair.id.clone()).collect();
    let is_told = draft.findings.iter().any(|finding| finding.severity > Severity::Info);
    if is_told {
        let flipped = worse.iter().filter_map(pair).take(FLIPPED).filter_map(|pair| {
            let (ours, theirs) = places(metric, sides, pair.places)?;
            Some(excerpt::of(pair.id.clone(), &texts(ours, theirs)?))
        });
        draft.unit.flipped = flipped.collect::<Vec<FlippedSample>>();
    }
    let numbered: Vec<(u64, bool)> = draft
        .measured
        .losses
        .iter()
        .filter_map(|(place, loss)| Some((shard::number(&metric.pairs.get(*place)?.id)?, *loss > 0.0)))
        .collect();
    if let Some(found) = shard::find(&numbered) {
        draft.unit.shard = Some(found.shard);
        let finding = decision::about(&rules::SHARD_PATTERN, &draft.unit)
            .with("modulus", found.shard.modulus)
            .with("remainder", found.shard.remainder);
        draft.findings.push(finding.with("inside", found.inside).with("worse", found.worse));
    }
}

/// Adds findings about answers that end early or late, once per task: beside a drop where there is one.
fn lengths_of(drafts: &mut [Draft<'_>], texts: &Texts<'_>) {
    let mut by_task: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (place, draft) in drafts.iter().enumerate() {
        if let Some(task) = draft.task.filter(|_| draft.source.is_some() && draft.unit.test.is_some()) {
            by_task.entry(task).or_default().push(place);
        }
    }
    for places in by_task.into_values() {
        let has_drop = |place: &&usize| {
            let draft = drafts.get(**place);
            draft.is_some_and(|draft| draft.findings.iter().any(|finding| finding.code == rules::DROP.code))
        };
        let Some(place) = places.iter().find(has_drop).or(places.first()) else { continue };
        let Some(draft) = drafts.get_mut(*place) else { continue };
        let Some((metric, sides)) = draft.source else { continue };
        let found = lengths(metric, sides, texts);
        draft.findings.extend(of_lengths(&draft.unit, found));
    }
}

fn of_lengths(unit: &EvaluationUnit, found: Lengths) -> Vec<Finding> {
    let kinds = [(&rules::TRUNCATED, found.truncated), (&rules::OVERLONG, found.overlong)];
    let patterns = kinds.into_iter().filter(|(_, count)| found.is_pattern(*count));
    let finding = |(rule, count): (_, u64)| {
        let share = count as f64 / found.pairs as f64;
        decision::about(rule, unit).with("count", count).with("paired", found.pairs).with("share", share)
    };
    patterns.map(finding).collect()
}

/// Findings about tasks that the policy names and of which nothing was tested. `tasks` are those of all units, each with
/// whether it was.
pub fn required(tasks: &[(&str, bool)], policy: &EvaluationPolicy) -> Vec<Finding> {
    let lacks = |pattern: &&Pattern| !tasks.iter().any(|(task, is_tested)| *is_tested && pattern.matches(task));
    // A name that leads to nothing may be a slip, and would leave its task unseen.
    let is_idle = |pattern: &&Pattern| !tasks.iter().any(|(task, _)| pattern.matches(task));
    let missing = policy.required.iter().filter(lacks).chain(policy.tasks.iter().filter(is_idle));
    let missing: BTreeSet<&str> = missing.map(Pattern::as_str).collect();
    missing.into_iter().map(|task| Finding::new(&rules::REQUIRED_TASK_MISSING, task).with("task", task)).collect()
}

/// The verdict of a unit whose findings lead to `of_findings`: what was not tested never passes.
pub fn verdict(unit: &EvaluationUnit, of_findings: Verdict) -> Verdict {
    match of_findings {
        Verdict::Pass if unit.test.is_none() => Verdict::Skipped,
        other => other,
    }
}

impl EvaluationUnit {
    /// A metric of a task of which nothing is known yet.
    fn untested(model: &str, task: &str, metric: &str, filter: Option<String>) -> Self {
        Self {
            model: model.to_owned(),
            task: task.to_owned(),
            metric: metric.to_owned(),
            filter,
            scope: EvaluationScope::Task,
            higher_is_better: None,
            is_sampled: false,
            verdict: Verdict::Incomplete,
            baseline: None,
            candidate: None,
            drop: None,
            interval: None,
            margin: Number(0.0),
            is_relative: false,
            samples: 0,
            paired: 0,
            worse: 0,
            better: 0,
            test: None,
            p_value: None,
            p_adjusted: None,
            detectable: None,
            shard: None,
            examples: Vec::<SampleId>::new(),
            flipped: Vec::new(),
            rules: Vec::new(),
        }
    }
}
