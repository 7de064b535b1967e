//! Events of MLPerf's log: a JSON object with a key, its value, and the counter in its metadata.

use super::names::Names;
use super::pairs::Pair;
use super::record::Record;
use crate::read::account::UnreadNumbers;
use crate::read::curve::lines;
use crate::read::curve::records::json_number;
use crate::read::json::{self, Json};
use crate::read::metric;

/// Text before an event.
const MARK: &str = ":::MLLOG";
/// Counters of the metadata, best first.
const COUNTERS: [&str; 3] = ["step_num", "samples_count", "epoch_num"];

/// Benchmarks whose `eval_accuracy` is a loss.
const OF_LOSS: [&str; 5] = ["llama2_70b_lora", "gpt3", "llama31_405b", "llama31_8b", "flux1"];

/// The benchmark that the events of a file name.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Benchmark {
    is_of_loss: bool,
}

/// The record of an event; `None` for a line that is no event, and for an event without a value or a counter.
pub(super) fn read(
    line: &str,
    names: &mut Names,
    benchmark: &mut Benchmark,
    account: &mut UnreadNumbers,
) -> Option<Record> {
    let (_, object) = line.split_once(MARK)?;
    let event = json::parse_bytes("", object.trim().as_bytes()).ok()?;
    let Json::Text(key) = event.get("key")? else { return None };
    if key == "submission_benchmark" {
        benchmark.is_of_loss = event.get("value").and_then(Json::as_str).is_some_and(|name| OF_LOSS.contains(&name));
        return None;
    }
    let key = if key == "eval_accuracy" && benchmark.is_of_loss { "eval_loss" } else { key.as_str() };
    let about = event.get("metadata")?;
    let counter = COUNTERS.iter().find_map(|name| Some((*name, json_number(about.get(name)?)?)));
    let Some((counter, at)) = counter else {
        // A result without a counter cannot become a point.
        let value = event.get("value").and_then(json_number).filter(|_| metric::is_key_metric(&metric::canonical(key)));
        value
            .into_iter()
            .for_each(|value| account.add_text(&format!("{key}: {value}"), vec![key.to_owned()], &[value]));
        return None;
    };
    let mut record = Record::default();
    match counter {
        "step_num" => record.step = lines::whole_number(at),
        "samples_count" => record.context.samples = lines::whole_number(at),
        _ => record.context.epoch = Some(at),
    }
    record.pairs.push(Pair::new(names.place(key), json_number(event.get("value")?)?));
    if let Some(lr) = about.get("lr").and_then(json_number) {
        record.pairs.push(Pair::new(names.place("lr"), lr));
    }
    Some(record)
}

/// Whether a line holds an event.
pub(super) fn is_event(line: &str) -> bool {
    line.contains(MARK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_placed_by_its_metadata() {
        let (mut names, mut benchmark, mut account) =
            (Names::default(), Benchmark::default(), UnreadNumbers::default());
        let line =
            r#"0: :::MLLOG {"key": "train_loss", "value": 9.0, "metadata": {"samples_count": 64, "lr": 9.8e-05}}"#;
        let record = read(line, &mut names, &mut benchmark, &mut account).expect("an event");
        assert_eq!((record.context.samples, record.pairs.len()), (Some(64), 2));
        assert!(
            read(
                r#":::MLLOG {"key": "seed", "value": 1, "metadata": {"lineno": 12}}"#,
                &mut names,
                &mut benchmark,
                &mut account
            )
            .is_none()
        );
    }
}
