//! Questions of a task with the answers of the model: its samples.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::kind::SampleId;

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
    /// The answer that was expected.
    pub target: String,
}
