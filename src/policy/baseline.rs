//! Demands on a baseline.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::value::Pattern;

/// Demands on the baseline, beside the profile's. How much a stale one weighs is said under `severity`:
/// `baseline-old: fail`, `baseline-moved: fail`.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct BaselinePolicy {
    /// Days after which a baseline is old; no limit where it is not given.
    pub max_age_days: Option<u32>,
    /// Files of the repository that decide what a run computes (`src/model/**`, `configs/*.yaml`): their digests go into
    /// the manifest, and a run says when they moved since.
    pub sources: Vec<Pattern>,
}
