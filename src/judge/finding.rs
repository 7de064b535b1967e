//! Findings: what a check says, with its numbers and its place.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::number::Number;
use super::rule::Rule;
use crate::verdict::{CheckId, Severity, Verdict};

/// One thing a check says.
///
/// A finding carries facts, not sentences: `message` and `help` are written from `code` and `facts` by the
/// message catalogue of the report's language.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The check that says it.
    pub check: CheckId,
    /// How much it weighs, after policy and waivers.
    pub severity: Severity,
    /// The rule's stable code.
    pub code: String,
    /// The place: an operation, a tensor, a package, a metric, a file.
    #[serde(rename = "where")]
    pub place: String,
    /// The numbers and names the message is made of.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, Fact>,
    /// One sentence in the report's language; empty until the report stage writes it.
    #[serde(default)]
    pub message: String,
    /// The next step, in the report's language; empty where there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub help: String,
}

/// One number, name or list in a finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Fact {
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
            check: rule.check,
            severity: rule.severity,
            code: rule.code.to_owned(),
            place: place.into(),
            facts: BTreeMap::new(),
            message: String::new(),
            help: String::new(),
        }
    }

    /// Adds a fact.
    #[must_use]
    pub fn with(mut self, name: &str, fact: impl Into<Fact>) -> Self {
        self.facts.insert(name.to_owned(), fact.into());
        self
    }

    /// Weighs it differently from its rule's default.
    #[must_use]
    pub fn weighing(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
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
    /// Which waiver: its code and place patterns.
    pub waiver: String,
    /// The finding, with the severity it would have had.
    pub finding: Finding,
    /// Why it is waived.
    pub reason: String,
    /// Who answers for it.
    pub owner: String,
    /// Until when (`YYYY-MM-DD`).
    pub expires: String,
}

/// The verdict that findings lead to; none at all is `Pass`.
pub fn verdict_of<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Verdict {
    findings.into_iter().map(|finding| finding.severity.verdict()).max().unwrap_or(Verdict::Pass)
}
