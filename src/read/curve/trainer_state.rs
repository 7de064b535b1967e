//! `trainer_state.json` of the transformers Trainer.
//!
//! `log_history` holds a record per log event. Every numeric key that repeats is a curve; the record with
//! `train_runtime`, written once at the end, is not. The loss is the mean over the steps since the last event.

use std::collections::HashMap;
use std::sync::Arc;

use super::collector::Collector;
use super::file::CurveFile;
use super::format::{CurveFormat, LossMeaning};
use super::records;
use crate::error::{Error, Result};
use crate::fetch::{ByteSource, Room};
use crate::kind::Role;
use crate::read::json::{Json, Parser};
use crate::read::metric;

pub(super) fn read(source: &dyn ByteSource, room: &Arc<Room>) -> Result<CurveFile> {
    let mut collector = Collector::new(source.name(), room);
    let mut seen: HashMap<String, u32> = HashMap::new();
    let (mut interval, mut has_history) = (None, false);
    let mut parser = Parser::new(source);
    parser.object(|key, parser| match key.as_str() {
        "log_history" => {
            has_history = true;
            parser.array(|parser| take(&parser.value()?, &mut collector, &mut seen))
        }
        "logging_steps" => {
            // A value below 1 is a share of all steps, and gives no interval.
            interval = parser.value()?.as_f64().and_then(super::lines::whole_number).filter(|steps| *steps > 0);
            Ok(())
        }
        _ => parser.value().map(drop),
    })?;
    parser.end()?;
    if !has_history {
        return Err(Error::corrupt(source.name(), "has no list `log_history`, which trainer_state.json must have"));
    }
    let account = collector.take_account();
    let mut series = collector.finish()?;
    series.retain(|series| seen.get(series.name()).is_some_and(|count| *count > 1) || is_known(series.name()));
    let mut file = CurveFile::new(source, CurveFormat::TrainerState, series);
    file.account = account;
    file.interval = interval;
    file.logged = LossMeaning::Windows;
    Ok(file)
}

fn take(record: &Json, collector: &mut Collector, seen: &mut HashMap<String, u32>) -> Result<()> {
    let Some(entries) = record.as_object() else { return Ok(()) };
    let Some(step) = record.get("step").and_then(records::json_step) else { return Ok(()) };
    if entries.iter().any(|(key, _)| key == "train_runtime") {
        records::note_summary(entries, collector);
        return Ok(());
    }
    for (key, value) in entries {
        if collector.keys.of(key).is_bookkeeping {
            continue;
        }
        let is_number = u32::from(records::json_number(value).is_some());
        match seen.get_mut(key) {
            Some(count) => *count += is_number,
            None => drop(seen.insert(key.clone(), is_number)),
        }
        records::add_value(key, Some(step), value, collector)?;
    }
    Ok(())
}

/// Whether a key that was logged only once still makes a curve, of one point.
fn is_known(key: &str) -> bool {
    !metric::is_end_of_run_summary(key) && metric::role(&metric::canonical(key)) != Role::Other
}
