//! `report.html`: one self-contained page for looking closer.
//!
//! What a reader needs first (verdict, checks, culprit, findings, rules) is plain HTML and readable without scripts.
//! Curves, divergence profile, module tree and the table of operations are drawn by `page.js` from JSON embedded in
//! the page. Nothing is loaded from anywhere.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use minijinja::value::Serde;
use minijinja::{Value, context};
use serde::Serialize;
use serde_json::{Value as Json, json};

use super::GateResult;
use super::escape::{self, Target};
use super::messages::Language;
use super::phrases;
use super::templates::Templates;
use super::view::{self, View, unit_place};
use super::writer::{Writer, safe};
use crate::error::{Error, ErrorKind, Result};
use crate::judge::number::Number;
use crate::judge::operation::{OperationLine, Shown, State};
use crate::judge::unit::{DumpUnit, Unit};

/// Operation lines in the page; beyond that, agreeing ones are left out first. A browser holds twice as many with
/// ease; the size of the file is the limit.
const MOST_ROWS: usize = 200_000;

/// Words that scripts need: those of the page, and of values in the table.
const SCRIPT_WORDS: [&str; 4] = ["page_", "state_", "kind_", "verdict_"];

/// How to write the page.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// The language.
    pub language: Language,
    /// Templates.
    pub templates: &'a Templates,
}

/// Renders the page.
pub fn render(result: &GateResult, operations: &[OperationLine], options: &Options<'_>) -> Result<String> {
    let writer = Writer::new(options.language, Target::Html);
    let view = View::new(result, &writer)?;
    let context = context! {
        language => options.language.tag(),
        data => safe(embedded(&data(result, operations, options.language))?),
        assets => context! {
            style => safe(include_str!("../../templates/report/page.css").into()),
            script => safe(include_str!("../../templates/report/page.js").into()),
            chart_style => safe(include_str!("../../templates/report/vendor/uplot/uPlot.min.css").into()),
            chart_script => safe(include_str!("../../templates/report/vendor/uplot/uPlot.iife.min.js").into()),
        },
        artifacts => Value::from(Serde(view::telling_artifacts(result))),
        ..view::context(result, &view)
    };
    writer.document(&options.templates.page, context)
}

/// JSON that cannot end the element it stands in, without characters that would reorder or hide text.
fn embedded(data: &Json) -> Result<String> {
    let json = serde_json::to_string(data).map_err(|error| Error::new(ErrorKind::Internal, "report.html", error))?;
    let mut safe = String::with_capacity(json.len() + json.len() / 64);
    for character in json.chars().filter(|character| !escape::is_invisible(*character)) {
        match character {
            '<' => safe.push_str("\\u003c"),
            other => safe.push(other),
        }
    }
    Ok(safe)
}

fn data(result: &GateResult, operations: &[OperationLine], language: Language) -> Json {
    let units = result.checks.iter().flat_map(|check| &check.units);
    let curves: Vec<Json> = units
        .clone()
        .filter_map(|unit| match unit {
            Unit::Curve(unit) => Some(json!({
                "metric": unit.metric, "run": unit.run, "verdict": unit.verdict, "mode": unit.mode, "paired": unit.paired,
                "first_diverging_step": unit.first_diverging_step, "series": unit.series,
            })),
            _ => None,
        })
        .collect();
    let dumps = units.filter_map(|unit| match unit {
        Unit::Dump(unit) => Some(dump(unit)),
        _ => None,
    });
    let words: BTreeMap<&String, &String> = phrases::all(language)
        .iter()
        .filter(|(key, _)| SCRIPT_WORDS.iter().any(|start| key.starts_with(start)))
        .collect();
    json!({
        "words": words, "curves": curves, "units": dumps.collect::<Vec<_>>(),
        "operations": table(operations),
    })
}

fn dump(unit: &DumpUnit) -> Json {
    let of = |field: fn(&crate::judge::unit::ProfilePoint) -> Json| unit.profile.iter().map(field).collect::<Vec<_>>();
    json!({
        "name": unit_place(unit.step, unit.rank), "step": unit.step, "rank": unit.rank, "verdict": unit.verdict,
        "data": unit.data, "culprit": unit.culprit.as_ref().map(|culprit| &culprit.op),
        "culprit_tensor": unit.culprit.as_ref().map(|culprit| &culprit.tensor),
        "inherited_from": unit.inherited_from,
        "order": of(|point| json!(point.order)), "op": of(|point| json!(point.op)),
        "error": of(|point| json!(point.error)), "limit": of(|point| json!(point.limit)),
    })
}

/// Operation lines by columns of indexes into one list of strings: a tenth of the size of the lines.
fn table(operations: &[OperationLine]) -> Json {
    let shown = chosen(operations);
    let metrics: BTreeSet<&str> = shown.iter().flat_map(|line| line.metrics.keys()).map(String::as_str).collect();
    let mut strings = Strings::default();
    let rows: Vec<Json> = shown.iter().map(|line| row(line, &metrics, &mut strings)).collect();
    json!({ "strings": strings.list, "metrics": metrics, "rows": rows, "total": operations.len() })
}

/// At most [`MOST_ROWS`] lines in order; agreeing ones give way to the others.
fn chosen(operations: &[OperationLine]) -> Vec<&OperationLine> {
    let telling = operations.iter().filter(|line| line.state != State::Agrees).count();
    let mut agreeing = MOST_ROWS.saturating_sub(telling);
    let room = |line: &&OperationLine| {
        let fits = line.state != State::Agrees || agreeing > 0;
        agreeing -= usize::from(line.state == State::Agrees && fits);
        fits
    };
    operations.iter().filter(room).take(MOST_ROWS).collect()
}

fn row<'a>(line: &'a OperationLine, metrics: &BTreeSet<&str>, strings: &mut Strings<'a>) -> Json {
    let metrics: Vec<Json> = metrics.iter().map(|name| json!(line.metrics.get(*name).copied().map(rounded))).collect();
    json!([
        line.step,
        line.rank,
        line.order,
        strings.index(&line.op),
        strings.index(&line.module),
        strings.index(&line.tensor),
        word(&line.kind),
        word(&line.state),
        strings.index(&line.reason),
        line.error.map(rounded),
        line.limit.map(rounded),
        line.baseline.as_ref().map(|side| strings.side(side)),
        line.candidate.as_ref().map(|side| strings.side(side)),
        metrics,
    ])
}

/// Five significant digits: the page shows four, and 100 000 rows have to stay light.
fn rounded(number: Number) -> Number {
    format!("{:.4e}", number.0).parse().map_or(number, Number)
}

fn word<T: Serialize>(value: &T) -> Json {
    serde_json::to_value(value).unwrap_or(Json::Null)
}

/// Every text once.
#[derive(Default)]
struct Strings<'a> {
    list: Vec<&'a str>,
    index: HashMap<&'a str, usize>,
}

impl<'a> Strings<'a> {
    fn index(&mut self, text: &'a str) -> usize {
        *self.index.entry(text).or_insert_with(|| {
            self.list.push(text);
            self.list.len() - 1
        })
    }

    fn side(&mut self, side: &'a Shown) -> Json {
        let values: Vec<usize> = side.values.iter().map(|value| self.index(value)).collect();
        json!([self.index(&side.tensor), self.index(&side.dtype), side.shape, values])
    }
}
