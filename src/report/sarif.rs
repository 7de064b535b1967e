//! `sarif.json`: SARIF 2.1.0 (OASIS standard, March 2020), the subset that code scanning reads.

use std::collections::BTreeMap;

use serde::Serialize;

use super::escape;
use super::issue::{FindingIssue, POLICY_FILE};
use crate::error::Result;
use crate::judge::register;
use crate::result::GateResult;
use crate::verdict::Severity;

const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json";

#[derive(Serialize)]
struct Log<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run<'a>; 1],
}

#[derive(Serialize)]
struct Run<'a> {
    tool: Tool<'a>,
    results: Vec<Outcome<'a>>,
    #[serde(rename = "columnKind")]
    column_kind: &'static str,
}

#[derive(Serialize)]
struct Tool<'a> {
    driver: Driver<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver<'a> {
    name: &'a str,
    version: &'a str,
    rules: Vec<Rule<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rule<'a> {
    id: &'a str,
    short_description: Text,
    default_configuration: Configuration,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<Text>,
}

#[derive(Serialize)]
struct Configuration {
    level: &'static str,
}

#[derive(Serialize)]
struct Text {
    text: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Outcome<'a> {
    rule_id: &'a str,
    rule_index: usize,
    level: &'static str,
    message: Text,
    locations: [Location<'a>; 1],
    partial_fingerprints: BTreeMap<&'static str, &'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fixes: Vec<Fix>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    suppressions: Vec<Suppression<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Location<'a> {
    physical_location: PhysicalLocation,
    logical_locations: [LogicalLocation<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: ArtifactLocation,
    region: Region,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactLocation {
    uri: String,
    uri_base_id: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_column: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_column: Option<u64>,
}

/// A fix (section 3.55): one replacement in one file.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Fix {
    description: Text,
    artifact_changes: [ArtifactChange; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactChange {
    artifact_location: ArtifactLocation,
    replacements: [Replacement; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Replacement {
    deleted_region: Region,
    inserted_content: Text,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LogicalLocation<'a> {
    fully_qualified_name: &'a str,
}

#[derive(Serialize)]
struct Suppression<'a> {
    kind: &'static str,
    justification: &'a str,
}

/// Renders every finding; waived ones are suppressed.
pub fn render(result: &GateResult, issues: &[FindingIssue<'_>]) -> Result<String> {
    let mut codes: Vec<&str> = issues.iter().map(|issue| issue.finding.code.as_str()).collect();
    codes.sort_unstable();
    codes.dedup();
    let rules = codes.iter().map(|code| described(code, issues)).collect();
    let outcome = |issue| outcome(issue, &codes);
    let log = Log {
        schema: SCHEMA,
        version: "2.1.0",
        runs: [Run {
            tool: Tool { driver: Driver { name: &result.tool.name, version: &result.tool.version, rules } },
            results: issues.iter().map(outcome).collect(),
            column_kind: "unicodeCodePoints",
        }],
    };
    escape::json("sarif.json", &log)
}

fn described<'a>(code: &'a str, issues: &[FindingIssue<'_>]) -> Rule<'a> {
    let severity = register::find(code).map_or(Severity::Warn, |rule| rule.severity);
    let help = issues.iter().find(|issue| issue.finding.code == code && !issue.help.is_empty());
    Rule {
        id: code,
        short_description: Text { text: code.replace('-', " ") },
        default_configuration: Configuration { level: level(severity) },
        help: help.map(|issue| Text { text: issue.help.clone() }),
    }
}

fn outcome<'a>(issue: &'a FindingIssue<'a>, codes: &[&str]) -> Outcome<'a> {
    let (path, start_line) = issue.line.as_ref().map_or((POLICY_FILE, 1), |line| (line.path.as_str(), line.line));
    let suppression = |justification| Suppression { kind: "external", justification };
    Outcome {
        rule_id: &issue.finding.code,
        rule_index: codes.binary_search(&issue.finding.code.as_str()).unwrap_or(0),
        level: level(issue.finding.severity),
        message: Text { text: message(&issue.message) },
        locations: [Location {
            physical_location: PhysicalLocation {
                artifact_location: ArtifactLocation { uri: uri(path), uri_base_id: "%SRCROOT%" },
                region: Region { start_line, start_column: issue.column, end_line: None, end_column: None },
            },
            logical_locations: [LogicalLocation { fully_qualified_name: &issue.finding.place }],
        }],
        partial_fingerprints: BTreeMap::from([("precisionGate/v1", issue.fingerprint.as_str())]),
        fixes: fix(issue, path).into_iter().collect(),
        suppressions: issue.waived.iter().map(|reason| suppression(reason.as_str())).collect(),
    }
}

/// The fix of a finding; `None` if it has none that is safe to apply.
fn fix(issue: &FindingIssue<'_>, path: &str) -> Option<Fix> {
    let fix = issue.finding.source.as_ref()?.fix.as_ref()?;
    let deleted_region = Region {
        start_line: fix.line,
        start_column: Some(fix.column),
        end_line: Some(fix.end_line),
        end_column: Some(fix.end_column),
    };
    let inserted_content = Text { text: fix.text.clone() };
    Some(Fix {
        description: Text { text: message(&issue.help) },
        artifact_changes: [ArtifactChange {
            artifact_location: ArtifactLocation { uri: uri(path), uri_base_id: "%SRCROOT%" },
            replacements: [Replacement { deleted_region, inserted_content }],
        }],
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "note",
        Severity::Warn => "warning",
        Severity::Incomplete | Severity::Fail => "error",
    }
}

/// Escapes the brackets that would embed a link in plain text (section 3.11.6).
fn message(text: &str) -> String {
    text.replace('\\', "\\\\").replace('[', "\\[").replace(']', "\\]")
}

/// A relative reference (RFC 3986): everything but letters, digits and a few signs is percent-encoded.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}
