//! Reading of all evaluation files of a side into runs and generation records.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::ais_bench;
use super::answer::{self, Answer, AnswerFile};
use super::damage::EvaluationDamage;
use super::eval_scope;
use super::generation;
use super::kind::EvaluationFileKind;
use super::lm_eval;
use super::place;
use super::rollout::{self, Rollouts};
use super::room;
use super::run::{EvaluationRun, Harness};
use super::tokens::{AnswerSettings, Generations};
use crate::fetch::Files;

/// A file of an evaluation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvaluationFile {
    /// Path of the file, relative to the side's root.
    pub path: String,
    /// Its kind.
    pub kind: EvaluationFileKind,
}

/// The evaluations of a side.
#[derive(Debug, Default)]
pub struct Evaluations {
    /// Runs of harnesses, by harness and model.
    pub runs: Vec<EvaluationRun>,
    /// Generation records, by path.
    pub generations: Vec<Generations>,
}

/// Reads the evaluations in the `recognised` files. Unreadable parts are recorded as damage of the task, run or file.
pub fn read(files: &dyn Files, recognised: &[EvaluationFile]) -> Evaluations {
    let of = |kind: EvaluationFileKind| paths(recognised, kind);
    let mut runs = lm_eval::runs(files, &of(EvaluationFileKind::LmEvalResults), &of(EvaluationFileKind::LmEvalSamples));
    runs.extend(eval_scope::runs(
        files,
        &of(EvaluationFileKind::EvalScopeConfig),
        &of(EvaluationFileKind::EvalScopeReport),
        &of(EvaluationFileKind::EvalScopeReviews),
    ));
    runs.extend(ais_bench::runs(
        files,
        &of(EvaluationFileKind::AisBenchResults),
        &of(EvaluationFileKind::AisBenchPredictions),
        &of(EvaluationFileKind::AisBenchSummary),
    ));
    tell_apart(&mut runs);
    runs.sort_by(|one, other| (one.harness, &one.model, &one.path).cmp(&(other.harness, &other.model, &other.path)));
    let settings = Settings::read(files, recognised);
    // All files of a side grant the same memory, so the first one is asked.
    let first = recognised.iter().find_map(|file| files.open(&file.path).ok());
    room::drop_beyond_memory(&mut runs, first.map_or(u64::MAX, |source| source.memory_limit()));
    let read = |path: &&str| match files.open(path) {
        Ok(source) => Generations { settings: settings.of(path), ..generation::read(path, source.as_ref()) },
        Err(error) => {
            let damage = EvaluationDamage { path: (*path).to_owned(), line: None, reason: error.message().to_owned() };
            let (task, path) = (place::stem(path).to_owned(), (*path).to_owned());
            Generations { task, path, damages: vec![damage], ..Generations::default() }
        }
    };
    let generations = of(EvaluationFileKind::Generations).par_iter().map(read).collect();
    Evaluations { runs, generations }
}

/// Calls `measure` with each answer of the records and rollouts among the `recognised` files, and `add` with the results. There is
/// one sum per file of records and per folder of rollouts, in the order of steps and lines. Each file is read once, and none of it
/// is kept.
pub(crate) fn measure_answers<S: Default, T: Send>(
    files: &dyn Files,
    recognised: &[EvaluationFile],
    measure: impl Fn(&Answer<'_>) -> T + Sync,
    add: impl Fn(&mut S, T),
) -> Vec<(AnswerFile, S)> {
    let settings = Settings::read(files, recognised);
    let mut all = Vec::new();
    for path in paths(recognised, EvaluationFileKind::Generations) {
        let (beside, mut sum) = (settings.of(path), S::default());
        let measure = |answer: &Answer<'_>| measure(&beside.apply(answer));
        let account = match files.open(path) {
            Ok(source) => generation::measure_answers(path, source.as_ref(), measure, |one| add(&mut sum, one)),
            Err(error) => {
                let damage = EvaluationDamage { path: path.to_owned(), line: None, reason: error.message().to_owned() };
                let (task, path) = (place::stem(path).to_owned(), path.to_owned());
                AnswerFile { task, path, damages: vec![damage], ..AnswerFile::default() }
            }
        };
        all.push((account, sum));
    }
    for (folder, paths) in rollout::paths_by_folder(&paths(recognised, EvaluationFileKind::Rollouts)) {
        let (beside, mut sum) = (settings.of(&format!("{folder}/")), S::default());
        let measure = |answer: &Answer<'_>| measure(&beside.apply(answer));
        all.push((rollout::measure_answers(files, (folder, paths.as_slice()), measure, |one| add(&mut sum, one)), sum));
    }
    all
}

/// Reads the rollouts among the `recognised` files, folder by folder, and calls `measure` with each answer and `add` with the results.
pub(crate) fn read_rollouts<S: Default, T: Send>(
    files: &dyn Files,
    recognised: &[EvaluationFile],
    measure: impl Fn(&Answer<'_>) -> T + Sync,
    add: impl Fn(&mut S, T),
) -> Vec<(Rollouts, S)> {
    let settings = Settings::read(files, recognised);
    let paths = paths(recognised, EvaluationFileKind::Rollouts);
    let read = |(folder, paths): (&str, Vec<&str>)| {
        let (beside, mut sum) = (settings.of(&format!("{folder}/")), S::default());
        let measure = |answer: &Answer<'_>| measure(&beside.apply(answer));
        let mut read = rollout::read(files, (folder, paths.as_slice()), measure, |one| add(&mut sum, one));
        for task in read.run.tasks.values_mut() {
            task.is_sampled = beside.is_sampled != Some(false);
        }
        (read, sum)
    };
    rollout::paths_by_folder(&paths).into_iter().map(read).collect()
}

/// Paths of the files of a kind, sorted.
fn paths(recognised: &[EvaluationFile], kind: EvaluationFileKind) -> Vec<&str> {
    let mut paths: Vec<&str> =
        recognised.iter().filter(|file| file.kind == kind).map(|file| file.path.as_str()).collect();
    paths.sort_unstable();
    paths
}

/// Settings of generation, by the folder that holds them.
struct Settings(BTreeMap<String, AnswerSettings>);

impl Settings {
    /// Reads the settings. Unreadable files are ignored.
    fn read(files: &dyn Files, recognised: &[EvaluationFile]) -> Self {
        let read = |path: &str| {
            let source = files.open(path).ok()?;
            let settings = super::document::read(source.as_ref()).ok()?;
            let beside = AnswerSettings {
                is_sampled: answer::is_sampled(&settings),
                ignores_end: answer::ignores_end(&settings),
            };
            Some((place::split_folder(path).0.to_owned(), beside))
        };
        Self(paths(recognised, EvaluationFileKind::GenerationSettings).into_iter().filter_map(read).collect())
    }

    /// Settings of the nearest folder at or above a file.
    fn of(&self, path: &str) -> AnswerSettings {
        let mut folder = place::split_folder(path).0;
        loop {
            if let Some(found) = self.0.get(folder) {
                return *found;
            }
            if folder.is_empty() {
                return AnswerSettings::default();
            }
            folder = place::split_folder(folder).0;
        }
    }
}

/// Renames models with equal names after their folders, and after their files if they are in one folder.
fn tell_apart(runs: &mut [EvaluationRun]) {
    for name in [|run: &EvaluationRun| folder(run).to_owned(), |run: &EvaluationRun| without_time(&run.path)] {
        let mut counts: BTreeMap<(Harness, String), usize> = BTreeMap::new();
        for run in runs.iter() {
            *counts.entry((run.harness, run.model.clone())).or_default() += 1;
        }
        for run in runs.iter_mut() {
            if counts.get(&(run.harness, run.model.clone())).is_some_and(|count| *count > 1) {
                run.model = name(run);
            }
        }
    }
}

/// Folder that identifies a run. If the run has folders for its parts, this is the folder above them together with the model's.
fn folder(run: &EvaluationRun) -> String {
    let (folder, _) = place::split_folder(&run.path);
    match place::InRun::from_path(&run.path).filter(|_| run.harness != Harness::LmEval) {
        Some(place) if !place.root.is_empty() => format!("{}/{}", place::series_folder(place.root), place.model),
        Some(place) => place.model.to_owned(),
        None => folder.to_owned(),
    }
}

fn without_time(path: &str) -> String {
    let (folder, _) = place::split_folder(path);
    let stem = place::split_time(path).map_or_else(|| place::stem(path), |(stem, _)| stem);
    format!("{folder}/{stem}")
}
