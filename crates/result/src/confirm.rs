//! Runs that were made again before a verdict is believed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One run of the candidate that was judged by itself: the first one, or one that was made again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rerun {
    /// The machine that it was made on; empty where nobody said.
    #[serde(default)]
    pub node: String,
    /// Its location.
    pub location: String,
    /// Whether it fails or is incomplete; of the first run the verdict says it.
    pub blocks: bool,
}

/// Outcome of the runs together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Confirm {
    /// The outcome.
    pub outcome: ConfirmOutcome,
    /// Runs that are still needed.
    pub reruns_needed: Option<u64>,
    /// The machine whose runs alone fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Commands that judge with another run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
}

/// Outcome of runs that were made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConfirmOutcome {
    /// More runs are needed.
    RerunNeeded,
    /// Two of three runs fail, or a run broke.
    Confirmed,
    /// One of three runs fails.
    NotConfirmed,
    /// The runs of one machine fail, and those of others do not.
    Node,
}

impl ConfirmOutcome {
    /// The word as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RerunNeeded => "rerun-needed",
            Self::Confirmed => "confirmed",
            Self::NotConfirmed => "not-confirmed",
            Self::Node => "node",
        }
    }
}
