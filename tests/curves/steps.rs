//! Counters that restart, resume, repeat, shift or are missing.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{codes, folders, json, judge, units};

/// One file is given as that file, several as their folder.
fn side(folder: &Path) -> PathBuf {
    let files: Vec<PathBuf> = std::fs::read_dir(folder).expect("a side").flatten().map(|entry| entry.path()).collect();
    if let [only] = files.as_slice() { only.clone() } else { folder.to_owned() }
}

fn case(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/curve-steps").join(name)
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

#[test]
fn every_case_gets_its_verdict_and_its_series() {
    for case in folders(&case("")) {
        let truth = &json(&case.join("case.json"))["truth"];
        let result = judge(&side(&case.join("gpu")), &side(&case.join("npu")), "");
        let name = case.display();
        let allowed: Vec<&str> = truth["verdict"].as_str().into_iter().chain(texts(&truth["also"])).collect();
        let verdict = result.verdict.as_str();
        assert!(allowed.contains(&verdict), "{name}: {verdict}, truth {allowed:?}: {:?}", codes(&result));
        if verdict == "fail" && !truth["culprit"].is_null() {
            let names = texts(&truth["culprit"]["names"]);
            let blamed = |unit: &&precision_gate::result::unit::CurveUnit| {
                unit.verdict.as_str() == "fail" && names.contains(&unit.metric.as_str())
            };
            assert!(units(&result).iter().any(blamed), "{name}: not by {names:?}");
        }
        for series in truth["series"].as_array().into_iter().flatten() {
            let names = texts(&series["names"]);
            let unit = units(&result).into_iter().find(|unit| names.contains(&unit.metric.as_str()));
            let unit = unit.unwrap_or_else(|| panic!("{name}: {names:?} was not read"));
            assert_eq!(Some(unit.paired), series["points"].as_u64(), "{name}");
            let baseline: Vec<f64> = unit.series.baseline.iter().flatten().map(|number| number.0).collect();
            for (value, key) in [(baseline.first(), "first"), (baseline.last(), "last")] {
                let (Some(value), Some(truth)) = (value, series[key].as_f64()) else { continue };
                assert!((value - truth).abs() <= 1e-6 * truth.abs(), "{name}: {key} {value}, truth {truth}");
            }
            if let (Some(first), Some(last)) = (series["first_step"].as_u64(), series["last_step"].as_u64()) {
                assert_eq!((unit.series.step.first(), unit.series.step.last()), (Some(&first), Some(&last)), "{name}");
            }
        }
    }
}

/// Each change of the order of steps is said, with its own code.
#[test]
fn nothing_is_put_in_order_without_a_word() {
    for (name, code, key) in [
        ("resume_overlap_benign", "resumed", "step"),
        ("resume_first_try_bad", "resumed", "step"),
        ("restart_without_epoch", "steps-restarted", "epoch-step"),
        ("epoch_restart_csv", "", "epoch-step"),
        ("off_by_one", "step-offset", "step"),
        ("ranks_benign", "ranks-apart", "step"),
        ("two_files_one_run", "curve-files-joined", "step"),
        ("intervals_5_10", "curve-interval", "step"),
        ("no_steps", "curve-by-position", "position"),
        ("no_steps_shifted", "curve-by-position", "position"),
        ("steps_in_tokens", "", "tokens"),
        ("samples_other_batch", "", "samples"),
    ] {
        let result = judge(&side(&case(name).join("gpu")), &side(&case(name).join("npu")), "");
        assert!(code.is_empty() || codes(&result).contains(&code), "{name}: {:?}", codes(&result));
        assert_eq!(units(&result)[0].paired_by, key, "{name}");
        let replaced = units(&result)[0].replaced.resumed;
        assert_eq!(replaced > 0, code == "resumed", "{name}: {replaced} points");
    }
}

#[test]
fn ranks_are_judged_one_by_one() {
    let result = judge(&side(&case("ranks_one_off").join("gpu")), &side(&case("ranks_one_off").join("npu")), "");
    let failed: Vec<Option<u64>> =
        units(&result).iter().filter(|unit| unit.verdict.as_str() == "fail").map(|unit| unit.rank).collect();
    assert_eq!(failed, [Some(2)]);
}

/// A sample is not a step: equal numbers mean different points of a run.
#[test]
fn counters_of_two_kinds_are_not_paired() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, key: &str| {
        let lines: String = (1..40).map(|at| format!("{{\"{key}\": {at}, \"loss\": 2.5}}\n")).collect();
        let path = folder.path().join(name);
        std::fs::write(&path, lines).expect("written");
        path
    };
    let result = judge(&write("gpu.jsonl", "step"), &write("npu.jsonl", "consumed_samples"), "");
    assert_eq!(result.verdict.as_str(), "incomplete");
    assert!(codes(&result).contains(&"curve-counters-differ"), "{:?}", codes(&result));
}
