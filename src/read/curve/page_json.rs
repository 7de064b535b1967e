//! Series downloaded from TensorBoard's page: `[[wall time, step, value], …]`. The file's name holds the metric.

use std::sync::Arc;

use super::collector::Collector;
use super::file::CurveFile;
use super::format::CurveFormat;
use super::records::json_number;
use super::series::MAX_POINTS;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{ByteSource, Room};
use crate::read::curve::lines;
use crate::read::json::{Json, Parser};

/// Whether a JSON text begins with such a series.
pub(super) fn recognise(head: &str) -> bool {
    let mut rows = head.strip_prefix('[').map(|rest| rest.trim_start().split(']')).into_iter().flatten();
    rows.next().and_then(|row| row.strip_prefix('[')).is_some_and(|row| {
        let numbers: Vec<Option<f64>> = row.split(',').map(lines::parse_number).collect();
        matches!(numbers.as_slice(), [Some(_), Some(step), Some(_)] if lines::whole_number(*step).is_some())
    })
}

/// Reads the series. A row that is no point is an error, because the page never writes one.
pub(super) fn read(source: &dyn ByteSource, room: &Arc<Room>) -> Result<CurveFile> {
    let name = metric_of(source.name()).to_owned();
    let mut collector = Collector::new(source.name(), room);
    let mut parser = Parser::new(source);
    let mut points = 0;
    parser.array(|parser| {
        points += 1;
        if points > MAX_POINTS {
            return Err(Error::new(ErrorKind::LimitExceeded, source.name(), "too many values"));
        }
        let row = parser.value()?;
        let (step, value) = point(&row).ok_or_else(|| {
            Error::corrupt(source.name(), format!("row {points}: expected wall time, step and value"))
        })?;
        collector.push(&name, Some(step), value)
    })?;
    parser.end()?;
    Ok(CurveFile::new(source, CurveFormat::PageJson, collector.finish()?))
}

fn point(row: &Json) -> Option<(u64, f64)> {
    let Json::Array(cells) = row else { return None };
    let [_, step, value] = cells.as_slice() else { return None };
    Some((lines::whole_number(json_number(step)?)?, json_number(value)?))
}

/// The metric in a file's name: `train_loss` of `run_7-tag-train_loss.json`.
fn metric_of(path: &str) -> &str {
    let file = path.rsplit('/').next().unwrap_or(path);
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    stem.rsplit_once("tag-").map_or(stem, |(_, metric)| metric)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::MemorySource;

    #[test]
    fn a_downloaded_series_is_read_by_its_steps() {
        let text = "[[1700000001.5, 1, 9.5], [1700000002.5, 2, NaN]]";
        assert!(recognise(text) && !recognise("[[1, 2], [3, 4]]") && !recognise("[{\"step\": 1}]"));
        let file =
            read(&MemorySource::new("a/run_7-tag-train_loss.json", text.as_bytes().to_vec()), &Room::unlimited())
                .expect("a series");
        let series = &file.loaded()[0];
        let points: Vec<(u64, f64)> = series.points().collect();
        assert_eq!((series.name.as_str(), points.len(), points.first()), ("train_loss", 2, Some(&(1, 9.5))));
    }
}
