//! Records inside a JSON document, as programs save the history of a run beside its settings: a list of records, or columns
//! of equal length.

use std::sync::Arc;

use super::beside::RecordContext;
use super::collector::Collector;
use super::file::CurveFile;
use super::format::CurveFormat;
use super::lines;
use super::records;
use crate::error::{Error, Result};
use crate::fetch::{ByteSource, Room};
use crate::read::json::{self, Json};
use crate::read::metric;

/// Deepest level of objects that is searched.
const DEPTH: usize = 6;
/// Longest document that is searched; such histories have some hundred kilobytes.
const LONGEST: u64 = 32 << 20;

/// Records found in a document.
enum Found<'j> {
    List(&'j [Json]),
    /// Records with their steps.
    Steps(Vec<(u64, &'j Json)>),
    /// Metric names, each with one value per record.
    Columns(Vec<(&'j str, &'j [Json])>),
}

impl Found<'_> {
    fn len(&self) -> usize {
        match self {
            Self::List(records) => records.len(),
            Self::Steps(steps) => steps.len(),
            Self::Columns(columns) => columns.first().map_or(0, |(_, values)| values.len()),
        }
    }
}

/// Whether a document holds records of a run. Only a document whose first bytes, `head`, mention a metric is searched.
pub(super) fn recognise(head: &str, source: &dyn ByteSource) -> bool {
    let speaks = ["loss", "acc", "cost", "perplexity", "grad_norm"].iter().any(|word| head.contains(word));
    speaks && source.len() <= LONGEST && document(source).is_ok_and(|document| find(&document, 0).is_some())
}

fn document(source: &dyn ByteSource) -> Result<Json> {
    let mut bytes = vec![0; usize::try_from(source.len().min(LONGEST)).unwrap_or_default()];
    source.read_at(0, &mut bytes)?;
    json::parse_bytes(source.name(), &bytes)
}

/// The longest list of records below a value.
fn find(value: &Json, depth: usize) -> Option<Found<'_>> {
    let own = match value {
        Json::Array(items) => list(items),
        Json::Object(entries) => columns(entries).or_else(|| steps(entries)),
        _ => None,
    };
    let below = value.as_object().into_iter().flatten().filter(|_| depth < DEPTH);
    below.filter_map(|(_, value)| find(value, depth + 1)).chain(own).max_by_key(Found::len)
}

fn list(items: &[Json]) -> Option<Found<'_>> {
    let are_records = items.len() > 1 && items.iter().take(3).all(records::is_record);
    are_records.then_some(Found::List(items))
}

/// Records whose keys are step numbers.
fn steps(entries: &[(String, Json)]) -> Option<Found<'_>> {
    let steps: Vec<(u64, &Json)> = entries
        .iter()
        .map_while(|(key, value)| Some((lines::parse_step(key)?, value)))
        .filter(|(_, value)| records::is_record(value))
        .collect();
    (steps.len() > 1 && steps.len() == entries.len()).then_some(Found::Steps(steps))
}

/// Named lists of numbers that have equal lengths, at least one of them a key metric.
fn columns(entries: &[(String, Json)]) -> Option<Found<'_>> {
    let numbers = |value: &Json| match value {
        Json::Array(items) if items.len() > 1 => items.iter().take(3).all(|item| records::json_number(item).is_some()),
        _ => false,
    };
    let lists = entries.iter().filter(|(_, value)| numbers(value));
    let lists: Vec<(&str, &[Json])> = lists
        .filter_map(|(name, value)| match value {
            Json::Array(items) => Some((name.as_str(), items.as_slice())),
            _ => None,
        })
        .collect();
    let length = lists.first()?.1.len();
    let is_known = lists.iter().any(|(name, _)| metric::is_key_metric(&metric::canonical(name)));
    (is_known && lists.iter().all(|(_, values)| values.len() == length)).then_some(Found::Columns(lists))
}

/// Reads the records of a document.
pub(super) fn read(source: &dyn ByteSource, room: &Arc<Room>) -> Result<CurveFile> {
    let document = document(source)?;
    let mut collector = Collector::new(source.name(), room);
    match find(&document, 0) {
        Some(Found::List(list)) => list.iter().try_for_each(|record| records::add_record(record, &mut collector))?,
        Some(Found::Steps(steps)) => steps.into_iter().try_for_each(|(step, record)| {
            collector.begin_record(RecordContext::default());
            records::add_flattened(record.as_object().unwrap_or_default(), Some(step), &mut collector)
        })?,
        Some(Found::Columns(columns)) => {
            for place in 0..columns.first().map_or(0, |(_, values)| values.len()) {
                let record =
                    columns.iter().filter_map(|(name, values)| Some(((*name).to_owned(), values.get(place)?.clone())));
                records::add_record(&Json::Object(record.collect()), &mut collector)?;
            }
        }
        None => return Err(Error::corrupt(source.name(), "holds no list of records")),
    }
    CurveFile::from_collector(source, CurveFormat::JsonNested, collector)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::MemorySource;

    #[test]
    fn records_are_found_wherever_they_stand() {
        for (text, names) in [
            (
                r#"{"epochs": [{"epoch": 1, "train": {"loss": 2.5}, "val": {"dice": 0.1}}, {"epoch": 2, "train": {"loss": 2.0}, "val": {"dice": 0.2}}]}"#,
                vec!["train/loss", "val/dice"],
            ),
            (
                r#"{"params": {"epochs": 2}, "history": {"loss": [2.5, 2.0], "val_loss": [2.6, 2.1]}}"#,
                vec!["loss", "val_loss"],
            ),
        ] {
            let source = MemorySource::new("history.json", text.as_bytes().to_vec());
            assert!(recognise(text, &source), "{text}");
            let file = read(&source, &Room::unlimited()).expect("sound");
            let found: Vec<String> = file.series.iter().map(|series| series.name().to_owned()).collect();
            assert_eq!(found, names);
        }
        for text in
            [r#"{"loss_weights": [1.0, 2.0], "layers": [3]}"#, r#"{"models": [{"name": "a", "accuracy": 0.5}]}"#]
        {
            assert!(!recognise(text, &MemorySource::new("config.json", text.as_bytes().to_vec())), "{text}");
        }
    }
}
