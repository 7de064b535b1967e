//! Rollouts of two runs: every case with a known truth, and what is taken away, shuffled or changed.
#![allow(clippy::indexing_slicing, reason = "a test that indexes beyond what is there fails, as it should")]

use crate::data;
use crate::tokens::truth;

use std::fs;
use std::path::{Path, PathBuf};

use data::{beside, fixture};
use precision_gate::result::GateResult;
use precision_gate::result::finding::{Fact, Finding};
use precision_gate::result::unit::{RolloutUnit, rollouts};
use precision_gate::verdict::{CheckId, Severity, Verdict};
use serde_json::{Value, json};
use tempfile::TempDir;
use truth::{assert_case, cases, judge, rank_of};

fn case(name: &str) -> PathBuf {
    fixture(format!("tokens/{name}"))
}

fn of_case(name: &str) -> GateResult {
    judge(Some(&case(name).join("gpu")), &case(name).join("npu"), "")
}

fn units(result: &GateResult) -> Vec<&RolloutUnit> {
    rollouts(&result.checks).collect()
}

fn codes(result: &GateResult) -> Vec<&str> {
    result.findings.iter().map(|finding| finding.code.as_str()).collect()
}

fn said<'a>(result: &'a GateResult, code: &str) -> &'a Finding {
    result.findings.iter().find(|finding| finding.code == code).unwrap_or_else(|| panic!("{code}: {:?}", codes(result)))
}

/// A copy of the candidate of a case, with the lines of each file changed.
fn changed(name: &str, mut change: impl FnMut(u64, Vec<String>) -> Vec<String>) -> TempDir {
    let copy = tempfile::tempdir().expect("a folder");
    let folder = copy.path().join("rollout_data");
    fs::create_dir(&folder).expect("created");
    for step in 1..=4 {
        let path = format!("npu/rollout_data/{step}.jsonl");
        let Ok(text) = fs::read_to_string(case(name).join(path)) else { continue };
        let lines = change(step, text.lines().map(str::to_owned).collect());
        fs::write(folder.join(format!("{step}.jsonl")), lines.join("\n")).expect("written");
    }
    copy
}

fn against(name: &str, candidate: &Path) -> GateResult {
    judge(Some(&case(name).join("gpu")), candidate, "")
}

/// A line with another value.
fn with(line: &str, key: &str, value: Value) -> String {
    let mut line: Value = serde_json::from_str(line).expect("JSON");
    line[key] = value;
    line.to_string()
}

#[test]
fn rollouts_are_judged_as_the_truth_of_each_case_says() {
    let own = cases(&fixture("tokens"), "rollout-");
    assert_eq!(own.len(), 13);
    own.iter().for_each(|case| assert_case(case));
}

#[test]
fn rollouts_of_further_cases_are_judged_so_too() {
    let Some(folder) = beside("tokens") else { return };
    let further = cases(&folder, "rollout-");
    assert!(further.len() > 18, "{}", further.len());
    further.iter().for_each(|case| assert_case(case));
}

#[test]
fn each_code_has_its_case() {
    for (name, code) in [
        ("rollout-step-missing", "rollout-step-missing"),
        ("rollout-line-cut", "rollout-unpaired"),
        ("rollout-other-template", "rollout-prompts-differ"),
        ("rollout-truth-differs", "rollout-truth-differs"),
        ("rollout-score-contradicts", "rollout-score-contradicts"),
        ("rollout-score-lower", "rollout-score-differs"),
        ("rollout-score-nan", "rollout-score-non-finite"),
        ("rollout-cut", "rollout-texts-differ"),
        ("rollout-ok-resampled", "rollout-resampled"),
    ] {
        said(&of_case(name), code);
    }
}

#[test]
fn a_file_of_rollouts_is_no_curve() {
    for case in cases(&fixture("tokens"), "rollout-") {
        let result = judge(Some(&case.join("gpu")), &case.join("npu"), "");
        let loss = result.checks.iter().find(|check| check.id == CheckId::Loss).expect("a check");
        assert_eq!(loss.verdict, Verdict::Skipped, "{}", case.display());
        let texts = result.findings.iter().map(|finding| format!("{} {}", finding.message, finding.help));
        assert!(texts.into_iter().all(|text| !text.contains("parameter")), "{}", case.display());
    }
}

#[test]
fn a_unit_counts_all_records_of_its_step() {
    let result = of_case("rollout-garbled-6");
    let counts = |unit: &&RolloutUnit| (unit.step, unit.records, unit.paired, unit.garbled + unit.looping);
    let counted: Vec<_> = units(&result).iter().map(counts).collect();
    assert_eq!(counted, [(1, 64, 64, 6), (2, 64, 64, 6), (3, 64, 64, 6), (4, 64, 64, 6)]);
    let lower = of_case("rollout-score-lower");
    assert!(units(&lower).iter().all(|unit| unit.drop.is_some_and(|drop| drop.0 > 0.05)));
}

#[test]
fn the_first_difference_of_prompts_is_told() {
    let result = of_case("rollout-other-template");
    let finding = said(&result, "rollout-prompts-differ");
    assert!(finding.text("baseline").is_some_and(|text| text.starts_with("<|im_start|>")));
    assert_ne!(finding.text("baseline"), finding.text("candidate"));
    assert_eq!(finding.facts["of_steps"], Fact::Count(4));
}

#[test]
fn the_order_of_lines_says_nothing() {
    for name in ["rollout-garbled-6", "rollout-score-lower", "rollout-score-contradicts", "rollout-truth-differs"] {
        let before = of_case(name);
        let shuffled = changed(name, |_, mut lines| {
            lines.reverse();
            lines.rotate_left(17);
            lines
        });
        let after = against(name, shuffled.path());
        assert_eq!((after.verdict, codes(&after)), (before.verdict, codes(&before)), "{name}");
    }
}

#[test]
fn taking_lines_or_files_away_never_improves() {
    for name in ["rollout-score-contradicts", "rollout-garbled-6", "rollout-score-nan", "rollout-truth-differs"] {
        assert_eq!(rank_of(of_case(name).verdict), 2);
        for keep in [0, 1, 30, 60] {
            let cut = changed(name, |_, lines| lines.into_iter().take(keep).collect());
            assert_eq!(rank_of(against(name, cut.path()).verdict), 2, "{name}: {keep} lines of each step");
        }
        for gone in 1..=4 {
            let copy = changed(name, |_, lines| lines);
            fs::remove_file(copy.path().join(format!("rollout_data/{gone}.jsonl"))).expect("removed");
            assert_eq!(rank_of(against(name, copy.path()).verdict), 2, "{name} without step {gone}");
        }
        let garbled =
            changed(name, |_, lines| lines.into_iter().map(|line| line[..line.len() / 2].to_owned()).collect());
        assert_eq!(rank_of(against(name, garbled.path()).verdict), 2, "{name} with cut lines");
    }
}

#[test]
fn scores_or_truths_that_are_gone_are_no_agreement() {
    for (key, code) in [("score", "evidence-coverage"), ("gts", "rollout-truth-differs")] {
        let without =
            changed("rollout-ok-permuted", |_, lines| lines.iter().map(|line| with(line, key, Value::Null)).collect());
        let result = against("rollout-ok-permuted", without.path());
        assert_eq!(result.verdict, Verdict::Incomplete, "{key}: {:?}", codes(&result));
        said(&result, code);
    }
}

#[test]
fn a_single_bad_step_among_many_is_told() {
    let bad = changed("rollout-ok-permuted", |step, lines| {
        if step != 3 {
            return lines;
        }
        let empty =
            |(nth, line): (usize, &String)| if nth < 20 { with(line, "output", json!("")) } else { line.clone() };
        lines.iter().enumerate().map(empty).collect()
    });
    // All over 256 answers it is 8 %; the candidate's alone fails.
    let result = against("rollout-ok-permuted", bad.path());
    assert_eq!(said(&result, "generation-empty").severity, Severity::Fail);
}

#[test]
fn answers_of_a_step_do_not_vanish_among_those_of_many() {
    let [ours, theirs] = ["ours", "theirs"].map(|_| tempfile::tempdir().expect("a folder"));
    let line = |step: u64, nth: u64, output: &str| {
        json!({"input": format!("q{nth} of {step}"), "output": output, "gts": "1", "score": (nth % 2) as f64, "step": step})
            .to_string()
    };
    for step in 1..=120_u64 {
        let sound: Vec<String> = (0..8).map(|nth| line(step, nth, "a sound answer of some words")).collect();
        let mut other = sound.clone();
        if step == 77 {
            other =
                (0..8).map(|nth| line(step, nth, if nth < 4 { "" } else { "a sound answer of some words" })).collect();
        }
        fs::write(ours.path().join(format!("{step}.jsonl")), sound.join("\n")).expect("written");
        fs::write(theirs.path().join(format!("{step}.jsonl")), other.join("\n")).expect("written");
    }
    let result = judge(Some(ours.path()), theirs.path(), "");
    let finding = said(&result, "generation-empty");
    assert_eq!((&finding.facts["step"], &finding.facts["count"]), (&Fact::Count(77), &Fact::Count(4)));
}

#[test]
fn folders_pair_whatever_their_names() {
    let copy = tempfile::tempdir().expect("a folder");
    let folder = copy.path().join("other");
    fs::create_dir(&folder).expect("created");
    for step in 1..=4 {
        let from = case("rollout-ok-permuted").join(format!("npu/rollout_data/{step}.jsonl"));
        fs::copy(from, folder.join(format!("{step}.jsonl"))).expect("copied");
    }
    let result = against("rollout-ok-permuted", copy.path());
    assert_eq!(result.verdict, Verdict::Pass, "{:?}", codes(&result));
}

#[test]
fn another_scale_of_scores_is_the_reward_function() {
    let scaled = changed("rollout-ok-permuted", |_, lines| {
        let score =
            |line: &String| serde_json::from_str::<Value>(line).expect("JSON")["score"].as_f64().expect("a score");
        lines.iter().map(|line| with(line, "score", json!(score(line) * 100.0))).collect()
    });
    let result = against("rollout-ok-permuted", scaled.path());
    let finding = said(&result, "rollout-score-contradicts");
    assert_eq!((finding.severity, &finding.facts["candidate"]), (Severity::Fail, &Fact::from(100.0)));
}
