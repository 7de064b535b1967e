//! Training curves: how the loss check judges.

use schemars::JsonSchema;
use serde::Deserialize;

/// Training curves.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct LossPolicy {}
