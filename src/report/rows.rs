//! Findings and waived findings as templates see them.

use minijinja::Value;
use serde::Serialize;

use crate::judge::rule::Rule;
use crate::verdict::{CheckId, Severity};

#[derive(Debug, Serialize)]
pub(crate) struct FindingRow {
    /// The check that reported it.
    pub check: CheckId,
    /// Its severity, as it counts in this result.
    pub severity: Severity,
    /// The rule's code.
    pub code: String,
    /// The place.
    #[serde(rename = "where")]
    pub place: String,
    /// One sentence, with the place in front if the sentence does not name it.
    pub message: Value,
    /// The next step; empty where there is none.
    pub help: Value,
    /// Whether it is about the culprit that the result names.
    pub is_culprit: bool,
    /// Values of both sides, baseline first, if the finding reports a difference of two values.
    pub sides: Option<[Value; 2]>,
}

impl FindingRow {
    /// Whether `rule` reported it.
    pub(crate) fn is(&self, rule: &Rule) -> bool {
        self.code == rule.code
    }
}

/// A waived finding.
#[derive(Debug, Serialize)]
pub(crate) struct WaivedRow {
    /// The waiver: its code and place.
    pub waiver: String,
    /// The waived finding.
    pub finding: FindingRow,
    /// Reason of the waiver.
    pub reason: String,
    /// Person responsible for the waiver.
    pub owner: String,
    /// Last day of the waiver (`YYYY-MM-DD`).
    pub expires: String,
}
