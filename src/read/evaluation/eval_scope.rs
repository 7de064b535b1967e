//! Output folders of evalscope: docs/formats/evaluation.md.
//!
//! A task is one subset of a benchmark. Its samples are the lines of its reviews, and its scores are in the benchmark's report.

mod config;
mod report;
mod review;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rayon::prelude::*;

use super::damage::EvaluationDamage;
use super::names::UnmatchedTasks;
use super::place::{self, InRun};
use super::question::SampleValue;
use super::run::{EvaluationRun, EvaluationTask, Harness};
use super::samples::{self, Gathered};
use crate::fetch::Files;
use crate::read::account::UnreadNumbers;
use config::Config;
use report::Report;

/// Files of one model in one output folder.
#[derive(Default)]
struct Output<'a> {
    reports: Vec<&'a str>,
    reviews: Vec<&'a str>,
}

/// The runs that configurations, reports and reviews belong to.
pub(super) fn runs(files: &dyn Files, configs: &[&str], reports: &[&str], reviews: &[&str]) -> Vec<EvaluationRun> {
    let mut outputs: BTreeMap<(&str, &str), BTreeMap<&str, Output<'_>>> = BTreeMap::new();
    for (paths, is_report) in [(reports, true), (reviews, false)] {
        for path in paths {
            let place = place(path);
            let series = outputs.entry((place::series_folder(place.root), place.model)).or_default();
            let output = series.entry(place.root).or_default();
            if is_report { output.reports.push(path) } else { output.reviews.push(path) }
        }
    }
    let configs: BTreeMap<&str, &str> =
        configs.iter().map(|path| (place::split_folder(place::split_folder(path).0).0, *path)).collect();
    let with_output: BTreeSet<&str> = outputs.values().flat_map(BTreeMap::keys).copied().collect();
    let without = configs.iter().filter(|(root, _)| !with_output.contains(*root));
    let unfinished: BTreeMap<&str, (&str, &str)> =
        without.map(|(root, path)| (place::series_folder(root), (*root, *path))).collect();
    let mut runs = Vec::new();
    for ((folder, model), mut series) in outputs {
        let Some((root, output)) = series.pop_last() else { continue };
        let mut run = build(files, model, configs.get(root).copied(), &output);
        let later = unfinished.get(folder).filter(|(later, _)| *later > root);
        run.damages.extend(later.map(|(_, path)| EvaluationDamage {
            path: (*path).to_owned(),
            line: None,
            reason: "expected reports and reviews of this newest run, found none".to_owned(),
        }));
        let first =
            |output: Output<'_>| output.reports.first().or(output.reviews.first()).map(|path| (*path).to_owned());
        run.older = series.into_values().filter_map(first).collect();
        runs.push(run);
    }
    runs
}

/// Folder of the run and the model. A file in any other place belongs to the folder that holds it.
fn place(path: &str) -> InRun<'_> {
    let known = InRun::from_path(path).filter(|place| ["reports", "reviews"].contains(&place.part));
    known.unwrap_or_else(|| {
        let (folder, _) = place::split_folder(path);
        InRun { root: folder, part: "", model: place::last_part(folder) }
    })
}

fn build(files: &dyn Files, model: &str, config: Option<&str>, output: &Output<'_>) -> EvaluationRun {
    let mut damages = Vec::new();
    let mut note = |path: &str, reason: &str| {
        damages.push(EvaluationDamage { path: path.to_owned(), line: None, reason: reason.to_owned() });
    };
    let config = config.map(|path| (path, files.open(path).and_then(|source| Config::read(source.as_ref()))));
    let config = match config {
        Some((_, Ok(config))) => config,
        Some((path, Err(error))) => {
            note(path, error.message());
            Config::default()
        }
        None => Config::default(),
    };
    let mut read = Vec::new();
    for path in &output.reports {
        match files.open(path).and_then(|source| Report::read(source.as_ref())) {
            Ok(report) => read.push(report),
            Err(error) => note(path, error.message()),
        }
    }
    let (mut tasks, mut account) = (BTreeMap::new(), UnreadNumbers::default());
    for report in &read {
        report.add_to(&mut tasks);
        report.note_unread(&mut account);
    }
    let gathered: Vec<Gathered> = output.reviews.par_iter().map(|path| gather(files, path)).collect();
    let stems: Vec<&str> = output.reviews.iter().map(|path| place::stem(path)).collect();
    for (name, gathered) in matched(&stems, &tasks).into_iter().zip(gathered) {
        add(tasks.entry(name).or_default(), gathered);
    }
    for (name, task) in &mut tasks {
        config.fill_task(name, task);
        report::rename_scores(task);
    }
    let path = output.reports.first().or(output.reviews.first()).map_or_else(String::new, |path| (*path).to_owned());
    let model =
        if model.is_empty() { read.iter().find_map(|report| report.model.clone()) } else { Some(model.to_owned()) };
    EvaluationRun {
        harness: Harness::EvalScope,
        model: model.unwrap_or_else(|| "model".to_owned()),
        path,
        settings: config.model,
        tasks,
        groups: BTreeMap::new(),
        older: Vec::new(),
        damages,
        account,
    }
}

/// Task of each file of reviews. A file that matches no task of a report becomes a task of its own.
fn matched(stems: &[&str], tasks: &BTreeMap<String, EvaluationTask>) -> Vec<String> {
    let mut open = UnmatchedTasks::new(tasks.keys().map(String::as_str));
    let mut names: Vec<Option<String>> = stems.iter().map(|stem| open.take_exact(stem)).collect();
    for (name, stem) in names.iter_mut().zip(stems).filter(|(name, _)| name.is_none()) {
        *name = open.take_similar(stem);
    }
    names.into_iter().zip(stems).map(|(name, stem)| name.unwrap_or_else(|| (*stem).to_owned())).collect()
}

fn gather(files: &dyn Files, path: &str) -> Gathered {
    let name: Arc<str> = Arc::from(path);
    match files.open(path) {
        Ok(source) => samples::gather(path, source.as_ref(), |line, bytes| review::read(&name, line, bytes)),
        Err(error) => {
            let damage = EvaluationDamage { path: path.to_owned(), line: None, reason: error.message().to_owned() };
            Gathered { damages: vec![damage], ..Gathered::default() }
        }
    }
}

fn add(task: &mut EvaluationTask, gathered: Gathered) {
    let all = || gathered.samples.by_filter.values().flatten();
    let failed = all().filter(|sample| sample.is_failed).count() as u64;
    task.errors = task.errors.saturating_sub(failed);
    let is_valued = |values: &BTreeMap<String, SampleValue>| !values.is_empty();
    if all().any(|sample| sample.is_failed || is_valued(&sample.values)) {
        task.samples = Some(gathered.samples);
    }
    task.damages.extend(gathered.damages);
}
