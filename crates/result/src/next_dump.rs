//! The plan of the dump to collect next.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Plan of the dump to collect next, with its reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NextDump {
    /// Why: `tensors`, `inside-module`, `gap`, `curve`.
    pub reason: String,
    /// The step, as msprobe counts (from 0).
    pub step: u64,
    /// The ranks; empty for all.
    #[serde(default)]
    pub ranks: Vec<u64>,
    /// `statistics` or `tensor`.
    pub task: String,
    /// `L0`, `L1` or `mix`.
    pub level: String,
    /// Operations or modules to collect; empty for all.
    #[serde(default)]
    pub list: Vec<String>,
    /// Size on disk of one side and rank, estimated from recorded shapes; null where nothing tells.
    #[serde(default)]
    pub bytes: Option<u64>,
}
