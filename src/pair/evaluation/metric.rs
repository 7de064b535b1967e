//! Samples of a task, joined by identity; never compared where the document or the prompt differs.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::direction::higher_is_better;
use crate::kind::SampleId;
use crate::read::evaluation::{EvaluationSample, EvaluationTask, Harness, SampleValue, Score, ScoreName};
use crate::verdict::Side;

/// A metric of a task under a filter: one unit.
#[derive(Clone, Debug)]
pub struct PairedMetric {
    /// The metric.
    pub metric: String,
    /// The filter; `None` where the harness has none.
    pub filter: Option<String>,
    /// Whether a larger value is better; `None` where neither harness nor name says.
    pub higher_is_better: Option<bool>,
    /// The baseline's score of the whole task.
    pub baseline: Option<Score>,
    /// The candidate's score of the whole task.
    pub candidate: Option<Score>,
    /// Whether both sides have samples, even without values of their own (a metric of the whole corpus). Otherwise only the scores
    /// are compared.
    pub has_samples: bool,
    /// Numbers of samples that each score covers, for a rate without a standard error.
    pub counts: (Option<u64>, Option<u64>),
    /// Ids of both sides together.
    pub samples: u64,
    /// Pairs that enter the test, in order of id.
    pub pairs: Vec<ValuePair>,
    /// Samples that left the test, and why.
    pub left_out: LeftOut,
}

/// Both sides' value of one sample.
#[derive(Clone, Debug, PartialEq)]
pub struct ValuePair {
    /// Identity within task and filter.
    pub id: SampleId,
    /// The baseline's value.
    pub baseline: SampleValue,
    /// The candidate's value.
    pub candidate: SampleValue,
    /// Whether both answered with the same text; `None` where there is none.
    pub same_answer: Option<bool>,
    /// Places of the sample in the lists of its filter, baseline and candidate.
    pub places: (usize, usize),
}

/// Numbers of samples that left the test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// The document differs.
    pub documents: u64,
    /// The prompt differs.
    pub prompts: u64,
    /// On the baseline only.
    pub only_baseline: u64,
    /// On the candidate only.
    pub only_candidate: u64,
    /// Twice on a side with the same values; these stay in the test once.
    pub twice: u64,
    /// Twice on a side with other values; nothing of the filter is tested then.
    pub contradictory: u64,
    /// The harness could not compute a value.
    pub failed: u64,
}

/// Settings for joining the samples of a task.
pub(super) struct Join {
    /// The harness of both runs.
    pub(super) harness: Harness,
    /// Numbers of documents asked, where they differ.
    pub(super) limits: Option<(u64, u64)>,
}

/// Samples of both sides under one filter.
#[derive(Default)]
struct Joined {
    /// Places of samples with the same document and prompt.
    both: Vec<(usize, usize)>,
    left_out: LeftOut,
    /// Ids of both sides together.
    union: u64,
}

/// Cursor over the samples of one side, which are in order of id.
struct OneSide<'a> {
    samples: &'a [EvaluationSample],
    at: usize,
}

/// The samples of one id on one side.
struct SameId {
    /// The place of the first.
    place: usize,
    /// Further ones with the same values.
    twice: u64,
    /// Further ones with other values.
    contradictory: u64,
}

/// The metrics of both sides under each filter, and those that one side lacks.
pub(super) fn metrics(
    join: &Join,
    baseline: &EvaluationTask,
    candidate: &EvaluationTask,
) -> (Vec<PairedMetric>, Vec<(Side, String)>) {
    let (baseline_names, candidate_names) = (names(baseline), names(candidate));
    let mut missing = Vec::new();
    let mut joined: BTreeMap<&Option<String>, Joined> = BTreeMap::new();
    let mut paired = Vec::new();
    for name in baseline_names.union(&candidate_names) {
        let side = match (baseline_names.contains(name), candidate_names.contains(name)) {
            (true, true) => None,
            (true, false) => Some(Side::Candidate),
            _ => Some(Side::Baseline),
        };
        if let Some(side) = side {
            missing.push((side, title(name)));
            continue;
        }
        let (baseline_samples, candidate_samples) = (of_filter(baseline, name), of_filter(candidate, name));
        let joined = joined.entry(&name.filter).or_insert_with(|| join.samples(baseline_samples, candidate_samples));
        paired.push(metric(name, joined, (baseline, baseline_samples), (candidate, candidate_samples)));
    }
    (paired, missing)
}

fn title(name: &ScoreName) -> String {
    match &name.filter {
        Some(filter) => format!("{},{filter}", name.metric),
        None => name.metric.clone(),
    }
}

/// The metrics that a task has a score or values of.
fn names(task: &EvaluationTask) -> BTreeSet<ScoreName> {
    let mut names: BTreeSet<ScoreName> = task.scores.keys().cloned().collect();
    for (filter, samples) in task.samples.iter().flat_map(|samples| &samples.by_filter) {
        let metrics: BTreeSet<&String> = samples.iter().flat_map(|sample| sample.values.keys()).collect();
        names.extend(metrics.into_iter().map(|metric| ScoreName { metric: metric.clone(), filter: filter.clone() }));
    }
    names
}

/// The samples of a task under the filter of a metric.
fn of_filter<'a>(task: &'a EvaluationTask, name: &ScoreName) -> &'a [EvaluationSample] {
    let samples = task.samples.as_ref().and_then(|samples| samples.by_filter.get(&name.filter));
    samples.map(Vec::as_slice).unwrap_or_default()
}

fn metric(
    name: &ScoreName,
    joined: &Joined,
    (baseline_task, baseline_samples): (&EvaluationTask, &[EvaluationSample]),
    (candidate_task, candidate_samples): (&EvaluationTask, &[EvaluationSample]),
) -> PairedMetric {
    let (baseline, candidate) = (baseline_task.scores.get(name).copied(), candidate_task.scores.get(name).copied());
    let says = |score: Option<Score>| score.and_then(|score| score.higher_is_better);
    let is_measured = |samples: &[EvaluationSample]| {
        samples.iter().any(|sample| sample.is_failed || sample.values.contains_key(&name.metric))
    };
    let mut left_out = joined.left_out;
    let mut pairs = Vec::new();
    for (our_place, their_place) in joined.both.iter().copied().filter(|_| left_out.contradictory == 0) {
        let (Some(our), Some(their)) = (baseline_samples.get(our_place), candidate_samples.get(their_place)) else {
            continue;
        };
        let values = our.values.get(&name.metric).zip(their.values.get(&name.metric));
        let Some((baseline, candidate)) = values else {
            left_out.failed += 1;
            continue;
        };
        pairs.push(ValuePair {
            id: our.id.clone(),
            baseline: *baseline,
            candidate: *candidate,
            same_answer: our.answer.zip(their.answer).map(|(our, their)| our == their),
            places: (our_place, their_place),
        });
    }
    PairedMetric {
        metric: name.metric.clone(),
        filter: name.filter.clone(),
        higher_is_better: says(baseline).or(says(candidate)).or_else(|| higher_is_better(&name.metric)),
        baseline,
        candidate,
        has_samples: is_measured(baseline_samples) && is_measured(candidate_samples),
        counts: (baseline_task.asked, candidate_task.asked),
        samples: joined.union,
        pairs,
        left_out,
    }
}

impl Join {
    /// Joins samples that are in order of id.
    fn samples(&self, baseline: &[EvaluationSample], candidate: &[EvaluationSample]) -> Joined {
        let mut joined = Joined::default();
        let (mut our, mut their) = (OneSide { samples: baseline, at: 0 }, OneSide { samples: candidate, at: 0 });
        loop {
            let order = match (our.next(), their.next()) {
                (Some(one), Some(other)) => one.id.cmp(&other.id),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => break,
            };
            let one = if order.is_le() { our.take() } else { None };
            let other = if order.is_ge() { their.take() } else { None };
            joined.union += 1;
            for same in one.iter().chain(&other) {
                joined.left_out.twice += same.twice;
                joined.left_out.contradictory += same.contradictory;
            }
            match (one, other) {
                (Some(one), Some(other)) => self.add(&mut joined, (baseline, one.place), (candidate, other.place)),
                (Some(_), None) => joined.left_out.only_baseline += 1,
                _ => joined.left_out.only_candidate += 1,
            }
        }
        self.excuse(&mut joined.left_out);
        // A side without any samples has missing samples, not unpaired ones.
        if baseline.is_empty() || candidate.is_empty() {
            (joined.left_out.only_baseline, joined.left_out.only_candidate) = (0, 0);
        }
        joined
    }

    /// Adds the samples of an id that both sides have, or counts the reason why they are left out.
    fn add(
        &self,
        joined: &mut Joined,
        baseline: (&[EvaluationSample], usize),
        candidate: (&[EvaluationSample], usize),
    ) {
        let (Some(our), Some(their)) = (baseline.0.get(baseline.1), candidate.0.get(candidate.1)) else { return };
        let differs = |our: Option<u64>, their: Option<u64>| our.zip(their).is_some_and(|(our, their)| our != their);
        let documents = differs(our.document, their.document);
        let prompts = differs(our.prompt, their.prompt);
        // Only lm-evaluation-harness hashes documents; of the others the expected answer stands for them, and the prompt
        // says more.
        let left_out = &mut joined.left_out;
        match self.harness {
            Harness::LmEval if documents => left_out.documents += 1,
            _ if prompts => left_out.prompts += 1,
            _ if documents => left_out.documents += 1,
            _ if our.is_failed || their.is_failed => left_out.failed += 1,
            _ => joined.both.push((baseline.1, candidate.1)),
        }
    }

    /// Subtracts the samples that one side lacks because of its smaller limit.
    fn excuse(&self, left_out: &mut LeftOut) {
        let Some((baseline, candidate)) = self.limits else { return };
        left_out.only_baseline = left_out.only_baseline.saturating_sub(baseline.saturating_sub(candidate));
        left_out.only_candidate = left_out.only_candidate.saturating_sub(candidate.saturating_sub(baseline));
    }
}

impl<'a> OneSide<'a> {
    fn next(&self) -> Option<&'a EvaluationSample> {
        self.samples.get(self.at)
    }

    /// Consumes the samples of the next id, and counts them.
    fn take(&mut self) -> Option<SameId> {
        let first = self.next()?;
        let mut same = SameId { place: self.at, twice: 0, contradictory: 0 };
        self.at += 1;
        while let Some(sample) = self.next().filter(|sample| sample.id == first.id) {
            if is_same(first, sample) {
                same.twice += 1
            } else {
                same.contradictory += 1
            }
            self.at += 1;
        }
        Some(same)
    }
}

/// Whether two records of one sample are the same.
fn is_same(one: &EvaluationSample, other: &EvaluationSample) -> bool {
    let bits = |value: &SampleValue| match value {
        SampleValue::Number(number) => (0, number.to_bits(), 0),
        SampleValue::Likelihood { log, size } => (1, log.to_bits(), size.to_bits()),
        SampleValue::Corpus => (2, 0, 0),
    };
    let values = |sample: &EvaluationSample| {
        sample.values.iter().map(|(name, value)| (name.clone(), bits(value))).collect::<Vec<_>>()
    };
    one.document == other.document
        && one.prompt == other.prompt
        && one.is_failed == other.is_failed
        && values(one) == values(other)
        && (one.answer == other.answer || !one.values.values().any(|value| matches!(value, SampleValue::Corpus)))
}
