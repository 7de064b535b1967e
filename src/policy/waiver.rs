//! Waivers: reviewed exceptions, with an owner and an end.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};

use super::value::{Date, Pattern, statement, statement_schema};

/// Placeholders of the reason in an offered waiver, in English and Chinese, in lower case. A policy that still holds one is
/// refused.
pub const OFFERED_REASONS: [&str; 2] = ["why it is acceptable", "为何可以接受"];
/// Placeholders of the owner in an offered waiver, as those of the reason.
pub const OFFERED_OWNERS: [&str; 2] = ["the person responsible", "由谁负责"];

/// Reads the reason of a waiver.
fn reason<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    own_words(deserializer, "write why this difference is acceptable")
}

/// Reads the owner of a waiver.
fn owner<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    own_words(deserializer, "name the person who is responsible for it")
}

/// Reads a text that a person wrote. A placeholder of an offered waiver, in any case and with any blanks, is refused with
/// `advice`.
fn own_words<'de, D: Deserializer<'de>>(deserializer: D, advice: &str) -> Result<String, D::Error> {
    let text = statement(deserializer)?;
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    match OFFERED_REASONS.iter().chain(&OFFERED_OWNERS).find(|offered| **offered == words) {
        Some(offered) => Err(serde::de::Error::custom(format!("still holds the placeholder `{offered}`; {advice}"))),
        None => Ok(text),
    }
}

/// Findings that do not count until a day, for a reason, with an owner.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Waiver {
    /// Finding codes it covers.
    #[schemars(example = &"other-precision")]
    pub code: Pattern,
    /// Places it covers: an operation, a tensor, a package, a metric.
    #[serde(rename = "where")]
    #[schemars(example = &"Functional.linear.*")]
    pub place: Pattern,
    /// Reason in words; it has a letter or a digit.
    #[serde(deserialize_with = "reason")]
    #[schemars(schema_with = "statement_schema", example = &"HF32 is accepted until the next release")]
    pub reason: String,
    /// Person who is responsible for it.
    #[serde(deserialize_with = "owner")]
    #[schemars(schema_with = "statement_schema", example = &"alice")]
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
    pub(crate) fn is_expired(&self, today: Date) -> bool {
        self.expires < today
    }

    /// Code and place, as people recognise it.
    pub fn name(&self) -> String {
        format!("{} at {}", self.code.as_str(), self.place.as_str())
    }
}

/// Number of days from today a waiver may hold at most: a leap year, unless the policy says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "u16")]
pub struct MaxDays(u16);

impl MaxDays {
    /// The number of days.
    pub fn get(self) -> i32 {
        i32::from(self.0)
    }
}

impl Default for MaxDays {
    fn default() -> Self {
        Self(366)
    }
}

impl TryFrom<u16> for MaxDays {
    type Error = String;

    fn try_from(days: u16) -> Result<Self, String> {
        if days > 0 { Ok(Self(days)) } else { Err("0 days are too few; expects a whole number of at least 1".into()) }
    }
}

impl JsonSchema for MaxDays {
    fn schema_name() -> Cow<'static, str> {
        "MaxDays".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer", "minimum": 1, "maximum": u16::MAX, "default": Self::default().0})
    }
}
