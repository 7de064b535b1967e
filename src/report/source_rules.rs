//! Findings about source by rule, for the comment and the page, and the page of all rules, `docs/source.md`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::LazyLock;

use minijinja::{Value, context};
use serde::{Deserialize, Serialize};

use super::code_texts::texts;
use super::messages::Language;
use super::writer::{Writer, safe};
use crate::error::Result;
use crate::judge::source::{Family, SOURCE_RULES, SourceRule};
use crate::result::GateResult;
use crate::result::finding::{Fact, Finding};
use crate::verdict::{CheckId, Severity};

/// Largest number of places that the row of a rule names.
const MOST_PLACES: usize = 3;

/// Findings about source, by rule.
#[derive(Debug, Serialize)]
pub(crate) struct SourceView {
    /// Rules with findings that count, the worst first.
    pub rules: Vec<RuleFindings>,
    /// Findings on lines that the change does not touch, in words; empty without any.
    pub unchanged: Value,
    /// Comments of the change that accept findings, in words.
    pub accepted: Vec<Value>,
}

/// A rule with its findings that count.
#[derive(Debug, Serialize)]
pub(crate) struct RuleFindings {
    /// Its code.
    pub code: String,
    /// The worst of its findings.
    pub severity: Severity,
    /// Number of its findings.
    pub count: usize,
    /// The first of their places.
    pub places: Vec<String>,
    /// Number of further places.
    pub more: usize,
}

/// Findings of `result` about source, by rule; `None` if no source was judged.
pub(super) fn view(result: &GateResult, writer: &Writer) -> Result<Option<SourceView>> {
    if !result.checks.iter().any(|check| check.id == CheckId::Source) {
        return Ok(None);
    }
    let of_source = |finding: &&Finding| finding.source.is_some();
    let mut by_code: BTreeMap<&str, Vec<&Finding>> = BTreeMap::new();
    result.counting().filter(of_source).for_each(|finding| by_code.entry(&finding.code).or_default().push(finding));
    let mut rules: Vec<RuleFindings> = by_code.into_iter().map(|(code, findings)| row(code, &findings)).collect();
    rules.sort_by_key(|row| std::cmp::Reverse(row.severity));
    let others: Vec<&Finding> = result.findings.iter().filter(of_source).filter(|finding| !finding.counts()).collect();
    let codes: std::collections::BTreeSet<&str> = others.iter().map(|finding| finding.code.as_str()).collect();
    let unchanged = match others.len() {
        0 => Value::from(""),
        count => safe(writer.phrase("source_unchanged", &context! { count, rules => codes.len() })?),
    };
    let accepted = result.accepted.iter().map(|one| {
        let place = format!("{}:{}", one.file, one.line);
        let said = context! { place, codes => one.codes.clone(), reason => one.reason.as_str() };
        writer.phrase("source_accepted", &said).map(safe)
    });
    Ok(Some(SourceView { rules, unchanged, accepted: accepted.collect::<Result<_>>()? }))
}

/// The wrong operation that confirms a finding about source, because its stack passes through the finding's place.
pub(super) fn confirming_operation(finding: &Finding) -> Option<&str> {
    match (&finding.source, finding.facts.get("confirmed_by")) {
        (Some(_), Some(Fact::Text(operation))) => Some(operation),
        _ => None,
    }
}

/// Sentences that name the findings about source which a first wrong operation confirms.
pub(super) fn confirmation_sentences(result: &GateResult, writer: &Writer) -> Result<Vec<Value>> {
    let found = result.findings.iter().filter_map(|finding| Some((finding, confirming_operation(finding)?)));
    let said = found.take(MOST_PLACES).map(|(finding, operation)| {
        let about = context! { operation, place => finding.place.as_str(), code => finding.code.as_str() };
        writer.phrase("source_confirms", &about).map(safe)
    });
    said.collect()
}

fn row(code: &str, findings: &[&Finding]) -> RuleFindings {
    let severity = findings.iter().map(|finding| finding.severity).max().unwrap_or(Severity::Info);
    let places = findings.iter().take(MOST_PLACES).map(|finding| finding.place.clone()).collect();
    let more = findings.len().saturating_sub(MOST_PLACES);
    RuleFindings { code: code.to_owned(), severity, count: findings.len(), places, more }
}

/// Code that breaks a rule, and the same without the fault.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Example {
    /// Code that breaks the rule.
    pub bad: String,
    /// Code that does not break the rule.
    pub good: String,
    /// Ground of the rule: a document or a measurement.
    pub ground: String,
}

static EXAMPLES: LazyLock<BTreeMap<String, Example>> = LazyLock::new(|| {
    serde_yaml::from_str(include_str!("../../templates/source.yaml")).expect("invariant: a file of the program, tested")
});

/// Example of each rule, by its code.
pub fn examples() -> &'static BTreeMap<String, Example> {
    &EXAMPLES
}

/// The part of `docs/source.md` that describes every rule: its findings, their reason, the way to silence it, bad and good code.
pub fn rules_page() -> String {
    let mut page = String::new();
    for family in [Family::Portability, Family::Comparability, Family::Numerics, Family::Reading] {
        let _written = writeln!(page, "### {}\n", title(family));
        for rule in SOURCE_RULES.iter().filter(|rule| rule.family == family) {
            described(&mut page, rule);
        }
    }
    page
}

fn title(family: Family) -> &'static str {
    match family {
        Family::Portability => "Portability: the code does not run on the other device, or runs as other code there",
        Family::Comparability => "Comparability: two runs do not compute the same numbers",
        Family::Numerics => "Numerics: the numbers themselves are wrong or less precise",
        Family::Reading => "Reading: files and comments that cannot be judged",
    }
}

fn described(page: &mut String, rule: &SourceRule) {
    let code = rule.rule.code;
    let Some(text) = texts(Language::En).codes.get(code) else { return };
    let severity = match rule.rule.severity {
        _ if rule.is_off => "off",
        Severity::Fail => "fail",
        Severity::Info => "info",
        _ => "warn",
    };
    let often = if rule.is_per_file { ", one finding per file" } else { "" };
    let _written = writeln!(page, "#### {code}\n\nSeverity: {severity}{often}. {}\n", text.meaning);
    let _written = writeln!(page, "- Found: {}.", text.rule.as_deref().unwrap_or_default());
    let _written = writeln!(page, "- May be harmless: {}", text.harmless);
    if let Some(example) = examples().get(code) {
        let _written = writeln!(page, "- Ground: {}.\n", example.ground);
        let blocks = [("Bad", &example.bad), ("Good", &example.good)];
        for (name, code) in blocks {
            let _written = writeln!(page, "{name}:\n\n```python\n{}\n```\n", code.trim_end());
        }
    }
}
