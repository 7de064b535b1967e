//! Reasons not to sign off a release candidate: a code, facts, and one line in the reader's language.

use std::collections::BTreeMap;

use crate::error::{Error, ErrorKind, Result};
use crate::report::escape::TextTarget;
use crate::report::messages::Language;
use crate::report::phrases;
use crate::report::writer::Writer;
use crate::result::finding::Fact;

/// One reason.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// Its stable code.
    pub code: &'static str,
    /// Facts for its text; `suite` where it is about one.
    pub facts: BTreeMap<String, Fact>,
}

impl Refusal {
    /// A reason.
    pub fn new(code: &'static str) -> Self {
        Self { code, facts: BTreeMap::new() }
    }

    /// Adds a fact.
    #[must_use]
    pub fn with(mut self, name: &str, fact: impl Into<Fact>) -> Self {
        self.facts.insert(name.to_owned(), fact.into());
        self
    }

    /// The reason and its remedy, in one line of plain text.
    pub fn line(&self, language: Language) -> Result<String> {
        let writer = Writer::new(language, TextTarget::Plain);
        let key = format!("signoff_{}", self.code.replace('-', "_"));
        let text = |key: &str| {
            let phrase =
                phrases::find(key, language).ok_or_else(|| Error::new(ErrorKind::Internal, key, "has no text"))?;
            writer.statement(key, phrase, &self.facts)
        };
        Ok(format!("{}{}{}", text(&key)?, writer.word("semicolon")?, text(&format!("{key}_help"))?))
    }
}
