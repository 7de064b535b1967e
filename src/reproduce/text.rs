//! `issue.md` and `issue.zh.md`: the report to file with the owners of the operation.

use minijinja::value::Serde;
use minijinja::{Value, context};
use serde::Serialize;

use super::call::{Item, Tensor};
use super::case::{RecordedCall, ReproducedCase};
use super::difference::{call_differences, item_text};
use crate::compare::operators::OperatorLevel;
use crate::error::Result;
use crate::read::json::to_text;
use crate::report::escape::TextTarget as Format;
use crate::report::frame::{StackFrame, calling_frame};
use crate::report::messages::Language;
use crate::report::summary::tidy;
use crate::report::view::View;
use crate::report::writer::{Template, Writer};
use crate::result::Run;
use crate::result::operation::Shown;
use crate::result::this_tool;

/// Digits of a digest that are shown; the script has all of them.
const DIGITS: usize = 16;

/// The texts with the names of their files.
///
/// # Errors
/// `Internal` where the template has a mistake.
pub(crate) fn issue_texts(case: &ReproducedCase<'_>, notes: &[String]) -> Result<Vec<(String, String)>> {
    let of = |language: Language| {
        let ending = match language {
            Language::En => "",
            Language::Zh => ".zh",
        };
        Ok((format!("issue{ending}.md"), text(case, notes, language)?))
    };
    Language::ALL.iter().map(|language| of(*language)).collect()
}

fn text(case: &ReproducedCase<'_>, notes: &[String], language: Language) -> Result<String> {
    let source = include_str!("../../templates/reproduce/issue.md.j2").into();
    let template = Template { name: "issue.md.j2".into(), source, is_custom: false };
    let writer = Writer::from_result(case.result, language, Format::Markdown);
    writer.document(&template, document(case, notes, &writer)?).map(|text| tidy(&text))
}

/// A tensor or value of the call, with both runs' digests.
#[derive(Debug, Serialize)]
struct Row {
    place: String,
    kind: String,
    statistics: String,
    requires_grad: bool,
    baseline: String,
    candidate: String,
}

/// A run's label, location, digest and versions.
#[derive(Debug, Serialize)]
struct Environment<'a> {
    run: &'a Run,
    versions: Vec<(&'a String, &'a String)>,
}

fn document(case: &ReproducedCase<'_>, notes: &[String], writer: &Writer) -> Result<Value> {
    let result = case.result;
    let culprit = case.target.culprit;
    let headline = culprit.map(|_| View::new(result, writer).map(|view| view.opening.headline)).transpose()?;
    let frames = culprit.map(|culprit| culprit.stack.as_slice()).unwrap_or_default();
    let frame: Option<StackFrame> = calling_frame(frames);
    let runs = result.baseline.iter().chain([&result.candidate]);
    let environments: Vec<Environment<'_>> =
        runs.map(|run| Environment { run, versions: versions(case, run) }).collect();
    let differences = case.both_calls().map(|(baseline, candidate)| call_differences(&baseline.call, &candidate.call));
    let values = |shown: &Option<Shown>| shown.as_ref().map(|shown| Value::from(Serde(shown)));
    Ok(context! {
        headline,
        op => case.target.shown_name(),
        function => format!("{}.{}", place_of(case), case.runnable.function),
        step => case.target.step,
        rank => case.target.rank,
        code => culprit.map(|culprit| culprit.code.as_str()),
        tensor => culprit.map(|culprit| culprit.tensor.as_str()),
        error => culprit.and_then(|culprit| culprit.metrics.get("error").copied()).map(|number| Value::from(number.0)),
        limit => culprit.and_then(|culprit| culprit.metrics.get("limit").copied()).map(|number| Value::from(number.0)),
        sides => culprit.map(|culprit| vec![values(&culprit.baseline), values(&culprit.candidate)]),
        frame => frame.map(|frame| format!("{}:{} {}", frame.file, frame.line, frame.code)),
        rows => Value::from(Serde(rows(case))),
        differences => differences.unwrap_or_default().into_iter()
            .map(|found| context! { place => found.place, baseline => found.baseline, candidate => found.candidate })
            .collect::<Vec<_>>(),
        environments => Value::from(Serde(environments)),
        has_inputs => case.has_inputs(),
        level => OperatorLevel::from_api(&case.runnable.function).as_str(),
        notes => notes.to_vec(),
        tool => Value::from(Serde(this_tool())),
    })
}

fn place_of(case: &ReproducedCase<'_>) -> &'static str {
    match case.runnable.root.as_str() {
        "functional" => "torch.nn.functional",
        "tensor" => "torch.Tensor",
        "torch" => "torch",
        _ => "torch.nn",
    }
}

fn versions<'a>(case: &'a ReproducedCase<'_>, run: &Run) -> Vec<(&'a String, &'a String)> {
    let side = case.sides.iter().find(|side| side.source.run == run);
    side.map(|side| side.source.versions.iter().collect()).unwrap_or_default()
}

/// Arguments, parameters, results and gradients of the last side's call, which is the candidate's where it recorded one.
fn rows(case: &ReproducedCase<'_>) -> Vec<Row> {
    let Some(last) = case.sides.last() else { return Vec::new() };
    let mut rows = Vec::new();
    for (index, item) in last.call.args.iter().enumerate() {
        argument(&format!("input.{index}"), item, case, &mut rows);
    }
    for (name, item) in &last.call.kwargs {
        argument(&format!("input.{name}"), item, case, &mut rows);
    }
    let given = last.call.parameters.iter().map(|(_, tensor)| tensor);
    let gradients = last.call.incoming_gradients.iter().flatten().flatten();
    rows.extend(given.chain(gradients).chain(last.call.results()).map(|tensor| row(tensor, case)));
    rows
}

fn argument(place: &str, item: &Item, case: &ReproducedCase<'_>, rows: &mut Vec<Row>) {
    match item {
        Item::Tensor(tensor) => rows.push(row(tensor, case)),
        Item::List(items) | Item::Tuple(items) if items.iter().any(|item| matches!(item, Item::Tensor(_))) => {
            for (index, item) in items.iter().enumerate() {
                argument(&format!("{place}.{index}"), item, case, rows);
            }
        }
        item => rows.push(Row {
            place: place.to_owned(),
            kind: item_text(item),
            statistics: String::new(),
            requires_grad: false,
            baseline: String::new(),
            candidate: String::new(),
        }),
    }
}

fn row(tensor: &Tensor, case: &ReproducedCase<'_>) -> Row {
    let digest = |side: &RecordedCall<'_>| {
        let found = side.call.tensors().into_iter().find(|other| other.place == tensor.place)?;
        let stored = found.stored.as_ref()?;
        Some(stored.sha256.chars().take(DIGITS).collect::<String>())
    };
    let of = |wanted: crate::verdict::Side| case.sides.iter().find(|side| side.source.side == wanted).and_then(digest);
    let numbers: Vec<String> = tensor.statistics.iter().map(to_text).collect();
    Row {
        place: tensor.place.clone(),
        kind: format!("{} {:?}", tensor.dtype, tensor.shape),
        statistics: numbers.join(", "),
        requires_grad: tensor.requires_grad,
        baseline: of(crate::verdict::Side::Baseline).unwrap_or_default(),
        candidate: of(crate::verdict::Side::Candidate).unwrap_or_default(),
    }
}
