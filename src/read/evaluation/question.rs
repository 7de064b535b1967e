//! Samples of a task: its questions with the answers of the model.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::kind::SampleId;

/// Samples of a task, under all filters.
#[derive(Debug, Default)]
pub struct Samples {
    /// Samples by filter, in order of id. The key is `None` if the harness has no filter.
    pub by_filter: BTreeMap<Option<String>, Vec<EvaluationSample>>,
}

/// One question with its answer. Its texts stay in the file and are read again when they are shown.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluationSample {
    /// Identity within task and filter.
    pub id: SampleId,
    /// Digest of the document; `None` if the harness has none.
    pub document: Option<u64>,
    /// Digest of the whole prompt; `None` if prompts were not recorded.
    pub prompt: Option<u64>,
    /// Digest of the answer's text; `None` if there is no text, as for log-likelihoods.
    pub answer: Option<u64>,
    /// Value of each metric.
    pub values: BTreeMap<String, SampleValue>,
    /// Whether the harness could not compute its values, so that none of them counts.
    pub is_failed: bool,
    /// Place of its texts in a file.
    pub texts: TextPlace,
}

/// Value of a metric for one sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SampleValue {
    /// A number; for right and wrong answers 1 and 0.
    Number(f64),
    /// A log-likelihood for a perplexity, with the number of words or bytes that it covers.
    Likelihood {
        /// Natural logarithm of the likelihood.
        log: f64,
        /// Number of words or bytes.
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
        /// Path of the file.
        path: Arc<str>,
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
    /// The expected answer.
    pub target: String,
}
