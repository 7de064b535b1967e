//! Waivers: reviewed exceptions, with an owner and an end.

use schemars::JsonSchema;
use serde::Deserialize;

use super::value::{Date, Pattern};

/// Findings that do not count until a day, for a reason someone answers for.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Waiver {
    /// Finding codes it covers.
    pub code: Pattern,
    /// Places it covers: an operation, a tensor, a package, a metric.
    #[serde(rename = "where")]
    pub place: Pattern,
    /// Reason.
    pub reason: String,
    /// Person who answers for it.
    pub owner: String,
    /// The last day it holds.
    pub expires: Date,
}

impl Waiver {
    /// Whether it covers a finding of `code` at `place`, expired or not.
    pub fn covers(&self, code: &str, place: &str) -> bool {
        self.code.matches(code) && self.place.matches(place)
    }

    /// Whether it no longer holds.
    pub fn is_expired(&self, today: Date) -> bool {
        self.expires < today
    }

    /// Code and place, as people recognise it.
    pub fn name(&self) -> String {
        format!("{} at {}", self.code.as_str(), self.place.as_str())
    }
}
