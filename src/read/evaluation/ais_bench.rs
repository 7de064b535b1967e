//! Output folders of AISBench and OpenCompass: docs/formats/evaluation.md.
//!
//! A task is one data set. Its results hold scores and details, its predictions hold prompts and answers, and the summary holds
//! the version of its prompt. The files give rates in percent; this module converts them to fractions.

mod draft;
mod predictions;
mod results;
mod summary;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rayon::prelude::*;

use super::damage::EvaluationDamage;
use super::place::{self, InRun};
use super::question::Samples;
use super::run::{EvaluationRun, EvaluationTask, Harness, Score, ScoreName};
use super::unread;
use crate::fetch::Files;
use crate::kind::SampleId;
use crate::read::account::UnreadNumbers;
use draft::Draft;
use predictions::Predictions;
use results::Results;
use summary::Summary;

/// Largest difference, in percent, between a rate and the share of right answers that rounding of the rate explains.
const ROUNDING: f64 = 0.006;

/// Files of one model in one output folder, by data set.
#[derive(Default)]
struct Output<'a> {
    results: BTreeMap<&'a str, &'a str>,
    predictions: BTreeMap<&'a str, &'a str>,
    summary: Option<(&'a str, &'a Summary)>,
}

/// Files of one data set.
#[derive(Default)]
struct Sources<'a> {
    results: Option<&'a str>,
    predictions: Vec<&'a str>,
}

/// The runs that results, predictions and summaries belong to.
pub(super) fn runs(
    files: &dyn Files,
    results: &[&str],
    predictions: &[&str],
    summaries: &[&str],
) -> Vec<EvaluationRun> {
    let read = |path: &&str| files.open(path).and_then(|source| Summary::read(source.as_ref()));
    let tables: Vec<(&str, crate::error::Result<Summary>)> = summaries.iter().map(|path| (*path, read(path))).collect();
    let mut outputs: BTreeMap<(&str, &str), BTreeMap<&str, Output<'_>>> = BTreeMap::new();
    for (paths, is_results) in [(results, true), (predictions, false)] {
        for path in paths {
            let place = place(path);
            let series = outputs.entry((place::series_folder(place.root), place.model)).or_default();
            let output = series.entry(place.root).or_default();
            let of_kind = if is_results { &mut output.results } else { &mut output.predictions };
            of_kind.insert(place::stem(path), path);
        }
    }
    let mut damages = Vec::new();
    for (path, table) in &tables {
        match table {
            Ok(table) => {
                let root = place::split_folder(place::split_folder(path).0).0;
                for model in table.models() {
                    let series = outputs.entry((place::series_folder(root), model)).or_default();
                    series.entry(root).or_default().summary = Some((*path, table));
                }
            }
            Err(error) => {
                damages.push(EvaluationDamage {
                    path: (*path).to_owned(),
                    line: None,
                    reason: error.message().to_owned(),
                });
            }
        }
    }
    let mut runs: Vec<EvaluationRun> =
        outputs.into_iter().filter_map(|((_, model), series)| newest(files, model, series)).collect();
    if let Some(run) = runs.first_mut() {
        run.damages.extend(damages);
    }
    runs
}

/// Folder of the run and the model. A file in any other place belongs to the folder that holds it.
fn place(path: &str) -> InRun<'_> {
    let known = InRun::from_path(path).filter(|place| ["results", "predictions"].contains(&place.part));
    known.unwrap_or_else(|| {
        let (folder, _) = place::split_folder(path);
        InRun { root: folder, part: "", model: if folder.is_empty() { "model" } else { place::last_part(folder) } }
    })
}

/// Builds the run of the newest folder.
fn newest(files: &dyn Files, model: &str, mut series: BTreeMap<&str, Output<'_>>) -> Option<EvaluationRun> {
    let (_, output) = series.pop_last()?;
    let mut run = build(files, model, &output);
    run.older = series.into_values().filter_map(|output| first(&output)).collect();
    Some(run)
}

/// Path of the file that represents a run.
fn first(output: &Output<'_>) -> Option<String> {
    let summary = output.summary.map(|(path, _)| path);
    let paths = output.results.values().chain(output.predictions.values()).copied();
    paths.chain(summary).next().map(str::to_owned)
}

fn build(files: &dyn Files, model: &str, output: &Output<'_>) -> EvaluationRun {
    let mut sources: BTreeMap<&str, Sources<'_>> = BTreeMap::new();
    for (name, path) in &output.results {
        sources.entry(name).or_default().results = Some(path);
    }
    let known: BTreeSet<&str> = output.results.keys().copied().collect();
    for (stem, path) in &output.predictions {
        sources.entry(of_part(stem, &known)).or_default().predictions.push(path);
    }
    let read: Vec<(&str, (EvaluationTask, UnreadNumbers))> =
        sources.par_iter().map(|(name, sources)| (*name, task(files, sources))).collect();
    let (mut tasks, mut account) = (BTreeMap::new(), UnreadNumbers::default());
    for (name, (task, of_task)) in read {
        tasks.insert(name.to_owned(), task);
        account.add(&of_task);
    }
    for (name, version, scores) in output.summary.iter().flat_map(|(_, table)| table.rows(model)) {
        let is_new = !tasks.contains_key(name);
        let task: &mut EvaluationTask = tasks.entry(name.to_owned()).or_default();
        task.version = version.map(str::to_owned);
        if let Some((metric, value)) = scores.filter(|_| !is_new) {
            // The table repeats a score of the results.
            unread::note_number(&mut account, metric, value);
        }
        for (metric, value) in scores.into_iter().filter(|_| is_new) {
            let score = Score { value: fraction(metric, value, None), error: None, higher_is_better: None };
            task.scores.insert(ScoreName { metric: metric.to_owned(), filter: None }, score);
        }
    }
    EvaluationRun {
        harness: Harness::AisBench,
        model: model.to_owned(),
        path: first(output).unwrap_or_default(),
        settings: BTreeMap::new(),
        tasks,
        groups: BTreeMap::new(),
        older: Vec::new(),
        damages: Vec::new(),
        account,
    }
}

/// Data set of a file of predictions. The predictions of a large data set are split into parts such as `gsm8k_0.json`.
fn of_part<'a>(stem: &'a str, known: &BTreeSet<&str>) -> &'a str {
    let part = stem.rsplit_once('_').filter(|(_, part)| part.bytes().all(|byte| byte.is_ascii_digit()));
    match part {
        Some((name, _)) if !known.contains(stem) && known.contains(name) => name,
        _ => stem,
    }
}

fn task(files: &dyn Files, sources: &Sources<'_>) -> (EvaluationTask, UnreadNumbers) {
    let Sources { results, predictions } = sources;
    let mut task = EvaluationTask::default();
    let results = results.map(|path| (path, files.open(path).and_then(|source| Results::read(path, source.as_ref()))));
    let results = match results {
        Some((_, Ok(results))) => results,
        Some((path, Err(error))) => {
            task.damages.push(EvaluationDamage {
                path: path.to_owned(),
                line: None,
                reason: error.message().to_owned(),
            });
            Results::default()
        }
        None => Results::default(),
    };
    let mut asked = 0;
    let mut drafts = results.details;
    for path in predictions {
        let name: Arc<str> = Arc::from(*path);
        match files.open(path).map(|source| Predictions::read(&name, &source)) {
            Ok(read) => {
                asked += read.drafts.len() as u64;
                task.damages.extend(read.damages);
                // Every part counts its samples from 0, so parts cannot be merged; the details hold the same samples.
                if predictions.len() == 1 {
                    merge(&mut drafts, read.drafts);
                }
            }
            Err(error) => {
                task.damages.push(EvaluationDamage {
                    path: (*path).to_owned(),
                    line: None,
                    reason: error.message().to_owned(),
                });
            }
        }
    }
    let asked = asked.max(drafts.len() as u64);
    task.asked = (asked > 0).then_some(asked);
    let mean = mean(&drafts);
    let metric = metric_of_details(&results.scores, mean);
    for (metric, value) in results.scores {
        let score = Score { value: fraction(&metric, value, mean), error: None, higher_is_better: None };
        task.scores.insert(ScoreName { metric, filter: None }, score);
    }
    if mean.is_some() {
        task.samples = Some(samples(drafts, &metric));
    }
    (task, results.account)
}

/// Merges predictions into the samples of the details. Texts come from the predictions, which hold the whole answer.
fn merge(drafts: &mut BTreeMap<SampleId, Draft>, read: BTreeMap<SampleId, Draft>) {
    for (id, prediction) in read {
        let known = drafts.entry(id).or_default();
        known.prompt = known.prompt.or(prediction.prompt);
        known.target = known.target.or(prediction.target);
        known.answer = prediction.answer.or(known.answer);
        known.texts = prediction.texts.or_else(|| known.texts.take());
        known.is_failed |= prediction.is_failed;
    }
}

fn samples(drafts: BTreeMap<SampleId, Draft>, metric: &str) -> Samples {
    let all = drafts.into_iter().filter_map(|(id, draft)| draft.into_sample(id, metric)).collect();
    Samples { by_filter: BTreeMap::from([(None, all)]) }
}

/// Share of right answers; `None` without details.
#[allow(clippy::cast_precision_loss, reason = "a share needs no exact count")]
fn mean(drafts: &BTreeMap<SampleId, Draft>) -> Option<f64> {
    let values: Vec<f64> = drafts.values().filter_map(|draft| draft.value).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Metric that the details belong to: the rate whose value equals the share of right answers, else the first rate.
fn metric_of_details(scores: &[(String, f64)], mean: Option<f64>) -> String {
    let is_share = |value: f64| mean.is_some_and(|mean| (value / 100.0 - mean).abs() < ROUNDING / 100.0);
    let fits = |(name, value): &&(String, f64)| is_rate(name) && is_share(*value);
    let found = scores.iter().find(fits).or_else(|| scores.iter().find(|(name, _)| is_rate(name)));
    found.map_or_else(|| "accuracy".to_owned(), |(name, _)| name.clone())
}

/// Converts a rate in percent to a fraction, unless the details show that it already is one. Other metrics stay as they are.
fn fraction(metric: &str, value: f64, mean: Option<f64>) -> f64 {
    let is_fraction = mean.is_some_and(|mean| {
        (value - mean).abs() < ROUNDING / 100.0 && (value / 100.0 - mean).abs() >= ROUNDING / 100.0
    });
    if is_rate(metric) && !is_fraction { value / 100.0 } else { value }
}

/// Whether a metric is a rate, by its name. All metrics of these tools are rates except text overlaps, likelihoods and times.
fn is_rate(metric: &str) -> bool {
    const NO_RATES: [&str; 9] = ["bleu", "chrf", "ter", "perplexity", "ppl", "loss", "bpb", "bits", "time"];
    let name = metric.to_lowercase();
    let mut words = name.split(|character: char| !character.is_ascii_alphabetic());
    !words.any(|word| NO_RATES.contains(&word)) && !name.starts_with("bleu") && !name.contains("score")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_fractions() {
        for (metric, value, mean, expected) in [
            ("accuracy", 77.0, None, 0.77),
            ("accuracy", 77.0, Some(0.77), 0.77),
            ("accuracy", 0.77, Some(0.77), 0.77),
            ("accuracy", 1.0, Some(0.01), 0.01),
            ("accuracy", 0.0, Some(0.0), 0.0),
            ("pass@1", 50.0, None, 0.5),
            ("bleu-4", 31.0, None, 31.0),
            ("ter", 31.0, None, 31.0),
        ] {
            assert!((fraction(metric, value, mean) - expected).abs() < 1e-12, "{metric} {value}");
        }
    }

    #[test]
    fn parts_belong_to_their_data_set() {
        let known = BTreeSet::from(["gsm8k", "a_1"]);
        assert_eq!(of_part("gsm8k_0", &known), "gsm8k");
        assert_eq!(of_part("a_1", &known), "a_1");
        assert_eq!(of_part("b_1", &known), "b_1");
    }
}
