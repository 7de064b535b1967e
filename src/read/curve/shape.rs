//! Shape of a JSON file, from its first bytes.
//!
//! Dumps, stacks and configurations are JSON too and must not be taken for curves, so every format must have
//! a distinguishing feature: a key such as `log_history`, a `values` object, or a list under the name of a metric.

use super::format::CurveFormat;
use super::page_json;
use super::records;
use super::steps_json;
use crate::fetch::MemorySource;
use crate::kind::Role;
use crate::read::json::{Json, Parser};
use crate::read::metric;

/// Largest number of entries of an object that are read to find out the kind of its keys.
const FIRST_ENTRIES: usize = 64;

/// The format of JSON that begins with `head`, which may be cut anywhere.
pub(super) fn recognise(head: &str) -> Option<CurveFormat> {
    if page_json::recognise(head) {
        return Some(CurveFormat::PageJson);
    }
    if head.starts_with('[') {
        return first_item(head).is_some_and(|item| records::is_record(&item)).then_some(CurveFormat::JsonRecords);
    }
    let mut lines = head.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next()?;
    let continues = lines.next().is_none_or(|line| line.trim_start().starts_with('{'));
    // A Trainer's state on a single line has steps of its own beside its history.
    let is_line = |line: &Json| {
        let is_of_steps =
            line.as_object().and_then(<[_]>::first).is_some_and(|(key, value)| steps_json::is_entry(key, value));
        records::is_record(line) && line.get("log_history").is_none() && !is_of_steps
    };
    let parsed = parse(first);
    if continues && parsed.as_ref().is_some_and(is_line) {
        return Some(CurveFormat::JsonLines);
    }
    // The first line may describe the run itself and stand before the records.
    let is_about =
        continues && parsed.is_some_and(|first| first.as_object().is_some() && first.get("log_history").is_none());
    let mut others = head.lines().filter(|line| !line.trim().is_empty()).skip(1).take(FIRST_ENTRIES);
    if is_about && others.any(|line| parse(line).is_some_and(|line| is_line(&line))) {
        return Some(CurveFormat::JsonLines);
    }
    document(head)
}

fn parse(text: &str) -> Option<Json> {
    crate::read::json::parse_bytes("", text.as_bytes()).ok()
}

fn first_item(head: &str) -> Option<Json> {
    let source = MemorySource::new("", head.as_bytes().to_vec());
    let mut first = None;
    // The array is left after its first item and may be cut after it, so the result of the walk does not matter.
    let _left_early = Parser::new(&source).array(|parser| {
        let value = parser.value()?;
        first.get_or_insert(value);
        Err(stop())
    });
    first
}

fn stop() -> crate::error::Error {
    crate::error::Error::corrupt("", "seen enough")
}

/// Walks the top-level keys until one of them shows the format.
fn document(head: &str) -> Option<CurveFormat> {
    let source = MemorySource::new("", head.as_bytes().to_vec());
    let (mut found, mut is_first) = (None, true);
    let _left_early = Parser::new(&source).object(|key, parser| {
        let first = std::mem::take(&mut is_first);
        match parser.peek()? {
            Some(b'[') if key == "log_history" => found = Some(CurveFormat::TrainerState),
            Some(b'[') if is_metric_list(&key) => {
                found = begins_with_number(parser).then_some(CurveFormat::MindSpeed);
                return Err(stop());
            }
            Some(b'{') if first && begins_with_step(head) => found = Some(CurveFormat::StepsJson),
            Some(b'{') => found = has_values(parser)?.then_some(CurveFormat::Megatron),
            _ => drop(parser.value()?),
        }
        if found.is_some() { Err(stop()) } else { Ok(()) }
    });
    found.or_else(|| {
        parse(head).is_some_and(|record| records::is_numbered_record(&record)).then_some(CurveFormat::JsonLines)
    })
}

/// Whether the first entry of an object is one of a step, or a metric with its steps.
fn begins_with_step(head: &str) -> bool {
    let source = MemorySource::new("", head.as_bytes().to_vec());
    let mut found = false;
    let _left_early = Parser::new(&source).object(|key, parser| {
        // A long object of steps does not end within the first bytes, so a cut is no error.
        let mut entries = Vec::new();
        let _cut = parser.object(|name, parser| {
            entries.push((name, parser.value()?));
            if entries.len() < FIRST_ENTRIES { Ok(()) } else { Err(stop()) }
        });
        found = steps_json::is_entry(&key, &Json::Object(entries));
        Err(stop())
    });
    found
}

fn is_metric_list(key: &str) -> bool {
    matches!(metric::role(&metric::canonical(key)), Role::Loss | Role::GradNorm | Role::AuxiliaryLoss | Role::EvalLoss)
}

/// Whether the array begins with a number, or with a word for one; leaves the parser inside the array.
fn begins_with_number(parser: &mut Parser<'_>) -> bool {
    let mut is_number = false;
    let _left_early = parser.array(|parser| {
        is_number = records::json_number(&parser.value()?).is_some();
        Err(stop())
    });
    is_number
}

/// Whether an object is one metric of a golden file: `values` maps steps to numbers.
fn has_values(parser: &mut Parser<'_>) -> crate::error::Result<bool> {
    let mut found = false;
    let walked = parser.object(|key, parser| {
        if key == "values" && parser.peek()? == Some(b'{') {
            found = true;
            return Err(stop());
        }
        parser.value().map(drop)
    });
    if found { Ok(true) } else { walked.map(|()| false) }
}
