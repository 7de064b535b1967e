//! The page of a history: every suite's verdicts over time, its trends, and links to the runs. It is one file that any web server
//! can serve, such as the pages of a forge.
//!
//! Anyone with write access to the place of the records may have written them: every text in them is escaped, and the address of
//! a run is linked only if it is a web address.

use std::num::NonZeroU32;

use minijinja::value::Serde;
use minijinja::{Value, context};
use serde::Serialize;

use super::escape::TextTarget;
use super::history::{self, HistoryView};
use super::messages::Language;
use super::palette;
use super::pictures::data_address;
use super::plot::trend::trend_png;
use super::writer::{Template, Writer, safe};
use crate::error::{Error, ErrorKind, Result};
use crate::history::record::Record;
use crate::history::summarise;
use crate::result::history::Case;
use crate::result::history::Suite;
use crate::verdict::Verdict;

/// Largest number of failing cases of a run that are named.
const MOST_CASES: usize = 2;

/// One suite on the page.
#[derive(Serialize)]
struct SuiteView {
    /// Its latest run compared with the earlier ones.
    history: HistoryView,
    /// All runs looked at, oldest first.
    runs: Vec<RunView>,
    /// The trends as a picture; empty if no value changes.
    picture: Value,
}

#[derive(Serialize)]
struct RunView {
    verdict: Verdict,
    time: String,
    commit: String,
    /// Address of its report; empty where none is known.
    address: String,
    /// First wrong operation, otherwise the rules that block; empty if none does.
    failing: Vec<String>,
    more: usize,
}

/// Latest verdict of a suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Latest {
    /// The suite.
    pub suite: Suite,
    /// Its latest run's verdict.
    pub verdict: Verdict,
}

/// The latest verdict of every suite; `records` are sorted by suite and time.
pub fn latest(records: &[Record]) -> Vec<Latest> {
    let last = suites(records).filter_map(<[Record]>::last);
    last.map(|record| Latest { suite: record.suite.clone(), verdict: record.verdict }).collect()
}

/// The page of `records`, which are sorted by suite and time; `unread` is the number of records that could not be read.
///
/// # Errors
/// Where a picture cannot be drawn.
pub fn render(records: &[Record], unread: usize, alert_after: NonZeroU32, language: Language) -> Result<String> {
    let writer = Writer::new(language, TextTarget::Html);
    let views: Vec<SuiteView> =
        suites(records).map(|records| suite(records, alert_after, &writer)).collect::<Result<_>>()?;
    let until = records.iter().map(|record| record.time).max();
    let template = Template {
        name: "history.html.j2".into(),
        source: include_str!("../../templates/report/history.html.j2").into(),
        is_custom: false,
    };
    let whole = context! {
        language => language.tag(),
        palette => safe(palette::style()),
        suites => views.iter().map(|view| Value::from(Serde(view))).collect::<Vec<_>>(),
        runs => records.len(),
        until => until.map_or_else(String::new, moment),
        unread,
    };
    writer.document(&template, whole)
}

fn suites(records: &[Record]) -> impl Iterator<Item = &[Record]> {
    records.chunk_by(|one, next| one.suite == next.suite)
}

fn suite(records: &[Record], alert_after: NonZeroU32, writer: &Writer) -> Result<SuiteView> {
    let (current, earlier) =
        records.split_last().ok_or_else(|| Error::new(ErrorKind::Internal, "history", "a suite without runs"))?;
    let summary = summarise("", earlier, current, alert_after);
    let png = trend_png(&summary.trends, writer.language())?;
    Ok(SuiteView {
        history: history::view(&summary, writer)?,
        runs: records.iter().map(run).collect(),
        picture: png.map_or_else(|| Value::from(""), |png| data_address(&png)),
    })
}

fn run(record: &Record) -> RunView {
    let failing: Vec<String> = match &record.culprit {
        Some(culprit) => vec![culprit.tensor.clone()],
        None => record.failing.iter().map(Case::name).collect(),
    };
    let is_web = ["https://", "http://"].iter().any(|scheme| record.run.starts_with(scheme));
    RunView {
        verdict: record.verdict,
        time: moment(record.time),
        commit: history::short_commit(&record.commit),
        address: if is_web { record.run.clone() } else { String::new() },
        more: failing.len().saturating_sub(MOST_CASES),
        failing: failing.into_iter().take(MOST_CASES).collect(),
    }
}

fn moment(time: jiff::Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M UTC").to_string()
}
