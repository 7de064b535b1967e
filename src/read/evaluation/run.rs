//! Runs of a harness, with their tasks and scores.

use std::collections::BTreeMap;

use super::damage::Damage;
use super::question::Samples;
use crate::read::account::Account;

/// The harness that wrote a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Harness {
    /// lm-evaluation-harness.
    LmEval,
    /// evalscope.
    EvalScope,
    /// AISBench, and OpenCompass, from which it grew.
    AisBench,
    /// verl, whose rollouts are scored while it trains.
    Verl,
}

/// One run of a harness on one model: the newest of its folder.
#[derive(Debug)]
pub struct Run {
    /// The harness.
    pub harness: Harness,
    /// The model, as its folder is named.
    pub model: String,
    /// The file or folder of its results, for messages.
    pub path: String,
    /// Settings of the model that may change numbers, by name; a setting that was not given is absent.
    pub settings: BTreeMap<String, String>,
    /// Tasks by name.
    pub tasks: BTreeMap<String, Task>,
    /// Groups that the harness reports, each with its tasks.
    pub groups: BTreeMap<String, Vec<String>>,
    /// Results files of earlier runs in the same folder, which are not judged.
    pub older: Vec<String>,
    /// Damage that belongs to no task.
    pub damages: Vec<Damage>,
    /// Numbers of its documents that became no score.
    pub account: Account,
}

/// One task of a run.
#[derive(Debug, Default)]
pub struct Task {
    /// Version of the task or its prompt.
    pub version: Option<String>,
    /// Number of examples before the question.
    pub shots: Option<String>,
    /// Settings of generation, in one canonical text.
    pub generation: Option<String>,
    /// Whether answers are drawn at random: sampling, or a temperature above 0.
    pub is_sampled: bool,
    /// Number of documents that were asked.
    pub asked: Option<u64>,
    /// Scores, by metric and filter.
    pub scores: BTreeMap<ScoreName, Score>,
    /// Samples; `None` where none were kept, or they cannot be read.
    pub samples: Option<Samples>,
    /// Requests that did not succeed, where the harness counts them and no sample tells which.
    pub errors: u64,
    /// Parts that cannot be read.
    pub damages: Vec<Damage>,
}

impl Task {
    /// Whether answers that are there say what each got in a metric under a filter.
    pub fn has_values(&self, filter: &Option<String>, metric: &str) -> bool {
        let samples = self.samples.as_ref().and_then(|samples| samples.by_filter.get(filter));
        samples.is_some_and(|samples| samples.iter().any(|sample| sample.values.contains_key(metric)))
    }
}

/// A metric under a filter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScoreName {
    /// The metric.
    pub metric: String,
    /// The filter that took the answer from the text; `None` where the harness has none.
    pub filter: Option<String>,
}

/// A score of a whole task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// The value; a rate in percent is given as a fraction.
    pub value: f64,
    /// Its standard error; `None` where the harness gives none.
    pub error: Option<f64>,
    /// Whether a larger value is better; `None` where the harness does not say.
    pub higher_is_better: Option<bool>,
}
