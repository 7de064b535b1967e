//! Annotations for GitHub Actions: workflow commands on standard output.
//!
//! GitHub accepts ten annotations of each kind per step: the verdict comes first, then the worst findings, then the number of
//! further findings.

use minijinja::context;

use super::escape::{TextTarget, cleaned};
use super::issue::{FindingIssue, MOST_OF_SOURCE};
use super::messages::Language;
use super::view::View;
use super::writer::Writer;
use crate::error::Result;
use crate::result::GateResult;
use crate::result::finding::Finding;
use crate::verdict::{Severity, Verdict};

/// Largest number of commands of one kind that a step may write.
const MOST: usize = 10;

/// The lines to print, without line breaks.
pub fn render(result: &GateResult, issues: &[FindingIssue<'_>], language: Language) -> Result<Vec<String>> {
    let writer = Writer::from_result(result, language, TextTarget::Plain);
    let view = View::new(result, &writer)?;
    let verdict = writer.word(&format!("verdict_{}", result.verdict.as_str()))?;
    let title = format!("precision-gate: {verdict}");
    let mut lines =
        vec![command(kind_of_verdict(result.verdict), &[("title", &title)], &view.opening.headline.to_string())];
    let counting = |severity: Severity| {
        issues.iter().filter(move |issue| issue.waived.is_none() && issue.finding.severity == severity)
    };
    let worst: Vec<&FindingIssue<'_>> =
        [Severity::Fail, Severity::Incomplete, Severity::Warn].into_iter().flat_map(counting).collect();
    // One of the ten is the verdict, one gives the number of further findings.
    let shown = if worst.len() < MOST { worst.len() } else { MOST - 2 };
    for issue in worst.iter().take(shown) {
        let line = issue.line.as_ref().map(|line| (line.path.as_str(), line.line.to_string()));
        let column = issue.column.map(|column| column.to_string());
        let mut properties = vec![("title", issue.finding.code.as_str())];
        properties.extend(line.iter().flat_map(|(path, line)| [("file", *path), ("line", line.as_str())]));
        properties.extend(column.iter().map(|column| ("col", column.as_str())));
        lines.push(command(kind(issue.finding.severity), &properties, &issue.message));
    }
    // Issues hold the worst findings about source; the others are counted here too.
    let of_source = |finding: &&Finding| finding.source.is_some() && finding.severity > Severity::Info;
    let hidden = result.counting().filter(of_source).count().saturating_sub(MOST_OF_SOURCE);
    if worst.len() + hidden > shown {
        let count = worst.len() + hidden - shown;
        lines.push(command("notice", &[], &writer.phrase("more", &context! { count })?));
    }
    Ok(lines)
}

fn kind_of_verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass | Verdict::Skipped => "notice",
        Verdict::Warn => "warning",
        Verdict::Incomplete | Verdict::Fail => "error",
    }
}

fn kind(severity: Severity) -> &'static str {
    kind_of_verdict(severity.verdict())
}

/// One workflow command. `%`, CR and LF are escaped in its text, and `:` and `,` as well in its properties.
pub fn command(name: &str, properties: &[(&str, &str)], message: &str) -> String {
    let escape = |text: &str| cleaned(text).replace('%', "%25");
    let property =
        |(name, value): &(&str, &str)| format!("{name}={}", escape(value).replace(':', "%3A").replace(',', "%2C"));
    let properties: Vec<String> = properties.iter().map(property).collect();
    let space = if properties.is_empty() { "" } else { " " };
    format!("::{name}{space}{}::{}", properties.join(","), escape(message))
}

#[cfg(test)]
mod tests {
    use super::command;

    #[test]
    fn foreign_text_stays_inside_its_command() {
        let line = command("error", &[("title", "a:b,c")], "100%\n::add-mask::x\r%0A");
        assert_eq!(line, "::error title=a%3Ab%2Cc::100%25 ::add-mask::x %250A");
    }
}
