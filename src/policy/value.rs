//! Values a policy holds, checked while they are read.

use std::borrow::Cow;

use globset::{Glob, GlobMatcher};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::check::{CheckId, check_named};

/// A tolerance: finite and not negative.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Deserialize, Serialize)]
#[serde(try_from = "f64")]
pub struct Tolerance(f64);

impl Tolerance {
    /// A tolerance from a trusted number; one that is negative or not finite becomes 0, the strictest.
    pub const fn new(value: f64) -> Self {
        Self(if value.is_finite() && value >= 0.0 { value } else { 0.0 })
    }

    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Tolerance {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        if value.is_finite() && value >= 0.0 {
            return Ok(Self(value));
        }
        Err(format!("expects a number of at least 0, not {value}; such a limit can never fail"))
    }
}

impl JsonSchema for Tolerance {
    fn schema_name() -> Cow<'static, str> {
        "Tolerance".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "number", "minimum": 0})
    }
}

/// A check of a run, as policies name it.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct NamedCheck(CheckId);

impl TryFrom<String> for NamedCheck {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        check_named(&name).map(Self)
    }
}

/// Reads a list of checks of a run.
pub(super) fn checks_of_run<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<CheckId>, D::Error> {
    let named = Vec::<NamedCheck>::deserialize(deserializer)?;
    Ok(named.into_iter().map(|NamedCheck(check)| check).collect())
}

/// The schema of [`checks_of_run`].
pub(super) fn checks_of_run_schema(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<&str> = CheckId::CHECKS.iter().map(|check| check.as_str()).collect();
    json_schema!({"type": "array", "items": {"type": "string", "enum": names}, "default": []})
}

/// Reads a text that people are to understand: one letter or digit at least.
pub(super) fn statement<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.chars().any(char::is_alphanumeric) {
        return Ok(text);
    }
    let found = if text.trim().is_empty() { "an empty text".to_owned() } else { format!("`{}`", text.escape_debug()) };
    Err(serde::de::Error::custom(format!("expects words, not {found}")))
}

/// The schema of [`statement`].
pub(super) fn statement_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "pattern": "[\\p{L}\\p{N}]"})
}

/// A shell-style pattern: `*`, `?`, `[…]`, `{a,b}`.
#[derive(Clone, Deserialize)]
#[serde(try_from = "String")]
pub struct Pattern(GlobMatcher);

impl Pattern {
    /// Whether `text` as a whole fits.
    pub fn matches(&self, text: &str) -> bool {
        self.0.is_match(text)
    }

    /// The only text that fits the pattern; `None` where several may fit, or that is not known.
    pub fn literal(&self) -> Option<String> {
        let mut characters = self.as_str().chars();
        let mut text = String::new();
        while let Some(character) = characters.next() {
            match character {
                // A class of one character, as wildcards are escaped.
                '[' => text.push(characters.next().filter(|one| one.is_ascii() && !matches!(one, '!' | '^' | '\\'))?),
                '*' | '?' | '{' | '}' | '\\' => return None,
                _ => text.push(character),
            }
            if character == '[' && characters.next() != Some(']') {
                return None;
            }
        }
        Some(text)
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        self.0.glob().glob()
    }
}

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Glob::new(&text)
            .map(|glob| Self(glob.compile_matcher()))
            .map_err(|error| format!("expects a shell-style pattern: {error}"))
    }
}

impl std::fmt::Debug for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Pattern").field(&self.as_str()).finish()
    }
}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl JsonSchema for Pattern {
    fn schema_name() -> Cow<'static, str> {
        "Pattern".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "description": "shell-style pattern: * ? [...] {a,b}", "examples": ["*"]})
    }
}

/// Names and what they stand for, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameMap(pub Vec<(String, String)>);

impl<'de> Deserialize<'de> for NameMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Entries).map(Self)
    }
}

impl Serialize for NameMap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(from, to)| (from, to)))
    }
}

/// Reads the entries of a map in order.
struct Entries;

impl<'de> Visitor<'de> for Entries {
    type Value = Vec<(String, String)>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("names and what they stand for")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some((from, to)) = map.next_entry::<String, String>()? {
            if from.is_empty() {
                return Err(serde::de::Error::custom("expects names, not an empty text"));
            }
            entries.push((from, to));
        }
        Ok(entries)
    }
}

impl JsonSchema for NameMap {
    fn schema_name() -> Cow<'static, str> {
        "NameMap".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "object", "additionalProperties": {"type": "string"}})
    }
}

/// A day, `YYYY-MM-DD`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct Date(jiff::civil::Date);

impl Date {
    /// Days from `earlier` to this day; negative where that comes later.
    pub fn days_since(self, earlier: Self) -> i32 {
        (self.0 - earlier.0).get_days()
    }
}

impl TryFrom<String> for Date {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = || format!("expects a date such as 2027-03-31, not `{text}`");
        // jiff accepts a time of day after the date; a date alone has ten characters.
        if text.len() != 10 {
            return Err(wrong());
        }
        text.parse().map(Self).map_err(|_| wrong())
    }
}

impl std::fmt::Display for Date {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Date {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for Date {
    fn schema_name() -> Cow<'static, str> {
        "Date".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": "date", "examples": ["2027-03-31"]})
    }
}
