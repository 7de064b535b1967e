//! Results that the transformers Trainer writes beside its state when a run has ended: evaluations at the last step.

use std::sync::Arc;

use super::collector::Collector;
use super::file::CurveFile;
use super::format::CurveFormat;
use super::records;
use crate::error::Result;
use crate::fetch::{ByteSource, Room};
use crate::read::json::{Json, Parser};
use crate::read::metric;

/// Names of such files.
const NAMES: [&str; 4] = ["eval_results.json", "all_results.json", "test_results.json", "predict_results.json"];

/// Path of the trainer state that the results at `path` belong to; `None` where `path` is not named like a file of results.
pub(crate) fn trainer_state_path(path: &str) -> Option<String> {
    let (folder, name) = path.rsplit_once('/').map_or(("", path), |(folder, name)| (folder, name));
    let state = "trainer_state.json";
    NAMES.contains(&name).then(|| if folder.is_empty() { state.to_owned() } else { format!("{folder}/{state}") })
}

/// Reads the evaluations of `source` at the last step of `state`; `None` where it holds none.
///
/// # Errors
/// `Corrupt` for a file that is not JSON.
pub fn read(source: &dyn ByteSource, state: &dyn ByteSource, room: &Arc<Room>) -> Result<Option<CurveFile>> {
    let Some(step) = last_step(state)? else { return Ok(None) };
    let mut parser = Parser::new(source);
    let record = parser.value()?;
    parser.end()?;
    let mut collector = Collector::new(source.name(), room);
    let is_evaluation = |key: &str| ["eval_", "test_", "predict_"].iter().any(|start| key.starts_with(start));
    let mut has_any = false;
    for (key, value) in record.as_object().unwrap_or_default() {
        let is_told = is_evaluation(key) && metric::is_key_metric(&metric::canonical(key));
        if is_told && records::json_number(value).is_some() {
            has_any = true;
            records::add_value(key, Some(step), value, &mut collector)?;
        }
    }
    if has_any { CurveFile::from_collector(source, CurveFormat::JsonRecords, collector).map(Some) } else { Ok(None) }
}

/// The step at which a run ended.
fn last_step(state: &dyn ByteSource) -> Result<Option<u64>> {
    let mut step = None;
    Parser::new(state).object(|key, parser| {
        let value: Json = parser.value()?;
        if key == "global_step" {
            step = records::json_step(&value);
        }
        Ok(())
    })?;
    Ok(step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::MemorySource;

    #[test]
    fn evaluations_stand_at_the_last_step() {
        let results = MemorySource::new(
            "run/eval_results.json",
            br#"{"eval_loss": 1.5, "eval_runtime": 3.0, "epoch": 1.0}"#.to_vec(),
        );
        let state = MemorySource::new("run/trainer_state.json", br#"{"global_step": 400, "log_history": []}"#.to_vec());
        let file = read(&results, &state, &Room::unlimited()).expect("sound").expect("an evaluation");
        let points: Vec<(u64, f64)> = file.loaded()[0].points().collect();
        assert_eq!((file.series.len(), points), (1, vec![(400, 1.5)]));
        assert_eq!(trainer_state_path("run/eval_results.json").as_deref(), Some("run/trainer_state.json"));
        assert_eq!(trainer_state_path("run/config.json"), None);
    }
}
