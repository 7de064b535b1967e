//! Numbers of past runs, from which a limit is calibrated.

use std::path::Path;

use serde_json::Value;

use crate::compare::curve::numbers::mean_level;
use crate::error::{Error, ErrorKind, Result};
use crate::gate::repeats::LARGEST_BAND;
use crate::judge::loss::noise::NoiseBand;

/// The numbers of `metric` in a file: a column of a CSV file, a key of JSON lines, or the levels of a curve of recorded runs.
///
/// # Errors
/// Errors of reading it; `Usage` where it has no such column, key or curve; `Corrupt` where a cell is no number.
pub fn past_values(path: &Path, metric: &str) -> Result<Vec<f64>> {
    let name = path.display().to_string();
    let len = std::fs::metadata(path).map_err(|error| Error::io(&name, &error))?.len();
    if len > LARGEST_BAND {
        return Err(Error::new(ErrorKind::LimitExceeded, name, format!("has {len} bytes, more than {LARGEST_BAND}")));
    }
    let text = std::fs::read_to_string(path).map_err(|error| Error::io(&name, &error))?;
    let unknown = |what: &str| {
        let error = Error::new(ErrorKind::Usage, &name, format!("has no {what} `{metric}` with numbers"));
        error.with_help("name the column or key with --metric")
    };
    if let Ok(band) = serde_json::from_str::<NoiseBand>(&text) {
        let curves = band.sample.iter().filter_map(|run| run.curves.iter().find(|curve| curve.metric == metric));
        let values: Vec<f64> = curves
            .filter_map(|curve| mean_level(&curve.values.iter().map(|value| value.0).collect::<Vec<_>>()))
            .collect();
        return if values.is_empty() { Err(unknown("curve")) } else { Ok(values) };
    }
    if text.trim_start().starts_with('{') {
        let number = |line: &str| serde_json::from_str::<Value>(line).ok()?.get(metric)?.as_f64();
        let values: Vec<f64> = text.lines().filter_map(number).collect();
        return if values.is_empty() { Err(unknown("key")) } else { Ok(values) };
    }
    let mut table = csv::Reader::from_reader(text.as_bytes());
    let damaged = |error: csv::Error| Error::new(ErrorKind::Corrupt, &name, error);
    let column = table.headers().map_err(damaged)?.iter().position(|column| column.trim() == metric);
    let column = column.ok_or_else(|| unknown("column"))?;
    let mut values = Vec::new();
    for row in table.records() {
        let row = row.map_err(damaged)?;
        let cell = row.get(column).unwrap_or_default().trim();
        if cell.is_empty() {
            continue;
        }
        let value = cell.parse::<f64>().ok().filter(|value| value.is_finite());
        let line = row.position().map_or(0, csv::Position::line);
        let wrong = || Error::new(ErrorKind::Corrupt, format!("{name}:{line}"), format!("`{cell}` is no number"));
        values.push(value.ok_or_else(wrong)?);
    }
    Ok(values)
}
