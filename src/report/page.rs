//! `report.html`: one self-contained page for looking closer.
//!
//! Everything that a reader needs first (verdict, checks, culprit, findings, rules) is plain HTML and readable without scripts.
//! The scripts of `templates/report/page/` draw pictures, the module tree and the table of operations: first from JSON that
//! holds the rows that do not agree, then from all rows, which are packed. The page loads nothing from the network.

mod block;
mod embedding;
mod full;
pub mod operations;
mod texts;

use std::collections::BTreeMap;
use std::io::Write;

use minijinja::value::Serde;
use minijinja::{Value, context};
use serde::Serialize;

use self::embedding::Embedding;
use self::operations::OperationTable;
use super::checks::{self, PageData};
use super::escape::TextTarget;
use super::lines::OperationLines;
use super::messages::Language;
use super::palette;
use super::phrases;
use super::pictures::data_address;
use super::plot::error_map::error_map_png;
use super::plot::evaluation::evaluation_png;
use super::plot::monitor::monitor_png;
use super::plot::performance::performance_png;
use super::plot::samples::samples_png;
use super::plot::timeline::timeline_png;
use super::plot::tokens::tokens_png;
use super::templates::Templates;
use super::view::{self, View};
use super::writer::Writer;
use super::writer::safe;
use crate::error::{Error, ErrorKind, Result};
use crate::result::GateResult;
use crate::result::unit::Culprit;

/// Prefixes of the phrases that scripts need: those of the page, and of values in the table.
const SCRIPT_WORDS: [&str; 4] = ["page_", "state_", "kind_", "verdict_"];

/// Options for the page.
#[derive(Clone, Copy, Debug)]
pub struct PageOptions<'a> {
    /// The language.
    pub language: Language,
    /// Templates.
    pub templates: &'a Templates,
}

/// The page's script, put together from its parts; each part uses those before it.
const SCRIPT: &str = concat!(
    "\"use strict\";\n(() => {\n",
    include_str!("../../templates/report/page/base.js"),
    include_str!("../../templates/report/page/charts.js"),
    include_str!("../../templates/report/page/curves.js"),
    include_str!("../../templates/report/page/blocks.js"),
    include_str!("../../templates/report/page/rows.js"),
    include_str!("../../templates/report/page/profile.js"),
    include_str!("../../templates/report/page/tree.js"),
    include_str!("../../templates/report/page/table.js"),
    include_str!("../../templates/report/page/overview.js"),
    include_str!("../../templates/report/page/start.js"),
    "})();\n",
);

/// Placeholders for the data and the packed rows until the rest of the page is written; escaped text cannot contain them.
const PLACE_OF_DATA: &str = "<!-- data -->";
const PLACE_OF_BLOCKS: &str = "<!-- blocks -->";

/// Writes the page.
///
/// # Errors
/// Errors of writing; `Policy` for a template of the user's that does not render.
pub fn write(
    result: &GateResult,
    operations: &OperationTable,
    options: &PageOptions<'_>,
    out: &mut dyn Write,
) -> Result<()> {
    let writer = Writer::from_result(result, options.language, TextTarget::Html);
    let view = View::new(result, &writer)?;
    let context = context! {
        language => options.language.tag(),
        data => safe(PLACE_OF_DATA.into()),
        blocks => safe(PLACE_OF_BLOCKS.into()),
        error_map => error_map_png(result, options.language)?.as_deref().map(data_address),
        monitor_map => monitor_png(result, options.language)?.as_deref().map(data_address),
        tokens_map => tokens_png(result, options.language)?.as_deref().map(data_address),
        evaluation_plot => evaluation_png(result, options.language)?.as_deref().map(data_address),
        samples_plot => samples_png(result, options.language)?.as_deref().map(data_address),
        timeline_plot => timeline_png(result, options.language)?.as_deref().map(data_address),
        performance_plot => performance_png(result, options.language)?.as_deref().map(data_address),
        assets => context! {
            style => safe(format!("{}{}", palette::style(), include_str!("../../templates/report/page.css"))),
            script => safe(SCRIPT.into()),
            chart_style => safe(include_str!("../../templates/report/vendor/uplot/uPlot.min.css").into()),
            chart_script => safe(include_str!("../../templates/report/vendor/uplot/uPlot.iife.min.js").into()),
        },
        artifacts => Value::from(Serde(view::telling_artifacts(result))),
        ..view::template_context(result, &view)
    };
    let page = writer.document(&options.templates.page, context)?;
    let mut out = Embedding(out);
    for (index, part) in page.split(PLACE_OF_DATA).enumerate() {
        if index > 0 {
            data(result, operations, options.language, &mut out)?;
        }
        for (index, part) in part.split(PLACE_OF_BLOCKS).enumerate() {
            if index > 0 {
                operations.embed_blocks(&mut out)?;
            }
            out.written(part)?;
        }
    }
    Ok(())
}

/// The page as text, for results whose lines fit into memory.
///
/// # Errors
/// As [`write()`], and errors of reading the lines.
pub fn render(result: &GateResult, lines: &OperationLines<'_>, options: &PageOptions<'_>) -> Result<String> {
    let mut page = Vec::new();
    write(result, &OperationTable::from_lines(lines)?, options, &mut page)?;
    String::from_utf8(page).map_err(|error| Error::new(ErrorKind::Internal, "report.html", error))
}

fn data(result: &GateResult, operations: &OperationTable, language: Language, out: &mut Embedding<'_>) -> Result<()> {
    let words: BTreeMap<&String, &String> = phrases::all_phrases(language)
        .iter()
        .filter(|(key, _)| SCRIPT_WORDS.iter().any(|start| key.starts_with(start)))
        .collect();
    out.written("{\"words\":")?;
    out.json(&words)?;
    let writer = Writer::from_result(result, language, TextTarget::Plain);
    let name = |template| writer.statement("page", template, &BTreeMap::new());
    out.written(",\"labels\":")?;
    out.json(&[name("{{ baseline_name }}")?, name("{{ candidate_name }}")?])?;
    out.written(",\"culprit\":")?;
    out.json(&result.culprit.as_ref().filter(|culprit| culprit.is_of_operation()).map(Wrong::of))?;
    let units = result.checks.iter().flat_map(|check| &check.units);
    for PageData { key, make: of } in checks::ALL.iter().filter_map(|shown| shown.embedded.as_ref()) {
        out.written(&format!(",\"{key}\":"))?;
        out.json(&units.clone().filter_map(of).collect::<Vec<_>>())?;
    }
    out.written(",\"operations\":")?;
    operations.embed(out)?;
    out.written("}")
}

/// Place of the first wrong value, in the form that the page's scripts look for.
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
