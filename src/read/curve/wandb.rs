//! Logs that W&B keeps on disk (`run-<id>.wandb`), as an offline run leaves them.
//!
//! Each record is a message `Record` of `wandb_internal.proto`; those with a history hold values as JSON. A metric's step is
//! the metric that `define_metric(step_metric=...)` names for it, else `_step`.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use prost::Message;

use super::collector::Collector;
use super::file::{CurveFile, CurveNote};
use super::format::CurveFormat;
use super::frames::{self, LogKind};
use super::records;
use crate::error::Result;
use crate::fetch::{ByteSource, Room};
use crate::read::curve::lines;
use crate::read::json::{self, Json};
use crate::read::metric;

/// First bytes, with the number 0xBEE1 in little-endian order.
const MAGIC: &[u8] = b":W&B\xe1\xbe";
const KIND: LogKind = LogKind { name: "W&B log", version: 0, values: "records of its history" };
/// Largest number of metric definitions that are kept; a run has one per metric.
const MAX_DEFINITIONS: usize = 8192;
/// Largest number of definitions for groups of metrics that are kept; each name is compared with all of them.
const MAX_PREFIXES: usize = 64;

/// Record of the log: the parts that hold values, and definitions of metrics.
#[derive(Clone, PartialEq, Message)]
struct Record {
    #[prost(message, optional, tag = "2")]
    history: Option<History>,
    #[prost(message, optional, tag = "12")]
    metric: Option<Definition>,
}

#[derive(Clone, PartialEq, Message)]
struct History {
    #[prost(message, repeated, tag = "1")]
    item: Vec<Item>,
    #[prost(message, optional, tag = "2")]
    step: Option<Step>,
}

#[derive(Clone, PartialEq, Message)]
struct Step {
    #[prost(int64, tag = "1")]
    num: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Item {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(string, repeated, tag = "2")]
    nested_key: Vec<String>,
    #[prost(string, tag = "16")]
    value_json: String,
}

#[derive(Clone, PartialEq, Message)]
struct Definition {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    glob_name: String,
    #[prost(string, tag = "4")]
    step_metric: String,
}

impl Item {
    fn name(&self) -> String {
        if self.nested_key.is_empty() { self.key.clone() } else { self.nested_key.join("/") }
    }
}

/// Whether a file begins like such a log.
pub(super) fn recognise(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

/// Reads the values of all history records.
///
/// # Errors
/// `Corrupt` for a damaged record, and for a log that ends before its first value.
pub(super) fn read(source: &dyn ByteSource, room: &Arc<Room>) -> Result<CurveFile> {
    let steps = definitions(source)?;
    let mut collector = Collector::new(source.name(), room);
    let mut last = HashMap::new();
    let is_cut = frames::each_record(source, KIND, |record: Record| match record.history {
        Some(history) => take(&history, &steps, &mut last, &mut collector),
        None => Ok(()),
    })?;
    let series = collector.finish()?;
    if series.is_empty() && is_cut {
        return Err(frames::no_values_error(source, KIND));
    }
    Ok(CurveFile::new(source, CurveFormat::Wandb, series).with_note(is_cut.then_some(CurveNote::Truncated)))
}

/// Metrics that number the steps of others.
#[derive(Debug, Default)]
struct StepMetrics {
    all: BTreeSet<String>,
    by_name: HashMap<String, String>,
    /// Prefixes of metric names with their step metric, in the order of their definition.
    by_prefix: Vec<(String, String)>,
    /// Step metrics with a value that is not a whole number, such as a fraction of an epoch.
    fractional: BTreeSet<String>,
}

impl StepMetrics {
    fn define(&mut self, metric: Definition) {
        if metric.step_metric.is_empty() || self.by_name.len() >= MAX_DEFINITIONS {
            return;
        }
        match metric.glob_name.strip_suffix('*') {
            Some(_) if self.by_prefix.len() >= MAX_PREFIXES => return,
            Some(prefix) => self.by_prefix.push((prefix.to_owned(), metric.step_metric.clone())),
            None => drop(self.by_name.insert(metric.name, metric.step_metric.clone())),
        }
        self.all.insert(metric.step_metric);
    }

    fn of(&self, metric: &str) -> Option<&String> {
        let named = self.by_name.get(metric).or_else(|| self.by_name.get(&metric.replace('/', ".")));
        let by_prefix = || self.by_prefix.iter().find(|(prefix, _)| metric.starts_with(prefix)).map(|(_, step)| step);
        named.or_else(by_prefix).filter(|step| !self.fractional.contains(*step))
    }
}

/// Collects the step metrics in a first pass, because their definitions may stand anywhere among the records.
fn definitions(source: &dyn ByteSource) -> Result<StepMetrics> {
    let mut steps = StepMetrics::default();
    frames::each_record(source, KIND, |record: Record| {
        record.metric.into_iter().for_each(|metric| steps.define(metric));
        for item in record.history.iter().flat_map(|history| &history.item) {
            let name = item.name();
            if steps.all.contains(&name) && whole(&item.value_json).is_none() {
                steps.fractional.insert(name);
            }
        }
        Ok(())
    })?;
    Ok(steps)
}

fn whole(json: &str) -> Option<u64> {
    lines::whole_number(json.parse().ok()?)
}

/// Adds the values of one history record. A step metric that it does not repeat keeps its last value.
fn take(
    history: &History,
    steps: &StepMetrics,
    last: &mut HashMap<String, u64>,
    collector: &mut Collector,
) -> Result<()> {
    let mut own = history.step.as_ref().and_then(|step| u64::try_from(step.num).ok());
    for item in &history.item {
        match (item.name().as_str(), whole(&item.value_json)) {
            ("_step", Some(step)) => own = Some(step),
            (name, Some(step)) if steps.all.contains(name) => drop(last.insert(name.to_owned(), step)),
            _ => {}
        }
    }
    for item in &history.item {
        let name = item.name();
        let step = match steps.of(&name) {
            Some(metric) if *metric != name => last.get(metric).copied(),
            _ => own,
        };
        let is_counter = metric::is_bookkeeping(&name) || steps.all.contains(&name);
        if let (Some(step), false) = (step, is_counter) {
            let value = json::parse_bytes("", item.value_json.as_bytes()).unwrap_or(Json::Null);
            records::add_value(&name, Some(step), &value, collector)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::fetch::MemorySource;

    fn log(records: &[Record]) -> Vec<u8> {
        let records: Vec<Vec<u8>> = records.iter().map(Message::encode_to_vec).collect();
        frames::tests::log(b":W&B\xe1\xbe\0", &records)
    }

    fn history(values: &[(&str, &str)]) -> Record {
        let item = |(key, value): &(&str, &str)| Item {
            key: String::new(),
            nested_key: key.split('/').map(str::to_owned).collect(),
            value_json: (*value).into(),
        };
        let history = History { item: values.iter().map(item).collect(), step: None };
        Record { history: Some(history), metric: None }
    }

    fn definition(glob: &str, step: &str) -> Record {
        let metric = Definition { name: String::new(), glob_name: glob.into(), step_metric: step.into() };
        Record { history: None, metric: Some(metric) }
    }

    fn points(records: &[Record], name: &str) -> Vec<(u64, f64)> {
        let file = read(&MemorySource::new("run.wandb", log(records)), &Room::unlimited()).expect("sound");
        let series = file.loaded().into_iter().find(|series| series.name == name);
        series.map(|series| series.points().collect()).unwrap_or_default()
    }

    #[test]
    fn records_of_one_step_each_add_their_metrics() {
        let records = [
            history(&[("_step", "0"), ("train/loss", "2.5"), ("_timestamp", "1e9")]),
            history(&[("_step", "0"), ("eval/loss", "\"NaN\"")]),
            history(&[("_step", "1"), ("train/loss", "2.25"), ("picture", "{\"_type\": \"image-file\"}")]),
        ];
        assert_eq!(points(&records, "train/loss"), [(0, 2.5), (1, 2.25)]);
        assert!(points(&records, "eval/loss").first().is_some_and(|(step, value)| *step == 0 && value.is_nan()));
        assert_eq!(
            read(&MemorySource::new("run.wandb", log(&records)), &Room::unlimited()).expect("sound").series.len(),
            2
        );
    }

    #[test]
    fn the_metric_that_was_defined_as_step_numbers_the_others() {
        let records = [
            definition("*", "train/global_step"),
            history(&[("_step", "0"), ("train/loss", "2.5"), ("train/global_step", "10")]),
            history(&[("_step", "1"), ("train/loss", "2.0"), ("train/global_step", "20")]),
            history(&[("_step", "2"), ("eval/loss", "2.25")]),
        ];
        assert_eq!(points(&records, "train/loss"), [(10, 2.5), (20, 2.0)]);
        assert_eq!(points(&records, "eval/loss"), [(20, 2.25)], "it keeps its last value");
        assert!(points(&records, "train/global_step").is_empty());
    }

    #[test]
    fn a_share_of_an_epoch_is_no_counter() {
        let records = [
            definition("train/*", "share"),
            history(&[("_step", "0"), ("train/loss", "2.5"), ("share", "0.5")]),
            history(&[("_step", "1"), ("train/loss", "2.0"), ("share", "1")]),
        ];
        assert_eq!(points(&records, "train/loss"), [(0, 2.5), (1, 2.0)]);
    }

    #[test]
    fn a_killed_run_keeps_its_whole_records_and_a_bare_head_is_damage() {
        let whole = log(&[history(&[("_step", "0"), ("loss", "2.5")]), history(&[("_step", "1"), ("loss", "2.0")])]);
        let file = read(&MemorySource::new("run.wandb", whole[..whole.len() - 1].to_vec()), &Room::unlimited())
            .expect("the first is whole");
        assert_eq!((file.loaded()[0].steps.len(), file.notes.as_slice()), (1, [CurveNote::Truncated].as_slice()));
        for end in [7, 10, 20] {
            let error =
                read(&MemorySource::new("run.wandb", whole[..end].to_vec()), &Room::unlimited()).expect_err("nothing");
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{end}");
            assert!(error.message().contains("history"), "{error}");
        }
    }
}
