//! Runs of both sides, where several were judged together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::number::Number;
use crate::verdict::Side;

/// Runs of both sides, and the levels that they were tested at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Samples {
    /// False alarms of the verdict.
    pub alpha: Number,
    /// Share of shifts of the detectable size that are found.
    pub power: Number,
    /// Number of tests in the run.
    pub tests: u64,
    /// Correction for their number: `holm`.
    pub correction: String,
    /// Runs of the baseline, and of the candidate.
    pub runs: [Vec<SampledRun>; 2],
}

impl Samples {
    /// Runs of a side.
    pub fn runs_of_side(&self, side: Side) -> &[SampledRun] {
        let [baseline, candidate] = &self.runs;
        if side == Side::Baseline { baseline } else { candidate }
    }
}

/// One run of a side.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SampledRun {
    /// Its name: that of its file or folder.
    pub name: String,
    /// Its seed, where names or logs tell one.
    pub seed: Option<u64>,
    /// Reason why it was left out: `duplicate`; null where it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
}
