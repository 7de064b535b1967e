//! Findings and waived findings as templates see them.

use minijinja::Value;
use serde::Serialize;

use crate::judge::rule::Rule;
use crate::verdict::{CheckId, Severity};

/// One finding.
#[derive(Debug, Serialize)]
pub struct FindingRow {
    /// The check that says it.
    pub check: CheckId,
    /// Its weight.
    pub severity: Severity,
    /// The rule's code.
    pub code: String,
    /// The place.
    #[serde(rename = "where")]
    pub place: String,
    /// One sentence, with the place before it where it does not name it.
    pub message: Value,
    /// The next step; empty where there is none.
    pub help: Value,
    /// Whether it is about the culprit that the result names.
    pub is_culprit: bool,
    /// Values of both sides, baseline first, where the finding tells a difference of two values.
    pub sides: Option<[Value; 2]>,
}

impl FindingRow {
    /// Whether it is of `rule`.
    pub fn is(&self, rule: &Rule) -> bool {
        self.code == rule.code
    }
}

/// A waived finding.
#[derive(Debug, Serialize)]
pub struct WaivedRow {
    /// The waiver: its code and place.
    pub waiver: String,
    /// The waived finding.
    pub finding: FindingRow,
    /// Why.
    pub reason: String,
    /// Person who answers for it.
    pub owner: String,
    /// Until when.
    pub expires: String,
}
