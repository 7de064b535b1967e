//! Output folders of lm-evaluation-harness: docs/formats/evaluation.md.
//!
//! Every run adds a results file and files of samples, which share a time in their names. The newest run of a folder counts.

mod matching;
mod results;
mod sample;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rayon::prelude::*;

use super::damage::EvaluationDamage;
use super::place;
use super::run::{EvaluationRun, EvaluationTask, Harness};
use super::samples::{self, Gathered};
use crate::fetch::{Files, Source};
use results::Results;

/// Results files of one model in one folder, by time.
type Series<'a> = BTreeMap<(Option<&'a str>, &'a str), Option<Results>>;

/// Samples files of a folder, by time.
type ByTime<'a> = BTreeMap<Option<&'a str>, Vec<&'a str>>;

/// Builds the runs that the files of `results` and `samples` belong to.
pub(super) fn runs(files: &dyn Files, results: &[&str], samples: &[&str]) -> Vec<EvaluationRun> {
    let mut series: BTreeMap<(&str, String), Series<'_>> = BTreeMap::new();
    for path in results {
        let (folder, _) = place::split_folder(path);
        let (stem, time) = stem_and_time(path);
        // Two models may share a file stem that the user chose, so the model's name is part of the key.
        let read = (stem != "results").then(|| read_results(files, path).ok()).flatten();
        let model = read.as_ref().and_then(|read| read.model.clone()).unwrap_or_default();
        series.entry((folder, format!("{stem}/{model}"))).or_default().insert((time, path), read);
    }
    let mut by_folder: BTreeMap<&str, ByTime<'_>> = BTreeMap::new();
    for path in samples {
        let of_folder = by_folder.entry(place::split_folder(path).0).or_default();
        of_folder.entry(stem_and_time(path).1).or_default().push(path);
    }
    // For a renamed results file without a time, the newest samples that belong to no other results file are used.
    let mut free = by_folder.clone();
    for path in results {
        let (_, time) = stem_and_time(path);
        free.get_mut(place::split_folder(path).0).filter(|_| time.is_some()).and_then(|samples| samples.remove(&time));
    }
    let mut runs = Vec::new();
    for ((folder, _), mut series) in series {
        let Some(((time, path), read)) = series.pop_last() else { continue };
        let samples = match time {
            Some(_) => by_folder.get(folder).and_then(|samples| samples.get(&time)).cloned(),
            None => free.get(folder).and_then(|samples| samples.values().next_back()).cloned(),
        };
        let results = read.map_or_else(|| read_results(files, path), Ok);
        let mut run = build(files, folder, path.to_owned(), results, &samples.unwrap_or_default());
        run.older = series.into_keys().map(|(_, path)| path.to_owned()).collect();
        runs.push(run);
    }
    let with_results: BTreeSet<&str> = results.iter().map(|path| place::split_folder(path).0).collect();
    for (folder, samples) in by_folder.iter().filter(|(folder, _)| !with_results.contains(*folder)) {
        let Some((_, paths)) = samples.last_key_value() else { continue };
        let path = paths.first().copied().unwrap_or_default().to_owned();
        let reason = "expected a results file beside these samples, found none".to_owned();
        let damage = EvaluationDamage { path: path.clone(), line: None, reason };
        runs.push(build(files, folder, path, Err(damage), paths));
    }
    runs
}

/// File stem without the time at its end, and the time.
fn stem_and_time(path: &str) -> (&str, Option<&str>) {
    match place::split_time(path) {
        Some((stem, time)) => (stem, Some(time)),
        None => (place::stem(path), None),
    }
}

fn read_results(files: &dyn Files, path: &str) -> Result<Results, EvaluationDamage> {
    let read = files.open(path).and_then(|source| results::read(source.as_ref()));
    read.map_err(|error| EvaluationDamage { path: path.to_owned(), line: None, reason: error.message().to_owned() })
}

/// Builds a run from its results and its files of samples.
fn build(
    files: &dyn Files,
    folder: &str,
    path: String,
    results: Result<Results, EvaluationDamage>,
    samples: &[&str],
) -> EvaluationRun {
    let (mut results, damages) = match results {
        Ok(results) => (results, Vec::new()),
        Err(damage) => (Results::default(), vec![damage]),
    };
    let named = Some(place::last_part(folder)).filter(|name| !name.is_empty());
    let has_own_stem = !path.ends_with(".jsonl") && stem_and_time(&path).0 != "results";
    let inside = results.model.take();
    let model = if has_own_stem { inside.as_deref().or(named) } else { named.or(inside.as_deref()) };
    let model = model.unwrap_or("model").to_owned();
    let mut tasks = results.tasks;
    let stems: Vec<(&str, &str)> = samples.iter().map(|path| (sample_stem(path), *path)).collect();
    let gathered: Vec<Gathered> = samples.par_iter().map(|path| gather(files, path)).collect();
    let names = matching::matched_tasks(&stems, &gathered, &tasks, |path| {
        files.open(path).ok().and_then(|source| sample::samples_hash(source.as_ref())).and_then(|hash| {
            let of_hash = results.hashes.iter().find(|(_, other)| **other == hash);
            of_hash.map(|(task, _)| task.clone())
        })
    });
    for (name, gathered) in names.into_iter().zip(gathered) {
        add(tasks.entry(name).or_default(), gathered);
    }
    EvaluationRun {
        harness: Harness::LmEval,
        model,
        path,
        settings: results.settings,
        tasks,
        groups: results.groups,
        older: Vec::new(),
        damages,
        account: results.account,
    }
}

/// Name of the task in the name of a samples file.
fn sample_stem(path: &str) -> &str {
    let (stem, _) = stem_and_time(path);
    stem.strip_prefix("samples_").unwrap_or(stem)
}

fn gather(files: &dyn Files, path: &str) -> Gathered {
    let name: Arc<str> = Arc::from(path);
    match files.open(path) {
        Ok(source) => gather_from(&name, &source),
        Err(error) => {
            let damage = EvaluationDamage { path: path.to_owned(), line: None, reason: error.message().to_owned() };
            Gathered { damages: vec![damage], ..Gathered::default() }
        }
    }
}

fn gather_from(path: &Arc<str>, source: &Source) -> Gathered {
    samples::gather(path, source.as_ref(), |line, bytes| sample::read(path, line, bytes))
}

fn add(task: &mut EvaluationTask, mut gathered: Gathered) {
    // Lines of older versions name no filter; they belong to the only filter of the task.
    if let Some(samples) = gathered.samples.by_filter.remove(&None) {
        let filters: BTreeSet<&Option<String>> = task.scores.keys().map(|name| &name.filter).collect();
        let only = filters.first().filter(|_| filters.len() == 1).map(|filter| (*filter).clone());
        let filter = only.unwrap_or_else(|| Some("none".to_owned()));
        gathered.samples.by_filter.entry(filter).or_default().extend(samples);
        gathered.samples.sort();
    }
    if !gathered.samples.is_empty() {
        task.samples = Some(gathered.samples);
    }
    task.damages.extend(gathered.damages);
}
