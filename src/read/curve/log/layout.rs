//! Lines as trainers print them: what stands in front is cut, then come counters, then names with values.
//!
//! A counter is found by the shape it is printed in (`Epoch [1][3/30]`, `Iter(train) [ 3/60]`, `2/60 [00:10<…`). A counter
//! within an epoch is put in order by the length of the epoch, where the line tells it.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::read::curve::expression::constant;
use crate::read::curve::lines;
use crate::read::curve::series::Counter;
use crate::read::json::{self, Json};
use crate::read::metric;

/// Prefixes that a launcher, a cluster or a logger writes in front of a line.
static PREFIXES: LazyLock<[Regex; 5]> = LazyLock::new(|| {
    [
        r"^\((?:\w+ )?pid=[^)]*\)\s*",
        r"^\[(?:rank|default)(?<rank>\d+)\]:\s*",
        r"^\d{4}-\d\d-\d\dT[\d:.]+Z (?:stdout|stderr) [FP] ",
        r"^(?<rank>\d+):\s+",
        r"^.{0,200}? - (?:DEBUG|INFO|WARNING|ERROR)\s*-+\s*",
    ]
    .map(constant)
});
static COLOUR: LazyLock<Regex> = LazyLock::new(|| constant("\x1b\\[[0-9;]*m"));
static REPEATED: LazyLock<Regex> = LazyLock::new(|| constant(r"\s*\[repeated \d+x across cluster\].*$"));

static VALIDATION: LazyLock<Regex> =
    LazyLock::new(|| constant(r"\bvalidation loss at iteration\s+(\d+)\s*(?:on [\w ]+)?\|(.*)"));
static EVENT: LazyLock<Regex> = LazyLock::new(|| constant(r":::MLLOG\s+(\{.*\})\s*$"));
static OBJECT: LazyLock<Regex> = LazyLock::new(|| constant(r#"(\{".*\})\s*$"#));

/// Shapes of counters: groups `epoch`, `at` and `of`; `held` where the line is of held-out data.
static COUNTERS: LazyLock<[Regex; 9]> = LazyLock::new(|| {
    [
        r"\b(?<held>Test|Validation)?:?\s*Epoch(?:\((?:train|(?<val>val|test))\))?:?\s*\[\s*(?<epoch>\d+)\]\s*\[\s*(?<at>\d+)\s*/\s*(?<of>\d+)\]",
        r"\bEpoch:\s*\[\s*(?<epoch>\d+)\s*/\s*\d+\],\s*step:\s*\[\s*(?<at>\d+)\s*/\s*(?<of>\d+)\]",
        r"\bstep:\s*\[\s*(?<at>\d+)\s*/\s*\d+\]",
        r"\bIter\((?:train|(?<val>val|test))\)\s*\[\s*(?<at>\d+)\s*/\s*\d+\]",
        r"\b(?:Train(?: Epoch)?|(?<val>Test|Val)):\s*(?<epoch>\d+)\s*\[\s*(?<at>\d+)\s*/\s*(?<of>\d+)[^\]]*\]",
        r"(?:\bEpoch\s*\[?(?<epoch>\d+)[^|]*)?\d+%\|[^|]*\|\s*(?<at>\d+)\s*/\s*(?<of>\d+)\s*\[",
        r"\bepoch:?\s*(?<epoch>\d+),?\s*step:?\s*(?<at>\d+)\b",
        r"\bEpoch\s*\[\s*(?<at>\d+)\s*/\s*\d+\]",
        r"(?i)^(?:step|iter|iteration|update|rollout|eval|perf)\s+(?<at>\d+)\b|第\s*(?<chinese>\d+)\s*(?:步|次|轮)",
    ]
    .map(constant)
});

/// A number, in whatever a program wraps it.
const VALUE: &str =
    r#"(?:np\.float\d+\(|tensor\(|\[|['"])?\s*([-+]?(?:(?:\d{1,3}(?:,\d{3})+|\d+)\.?\d*(?:[eE][-+]?\d+)?|nan|inf))"#;
static NAMED: LazyLock<Regex> =
    LazyLock::new(|| constant(&format!(r"([A-Za-z_][\w/@.-]*)(?:\s*\([^()]{{0,40}}\))?\s*(?:[:=]|\bis\b)\s*{VALUE}")));
static BLANK: LazyLock<Regex> =
    LazyLock::new(|| constant(&format!(r"\b((?:train |val |eval |test )?[Ll]oss|grad norm|lr)\s+{VALUE}")));

/// A name in front of everything else, with its value.
static BEGINNING: LazyLock<Regex> = LazyLock::new(|| constant(&format!(r"^[A-Za-z_][\w/@.-]*\s*[:=]\s*{VALUE}")));

/// Names with their values.
pub(super) type Values = Vec<(String, f64)>;

/// Place of a line in the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The epoch, where the counter starts again with each and its length is not told.
    pub(super) epoch: Option<u64>,
    /// The counter.
    pub(super) at: u64,
    /// Kind of the counter.
    pub(super) counter: Counter,
}

impl Place {
    /// A place by a step.
    fn step(epoch: Option<u64>, at: u64) -> Self {
        Self { epoch, at, counter: Counter::Step }
    }
}

/// A line without what stands in front of it (colours, ranks, containers, the logger's own fields), and the rank among it.
pub(super) fn bare(line: &str) -> (Cow<'_, str>, Option<u64>) {
    let mut rank = None;
    let mut bare = COLOUR.replace_all(line, "");
    if bare.contains("[repeated ") {
        bare = Cow::Owned(REPEATED.replace(&bare, "").into_owned());
    }
    if !bare.is_ascii() {
        bare = Cow::Owned(in_english(&bare));
    }
    while let Some(found) = PREFIXES.iter().find_map(|prefix| prefix.captures(&bare)) {
        let told = found.name("rank").and_then(|rank| rank.as_str().parse().ok());
        let end = found.get(0).map_or(0, |found| found.end());
        rank = rank.or(told);
        bare = Cow::Owned(bare.get(end..).unwrap_or_default().to_owned());
    }
    (bare, rank)
}

/// Chinese names and signs as the English ones.
fn in_english(line: &str) -> String {
    [("：", ":"), ("，", ", "), ("＝", "="), ("损失", "loss"), ("学习率", "lr"), ("梯度范数", "grad_norm")]
        .iter()
        .fold(line.to_owned(), |line, (chinese, english)| line.replace(chinese, english))
}

/// The place that a line tells and whether it is of held-out data; `None` where it has no such counter.
pub(super) fn place(line: &str) -> Option<(Place, bool)> {
    let found = COUNTERS.iter().find_map(|shape| shape.captures(line))?;
    let number = |name: &str| found.name(name).and_then(|text| text.as_str().parse::<u64>().ok());
    let at = number("at").or_else(|| number("chinese"))?;
    let is_held_out = ["held", "val"].iter().any(|name| found.name(name).is_some());
    let place = match (number("epoch"), number("of")) {
        (Some(epoch), Some(of)) => Place::step(None, epoch.checked_mul(of)?.checked_add(at)?),
        (epoch, _) => Place::step(epoch, at),
    };
    Some((place, is_held_out))
}

/// Names with values in a line, in its order.
pub(super) fn pairs(line: &str) -> Values {
    let pair = |found: Captures<'_>| {
        let (name, value) = (found.get(1)?.as_str(), found.get(2)?);
        // What goes on behind its digits is a number with a unit, a word, a time of day or a date.
        let mut behind = line.get(value.end()..)?.chars();
        let goes_on = match behind.next() {
            Some(':' | '-') => behind.next().is_some_and(|next| next.is_ascii_digit()),
            Some(next) => next.is_alphanumeric() || next == '_',
            None => false,
        };
        Some((name.to_owned(), lines::number(value.as_str())?)).filter(|_| !goes_on && name != "eta")
    };
    let mut pairs: Vec<(String, f64)> = NAMED.captures_iter(line).filter_map(pair).collect();
    let blank: Vec<(String, f64)> = BLANK.captures_iter(line).filter_map(pair).collect();
    // Both losses of an evaluation are of held-out batches, also that of the training data.
    let is_evaluation = blank.iter().any(|(name, _)| name.starts_with("val "));
    for (name, value) in blank {
        let name =
            if is_evaluation && name == "train loss" { "eval/train_loss".into() } else { name.replace(' ', "_") };
        if pairs.iter().all(|(other, _)| *other != name) {
            pairs.push((name, value));
        }
    }
    pairs
}

/// Whether a line begins with a name and its value.
pub(super) fn begins_with_name(line: &str) -> bool {
    BEGINNING.is_match(line)
}

/// Megatron's line of a validation: its iteration and its values, as `validation/lm_loss`.
pub(super) fn validation(line: &str) -> Option<(u64, Values)> {
    let found = VALIDATION.captures(line)?;
    let field = |field: &str| {
        let (name, value) = field.rsplit_once(':')?;
        let name = name.trim().trim_end_matches(" value").replace(' ', "_");
        Some((format!("validation/{name}"), lines::number(value)?))
    };
    let values = found.get(2)?.as_str().split('|').filter_map(field).collect();
    Some((lines::step(found.get(1)?.as_str())?, values))
}

/// An object in JSON at the end of a line: an event of MLPerf's log, or the record of a logger.
pub(super) fn object(line: &str) -> Option<(Option<Place>, Values)> {
    if let Some(found) = EVENT.captures(line) {
        return event(&parse(found.get(1)?.as_str())?);
    }
    let Json::Object(entries) = parse(OBJECT.captures(line)?.get(1)?.as_str())? else { return None };
    let numbers: Vec<(&str, f64)> =
        entries.iter().filter_map(|(key, value)| Some((key.as_ref(), number(value)?))).collect();
    let at = numbers.iter().filter(|(key, _)| metric::step_rank(key).is_some()).find_map(|(_, at)| lines::whole(*at));
    let epoch = numbers.iter().find(|(key, _)| *key == "epoch").and_then(|(_, epoch)| lines::whole(*epoch));
    let place = at.map(|at| Place::step(epoch, at));
    let values = numbers.into_iter().filter(|(key, _)| !metric::is_bookkeeping(key));
    Some((place, values.map(|(key, value)| (key.to_owned(), value)).collect()))
}

/// A value of MLPerf's log with the counter in its metadata; other events are none.
fn event(event: &Json) -> Option<(Option<Place>, Values)> {
    let key = match event.get("key")? {
        Json::Text(key) => key.to_string(),
        _ => return None,
    };
    let about = event.get("metadata")?;
    let counters = [("step_num", Counter::Step), ("samples_count", Counter::Samples), ("epoch_num", Counter::Epoch)];
    let (at, counter) = counters.iter().find_map(|(name, counter)| Some((number(about.get(name)?)?, *counter)))?;
    let mut values = vec![(key, number(event.get("value")?)?)];
    values.extend(about.get("lr").and_then(number).map(|lr| ("lr".to_owned(), lr)));
    Some((lines::whole(at).map(|at| Place { epoch: None, at, counter }), values))
}

fn parse(text: &str) -> Option<Json> {
    json::parse_bytes("", text.as_bytes()).ok()
}

/// A number, also one in quotes.
fn number(value: &Json) -> Option<f64> {
    crate::read::curve::records::number(value).or_else(|| match value {
        Json::Text(text) => lines::number(text),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_in_every_shape() {
        for (line, epoch, at) in [
            ("Epoch [1][3/30]\tlr: 1e-4, loss: 1.2", None, 33),
            ("Epoch: [0][  10/300]\tTime 0.4 ( 0.5)\tLoss 6.9e+00 (7.0e+00)", None, 10),
            ("{ Epoch:[  1/  2], step:[    3/   30], loss: 5.323, per_step_time: 1033ms", None, 33),
            ("{ step:[    3/   60], loss:  11.813965, per_step_time: 710ms", None, 3),
            ("Iter(train) [  3/60]  lr: 1e-4  loss: 1.2", None, 3),
            ("Train: 0 [  50/300 ( 17%)]  Loss: 6.91 (7.02)", None, 50),
            ("Train Epoch: 2 [6400/60000 (11%)]\tLoss: 0.53", None, 126_400),
            ("Steps:   3%|2 | 2/60 [00:10<00:20, lr=1e-5, step_loss=0.2]", None, 2),
            ("epoch: 1 step: 32, loss is 2.3018966", Some(1), 32),
            ("Epoch [3/60], Loss: 0.53", None, 3),
            ("iter 10: loss 4.1, time 12ms", None, 10),
            ("Step 3 | loss:2.1 lr:2e-05", None, 3),
            ("第 3 步, loss:0.53", None, 3),
        ] {
            assert_eq!(place(line).map(|(place, _)| place), Some(Place::step(epoch, at)), "{line}");
        }
        assert_eq!(place("loss: 1.2 without a counter"), None);
        assert!(place("Iter(val) [  3/60]  loss: 1.2").is_some_and(|(_, held_out)| held_out));
    }

    #[test]
    fn values_are_taken_out_of_what_wraps_them() {
        for (line, name, value) in [
            ("step:3 - actor/pg_loss:np.float64(0.008) - critic/score/mean:0.2", "actor/pg_loss", 0.008),
            ("loss: 5.3, global_norm: [1.9], throughput: 2.8T", "global_norm", 1.9),
            ("epoch: 1 step: 32, loss is 2.3018966", "loss", 2.301_896_6),
            ("Epoch: [0][10/300]\tLoss 6.9e+00 (7.0e+00)", "Loss", 6.9),
            ("step 10: train loss 4.1, val loss 4.2", "val_loss", 4.2),
            ("steps: 10 loss: 5.55 iter time (s): 0.936 samples/sec: 136.7", "loss", 5.55),
        ] {
            let found = pairs(line);
            assert!(found.contains(&(name.to_owned(), value)), "{line}: {found:?}");
        }
        assert!(pairs("per_step_time: 710ms, throughput: 1.36T").is_empty(), "a unit is no number");
    }

    #[test]
    fn what_stands_in_front_is_cut() {
        for (line, rest) in [
            ("\x1b[36m(TaskRunner pid=1, ip=10.0.0.1)\x1b[0m step:1", "step:1"),
            ("[rank0]:[titan] 2026-12-17 01:18:26,708 - root - INFO - step:  1", "step:  1"),
            ("2026-11-22T10:11:12.000000001Z stdout F step: 1", "step: 1"),
            ("0: :::MLLOG {}", ":::MLLOG {}"),
            ("step: 1 [repeated 3x across cluster]", "step: 1"),
            ("第 3 步，损失：0.53", "第 3 步, loss:0.53"),
        ] {
            assert_eq!(bare(line).0, rest);
        }
        for (line, rank) in [
            ("[rank3]: step: 1", Some(3)),
            ("\x1b[36m[default7]:step", Some(7)),
            ("2: step", Some(2)),
            ("step: 1", None),
        ] {
            assert_eq!(bare(line).1, rank, "{line}");
        }
    }
}
