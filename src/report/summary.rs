//! `summary.md`: the comment and the job summary.

use minijinja::value::Serde;
use minijinja::{Value, context};

use super::escape::TextTarget;
use super::mermaid;
use super::messages::Language;
use super::templates::Templates;
use super::view::View;
use super::waiver;
use super::writer::{Writer, safe};
use crate::error::Result;
use crate::judge::defect;
use crate::result::GateResult;
use crate::verdict::Verdict;

/// Longest comment in characters that every forge accepts, less a margin; GitHub refuses 65 536.
pub const COMMENT_LIMIT: usize = 65_000;

/// A picture that can be linked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkedPicture {
    /// `loss` or `divergence`.
    pub name: &'static str,
    /// Address of the picture; only `https:` addresses and uploads of a GitLab project are linked.
    pub url: String,
}

/// Options for the summary.
#[derive(Clone, Debug)]
pub struct SummaryOptions<'a> {
    /// The language.
    pub language: Language,
    /// Largest length, which neither the number of UTF-16 units nor that of bytes exceeds.
    pub limit: usize,
    /// Pictures that were uploaded; empty if publishing has no place for pictures.
    pub pictures: &'a [LinkedPicture],
    /// Whether a curve without a picture is drawn as a text diagram.
    pub diagram: bool,
    /// Templates.
    pub templates: &'a Templates,
}

/// Number of rows that a section shows before anything is cut.
const ROOM: [(&str, usize); 16] = [
    ("performance", 20),
    ("culprit", 1),
    ("next_dump", 1),
    ("diagnoses", 5),
    ("evidence", 3),
    ("history", 30),
    ("evaluation", 60),
    ("flipped", 5),
    ("passed", 60),
    ("findings", 30),
    ("config", 1),
    ("rules", 100),
    ("units", 50),
    ("waived", 50),
    ("artifacts", 50),
    ("environment", 1),
];

/// Sections that only an evaluation has.
const OF_EVALUATION: [&str; 3] = ["evaluation", "flipped", "passed"];

/// Parts that are cut if the text is too long, the least important first, each with the number of rows that stay.
const CUTS: [(&str, usize); 24] = [
    ("passed", 20),
    ("artifacts", 10),
    ("artifacts", 0),
    ("units", 10),
    ("rules", 20),
    ("passed", 0),
    ("flipped", 1),
    ("environment", 0),
    ("history", 10),
    ("units", 0),
    ("waived", 5),
    ("findings", 10),
    ("rules", 0),
    ("waived", 0),
    ("config", 0),
    ("findings", 3),
    ("performance", 8),
    ("performance", 0),
    ("evaluation", 10),
    ("flipped", 0),
    ("evaluation", 0),
    ("culprit", 0),
    ("diagnoses", 0),
    ("next_dump", 0),
];

/// Renders the summary, leaving out the least important parts until it fits.
pub fn render(result: &GateResult, options: &SummaryOptions<'_>) -> Result<String> {
    let writer = Writer::from_result(result, options.language, TextTarget::Markdown);
    let view = View::new(result, &writer)?;
    let mut room: Vec<(&str, usize)> = ROOM.to_vec();
    let mut omitted: Vec<&str> = Vec::new();
    let mut cuts = CUTS.iter().filter(|(section, _)| match *section {
        "performance" => view.performance.is_some(),
        section => view.evaluation.is_some() || !OF_EVALUATION.contains(&section),
    });
    loop {
        let text = once(result, &view, &writer, options, (&room, &omitted))?;
        if fits(&text, options.limit) {
            return Ok(text);
        }
        let Some((section, rows)) = cuts.next() else {
            return Ok(cut(&text, options.limit));
        };
        room.iter_mut().filter(|(name, _)| name == section).for_each(|(_, shown)| *shown = *rows);
        if !omitted.contains(section) {
            omitted.push(section);
        }
    }
}

fn once(
    result: &GateResult,
    view: &View,
    writer: &Writer,
    options: &SummaryOptions<'_>,
    (room, omitted): (&[(&str, usize)], &[&str]),
) -> Result<String> {
    let names: Result<Vec<Value>> =
        omitted.iter().map(|section| writer.word(&format!("section_{section}")).map(safe)).collect();
    let linked = options.pictures.iter().filter(|picture| is_link(&picture.url));
    let first = view.opening.picture;
    let picture = |picture: &LinkedPicture| context! { name => picture.name, url => safe(picture.url.clone()), is_first => picture.name == first };
    let pictures: Vec<Value> = linked.map(picture).collect();
    let is_drawn = options.diagram && !options.pictures.iter().any(|picture| picture.name == "loss");
    let diagram = if is_drawn { mermaid::loss_chart(result, options.language)? } else { None };
    let room: std::collections::BTreeMap<&str, usize> = room.iter().copied().collect();
    let more = context! {
        room,
        left_out => names?,
        pictures,
        waivers => waivers_of(result, options.language).map(safe),
        diagram => diagram.map(|diagram| context! {
            chart => safe(format!("```mermaid\n{}```", diagram.chart)),
            caption => safe(diagram.caption),
            is_first => first == "loss",
        }),
        artifacts => Value::from(Serde(super::view::telling_artifacts(result))),
    };
    let context = context! { ..more, ..super::view::template_context(result, view) };
    writer.document(&options.templates.summary, context).map(|text| tidy(&text))
}

/// The waivers that would accept all failures, one per defect; `None` if no blocking finding can be waived.
fn waivers_of(result: &GateResult, language: Language) -> Option<String> {
    let text = waiver::waivers(&defect::root_findings(result), &result.today, waiver::DAYS, language)?;
    Some(text.trim_end().to_owned())
}

/// The headline without the verdict's word, in one line of plain text.
pub fn headline(result: &GateResult, language: Language) -> Result<String> {
    let writer = Writer::from_result(result, language, TextTarget::Plain);
    let view = View::new(result, &writer)?;
    let verdict = writer.word(&format!("verdict_{}", result.verdict.as_str()))?;
    Ok(format!("{verdict}{}{}", writer.word("colon")?, view.opening.headline))
}

/// The advice at the top of a result's documents, in plain text; empty if there is none.
pub fn advice(result: &GateResult, language: Language) -> Result<String> {
    let writer = Writer::from_result(result, language, TextTarget::Plain);
    Ok(View::new(result, &writer)?.opening.advice.to_string())
}

/// Whether an address can be linked: it neither ends the Markdown link early nor leads to another place.
pub(crate) fn is_link(url: &str) -> bool {
    (url.starts_with("https://") || url.starts_with("/uploads/"))
        && url.bytes().all(|byte| byte.is_ascii_graphic() && !b"()<>\\\"`|[]".contains(&byte))
}

/// Text with at most one consecutive empty line and one line break at the end.
pub(crate) fn tidy(text: &str) -> String {
    let mut tidy = String::with_capacity(text.len());
    let mut empty = 0;
    for line in text.trim().lines().map(str::trim_end) {
        empty = if line.is_empty() { empty + 1 } else { 0 };
        if empty < 2 {
            tidy.push_str(line);
            tidy.push('\n');
        }
    }
    tidy
}

fn fits(text: &str, limit: usize) -> bool {
    text.len() <= limit && text.encode_utf16().count() <= limit
}

/// Keeps whole lines from the start, as the last resort.
fn cut(text: &str, limit: usize) -> String {
    let mut kept = String::new();
    for line in text.lines() {
        if kept.len() + line.len() + 1 > limit {
            break;
        }
        kept.push_str(line);
        kept.push('\n');
    }
    kept
}

/// The sign of a verdict in plain text.
pub(crate) fn verdict_sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "✓",
        Verdict::Warn => "!",
        Verdict::Incomplete => "?",
        Verdict::Fail => "✗",
        Verdict::Skipped => "-",
    }
}
