//! Findings: what a check says, with its numbers and its place.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize};

use super::number::Number;
use super::place::{Family, LinePlace, Replacement, SourcePlace};
use super::rule::Rule;
use crate::verdict::{CheckId, Severity, Verdict};

/// One thing a check says.
///
/// A finding carries facts, not sentences: `message` and `help` are written from `code` and `facts` by the
/// message catalogue of the report's language.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "WrittenFinding", into = "WrittenFinding")]
pub struct Finding {
    /// Names the finding in its result: 32 hexadecimal digits that stay the same while the finding does, whatever its
    /// numbers. Empty until the gate sets it.
    pub id: String,
    /// The check that says it.
    pub check: CheckId,
    /// Severity, after policy and waivers.
    pub severity: Severity,
    /// The rule's stable code.
    pub code: String,
    /// The place: an operation, a tensor, a package, a metric, a file, a line as `file:line`.
    pub place: String,
    /// The line of source that it is about; `None` for other places.
    pub source: Option<SourcePlace>,
    /// The numbers and names the message is made of.
    pub facts: BTreeMap<String, Fact>,
    /// One sentence in the report's language; empty until the report stage writes it.
    pub message: String,
    /// The next step, in the report's language; empty where there is none.
    pub help: String,
}

/// A finding as `result.json` has it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Finding")]
struct WrittenFinding {
    /// Names the finding in its result: 32 hexadecimal digits that stay the same while the finding does, whatever its
    /// numbers.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    id: String,
    /// The check that says it.
    check: CheckId,
    /// Severity, after policy and waivers.
    severity: Severity,
    /// The rule's stable code.
    code: String,
    /// The place: an operation, a tensor, a package, a metric, a file; of the check `source` a line.
    #[serde(rename = "where")]
    place: WrittenPlace,
    /// Family of the rule; of the check `source` alone, as what follows until the facts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    family: Option<Family>,
    /// Whether the change touches the line; null where no change was given.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    changed: Option<Option<bool>>,
    /// Whether it counts for the verdict; absent where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    counts: Option<bool>,
    /// Replacement that repairs it and is safe to make.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fix: Option<Replacement>,
    /// The numbers and names the message is made of.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    facts: BTreeMap<String, Fact>,
    /// One sentence in the report's language.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    message: String,
    /// The next step, in the report's language; empty where there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    help: String,
}

/// The place of a finding as `result.json` has it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum WrittenPlace {
    /// A name.
    Name(String),
    /// A line of source.
    Line(LinePlace),
}

/// Reads a value that is there, be it null.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<bool>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

impl From<WrittenFinding> for Finding {
    fn from(written: WrittenFinding) -> Self {
        let (place, source) = match written.place {
            WrittenPlace::Name(name) => (name, None),
            WrittenPlace::Line(at) => {
                let source = SourcePlace {
                    family: written.family.unwrap_or(Family::Reading),
                    changed: written.changed.flatten(),
                    counts: written.counts.unwrap_or(true),
                    fix: written.fix,
                    at,
                };
                (source.name(), Some(source))
            }
        };
        let WrittenFinding { id, check, severity, code, facts, message, help, .. } = written;
        Self { id, check, severity, code, place, source, facts, message, help }
    }
}

impl From<Finding> for WrittenFinding {
    fn from(finding: Finding) -> Self {
        let Finding { id, check, severity, code, place, source, facts, message, help } = finding;
        let family = source.as_ref().map(|source| source.family);
        let changed = source.as_ref().map(|source| source.changed);
        let counts = source.as_ref().filter(|source| !source.counts).map(|_| false);
        let (place, fix) = match source {
            Some(source) => (WrittenPlace::Line(source.at), source.fix),
            None => (WrittenPlace::Name(place), None),
        };
        Self { id, check, severity, code, place, family, changed, counts, fix, facts, message, help }
    }
}

impl JsonSchema for Finding {
    fn schema_name() -> Cow<'static, str> {
        WrittenFinding::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        WrittenFinding::json_schema(generator)
    }
}

/// One number, name or list in a finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Fact {
    /// Whether something holds; null where nobody knows.
    Flag(Option<bool>),
    /// A count.
    Count(u64),
    /// A measured number.
    Number(Number),
    /// A name or value, as it stands in the artifact.
    Text(String),
    /// Several of them.
    List(Vec<String>),
}

impl From<f64> for Fact {
    fn from(value: f64) -> Self {
        Self::Number(Number(value))
    }
}

impl From<u64> for Fact {
    fn from(value: u64) -> Self {
        Self::Count(value)
    }
}

impl From<usize> for Fact {
    fn from(value: usize) -> Self {
        Self::Count(value as u64)
    }
}

impl From<&str> for Fact {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Fact {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<Vec<String>> for Fact {
    fn from(value: Vec<String>) -> Self {
        Self::List(value)
    }
}

impl Finding {
    /// A finding of `rule` at `place`, with the rule's own weight.
    pub fn new(rule: &Rule, place: impl Into<String>) -> Self {
        Self {
            id: String::new(),
            check: rule.check,
            severity: rule.severity,
            code: rule.code.to_owned(),
            place: place.into(),
            source: None,
            facts: BTreeMap::new(),
            message: String::new(),
            help: String::new(),
        }
    }

    /// Whether it is of `rule`.
    pub fn is(&self, rule: &Rule) -> bool {
        self.code == rule.code
    }

    /// Whether it is of one of `rules`.
    pub fn is_any(&self, rules: &[&Rule]) -> bool {
        rules.iter().any(|rule| self.is(rule))
    }

    /// Adds a fact.
    #[must_use]
    pub fn with(mut self, name: &str, fact: impl Into<Fact>) -> Self {
        self.facts.insert(name.to_owned(), fact.into());
        self
    }

    /// The text of a fact; `None` where there is none of this name, or it is no text.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.facts.get(name)? {
            Fact::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Weighs it differently from its rule's default.
    #[must_use]
    pub fn with_severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// Gives it a line of source as its place.
    #[must_use]
    pub fn at(mut self, source: SourcePlace) -> Self {
        self.place = source.name();
        self.source = Some(source);
        self
    }

    /// Whether it counts for the verdict as its severity says: all do, but those on lines that a change does not touch.
    pub fn counts(&self) -> bool {
        self.source.as_ref().is_none_or(|source| source.counts)
    }

    /// The same finding under another check, for artifact findings that belong to one.
    #[must_use]
    pub fn of_check(mut self, check: CheckId) -> Self {
        self.check = check;
        self
    }
}

/// A finding that a waiver covers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaivedFinding {
    /// The waiver: its code and place patterns.
    pub waiver: String,
    /// The finding, with the severity it would have had.
    pub finding: Finding,
    /// Reason of the waiver.
    pub reason: String,
    /// Owner of it.
    pub owner: String,
    /// Until when (`YYYY-MM-DD`).
    pub expires: String,
    /// Whether it follows from the defect that the waiver names, and was not judged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub follows: bool,
}

/// The verdict that findings lead to; none at all is `Pass`.
pub fn verdict_of<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Verdict {
    findings
        .into_iter()
        .filter(|finding| finding.counts())
        .map(|finding| finding.severity.verdict())
        .max()
        .unwrap_or(Verdict::Pass)
}
