//! Stage 6, *diagnose*: from findings to likely causes, one file per cause.
//!
//! Three kinds of evidence are looked at. A dump's culprit, with the operation around it and, within bounds, its
//! data a second time ([`in_dump`], while the dump is at hand); training curves; and what the config check found.
//! [`story`] joins them: what one kind of evidence says of a cause that another one found becomes a further sign of it.
//!
//! A diagnosis carries codes and facts, no sentences; `templates/messages/<language>/diagnoses.yaml` holds the texts.
//! Where evidence is thin nothing is said: a wrong cause costs more than none.

pub mod cause;
mod context;
mod curves;
mod formula;
pub mod next_dump;
mod story;
mod trace;
mod value_pair;
mod values;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::judge::finding::Fact;
use cause::Cause;

pub use context::{Context, Peer};
pub use story::{Run, in_dump, story};
pub use values::TensorCache;

/// A likely cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Diagnosis {
    /// Stable code of the cause.
    pub cause: String,
    /// The place it is about: a tensor, a metric, a checker.
    #[serde(rename = "where")]
    pub place: String,
    /// How sure it is.
    #[serde(default)]
    pub sureness: Sureness,
    /// What speaks for it, as codes and facts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signs: Vec<Statement>,
    /// What to do next, as code and facts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Statement>,
    /// What speaks for it, in the report's language; empty until the report stage writes it.
    pub evidence: Vec<String>,
    /// What to do next, in the report's language.
    pub advice: String,
}

/// How sure a diagnosis is.
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

/// Something said of a cause: a code with the names and numbers its text is made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Statement {
    /// Stable, kebab-case.
    pub code: String,
    /// Names and numbers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, Fact>,
}

impl Statement {
    /// A statement without facts.
    pub fn new(code: &str) -> Self {
        Self { code: code.to_owned(), facts: BTreeMap::new() }
    }

    /// Adds a fact.
    #[must_use]
    pub fn with(mut self, name: &str, fact: impl Into<Fact>) -> Self {
        self.facts.insert(name.to_owned(), fact.into());
        self
    }
}

impl Diagnosis {
    /// A diagnosis of `cause` at `place`, with the cause's general advice.
    fn new(cause: &Cause, place: impl Into<String>, sureness: Sureness) -> Self {
        Self {
            cause: cause.code.to_owned(),
            place: place.into(),
            sureness,
            signs: Vec::new(),
            action: Some(Statement::new(cause.code)),
            evidence: Vec::new(),
            advice: String::new(),
        }
    }

    /// Adds a sign.
    #[must_use]
    fn sign(mut self, sign: Statement) -> Self {
        self.signs.push(sign);
        self
    }

    /// Adds signs.
    #[must_use]
    fn signs(mut self, signs: impl IntoIterator<Item = Statement>) -> Self {
        self.signs.extend(signs);
        self
    }

    /// Gives other advice than the cause's general one.
    #[must_use]
    fn advise(mut self, action: Statement) -> Self {
        self.action = Some(action);
        self
    }
}
