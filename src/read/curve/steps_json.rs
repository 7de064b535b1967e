//! One JSON object of steps: `{"1": {"loss": 2.5}, "2": {"loss": 2.25}}`, or the other way round `{"loss": {"1": 2.5, "2": 2.25}}`.

use std::sync::Arc;

use super::collector::Collector;
use super::file::CurveFile;
use super::format::CurveFormat;
use super::lines;
use super::records;
use crate::error::Result;
use crate::fetch::{ByteSource, Room};
use crate::kind::Role;
use crate::read::json::{Json, Parser};
use crate::read::metric;

/// Whether an entry, the first of its object, is a step with its metrics or a metric with its steps.
pub(super) fn is_entry(key: &str, value: &Json) -> bool {
    let Some(entries) = value.as_object() else { return false };
    let mut names =
        entries.iter().filter(|(_, value)| records::json_number(value).is_some()).map(|(name, _)| name.as_str());
    if lines::parse_step(key).is_some() {
        return names.any(is_known);
    }
    is_known(key) && names.next().is_some_and(|first| lines::parse_step(first).is_some())
}

fn is_known(name: &str) -> bool {
    let role = metric::role(&metric::canonical(name));
    matches!(role, Role::Loss | Role::AuxiliaryLoss | Role::EvalLoss | Role::GradNorm | Role::Reward)
}

/// Reads all steps. Entries of other kinds are skipped.
pub(super) fn read(source: &dyn ByteSource, room: &Arc<Room>) -> Result<CurveFile> {
    let mut collector = Collector::new(source.name(), room);
    let mut parser = Parser::new(source);
    parser.object(|key, parser| {
        let value = parser.value()?;
        let entries = value.as_object().unwrap_or_default();
        if let Some(step) = lines::parse_step(&key) {
            return records::add_flattened(entries, Some(step), &mut collector);
        }
        let by_step = entries.iter().filter_map(|(step, value)| Some((lines::parse_step(step)?, value)));
        let mut by_step = by_step.filter(|_| !metric::is_bookkeeping(&key));
        by_step.try_for_each(|(step, value)| records::add_value(&key, Some(step), value, &mut collector))
    })?;
    parser.end()?;
    Ok(CurveFile::new(source, CurveFormat::StepsJson, collector.finish()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::MemorySource;

    #[test]
    fn both_ways_of_nesting_give_the_same_curves() {
        for text in [
            r#"{"1": {"lm loss": 2.5, "grad norm": 1.0}, "2": {"lm loss": NaN, "grad norm": 0.5}}"#,
            r#"{"lm loss": {"1": 2.5, "2": NaN}, "grad norm": {"1": 1.0, "2": 0.5}, "run": "a"}"#,
        ] {
            let file =
                read(&MemorySource::new("steps.json", text.as_bytes().to_vec()), &Room::unlimited()).expect("sound");
            let names: Vec<&str> = file.series.iter().map(super::super::stored::StoredSeries::name).collect();
            assert_eq!(names, ["lm loss", "grad norm"], "{text}");
            let points: Vec<(u64, f64)> = file.loaded()[0].points().collect();
            assert!(points[0] == (1, 2.5) && points[1].0 == 2 && points[1].1.is_nan(), "{points:?}");
        }
    }
}
