//! Evaluations: how the check of evaluations judges.

use schemars::JsonSchema;
use serde::Deserialize;

use super::value::Pattern;

/// Evaluations.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct EvaluationPolicy {
    /// Tasks that are judged; all where none is named.
    pub tasks: Vec<Pattern>,
    /// Tasks that are left out on both sides.
    #[serde(alias = "ignore_tasks")]
    pub ignore_tasks: Vec<Pattern>,
}
