//! The policy: everything that decides a verdict, as `precision-gate.yml` says it.
//!
//! Values are checked while they are read, so that a limit which can never fail (NaN, negative, infinite) or an
//! unknown key is an error with line and column, never a silent pass. Each check has its section in a file of
//! its own.

pub mod config;
pub mod dump;
pub mod loss;
pub mod value;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::{Error, ErrorKind, Result};
use crate::verdict::{CheckId, Profile, Severity};

/// Everything that decides a verdict.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Policy {
    /// How severe the gate is.
    pub profile: Profile,
    /// The trusted run.
    pub baseline: SidePolicy,
    /// The run judged.
    pub candidate: SidePolicy,
    /// Checks without which the gate may not pass.
    pub required: Vec<CheckId>,
    /// Severity per finding code, in place of its default.
    pub severity: BTreeMap<String, Severity>,
    /// Configuration packs.
    pub config: config::ConfigPolicy,
    /// Training curves.
    pub loss: loss::LossPolicy,
    /// Dumps.
    pub dump: dump::DumpPolicy,
}

/// One side, as the policy names it.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct SidePolicy {
    /// A short name for people: `A100`.
    pub label: String,
    /// Where to read it, when the command line does not say.
    pub location: String,
}

impl Policy {
    /// Reads a policy file's text; messages call it `name`.
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        serde_yaml::from_str(text).map_err(|error| {
            let place = error.location().map_or_else(String::new, |at| format!(":{}:{}", at.line(), at.column()));
            Error::new(ErrorKind::Policy, format!("{name}{place}"), error)
                .with_help("`precision-gate schema config` prints what a policy file may hold")
        })
    }
}
