//! `gl-code-quality.json`: GitLab's code quality report.
//!
//! An array of issues with the fields that GitLab reads: `description`, `check_name`, `fingerprint`, `severity`,
//! `location.path`, `location.lines.begin`. No byte order mark.

use serde::Serialize;

use super::escape;
use super::issue::{FindingIssue, POLICY_FILE};
use crate::error::Result;
use crate::verdict::Severity;

#[derive(Serialize)]
struct Entry<'a> {
    description: &'a str,
    check_name: &'a str,
    fingerprint: &'a str,
    severity: &'static str,
    location: Location<'a>,
}

#[derive(Serialize)]
struct Location<'a> {
    path: &'a str,
    lines: Lines,
}

#[derive(Serialize)]
struct Lines {
    begin: u64,
}

/// Renders the findings that count.
pub fn render(issues: &[FindingIssue<'_>]) -> Result<String> {
    let entries: Vec<Entry<'_>> = issues.iter().filter(|issue| issue.waived.is_none()).map(entry).collect();
    escape::json("gl-code-quality.json", &entries)
}

fn entry<'a>(issue: &'a FindingIssue<'_>) -> Entry<'a> {
    let (path, begin) = issue.line.as_ref().map_or((POLICY_FILE, 1), |line| (line.path.as_str(), line.line));
    Entry {
        description: &issue.message,
        check_name: &issue.finding.code,
        fingerprint: &issue.fingerprint,
        severity: match issue.finding.severity {
            Severity::Info => "info",
            Severity::Warn => "minor",
            Severity::Incomplete => "major",
            Severity::Fail => "critical",
        },
        location: Location { path, lines: Lines { begin } },
    }
}
