//! Matching of samples files with tasks: by name, by the hash over their samples, by the metrics that they measure.

use std::collections::{BTreeMap, BTreeSet};

use super::super::names::UnmatchedTasks;
use super::super::run::{EvaluationTask, ScoreName};
use super::super::samples::Gathered;
use crate::kind::SampleId;

/// Most pairs of a file and a task that are compared by content.
const MOST_PAIRS: usize = 1_000_000;

/// Task of each samples file, which is given as stem and path. A file that matches no task becomes a task of its own.
///
/// `by_hash` returns the task that has the hash over the samples of the file at a path.
pub(super) fn matched_tasks(
    stems: &[(&str, &str)],
    gathered: &[Gathered],
    tasks: &BTreeMap<String, EvaluationTask>,
    by_hash: impl Fn(&str) -> Option<String>,
) -> Vec<String> {
    let mut open = UnmatchedTasks::new(tasks.keys().map(String::as_str));
    let mut names: Vec<Option<String>> = stems.iter().map(|(stem, _)| open.take_exact(stem)).collect();
    let missing = |name: &&mut Option<String>| name.is_none();
    for (name, (stem, _)) in names.iter_mut().zip(stems).filter(|(name, _)| missing(name)) {
        *name = open.take_similar(stem);
    }
    for (name, (_, path)) in names.iter_mut().zip(stems).filter(|(name, _)| missing(name)) {
        if open.unmatched().next().is_some() {
            *name = by_hash(path).filter(|task| open.take(task));
        }
    }
    let pairs = names.iter().filter(|name| name.is_none()).count().saturating_mul(open.unmatched().count());
    let compared = if pairs <= MOST_PAIRS { names.len() } else { 0 };
    for (name, gathered) in names.iter_mut().zip(gathered).filter(|(name, _)| missing(name)).take(compared) {
        *name = by_content(gathered, tasks, &open).filter(|task| open.take(task));
    }
    let unknown = |(name, (stem, _)): (Option<String>, &(&str, &str))| name.unwrap_or_else(|| (*stem).to_owned());
    names.into_iter().zip(stems).map(unknown).collect()
}

/// The only task that reports the measured metrics of the samples; if there are several, the only one with as many documents.
fn by_content(
    gathered: &Gathered,
    tasks: &BTreeMap<String, EvaluationTask>,
    open: &UnmatchedTasks<'_>,
) -> Option<String> {
    let mut measured: BTreeSet<ScoreName> = BTreeSet::new();
    let mut documents: BTreeSet<&SampleId> = BTreeSet::new();
    for (filter, samples) in &gathered.samples.by_filter {
        for sample in samples {
            documents.insert(&sample.id);
        }
        let metrics = samples.first().into_iter().flat_map(|sample| sample.values.keys());
        measured.extend(metrics.map(|metric| ScoreName { metric: metric.clone(), filter: filter.clone() }));
    }
    if measured.is_empty() {
        return None;
    }
    let fits = |task: &&EvaluationTask| measured.iter().all(|name| task.scores.contains_key(name));
    let fitting: Vec<(&str, &EvaluationTask)> =
        open.unmatched().filter_map(|name| Some((name, tasks.get(name).filter(fits)?))).collect();
    let count = documents.len() as u64;
    let exact = || fitting.iter().filter(|(_, task)| task.asked == Some(count));
    match fitting.as_slice() {
        [(name, _)] => Some((*name).to_owned()),
        _ if exact().count() == 1 => exact().next().map(|(name, _)| (*name).to_owned()),
        _ => None,
    }
}
