//! Likely causes: codes and facts, from which the message catalogue makes sentences.

mod record;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::finding::Fact;

/// A likely cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "record::DiagnosisRecord", into = "record::DiagnosisRecord")]
#[schemars(with = "record::DiagnosisRecord")]
pub struct Diagnosis {
    /// Stable code of the cause.
    pub cause: String,
    /// The place it is about: a tensor, a metric, a checker.
    pub place: String,
    /// Sureness of the cause, after all evidence for it.
    pub sureness: Sureness,
    /// Evidence for it.
    pub evidence: Vec<Statement>,
    /// The next step for the reader; an empty statement where there is none.
    pub advice: Statement,
}

/// Sureness of a diagnosis, from the least to the most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Sureness {
    /// Other causes show the same.
    #[default]
    Possible,
    /// Nothing else that is known shows the same.
    Likely,
    /// The evidence holds no other reading.
    Certain,
}

impl Sureness {
    /// The word as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Possible => "possible",
            Self::Likely => "likely",
            Self::Certain => "certain",
        }
    }
}

/// A statement about a cause: a code with the names and numbers its text is made of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statement {
    /// Stable, kebab-case; empty where only a text is known, as in results of the first format.
    pub code: String,
    /// Names and numbers.
    pub facts: BTreeMap<String, Fact>,
    /// The sentence in the report's language; empty until the report stage writes it.
    pub text: String,
}

impl Statement {
    /// A statement without facts.
    pub fn new(code: &str) -> Self {
        Self { code: code.to_owned(), ..Self::default() }
    }

    /// Adds a fact.
    #[must_use]
    pub fn with(mut self, name: &str, fact: impl Into<Fact>) -> Self {
        self.facts.insert(name.to_owned(), fact.into());
        self
    }

    /// Whether it is one of the statements of these codes.
    pub fn is_any(&self, codes: &[&str]) -> bool {
        codes.contains(&self.code.as_str())
    }
}

impl Diagnosis {
    /// A diagnosis of `cause` at `place`, with the cause's general advice.
    pub fn new(cause: impl Into<String>, place: impl Into<String>, sureness: Sureness) -> Self {
        let cause = cause.into();
        Self { advice: Statement::new(&cause), cause, place: place.into(), sureness, evidence: Vec::new() }
    }

    /// Adds evidence.
    #[must_use]
    pub fn because(mut self, evidence: Statement) -> Self {
        self.evidence.push(evidence);
        self
    }

    /// Adds all evidence; there may be none.
    #[must_use]
    pub fn because_all(mut self, evidence: impl IntoIterator<Item = Statement>) -> Self {
        self.evidence.extend(evidence);
        self
    }

    /// Gives other advice than the cause's general one, where there is any.
    #[must_use]
    pub fn advise(mut self, advice: impl Into<Option<Statement>>) -> Self {
        if let Some(advice) = advice.into() {
            self.advice = advice;
        }
        self
    }

    /// Makes it merely possible, as where something else turned out to be wrong.
    pub fn doubt(&mut self) {
        self.sureness = Sureness::Possible;
    }
}
