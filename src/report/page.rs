//! `report.html`: one self-contained page for looking closer.
//!
//! Everything a reader needs first (verdict, checks, culprit, findings, rules) is plain HTML and readable without
//! scripts.
//! Pictures, the module tree and the table of operations are drawn by the scripts of `templates/report/page/` from JSON
//! embedded in the page. Nothing is loaded from anywhere.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;

use minijinja::value::Serde;
use minijinja::{Value, context};
use serde::Serialize;

use super::GateResult;
use super::checks::{self, Embedded};
use super::escape::{self, Target};
use super::lines::{Lines, Wanted};
use super::messages::Language;
use super::phrases;
use super::pictures::data_address;
use super::plot::error_map::error_map_png;
use super::plot::evaluation::evaluation_png;
use super::plot::monitor::monitor_png;
use super::templates::Templates;
use super::view::{self, View};
use super::writer::safe;
use crate::error::{Error, ErrorKind, Result};
use crate::judge::number::Number;
use crate::judge::operation::{OperationLine, Recorded, RecordedValue, State};
use crate::judge::unit::Culprit;
use crate::read::dump::TensorKind;

/// Operation lines in the page; beyond that, agreeing ones are left out first. A browser holds twice as many with
/// ease; the size of the file is the limit.
const MOST_ROWS: usize = 200_000;

/// Words that scripts need: those of the page, and of values in the table.
const SCRIPT_WORDS: [&str; 4] = ["page_", "state_", "kind_", "verdict_"];

/// Options for the page.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// The language.
    pub language: Language,
    /// Templates.
    pub templates: &'a Templates,
}

/// The page's script, from its parts: each sees those before it.
const SCRIPT: &str = concat!(
    "\"use strict\";\n(() => {\n",
    include_str!("../../templates/report/page/base.js"),
    include_str!("../../templates/report/page/charts.js"),
    include_str!("../../templates/report/page/curves.js"),
    include_str!("../../templates/report/page/rows.js"),
    include_str!("../../templates/report/page/profile.js"),
    include_str!("../../templates/report/page/tree.js"),
    include_str!("../../templates/report/page/table.js"),
    include_str!("../../templates/report/page/overview.js"),
    include_str!("../../templates/report/page/start.js"),
    "})();\n",
);

/// Stands for the data until the rest of the page is written; nothing that is escaped can contain it.
const PLACE_OF_DATA: &str = "<!-- data -->";

/// Writes the page. Rows go out as their lines are read; what is kept of them is every text once.
///
/// # Errors
/// Errors of reading and writing; `Policy` for a template of the user's that does not render.
pub fn write(result: &GateResult, lines: &Lines<'_>, options: &Options<'_>, out: &mut dyn Write) -> Result<()> {
    let writer = result.writer(options.language, Target::Html);
    let view = View::new(result, &writer)?;
    let context = context! {
        language => options.language.tag(),
        data => safe(PLACE_OF_DATA.into()),
        error_map => error_map_png(result, options.language)?.as_deref().map(data_address),
        monitor_map => monitor_png(result, options.language)?.as_deref().map(data_address),
        evaluation_plot => evaluation_png(result, options.language)?.as_deref().map(data_address),
        assets => context! {
            style => safe(include_str!("../../templates/report/page.css").into()),
            script => safe(SCRIPT.into()),
            chart_style => safe(include_str!("../../templates/report/vendor/uplot/uPlot.min.css").into()),
            chart_script => safe(include_str!("../../templates/report/vendor/uplot/uPlot.iife.min.js").into()),
        },
        artifacts => Value::from(Serde(view::telling_artifacts(result))),
        ..view::context(result, &view)
    };
    let page = writer.document(&options.templates.page, context)?;
    let mut out = Embedding(out);
    for (index, part) in page.split(PLACE_OF_DATA).enumerate() {
        if index > 0 {
            data(result, lines, options.language, &mut out)?;
        }
        out.written(part)?;
    }
    Ok(())
}

/// The page of lines that fit memory, as text.
///
/// # Errors
/// As [`write()`].
pub fn render(result: &GateResult, lines: &Lines<'_>, options: &Options<'_>) -> Result<String> {
    let mut page = Vec::new();
    write(result, lines, options, &mut page)?;
    String::from_utf8(page).map_err(|error| Error::new(ErrorKind::Internal, "report.html", error))
}

/// A page in the making, into which JSON is written.
struct Embedding<'a>(&'a mut dyn Write);

impl Embedding<'_> {
    /// Text as it is.
    fn written(&mut self, text: &str) -> Result<()> {
        self.0.write_all(text.as_bytes()).map_err(|error| Error::io("report.html", &error))
    }

    /// A value.
    fn json(&mut self, value: &impl Serialize) -> Result<()> {
        let json =
            serde_json::to_string(value).map_err(|error| Error::new(ErrorKind::Internal, "report.html", error))?;
        self.embedded(&json)
    }

    /// JSON that cannot end the element it stands in, without characters that would reorder or hide text.
    fn embedded(&mut self, json: &str) -> Result<()> {
        if json.bytes().all(|byte| byte.is_ascii() && byte != b'<') {
            return self.written(json);
        }
        let mut safe = String::with_capacity(json.len() + json.len() / 64);
        for character in json.chars().filter(|character| escape::is_shown(*character)) {
            match character {
                '<' => safe.push_str("\\u003c"),
                other => safe.push(other),
            }
        }
        self.written(&safe)
    }
}

fn data(result: &GateResult, lines: &Lines<'_>, language: Language, out: &mut Embedding<'_>) -> Result<()> {
    let words: BTreeMap<&String, &String> = phrases::all(language)
        .iter()
        .filter(|(key, _)| SCRIPT_WORDS.iter().any(|start| key.starts_with(start)))
        .collect();
    out.written("{\"words\":")?;
    out.json(&words)?;
    let writer = result.writer(language, Target::Plain);
    let name = |template| writer.statement("page", template, &BTreeMap::new());
    out.written(",\"labels\":")?;
    out.json(&[name("{{ baseline_name }}")?, name("{{ candidate_name }}")?])?;
    out.written(",\"culprit\":")?;
    out.json(&result.culprit.as_ref().map(Wrong::of))?;
    let units = result.checks.iter().flat_map(|check| &check.units);
    for Embedded { key, of } in checks::ALL.iter().filter_map(|shown| shown.embedded.as_ref()) {
        out.written(&format!(",\"{key}\":"))?;
        out.json(&units.clone().filter_map(of).collect::<Vec<_>>())?;
    }
    out.written(",\"operations\":")?;
    table(lines, out)?;
    out.written("}")
}

/// Place of the first wrong value, as the page's scripts look for it.
#[derive(Serialize)]
struct Wrong<'a> {
    step: u64,
    rank: Option<u64>,
    op: &'a str,
    tensor: &'a str,
}

impl<'a> Wrong<'a> {
    fn of(culprit: &'a Culprit) -> Self {
        Self { step: culprit.step, rank: culprit.rank, op: &culprit.op, tensor: &culprit.tensor }
    }
}

/// Operation lines as flat rows of numbers and indexes: a browser reads 100 000 of them in half a second.
///
/// A row is step, rank, order, operation, module, tensor, kind, state, reason, error, limit, baseline, candidate and the
/// metrics; texts are indexes into `strings`, both sides into `sides`. A side is tensor (null where it is the row's),
/// element type and shape, again as indexes, and values.
fn table(lines: &Lines<'_>, out: &mut Embedding<'_>) -> Result<()> {
    let metrics = &lines.census.metrics;
    let mut texts = Texts::default();
    let mut sides = Texts::default();
    out.written("{\"rows\":[")?;
    let mut separator = "";
    chosen(lines, |line| {
        out.written(separator)?;
        separator = ",";
        out.json(&row(line, metrics, &mut texts, &mut sides))
    })?;
    out.written("],\"sides\":[")?;
    for (index, side) in sides.iter().enumerate() {
        out.written(if index > 0 { "," } else { "" })?;
        out.embedded(side)?;
    }
    out.written("],\"strings\":[")?;
    for (index, text) in texts.iter().enumerate() {
        out.written(if index > 0 { "," } else { "" })?;
        out.json(&text)?;
    }
    out.written("],\"metrics\":")?;
    out.json(metrics)?;
    out.written(&format!(",\"total\":{}}}", lines.census.total))
}

/// Selection of at most [`MOST_ROWS`] lines in order; agreeing ones give way to the others.
fn chosen(lines: &Lines<'_>, mut take: impl FnMut(&OperationLine<'_>) -> Result<()>) -> Result<()> {
    let mut agreeing = MOST_ROWS.saturating_sub(lines.census.telling);
    let mut room = MOST_ROWS;
    let wanted = |agreeing, room| match (agreeing, room) {
        (_, 0) => Wanted::Nothing,
        (0, _) => Wanted::Telling,
        _ => Wanted::All,
    };
    lines.each(wanted(agreeing, room), |line| {
        agreeing -= usize::from(line.state == State::Agrees);
        room -= 1;
        take(line)?;
        Ok(wanted(agreeing, room))
    })
}

fn row<'a>(
    line: &'a OperationLine<'_>,
    metrics: &BTreeSet<String>,
    texts: &mut Texts,
    sides: &mut Texts,
) -> Vec<Item<'a>> {
    let mut index = |shown: &Option<Recorded<'_>>| match shown {
        Some(shown) => Item::Index(sides.index(&side(shown, texts))),
        None => Item::Null,
    };
    let (baseline, candidate) = (index(&line.baseline), index(&line.candidate));
    let mut row = Vec::with_capacity(13 + metrics.len());
    row.extend([
        Item::Count(line.step),
        line.rank.map_or(Item::Null, Item::Count),
        Item::Count(line.order),
        Item::Index(texts.index(&line.op)),
        Item::Index(texts.index(&line.module)),
        Item::Index(texts.index(&line.tensor)),
        Item::Kind(line.kind),
        Item::State(line.state),
        Item::Index(texts.index(&line.reason)),
        Item::of(line.error),
        Item::of(line.limit),
        baseline,
        candidate,
    ]);
    let metric = |name: &String| line.metrics.iter().find(|(known, _)| known == name).map(|(_, number)| *number);
    row.extend(metrics.iter().map(|name| Item::of(metric(name))));
    row
}

/// One item of a row or a side.
#[derive(Serialize)]
#[serde(untagged)]
enum Item<'a> {
    Null,
    Count(u64),
    Index(u32),
    Kind(TensorKind),
    State(State),
    Number(Number),
    Text(&'a str),
}

impl Item<'_> {
    fn of(number: Option<Number>) -> Self {
        number.map_or(Self::Null, |number| Self::Number(rounded(number)))
    }
}

/// One side of an operation, as JSON; an output is often the next operation's input, and has the same cells. Names and
/// types are
/// indexes, values stand there themselves: hardly two of them are alike.
fn side(side: &Recorded<'_>, texts: &mut Texts) -> String {
    let tensor = side.tensor.as_ref().map(|tensor| texts.index(tensor));
    let shape = if side.shape.is_empty() { String::new() } else { format!("{:?}", side.shape) };
    let mut items = vec![tensor.map_or(Item::Null, Item::Index)];
    items.extend([&*side.dtype, &shape].map(|text| Item::Index(texts.index(text))));
    let values: Vec<String> = side.values.iter().map(RecordedValue::to_string).collect();
    items.extend(values.iter().map(|value| Item::Text(value)));
    serde_json::to_string(&items).unwrap_or_default()
}

/// Five significant digits: the page shows four, and 100 000 rows have to stay light.
fn rounded(number: Number) -> Number {
    format!("{:.4e}", number.0).parse().map_or(number, Number)
}

/// Every text once, one behind the other.
#[derive(Default)]
struct Texts {
    all: String,
    /// Offset in bytes at which each ends.
    ends: Vec<usize>,
    /// Texts by hash; a text whose place is taken by another stands at the next free one.
    index: HashMap<u64, u32>,
}

impl Texts {
    fn index(&mut self, text: &str) -> u32 {
        let mut hash = DefaultHasher::new();
        text.hash(&mut hash);
        let mut place = hash.finish();
        while let Some(known) = self.index.get(&place) {
            if self.get(*known as usize) == Some(text) {
                return *known;
            }
            place = place.wrapping_add(1);
        }
        let next = u32::try_from(self.ends.len()).unwrap_or(u32::MAX);
        self.all.push_str(text);
        self.ends.push(self.all.len());
        self.index.insert(place, next);
        next
    }

    fn get(&self, index: usize) -> Option<&str> {
        let start = index.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        self.all.get(start..*self.ends.get(index)?)
    }

    fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.ends.len()).filter_map(|index| self.get(index))
    }
}
