//! Results of evaluation harnesses: scores per task, and what the model answered to each question.
//!
//! docs/formats/evaluation.md has the layouts. A file is recognised by its content; the files of one run of a harness belong
//! together by their folder and time.

mod ais_bench;
mod assemble;
mod cursor;
mod digest;
mod document;
mod eval_scope;
mod generation;
mod kind;
mod lines;
mod lm_eval;
mod names;
mod place;
mod samples;
mod setting;
mod texts;

use crate::kind::SampleId;
use std::collections::BTreeMap;

pub use assemble::{EvaluationFile, Evaluations, read};
pub use kind::{FileKind, recognise};
pub use texts::{KeptOpen, texts};

/// The harness that wrote a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Harness {
    /// lm-evaluation-harness.
    LmEval,
    /// evalscope.
    EvalScope,
    /// AISBench, and OpenCompass, from which it grew.
    AisBench,
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

/// Samples of a task, under all filters.
#[derive(Debug, Default)]
pub struct Samples {
    /// The samples by filter, in order of id; filters without a name are `None`.
    pub by_filter: BTreeMap<Option<String>, Vec<Sample>>,
}

/// One question with its answer. Texts stay in the file and are read again where they are shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Identity within task and filter.
    pub id: SampleId,
    /// Digest of the document; `None` where the harness has none.
    pub document: Option<u64>,
    /// Digest of everything the model was asked; `None` where prompts were not kept.
    pub prompt: Option<u64>,
    /// Digest of the answer's text; `None` where there is no text, as of log-likelihoods.
    pub answer: Option<u64>,
    /// Value of each metric.
    pub values: BTreeMap<String, Value>,
    /// Whether the harness could not compute its values, so that none of them counts.
    pub is_failed: bool,
    /// Place of its texts.
    pub texts: TextPlace,
}

/// Value of a metric for one sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A number, or 0 and 1 for wrong and right.
    Number(f64),
    /// A log-likelihood with the words or bytes that it covers, of a perplexity.
    Likelihood {
        /// Natural logarithm of the likelihood.
        log: f64,
        /// Words or bytes.
        size: f64,
    },
    /// A metric of the whole corpus, which has no value per sample.
    Corpus,
}

/// Place of a sample's texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextPlace {
    /// One JSON object in a file: a line, or an entry of a larger object.
    Line {
        /// The file.
        path: std::sync::Arc<str>,
        /// Offset of the object in bytes.
        offset: u64,
        /// Its length in bytes.
        len: u64,
    },
}

/// Texts of a sample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampleTexts {
    /// The question, or the end of the prompt.
    pub question: String,
    /// The model's answer as it was generated.
    pub answer: String,
    /// The answer that was expected.
    pub target: String,
}

/// Damage of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The file.
    pub path: String,
    /// Line, from 1; `None` where the whole file cannot be read.
    pub line: Option<u64>,
    /// Reason, in English, as readers give it.
    pub reason: String,
}

/// Answers to prompts, token by token: one file of generation records.
#[derive(Debug, Default)]
pub struct Generations {
    /// Stem of the file's name.
    pub task: String,
    /// The file.
    pub path: String,
    /// The records, in the file's order.
    pub records: Vec<Generation>,
    /// Lines that cannot be read.
    pub damages: Vec<Damage>,
}

/// One generated answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Generation {
    /// `custom_id`, `request_id` or `id`; `None` where the record has none.
    pub key: Option<String>,
    /// Line in the file, from 1.
    pub line: u64,
    /// The prompt, where it was recorded; of chats all messages in one text.
    pub prompt: Option<String>,
    /// The generated text.
    pub text: String,
    /// The tokens; characters of the text where no tokens were recorded.
    pub tokens: Vec<Token>,
    /// Whether it was drawn at random, where the record says so.
    pub is_sampled: Option<bool>,
    /// Reason for its end: `stop`, `length`.
    pub finish: Option<String>,
    /// Whether the request failed, so that it has no answer.
    pub is_failed: bool,
}

/// One generated token.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Token {
    /// Its id in decimals, its text where no id was recorded, or one character.
    pub name: String,
    /// Its log-probability; `None` where none was recorded.
    pub log_probability: Option<f64>,
    /// The most likely tokens at its place with their log-probabilities, its own among them where it was recorded, by name.
    pub alternatives: BTreeMap<String, f64>,
}
