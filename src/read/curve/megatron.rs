//! Megatron-LM's golden values.
//!
//! Metric name, then `start_step`, `end_step`, `step_interval` and `values`, a map from step (as text) to a
//! number or the text `nan`. The values are samples. A step whose every metric is `nan` was not recorded: it is
//! missing, not non-finite (golden files of runs that were stopped early are padded this way).

use std::collections::BTreeSet;
use std::sync::Arc;

use super::collector::Collector;
use super::file::CurveFile;
use super::format::CurveFormat;
use super::lines;
use super::records;
use super::series::Series;
use crate::error::{Error, Result};
use crate::fetch::{ByteSource, Room};
use crate::read::json::{Json, Parser};

pub(super) fn read(source: &dyn ByteSource, room: &Arc<Room>) -> Result<CurveFile> {
    let mut collector = Collector::new(source.name(), room);
    let mut parser = Parser::new(source);
    parser.object(|metric, parser| {
        let body = parser.value()?;
        let values = body.get("values").and_then(Json::as_object).unwrap_or_default();
        for (step, value) in values {
            let step = lines::parse_step(step).ok_or_else(|| bad_step(source, &metric, step))?;
            // `null` stands for a value that was not recorded, as `nan` does.
            let value = records::json_number(value).or_else(|| (*value == Json::Null).then_some(f64::NAN));
            collector.push(&metric, Some(step), value.ok_or_else(|| bad_value(source, &metric, step))?)?;
        }
        Ok(())
    })?;
    parser.end()?;
    let series = collector.finish()?;
    let mut series = series.iter().map(|series| Ok(series.load()?.into_owned())).collect::<Result<Vec<Series>>>()?;
    drop_unrecorded(&mut series);
    Ok(CurveFile::new(source, CurveFormat::Megatron, series.into_iter().map(Into::into).collect()))
}

fn bad_step(source: &dyn ByteSource, metric: &str, step: &str) -> Error {
    Error::corrupt(source.name(), format!("`{metric}`: `{step}` is not a step number"))
}

fn bad_value(source: &dyn ByteSource, metric: &str, step: u64) -> Error {
    Error::corrupt(source.name(), format!("`{metric}` at step {step} is neither a number nor `nan`"))
}

/// Marks the steps at which no metric has a value as unrecorded.
fn drop_unrecorded(all: &mut [Series]) {
    let recorded: BTreeSet<u64> =
        all.iter().flat_map(Series::points).filter(|(_, value)| !value.is_nan()).map(|(step, _)| step).collect();
    for series in all {
        let (kept, lost): (Vec<_>, Vec<_>) = series.points().partition(|(step, _)| recorded.contains(step));
        if !lost.is_empty() {
            let listed = series.listed;
            *series = Series::by_step(std::mem::take(&mut series.name), kept);
            series.listed = listed;
            series.unrecorded = lost.into_iter().map(|(step, _)| step).collect();
        }
    }
}
