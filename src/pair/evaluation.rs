//! Pairing evaluations: models by name, samples by identity and document, never by their place in a file.

mod direction;
mod generation;
mod metric;
mod model;

use crate::kind::SampleId;
use crate::read::evaluation::{Generations, Run, SampleTexts, Score, Value};
use crate::verdict::Side;

pub use generation::generations;
pub use model::models;

/// One model of both sides.
pub struct PairedModel<'a> {
    /// The model's name on the candidate side.
    pub name: String,
    /// The baseline's run.
    pub baseline: &'a Run,
    /// The candidate's run.
    pub candidate: &'a Run,
    /// Settings of the model that differ.
    pub settings: Vec<Difference>,
    /// Tasks of one side only, each with the side that lacks it.
    pub missing: Vec<(Side, String)>,
    /// Tasks of both sides, by name.
    pub tasks: Vec<PairedTask>,
}

/// A setting that differs; a side that does not have it holds `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The setting.
    pub name: String,
    /// The baseline's value.
    pub baseline: Option<String>,
    /// The candidate's value.
    pub candidate: Option<String>,
}

/// A task of both sides.
pub struct PairedTask {
    /// Its name.
    pub name: String,
    /// Differences that make another question out of it, so that nothing of it is tested: `version`, `shots`, and
    /// `generation` with the settings that differ.
    pub unequal: Vec<Difference>,
    /// Whether answers are drawn at random on either side.
    pub is_sampled: bool,
    /// Numbers of documents asked on the baseline and on the candidate, where they differ.
    pub limits: Option<(u64, u64)>,
    /// Metrics of both sides, each under each filter.
    pub metrics: Vec<PairedMetric>,
    /// Metrics of one side only, as `metric` or `metric,filter`, each with the side that lacks it.
    pub metrics_missing: Vec<(Side, String)>,
}

/// A metric of a task under a filter: one unit.
#[derive(Clone, Debug)]
pub struct PairedMetric {
    /// The metric.
    pub metric: String,
    /// The filter; `None` where the harness has none.
    pub filter: Option<String>,
    /// Whether a larger value is better; `None` where neither harness nor name says.
    pub higher_is_better: Option<bool>,
    /// The baseline's score of the whole task.
    pub baseline: Option<Score>,
    /// The candidate's score of the whole task.
    pub candidate: Option<Score>,
    /// Whether samples stand on both sides, be it without a value of their own, as of a metric of the whole corpus; where
    /// not, only the scores are compared.
    pub has_samples: bool,
    /// Numbers of samples that each score covers, for a rate without a standard error.
    pub counts: (Option<u64>, Option<u64>),
    /// Ids of both sides together.
    pub samples: u64,
    /// Pairs that enter the test, in order of id.
    pub pairs: Vec<ValuePair>,
    /// Samples that left the test, and why.
    pub left_out: LeftOut,
}

/// Both sides' value of one sample.
#[derive(Clone, Debug, PartialEq)]
pub struct ValuePair {
    /// Identity within task and filter.
    pub id: SampleId,
    /// The baseline's value.
    pub baseline: Value,
    /// The candidate's value.
    pub candidate: Value,
    /// Whether both answered with the same text; `None` where there is none.
    pub same_answer: Option<bool>,
    /// Places of the sample in the lists of its filter, baseline and candidate.
    pub places: (usize, usize),
}

/// Numbers of samples that left the test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// The document differs.
    pub documents: u64,
    /// The prompt differs.
    pub prompts: u64,
    /// On the baseline only.
    pub only_baseline: u64,
    /// On the candidate only.
    pub only_candidate: u64,
    /// Twice on a side with the same values; these stay in the test once.
    pub twice: u64,
    /// Twice on a side with other values; nothing of the filter is tested then.
    pub contradictory: u64,
    /// The harness could not compute a value.
    pub failed: u64,
}

/// Both sides' texts of one sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextPair {
    /// The baseline's.
    pub baseline: SampleTexts,
    /// The candidate's.
    pub candidate: SampleTexts,
}

/// Generation records of both sides.
pub struct PairedGenerations<'a> {
    /// The baseline's file.
    pub baseline: &'a Generations,
    /// The candidate's file.
    pub candidate: &'a Generations,
    /// Records of both sides with equal prompts, by their places in the files, in the baseline's order.
    pub pairs: Vec<(usize, usize)>,
    /// Names of the pairs: the shared key, or the line.
    pub names: Vec<String>,
    /// Records whose prompts differ.
    pub prompts: u64,
    /// Records of the baseline only.
    pub only_baseline: u64,
    /// Records of the candidate only.
    pub only_candidate: u64,
    /// Records with a key that another one of the side has, with another answer.
    pub contradictory: u64,
    /// Records of failed requests.
    pub failed: u64,
}
