//! Dumps: how the dump check judges.

use schemars::JsonSchema;
use serde::Deserialize;

/// Dumps.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct DumpPolicy {}
