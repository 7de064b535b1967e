//! Earlier runs in documents: the verdicts of the suite, since when it fails, and what changed at that point.
//!
//! A result may come from an untrusted run, and records from anyone with write access: commits, versions and subjects are escaped
//! like every foreign text, and commands contain nothing from them but names of commits.

use minijinja::{Value, context};
use serde::Serialize;

use super::trend::{self, TrendRow};
use super::writer::{Writer, safe};
use crate::error::Result;
use crate::history::moment::instant;
use crate::result::history::Summary;
use crate::result::history::{Change, ChangeKind};
use crate::result::history::{Commit, Past};
use crate::verdict::Verdict;

/// Largest number of runs whose verdicts are shown as marks.
const MOST_MARKS: usize = 30;
/// Number of digits of a commit that are shown.
const COMMIT_DIGITS: usize = 12;
/// Command that judges one step of a bisection. `TRAIN` stands for the command that makes the candidate; exit code 125 skips a
/// step that cannot be judged.
const BISECT_RUN: &str = "git bisect run sh -c 'TRAIN || exit 125; precision-gate run --no-history; code=$?; [ $code -le 1 ] || exit 125; exit $code'";

/// Earlier runs for reading.
#[derive(Debug, Serialize)]
pub(crate) struct HistoryView {
    /// The suite.
    pub suite: String,
    /// Verdicts of the latest runs, oldest first; the last is this one's.
    pub marks: Vec<Verdict>,
    /// Number of runs that were looked at.
    pub runs: usize,
    /// Number of consecutive runs in which the same case has failed, and whether that is an alert; empty if the verdict does not
    /// block.
    pub row: Value,
    /// The last green and the first red run; empty if the verdict does not block.
    pub since: Value,
    /// Differences between them.
    pub changes: Vec<ChangeRow>,
    /// The commits between them.
    pub commits: Vec<Commit>,
    /// Number of commits beyond those listed.
    pub more_commits: u64,
    /// Commands that bisect the range of commits; none if the range is not known.
    pub bisect: Vec<Value>,
    /// Trends of the rules' values, the worst first.
    pub trends: Vec<TrendRow>,
    /// The same as a Markdown table.
    pub trend_table: Value,
    /// Phrase for the records that could not be read; empty if all could be read.
    pub unread: Value,
}

/// One difference.
#[derive(Debug, Serialize)]
pub(crate) struct ChangeRow {
    /// Kind of the thing that differs, in words.
    pub what: Value,
    /// Name of the package, variable or rule; empty if there is only one of its kind.
    pub name: String,
    /// Value in the last green run; `-` if it was not known.
    pub before: String,
    /// Value in the first red run; `-` if it is not known.
    pub after: String,
}

/// The history of a suite, for documents.
pub(super) fn view(summary: &Summary, writer: &Writer) -> Result<HistoryView> {
    let marks = summary.last.iter().skip(summary.last.len().saturating_sub(MOST_MARKS));
    let commits = summary.commits.clone().unwrap_or_default();
    let listed = u64::try_from(commits.list.len()).unwrap_or(u64::MAX);
    let start = summary.since.as_ref().and_then(|since| since.bisect());
    Ok(HistoryView {
        suite: summary.suite.to_string(),
        marks: marks.map(|past| past.verdict).collect(),
        runs: summary.last.len(),
        row: safe(row(summary, writer)?),
        since: safe(since(summary, writer)?),
        changes: summary.changed.iter().map(|change| change_row(change, writer)).collect::<Result<_>>()?,
        commits: commits.list.into_iter().map(|commit| Commit { id: short_commit(&commit.id), ..commit }).collect(),
        more_commits: commits.total.saturating_sub(listed),
        bisect: start.map_or_else(Vec::new, |start| vec![safe(start), safe(BISECT_RUN.to_owned())]),
        trends: trend::rows(&summary.trends, writer)?,
        trend_table: safe(trend::table(&summary.trends, writer)?),
        unread: safe(unread(summary, writer)?),
    })
}

fn row(summary: &Summary, writer: &Writer) -> Result<String> {
    if summary.failed == 0 {
        return Ok(String::new());
    }
    let key = if summary.alert { "history_alert" } else { "history_held" };
    writer.phrase(key, &context! { failed => summary.failed, after => summary.alert_after.get() })
}

fn since(summary: &Summary, writer: &Writer) -> Result<String> {
    let Some(since) = &summary.since else { return Ok(String::new()) };
    let red = past(&since.red, writer)?;
    match &since.green {
        Some(green) => writer.phrase("history_since", &context! { green => past(green, writer)?, red }),
        None => writer.phrase("history_never_green", &context! { red }),
    }
}

/// A run by its commit and time.
fn past(past: &Past, writer: &Writer) -> Result<Value> {
    let time = instant(&past.time).strftime("%Y-%m-%d %H:%M UTC").to_string();
    if past.commit.is_empty() {
        return Ok(safe(time));
    }
    let time = writer.phrase("in_brackets", &context! { text => safe(time) })?;
    Ok(safe(format!("{}{time}", writer.name(&short_commit(&past.commit)))))
}

/// The digits of a commit that are shown.
pub(super) fn short_commit(commit: &str) -> String {
    commit.chars().take(COMMIT_DIGITS).collect()
}

fn change_row(change: &Change, writer: &Writer) -> Result<ChangeRow> {
    let key = match change.kind {
        ChangeKind::Commit => "change_commit",
        ChangeKind::Version => "change_version",
        ChangeKind::Environment => "change_environment",
        ChangeKind::Content => "change_content",
        ChangeKind::Candidate => "change_candidate",
        ChangeKind::Baseline => "change_baseline",
        ChangeKind::Policy => "change_policy",
        ChangeKind::Profile => "change_profile",
        ChangeKind::Limit => "change_limit",
        ChangeKind::Tool => "change_tool",
    };
    let shown = |text: &str| match change.kind {
        _ if text.is_empty() => "-".to_owned(),
        ChangeKind::Commit => short_commit(text),
        _ => text.to_owned(),
    };
    Ok(ChangeRow {
        what: safe(writer.word(key)?),
        name: change.name.clone(),
        before: shown(&change.before),
        after: shown(&change.after),
    })
}

fn unread(summary: &Summary, writer: &Writer) -> Result<String> {
    let Some(first) = summary.unread.first() else { return Ok(String::new()) };
    writer.phrase("history_unread", &context! { count => summary.unread.len(), first => safe(writer.prose(first)) })
}
