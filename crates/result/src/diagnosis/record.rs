//! A diagnosis as `result.json` keeps it: sentences for readers, and beside them the codes and facts they are made of.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Diagnosis, Statement, Sureness};
use crate::finding::Fact;

/// A likely cause.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Diagnosis")]
pub(super) struct DiagnosisRecord {
    /// Stable code of the cause.
    cause: String,
    /// The place it is about: a tensor, a metric, a checker.
    #[serde(rename = "where")]
    place: String,
    /// Sureness of the cause, after all evidence for it.
    #[serde(default)]
    sureness: Sureness,
    /// Evidence for it, in the report's language.
    evidence: Vec<String>,
    /// The next step for the reader, in the report's language.
    advice: String,
    /// Codes and facts of `evidence`, in the same order; absent in results of the first format's early releases.
    #[serde(default, alias = "signs", skip_serializing_if = "Vec::is_empty")]
    evidence_facts: Vec<StatementRecord>,
    /// Code and facts of `advice`.
    #[serde(default, alias = "action", skip_serializing_if = "Option::is_none")]
    advice_facts: Option<StatementRecord>,
}

/// A code with the names and numbers its text is made of.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Statement")]
struct StatementRecord {
    /// Stable, kebab-case.
    code: String,
    /// Names and numbers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    facts: BTreeMap<String, Fact>,
}

impl StatementRecord {
    /// The record of a statement; `None` where only its text is known.
    fn of(statement: &Statement) -> Option<Self> {
        let record = || Self { code: statement.code.clone(), facts: statement.facts.clone() };
        (!statement.code.is_empty()).then(record)
    }

    fn with_text(self, text: String) -> Statement {
        Statement { code: self.code, facts: self.facts, text }
    }
}

/// A statement of which only the text is known.
fn told(text: String) -> Statement {
    Statement { text, ..Statement::default() }
}

impl From<Diagnosis> for DiagnosisRecord {
    fn from(diagnosis: Diagnosis) -> Self {
        Self {
            evidence_facts: diagnosis.evidence.iter().filter_map(StatementRecord::of).collect(),
            advice_facts: StatementRecord::of(&diagnosis.advice),
            cause: diagnosis.cause,
            place: diagnosis.place,
            sureness: diagnosis.sureness,
            evidence: diagnosis.evidence.into_iter().map(|statement| statement.text).collect(),
            advice: diagnosis.advice.text,
        }
    }
}

impl From<DiagnosisRecord> for Diagnosis {
    fn from(record: DiagnosisRecord) -> Self {
        let mut texts = record.evidence.into_iter();
        let evidence = if record.evidence_facts.is_empty() {
            texts.map(told).collect()
        } else {
            let facts = record.evidence_facts.into_iter();
            facts.map(|facts| facts.with_text(texts.next().unwrap_or_default())).collect()
        };
        let advice = match record.advice_facts {
            Some(facts) => facts.with_text(record.advice),
            None => told(record.advice),
        };
        Self { cause: record.cause, place: record.place, sureness: record.sureness, evidence, advice }
    }
}
