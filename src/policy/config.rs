//! Configuration packs: how the config check judges.

use schemars::JsonSchema;
use serde::Deserialize;

/// Configuration packs.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ConfigPolicy {}
