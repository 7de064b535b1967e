//! Records of JSON: one object per line, or one array of objects.
//!
//! A record names its step (`step`, `global_step`, `iteration`, `current_steps` ...) and holds numbers beside
//! it; nested objects are flattened with `/`. Records without a step are numbered by position.

use std::borrow::Cow;
use std::sync::Arc;

use super::beside::RecordContext;
use super::collector::Collector;
use super::file::{CurveFile, CurveNote};
use super::format::CurveFormat;
use super::lines::{self, Lines};
use super::told::FactLines;
use crate::error::{Error, Result};
use crate::fetch::{ByteSource, Room};
use crate::kind::Role;
use crate::read::account::numbers_in_text;
use crate::read::json::{self, Json, Parser};
use crate::read::metric;

/// Deepest nesting of records that is followed.
const MAX_NESTING: usize = 3;

/// Whether a value is one record of a curve.
pub(super) fn is_record(value: &Json) -> bool {
    let Some(entries) = value.as_object() else { return false };
    if entries.iter().any(|(key, _)| key == "train_runtime") {
        return false;
    }
    is_numbered_record(value)
        || numbers(entries).any(|key| matches!(metric::role(&metric::canonical(key)), Role::Loss | Role::GradNorm))
}

/// Whether a value is a record that names its step.
pub(super) fn is_numbered_record(value: &Json) -> bool {
    value
        .as_object()
        .is_some_and(|entries| has_step(entries) && numbers(entries).any(|key| !metric::is_bookkeeping(key)))
}

fn has_step(entries: &[(String, Json)]) -> bool {
    entries.iter().any(|(key, value)| metric::step_rank(key).is_some() && json_step(value).is_some())
}

/// The mean of an object of statistics: `{"num": 4000, "mean": 2.5, "std": 0.1}`.
fn mean(value: &Json) -> Option<f64> {
    let has = |key: &str| value.get(key).and_then(json_number).is_some();
    if has("std") || has("num") { value.get("mean").and_then(json_number) } else { None }
}

/// Name and value of an entry that has both: `{"name": "loss", "value": 2.5}`.
fn named(value: &Json) -> Option<(&str, f64)> {
    let name = ["name", "key", "metric", "tag"].iter().find_map(|key| value.get(key)?.as_str())?;
    Some((name, value.get("value").and_then(json_number)?))
}

/// Entries of a list that have a name and a value each.
fn named_entries(value: &Json) -> impl Iterator<Item = (&str, f64)> {
    value.as_array().into_iter().flatten().filter_map(named)
}

/// Keys of numbers, including those one level deeper and in lists of named entries.
fn numbers(entries: &[(String, Json)]) -> impl Iterator<Item = &str> {
    let listed = entries.iter().flat_map(|(_, value)| named_entries(value).map(|(name, _)| name));
    entries
        .iter()
        .flat_map(|(key, value)| {
            let nested = value.as_object().filter(|_| mean(value).is_none()).unwrap_or_default().iter();
            let own = json_number(value).or_else(|| mean(value)).is_some().then_some(key.as_str());
            own.into_iter().chain(nested.filter(|(_, value)| json_number(value).is_some()).map(|(key, _)| key.as_str()))
        })
        .chain(listed)
}

/// A JSON value as a number: a number, or a text that spells one.
pub(super) fn json_number(value: &Json) -> Option<f64> {
    match value {
        Json::Text(text) => lines::parse_number(text),
        other => other.as_f64(),
    }
}

/// A JSON value as a step: a whole number, or a text that spells one.
pub(super) fn json_step(value: &Json) -> Option<u64> {
    match value {
        Json::Int(step) => u64::try_from(*step).ok(),
        Json::Float(step) => lines::whole_number(*step),
        Json::Text(text) => lines::parse_step(text),
        _ => None,
    }
}

/// Reads one object per line. A last line that is cut is left out and noted.
pub(super) fn read_lines(source: &dyn ByteSource, room: &Arc<Room>) -> Result<CurveFile> {
    let mut collector = Collector::new(source.name(), room);
    let mut lines = Lines::new(source);
    let mut broken: Option<(u64, Error)> = None;
    let mut is_first = true;
    let mut told = FactLines::default();
    while let Some(line) = lines.next()? {
        let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        if tells(line, &mut told) {
            continue;
        }
        let record = json::parse_bytes("", line);
        if let Some((number, error)) = broken {
            return Err(damaged(source, number, &error));
        }
        match record {
            Ok(record) => {
                broken = None;
                // The first line may describe the run itself instead of being a record.
                if !std::mem::take(&mut is_first) || is_record(&record) {
                    add_record(&record, &mut collector)?;
                    told.note_record(None);
                } else {
                    told.take_other_line(&String::from_utf8_lossy(line));
                }
            }
            Err(error) => broken = Some((lines.number, error)),
        }
    }
    let file = CurveFile {
        told: told.finish_records(),
        ..CurveFile::from_collector(source, CurveFormat::JsonLines, collector)?
    };
    if let (Some((number, error)), true) = (&broken, file.series.is_empty()) {
        return Err(damaged(source, *number, error));
    }
    Ok(file.with_note(broken.map(|_| CurveNote::Truncated)))
}

/// Whether a line is no record: the norm of a parameter, or part of an error that ended the run.
fn tells(line: &[u8], told: &mut FactLines) -> bool {
    if !line.starts_with(b"{") {
        return told.take_line(&lines::text_of(line));
    }
    memchr::memmem::find(line, b"norm").is_some() && told.take_json_line(&lines::text_of(line))
}

fn damaged(source: &dyn ByteSource, line: u64, error: &Error) -> Error {
    Error::corrupt(source.name(), format!("line {line}: {}, expected one JSON object per line", error.message()))
        .with_help("collect the file again, or remove the damaged line")
}

/// Reads one array of objects.
pub(super) fn read_array(source: &dyn ByteSource, room: &Arc<Room>) -> Result<CurveFile> {
    let mut collector = Collector::new(source.name(), room);
    let mut parser = Parser::new(source);
    parser.array(|parser| add_record(&parser.value()?, &mut collector))?;
    parser.end()?;
    CurveFile::from_collector(source, CurveFormat::JsonRecords, collector)
}

/// Adds a value, or notes that there is none.
pub(super) fn add_value(name: &str, step: Option<u64>, value: &Json, collector: &mut Collector) -> Result<()> {
    match (json_number(value), value) {
        (Some(value), _) => collector.push(name, step, value),
        (None, Json::Text(text)) => match lines::parse_cell(text) {
            Some(value) => collector.push(name, step, value),
            None => {
                let numbers = numbers_in_text(text);
                if !numbers.is_empty() && metric::is_key_metric(&metric::canonical(name)) {
                    collector.note_unread(&format!("{name}: {text}"), name, &numbers);
                }
                collector.add_blank(name, step)
            }
        },
        (None, Json::Null) => collector.add_blank(name, step),
        (None, _) => Ok(()),
    }
}

/// Notes the values that are not finite in the trainer's summary at the end. The summary repeats logged values and is no record.
pub(super) fn note_summary(entries: &[(String, Json)], collector: &mut Collector) {
    for (key, value) in entries {
        if let Some(value) = json_number(value).filter(|value| !value.is_finite())
            && metric::is_key_metric(&metric::canonical(key))
        {
            collector.note_unread(&format!("train_runtime, {key}: {value}"), key, &[value]);
        }
    }
}

/// Adds the numbers of one record; a record without numbers is skipped.
pub(super) fn add_record(record: &Json, collector: &mut Collector) -> Result<()> {
    let Some(entries) = record.as_object() else { return Ok(()) };
    if entries.iter().any(|(key, _)| key == "train_runtime") {
        note_summary(entries, collector);
        return Ok(());
    }
    let (mut ranked, mut beside) = (None, RecordContext::default());
    for (key, value) in entries {
        let meaning = collector.keys.of(key);
        ranked = ranked.into_iter().chain(meaning.step_rank.zip(json_step(value))).min();
        if let (Some(context), Some(number)) = (meaning.context, json_number(value)) {
            beside.set(context, number);
        }
    }
    let step = ranked.map(|(_, step)| step);
    collector.begin_record(beside);
    let mode = entries.iter().find(|(key, _)| key == "mode").and_then(|(_, mode)| mode.as_str());
    let prefix = if mode == Some("val") { "val/" } else { "" };
    flatten_below(prefix, entries, step, collector, 0)
}

/// Adds the numbers of an object; those of nested objects get names joined with `/`.
pub(super) fn add_flattened(entries: &[(String, Json)], step: Option<u64>, collector: &mut Collector) -> Result<()> {
    flatten_below("", entries, step, collector, 0)
}

fn flatten_below(
    prefix: &str,
    entries: &[(String, Json)],
    step: Option<u64>,
    collector: &mut Collector,
    depth: usize,
) -> Result<()> {
    for (key, value) in entries {
        if let Some(mean) = mean(value) {
            collector.push(&format!("{prefix}{key}"), step, mean)?;
        } else if let Json::Array(items) = value {
            for (name, value) in named_entries(value) {
                collector.push(&format!("{prefix}{name}"), step, value)?;
            }
            let values: Vec<f64> = items.iter().filter_map(json_number).collect();
            let name = format!("{prefix}{key}");
            if !values.is_empty() && metric::is_key_metric(&metric::canonical(&name)) {
                collector.note_unread(&format!("{name}: [..]"), &name, &values);
            }
        } else if let Some(nested) = value.as_object() {
            // verl's file logger wraps what it logs.
            let below = if depth == 0 && key == "data" { prefix.to_owned() } else { format!("{prefix}{key}/") };
            if depth < MAX_NESTING {
                flatten_below(&below, nested, step, collector, depth + 1)?;
            }
        } else if !collector.keys.of(key).is_bookkeeping {
            let name = if prefix.is_empty() { Cow::from(key) } else { Cow::from(format!("{prefix}{key}")) };
            add_value(&name, step, value, collector)?;
        }
    }
    Ok(())
}
