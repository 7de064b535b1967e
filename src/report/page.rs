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
use super::view::{self, View};
use super::writer::{Writer, safe};
use crate::error::{Error, ErrorKind, Result};
use crate::judge::number::Number;
use crate::judge::operation::{OperationLine, Shown, State};
use crate::judge::unit::{DumpUnit, Unit, unit_place};

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

/// Operation lines as flat rows of numbers and indexes: a browser reads 100 000 of them in half a second.
///
/// A row is step, rank, order, operation, module, tensor, kind, state, reason, error, limit, baseline, candidate and the
/// metrics; texts are indexes into `strings`, both sides into `sides`. A side is tensor (null where it is the row's),
/// element type, shape and values.
fn table(operations: &[OperationLine]) -> Json {
    let shown = chosen(operations);
    let metrics: BTreeSet<&str> = shown.iter().flat_map(|line| line.metrics.keys()).map(String::as_str).collect();
    let mut strings = Strings::default();
    let mut sides = Sides::default();
    let rows: Vec<Json> = shown.iter().map(|line| row(line, &metrics, &mut strings, &mut sides)).collect();
    json!({
        "strings": strings.list, "sides": sides.list, "metrics": metrics, "rows": rows, "total": operations.len(),
    })
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

fn row(line: &OperationLine, metrics: &BTreeSet<&str>, strings: &mut Strings, sides: &mut Sides) -> Json {
    let mut side = |shown: &Option<Shown>| shown.as_ref().map(|shown| sides.index(shown, &line.tensor, strings));
    let (baseline, candidate) = (side(&line.baseline), side(&line.candidate));
    let mut row = vec![
        json!(line.step),
        json!(line.rank),
        json!(line.order),
        json!(strings.index(&line.op)),
        json!(strings.index(&line.module)),
        json!(strings.index(&line.tensor)),
        word(&line.kind),
        word(&line.state),
        json!(strings.index(&line.reason)),
        json!(line.error.map(rounded)),
        json!(line.limit.map(rounded)),
        json!(baseline),
        json!(candidate),
    ];
    row.extend(metrics.iter().map(|name| json!(line.metrics.get(*name).copied().map(rounded))));
    Json::Array(row)
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
struct Strings {
    list: Vec<String>,
    index: HashMap<String, usize>,
}

impl Strings {
    fn index(&mut self, text: &str) -> usize {
        if let Some(index) = self.index.get(text) {
            return *index;
        }
        self.list.push(text.to_owned());
        self.index.insert(text.to_owned(), self.list.len() - 1);
        self.list.len() - 1
    }
}

/// What a side says, each once: an output is often the next operation's input.
#[derive(Default)]
struct Sides {
    list: Vec<Vec<Option<usize>>>,
    index: HashMap<Vec<Option<usize>>, usize>,
}

impl Sides {
    fn index(&mut self, side: &Shown, tensor: &str, strings: &mut Strings) -> usize {
        let shape: Vec<String> = side.shape.iter().map(u64::to_string).collect();
        let shape = if shape.is_empty() { String::new() } else { format!("[{}]", shape.join(", ")) };
        let tensor = (side.tensor != tensor).then(|| strings.index(&side.tensor));
        let mut key = vec![tensor, Some(strings.index(&side.dtype)), Some(strings.index(&shape))];
        key.extend(side.values.iter().map(|value| Some(strings.index(value))));
        *self.index.entry(key.clone()).or_insert_with(|| {
            self.list.push(key);
            self.list.len() - 1
        })
    }
}
