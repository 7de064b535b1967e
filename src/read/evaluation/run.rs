//! Runs of a harness, with their tasks and scores.

use std::collections::BTreeMap;

use super::damage::EvaluationDamage;
use super::question::Samples;
use crate::read::account::UnreadNumbers;

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
pub struct EvaluationRun {
    /// The harness.
    pub harness: Harness,
    /// Name of the model, as in its folder.
    pub model: String,
    /// Path of the file or folder of its results, for messages.
    pub path: String,
    /// Settings of the model that may change numbers, by name. Settings that were not given are absent.
    pub settings: BTreeMap<String, String>,
    /// Tasks by name.
    pub tasks: BTreeMap<String, EvaluationTask>,
    /// Groups that the harness reports, each with its tasks.
    pub groups: BTreeMap<String, Vec<String>>,
    /// Paths of results files of earlier runs in the same folder, which are not judged.
    pub older: Vec<String>,
    /// Damage that belongs to no task.
    pub damages: Vec<EvaluationDamage>,
    /// Numbers of its documents that were not read as scores.
    pub account: UnreadNumbers,
}

/// One task of a run.
#[derive(Debug, Default)]
pub struct EvaluationTask {
    /// Version of the task or its prompt.
    pub version: Option<String>,
    /// Number of examples before the question, as text.
    pub shots: Option<String>,
    /// Settings of generation, as canonical text.
    pub generation: Option<String>,
    /// Whether answers are sampled at random, by a sampling setting or a temperature above 0.
    pub is_sampled: bool,
    /// Number of documents that the model was asked about.
    pub asked: Option<u64>,
    /// Scores, by metric and filter.
    pub scores: BTreeMap<ScoreName, Score>,
    /// Samples; `None` if none were recorded or they cannot be read.
    pub samples: Option<Samples>,
    /// Number of failed requests that the harness counts but that no sample identifies.
    pub errors: u64,
    /// Parts that cannot be read.
    pub damages: Vec<EvaluationDamage>,
}

impl EvaluationTask {
    /// Whether the samples have values of a metric under a filter.
    pub(crate) fn has_values(&self, filter: &Option<String>, metric: &str) -> bool {
        let samples = self.samples.as_ref().and_then(|samples| samples.by_filter.get(filter));
        samples.is_some_and(|samples| samples.iter().any(|sample| sample.values.contains_key(metric)))
    }
}

/// A metric under a filter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScoreName {
    /// The metric.
    pub metric: String,
    /// Filter that extracted the answer from the text; `None` if the harness has none.
    pub filter: Option<String>,
}

/// A score of a whole task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// Value of the score. Rates are fractions, not percentages.
    pub value: f64,
    /// Standard error; `None` if the harness gives none.
    pub error: Option<f64>,
    /// Whether a larger value is better; `None` if the harness does not say.
    pub higher_is_better: Option<bool>,
}
