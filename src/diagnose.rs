//! Stage 6, *diagnose*: from findings to likely causes, one file per cause.
//!
//! Three kinds of evidence are looked at. A dump's culprit, with the operation around it and, within bounds, its
//! data a second time ([`in_dump`], while the dump is at hand); training curves; and what the config check found.
//! [`story`] joins them: what one kind of evidence says of a cause that another one found becomes further evidence of it.
//!
//! A diagnosis carries codes and facts, no sentences; `templates/messages/<language>/diagnoses.yaml` holds the texts.
//! Where evidence is thin nothing is said: a wrong cause costs more than none.

mod before;
pub mod cause;
mod context;
mod curves;
mod factor;
mod fingerprint;
mod formula;
mod location;
pub mod next_dump;
mod part;
mod record;
mod rl;
pub mod runnable;
mod story;
mod trace;
mod updates;
mod value_pair;
mod values;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::judge::finding::Fact;
use cause::Cause;

pub use before::{Before, Gradients};
pub use context::{Context, Peer, PeerOperation};
pub use location::location;
pub use story::{Run, in_dump, story};
pub use values::TensorCache;

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
}

impl Diagnosis {
    /// A diagnosis of `cause` at `place`, with the cause's general advice.
    fn new(cause: &Cause, place: impl Into<String>, sureness: Sureness) -> Self {
        Self {
            cause: cause.code.to_owned(),
            place: place.into(),
            sureness,
            evidence: Vec::new(),
            advice: Statement::new(cause.code),
        }
    }

    /// Makes it merely possible, as where something else turned out to be wrong.
    pub fn doubt(&mut self) {
        self.sureness = Sureness::Possible;
    }

    /// Adds evidence.
    #[must_use]
    fn because(mut self, evidence: Statement) -> Self {
        self.evidence.push(evidence);
        self
    }

    /// Adds all evidence; there may be none.
    #[must_use]
    fn because_all(mut self, evidence: impl IntoIterator<Item = Statement>) -> Self {
        self.evidence.extend(evidence);
        self
    }

    /// Gives other advice than the cause's general one.
    #[must_use]
    fn advise(mut self, advice: Statement) -> Self {
        self.advice = advice;
        self
    }
}
