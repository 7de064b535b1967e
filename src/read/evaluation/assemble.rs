//! All files of a side to runs and generation records.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::ais_bench;
use super::damage::Damage;
use super::eval_scope;
use super::generation;
use super::kind::FileKind;
use super::lm_eval;
use super::place;
use super::room;
use super::run::{Harness, Run};
use super::tokens::Generations;
use crate::fetch::Files;

/// A file of an evaluation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvaluationFile {
    /// Its path below the side's root.
    pub path: String,
    /// Its kind.
    pub kind: FileKind,
}

/// The evaluations of a side.
#[derive(Debug, Default)]
pub struct Evaluations {
    /// Runs of harnesses, by harness and model.
    pub runs: Vec<Run>,
    /// Generation records, by path.
    pub generations: Vec<Generations>,
}

/// Reads the evaluations that `recognised` files hold. What cannot be read is told as damage of its task, run or file.
pub fn read(files: &dyn Files, recognised: &[EvaluationFile]) -> Evaluations {
    let of = |kind: FileKind| -> Vec<&str> {
        let mut paths: Vec<&str> =
            recognised.iter().filter(|file| file.kind == kind).map(|file| file.path.as_str()).collect();
        paths.sort_unstable();
        paths
    };
    let mut runs = lm_eval::runs(files, &of(FileKind::LmEvalResults), &of(FileKind::LmEvalSamples));
    runs.extend(eval_scope::runs(
        files,
        &of(FileKind::EvalScopeConfig),
        &of(FileKind::EvalScopeReport),
        &of(FileKind::EvalScopeReviews),
    ));
    runs.extend(ais_bench::runs(
        files,
        &of(FileKind::AisBenchResults),
        &of(FileKind::AisBenchPredictions),
        &of(FileKind::AisBenchSummary),
    ));
    tell_apart(&mut runs);
    runs.sort_by(|one, other| (one.harness, &one.model, &one.path).cmp(&(other.harness, &other.model, &other.path)));
    // Files of a side grant the same memory.
    let first = recognised.iter().find_map(|file| files.open(&file.path).ok());
    room::keep(&mut runs, first.map_or(u64::MAX, |source| source.memory()));
    let read = |path: &&str| match files.open(path) {
        Ok(source) => generation::read(path, source.as_ref()),
        Err(error) => {
            let damage = Damage { path: (*path).to_owned(), line: None, reason: error.message().to_owned() };
            let task = place::stem(path).to_owned();
            Generations { task, path: (*path).to_owned(), records: Vec::new(), damages: vec![damage] }
        }
    };
    let generations = of(FileKind::Generations).par_iter().map(read).collect();
    Evaluations { runs, generations }
}

/// Names models of one name after their folders, and after their files where these lie in one folder.
fn tell_apart(runs: &mut [Run]) {
    for name in [|run: &Run| folder(run).to_owned(), |run: &Run| without_time(&run.path)] {
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

/// Folder that tells a run: of those that have folders for their parts the folder above them, and the model's own.
fn folder(run: &Run) -> String {
    let (folder, _) = place::split(&run.path);
    match place::InRun::of(&run.path).filter(|_| run.harness != Harness::LmEval) {
        Some(place) if !place.root.is_empty() => format!("{}/{}", place::series(place.root), place.model),
        Some(place) => place.model.to_owned(),
        None => folder.to_owned(),
    }
}

fn without_time(path: &str) -> String {
    let (folder, _) = place::split(path);
    let stem = place::timed(path).map_or_else(|| place::stem(path), |(stem, _)| stem);
    format!("{folder}/{stem}")
}
