//! Reasons why a result has no counting failure: waivers, and failures that the policy lowers to information.
//!
//! A defect that a waiver covers is not agreement, and neither is a defect whose severity the policy lowers to `info`. Documents
//! name both wherever a reader would otherwise take the pass for agreement.

use std::collections::BTreeSet;

use minijinja::{Value, context};

use super::rows::{FindingRow, WaivedRow};
use super::writer::{Writer, safe};
use crate::error::Result;
use crate::judge::register;
use crate::judge::rule::artifacts::SIDES_IDENTICAL;
use crate::verdict::{CheckId, Severity};

/// Prefix of the codes about settings that a checkpoint stores beside its tensors.
const SETTING: &str = "checkpoint-setting-";

/// The rows of a result that a pass may depend on.
#[derive(Clone, Copy)]
pub(super) struct PassGround<'a> {
    pub(super) findings: &'a [FindingRow],
    pub(super) waived: &'a [WaivedRow],
    pub(super) writer: &'a Writer,
}

impl PassGround<'_> {
    /// Words that replace "agrees" for `check`; `None` if no failure was waived or lowered.
    pub(super) fn instead_of_agreement(&self, check: CheckId) -> Result<Option<Value>> {
        let of_check = |row: &&FindingRow| row.check == check;
        let waived: Vec<&WaivedRow> = self.waived.iter().filter(|row| of_check(&&row.finding)).collect();
        if let Some(said) = self.waivers(&waived, "reason_check_waived")? {
            return Ok(Some(said));
        }
        let lowered: Vec<&FindingRow> =
            self.findings.iter().filter(of_check).filter(|row| is_lowered(row.severity, &row.code)).collect();
        let Some(first) = lowered.first() else { return Ok(None) };
        let arguments = context! { message => first.message.clone(), more => lowered.len() - 1 };
        self.writer.phrase("reason_check_lowered", &arguments).map(|said| Some(safe(said)))
    }

    /// Lines below the headline, which report that nothing was compared, or that waivers cover further failures.
    pub(super) fn notes(&self, headline: &Value) -> Result<Vec<Value>> {
        let mut notes = if self.is_any_wrong() { Vec::new() } else { self.identical(headline)? };
        if self.writer.is_alone() {
            notes.push(safe(self.writer.word("note_no_baseline")?));
        }
        if self.is_any_wrong() {
            let waived: Vec<&WaivedRow> = self.waived.iter().collect();
            notes.extend(self.waivers(&waived, "also_waived")?);
        }
        Ok(notes)
    }

    /// Lines below the failures, which report that files of both sides are identical and so explain no failure.
    pub(super) fn remarks(&self, headline: &Value) -> Result<Vec<Value>> {
        if self.is_any_wrong() { self.identical(headline) } else { Ok(Vec::new()) }
    }

    fn is_any_wrong(&self) -> bool {
        self.findings.iter().any(|row| row.severity >= Severity::Warn)
    }

    /// Lines for checks whose files have the same bytes on both sides; if settings of a checkpoint differ, this is about its tensors
    /// only.
    fn identical(&self, headline: &Value) -> Result<Vec<Value>> {
        let said = |row: &FindingRow| {
            let is_of_setting = |other: &FindingRow| {
                other.check == row.check && other.severity >= Severity::Warn && other.code.starts_with(SETTING)
            };
            match self.findings.iter().any(is_of_setting) {
                true => self.writer.word("note_tensors_identical").map(safe),
                false => Ok(row.message.clone()),
            }
        };
        let identical = self.findings.iter().filter(|row| row.is(&SIDES_IDENTICAL) && row.message != *headline);
        identical.map(said).collect()
    }

    /// The phrase `key` about waived findings, which names the worst one; `None` without waived findings.
    fn waivers(&self, waived: &[&WaivedRow], key: &str) -> Result<Option<Value>> {
        let worst = waived.iter().map(|row| row.finding.severity).max();
        let Some(first) = waived.iter().find(|row| Some(row.finding.severity) == worst) else { return Ok(None) };
        let waivers: BTreeSet<&str> = waived.iter().map(|row| row.waiver.as_str()).collect();
        let arguments = context! {
            count => waivers.len(),
            message => first.finding.message.clone(),
            owner => first.owner.as_str(),
            expires => first.expires.as_str(),
            more => waived.len() - 1,
        };
        self.writer.phrase(key, &arguments).map(|said| Some(safe(said)))
    }
}

/// Whether a finding does not count although its rule blocks by default.
pub(super) fn is_lowered(severity: Severity, code: &str) -> bool {
    let blocks = |severity| severity >= Severity::Incomplete;
    severity == Severity::Info && register::find(code).is_some_and(|rule| blocks(rule.severity))
}
