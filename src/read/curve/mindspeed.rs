//! Baselines of MindSpeed-LLM and MindSpeed-MM: bare lists, one value per step, no step numbers.
//!
//! `<metric> margin` beside a list is that metric's own tolerance, not a curve. `memo info` lists memory per
//! rank; the largest is kept. Where a file has a list with the name of a step counter, that list numbers the others.

use super::file::CurveFile;
use super::format::CurveFormat;
use super::records;
use super::series::Series;
use crate::error::{Error, Result};
use crate::fetch::ByteSource;
use crate::kind::Role;
use crate::read::json::{Json, Parser};
use crate::read::metric;

pub(super) fn read(source: &dyn ByteSource) -> Result<CurveFile> {
    let mut parser = Parser::new(source);
    let value = parser.value()?;
    parser.end()?;
    let entries = value.as_object().unwrap_or_default();
    let mut file = CurveFile::new(source, CurveFormat::MindSpeed, Vec::new());
    let steps = entries.iter().find_map(|(key, value)| {
        metric::step_rank(key)?;
        value.as_array()?.iter().map(records::json_step).collect::<Option<Vec<u64>>>()
    });
    for (key, value) in entries {
        if let Some(name) = key.strip_suffix("margin") {
            let margin = value.as_array().and_then(<[Json]>::first).unwrap_or(value);
            let margin = records::json_number(margin).filter(|margin| *margin >= 0.0);
            file.margins.extend(margin.map(|margin| (metric::canonical(name).into_owned(), margin)));
        } else if let (Some(items), None) = (value.as_array(), metric::step_rank(key)) {
            file.series.extend(series_of(source, key, items, steps.as_deref())?.into_iter().map(Into::into));
        }
    }
    Ok(file)
}

fn series_of(source: &dyn ByteSource, key: &str, items: &[Json], steps: Option<&[u64]>) -> Result<Vec<Series>> {
    if items.iter().any(|item| item.as_object().is_some()) {
        return Ok(memory_of(items));
    }
    let known = !matches!(metric::role(&metric::canonical(key)), Role::Other);
    let values: Option<Vec<f64>> = items.iter().map(records::json_number).collect();
    match (values, known) {
        (Some(values), _) => Ok(vec![match steps.filter(|steps| steps.len() == values.len()) {
            Some(steps) => Series::by_step(key, steps.iter().copied().zip(values)),
            None => Series::by_position(key, values),
        }]),
        (None, true) => Err(Error::corrupt(source.name(), format!("`{key}` holds something that is not a number"))),
        (None, false) => Ok(Vec::new()),
    }
}

/// The largest memory of any rank, as curves of one point.
fn memory_of(items: &[Json]) -> Vec<Series> {
    let largest = |key: &str| items.iter().filter_map(|item| item.get(key)?.as_f64()).reduce(f64::max);
    ["allocated memory", "max allocated memory"]
        .into_iter()
        .filter_map(|key| Some(Series::by_position(key, vec![largest(key)?])))
        .collect()
}
