//! Hiding evidence of the candidate never buys a pass.
//!
//! Of every made case, each record, each value, each metric and each file of the candidate is taken away in turn. A pair
//! that failed, or was incomplete, must not pass then; a pair that passed may, where its counts say that all was seen.

use std::path::{Path, PathBuf};

use precision_gate::result::GateResult;
use precision_gate::verdict::Verdict;
use serde_json::Value;

use super::tree::{copy, files};
use super::{codes, judge, made_cases, units};

/// Changes of a case that the sampled test makes.
const SAMPLE: usize = 8;

/// Something that is taken from the candidate.
#[derive(Clone, Debug)]
enum Hiding {
    /// A file.
    File(PathBuf),
    /// The second half of a file.
    Half(PathBuf),
    /// A record of a file.
    Record(PathBuf, usize),
    /// A value of a record, which becomes null.
    Value(PathBuf, usize, String),
    /// A metric of all records of a file.
    Metric(PathBuf, String),
}

/// A file of records, one per line or in the Trainer's history.
enum Records {
    Lines(Vec<Value>),
    History(Value),
}

impl Records {
    fn read(path: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(path).ok()?;
        if let Ok(state) = serde_json::from_str::<Value>(&text) {
            return state["log_history"].is_array().then_some(Self::History(state));
        }
        text.lines().map(|line| serde_json::from_str(line).ok()).collect::<Option<_>>().map(Self::Lines)
    }

    fn all(&mut self) -> &mut Vec<Value> {
        match self {
            Self::Lines(records) => records,
            Self::History(state) => state["log_history"].as_array_mut().expect("a list"),
        }
    }

    fn write(&self, path: &Path) {
        let text = match self {
            Self::Lines(records) => records.iter().map(|record| format!("{record}\n")).collect(),
            Self::History(state) => state.to_string(),
        };
        std::fs::write(path, text).expect("written");
    }
}

/// All that can be hidden in `folder`; paths are below it.
fn hidings(folder: &Path) -> Vec<Hiding> {
    let mut found = Vec::new();
    for path in files(folder) {
        let file = path.strip_prefix(folder).expect("below").to_owned();
        found.extend([Hiding::File(file.clone()), Hiding::Half(file.clone())]);
        let Some(mut records) = Records::read(&path) else { continue };
        let mut metrics = std::collections::BTreeSet::new();
        for (index, record) in records.all().iter().enumerate() {
            found.push(Hiding::Record(file.clone(), index));
            for key in record.as_object().into_iter().flatten().map(|(key, _)| key.clone()) {
                metrics.insert(key.clone());
                found.push(Hiding::Value(file.clone(), index, key));
            }
        }
        found.extend(metrics.into_iter().map(|metric| Hiding::Metric(file.clone(), metric)));
    }
    found
}

fn hide(folder: &Path, hiding: &Hiding) {
    let edit = |file: &Path, change: &dyn Fn(&mut Vec<Value>)| {
        let mut records = Records::read(&folder.join(file)).expect("records");
        change(records.all());
        records.write(&folder.join(file));
    };
    let remove = |record: &mut Value, key: &str| record.as_object_mut().and_then(|record| record.remove(key));
    match hiding {
        Hiding::File(file) => std::fs::remove_file(folder.join(file)).expect("removed"),
        Hiding::Half(file) => {
            let bytes = std::fs::read(folder.join(file)).expect("readable");
            std::fs::write(folder.join(file), &bytes[..bytes.len() / 2]).expect("written");
        }
        Hiding::Record(file, index) => edit(file, &|records| drop(records.remove(*index))),
        Hiding::Value(file, index, key) => edit(file, &|records| records[*index][key] = Value::Null),
        Hiding::Metric(file, key) => {
            edit(file, &|records| records.iter_mut().for_each(|record| drop(remove(record, key))))
        }
    }
}

/// Whether a pass is one that the counts of every unit bear out.
fn is_whole(result: &GateResult) -> bool {
    units(result).iter().all(|unit| unit.evidence.unseen() == 0 && unit.evidence.total() > 0)
}

fn assert_holds(case: &Path, untouched: &GateResult, hiding: &Hiding) {
    let copied = tempfile::tempdir().expect("a folder");
    copy(&case.join("npu"), copied.path());
    hide(copied.path(), hiding);
    let result = judge(&case.join("gpu"), copied.path(), "");
    let told = || format!("{}: {hiding:?}: {:?} after {:?}", case.display(), codes(&result), codes(untouched));
    let unexplained = result.verdict == Verdict::Pass && (untouched.verdict > Verdict::Pass || !is_whole(&result));
    assert!(!unexplained, "{}", told());
}

/// Numbers that are the same in every run (Knuth's generator of MMIX).
fn numbers(seed: u64) -> impl Iterator<Item = usize> {
    let next =
        |state: &u64| Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407));
    std::iter::successors(Some(seed), next).skip(1).map(|state| usize::try_from(state >> 33).expect("31 bits"))
}

fn all_cases(most: usize) -> usize {
    let mut made = 0;
    for (case, seed) in made_cases().into_iter().zip(1..) {
        let untouched = judge(&case.join("gpu"), &case.join("npu"), "");
        let hidings = hidings(&case.join("npu"));
        let sample = numbers(seed).map(|number| number % hidings.len());
        let chosen: Vec<usize> =
            if most < hidings.len() { sample.take(most).collect() } else { (0..hidings.len()).collect() };
        for hiding in chosen.iter().filter_map(|index| hidings.get(*index)) {
            assert_holds(&case, &untouched, hiding);
            made += 1;
        }
    }
    made
}

#[test]
fn hiding_what_the_candidate_logged_never_buys_a_pass() {
    assert!(all_cases(SAMPLE) > 50);
}

#[test]
#[ignore = "every change of every case: some minutes"]
fn hiding_anything_that_the_candidate_logged_never_buys_a_pass() {
    assert!(all_cases(usize::MAX) > 1000);
}
