//! Rollout against training: what a run declares of its two engines.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::dump::DtypeName;

/// Rollout against training.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct TokensPolicy {
    /// Element type that weights are rounded to on purpose on their way to the engine.
    #[schemars(example = &"bfloat16")]
    pub cast: Option<DtypeName>,
}
