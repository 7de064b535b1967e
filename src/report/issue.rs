//! Findings in the form that a forge's systems accept: a message in plain text, a stable fingerprint, a source line.

use std::path::Path;

use super::escape::TextTarget;
use super::messages::Language;
use super::source::{self, SourceLine};
use super::view::View;
use super::writer::Writer;
use crate::error::Result;
use crate::result::GateResult;
use crate::result::finding::Finding;
use crate::verdict::Severity;

/// File that an issue without a known source line points to: the policy, which decides about the finding.
pub(crate) const POLICY_FILE: &str = "precision-gate.yml";

/// Largest number of findings about source that are shown beside their lines; the summary counts all of them.
pub(crate) const MOST_OF_SOURCE: usize = 50;

/// Options for written issues.
#[derive(Clone, Copy, Debug)]
pub struct IssueOptions<'a> {
    /// The language.
    pub language: Language,
    /// Folder of the checked-out repository, where calls are looked for.
    pub source_root: Option<&'a Path>,
}

/// One finding.
#[derive(Clone, Debug)]
pub struct FindingIssue<'a> {
    /// The finding.
    pub finding: &'a Finding,
    /// One sentence, with its place.
    pub message: String,
    /// The next step; empty if there is none.
    pub help: String,
    /// Digest that stays the same as long as the finding does, even if its numbers change: 32 hexadecimal digits, unique in the
    /// result.
    pub fingerprint: String,
    /// The source line, where it is known.
    pub line: Option<SourceLine>,
    /// Column of the source line, from 1, in code points; `None` where only the line is known.
    pub column: Option<u64>,
    /// Owner and reason of its waiver; `None` if no waiver covers it.
    pub waived: Option<String>,
}

/// Every finding that counts, the worst first, then the waived findings.
pub fn all_issues<'a>(result: &'a GateResult, options: &IssueOptions<'_>) -> Result<Vec<FindingIssue<'a>>> {
    let writer = Writer::from_result(result, options.language, TextTarget::Plain);
    let view = View::new(result, &writer)?;
    let mut left_of_source = MOST_OF_SOURCE;
    let counting = result.counting().zip(&view.findings).filter(|(finding, _)| is_shown(finding, &mut left_of_source));
    let counting = counting.map(|(finding, row)| (finding, row, None));
    let waived = result.waived.iter().zip(&view.waived).map(|(waived, row)| {
        (&waived.finding, &row.finding, Some(format!("{} ({}, {})", row.reason, row.owner, row.expires)))
    });
    let issue = |(finding, row, waived): (&'a Finding, &super::rows::FindingRow, Option<String>)| FindingIssue {
        finding,
        message: row.message.to_string(),
        help: row.help.to_string(),
        fingerprint: finding.id.clone(),
        line: source::line_of(result, finding, options.source_root),
        column: finding.source.as_ref().map(|source| source.at.column),
        waived,
    };
    Ok(counting.chain(waived).map(issue).collect())
}

/// Whether a finding is shown beside its line. Findings about source are shown only if they are warnings or failures, and only
/// the worst of them.
fn is_shown(finding: &Finding, left_of_source: &mut usize) -> bool {
    if finding.source.is_none() {
        return true;
    }
    let is_shown = finding.severity > Severity::Info && *left_of_source > 0;
    *left_of_source -= usize::from(is_shown);
    is_shown
}

/// Whether a finding blocks.
pub(crate) fn is_blocking(finding: &Finding) -> bool {
    finding.severity >= Severity::Incomplete
}
