//! The gate's own verdict on dumps: every case with a known truth, and each way of being blind.
#![allow(
    clippy::indexing_slicing,
    clippy::float_cmp,
    clippy::print_stdout,
    reason = "a test that indexes beyond what is there fails, as it should; it compares exactly where that is meant, and says what it counted"
)]

use crate::data;

use std::fs;
use std::path::{Path, PathBuf};

use precision_gate::gate::{self, Quiet, Request};
use precision_gate::judge::register;
use precision_gate::msprobe::dump::Matching;
use precision_gate::policy::Policy;
use precision_gate::policy::location::TrustedLocation;
use precision_gate::policy::value::Date;
use precision_gate::result::GateResult;
use precision_gate::result::unit::Unit;
use precision_gate::verdict::{CheckId, Severity, Verdict};
use serde_json::Value;

fn cases() -> PathBuf {
    data::fixture("dumps")
}

fn judge(baseline: &Path, candidate: &Path, policy: &str) -> GateResult {
    judge_by(&[CheckId::Dump], baseline, candidate, policy)
}

fn judge_by(checks: &[CheckId], baseline: &Path, candidate: &Path, policy: &str) -> GateResult {
    let codes: Vec<&str> = register::all_rules().map(|rule| rule.code).collect();
    let today = Date::try_from("2026-11-21".to_owned()).expect("a date");
    let request = Request {
        baseline: TrustedLocation::own(baseline.display().to_string()),
        several: Default::default(),
        candidate: candidate.display().to_string(),
        checks: checks.to_vec(),
        policy: Policy { today, ..Policy::parse("policy.yml", policy, &codes).expect("a sound policy") },
        matching: Matching::default(),
    };
    gate::run(&request, &Quiet).expect("both sides are there").result
}

fn case(name: &str, policy: &str) -> GateResult {
    judge(&cases().join(name).join("gpu"), &cases().join(name).join("npu"), policy)
}

/// Whether the culprit is the one that was planted: an operation by its name, a value by its row.
fn is_planted(result: &GateResult, truth: &Value) -> bool {
    let Some(culprit) = &result.culprit else { return truth["culprit"].is_null() };
    let planted = &truth["culprit"];
    let mut names: Vec<&str> = planted["op"].as_str().into_iter().collect();
    names.extend(truth["also"].as_array().into_iter().flatten().filter_map(Value::as_str));
    let same_place = planted["step"].as_u64().is_none_or(|step| step == culprit.step)
        && planted["rank"].as_u64().is_none_or(|rank| Some(rank) == culprit.rank);
    same_place && names.iter().any(|name| culprit.tensor == *name || (culprit.op == *name && !name.contains(".input.")))
}

#[test]
fn every_case_gets_its_verdict_and_its_culprit() {
    let mut judged = 0;
    let mut wrong = Vec::new();
    for entry in fs::read_dir(cases()).expect("cases").flatten() {
        let Ok(text) = fs::read(entry.path().join("case.json")) else { continue };
        let spec: Value = serde_json::from_slice(&text).expect("JSON");
        let name = entry.file_name().to_string_lossy().into_owned();
        let result = case(&name, "");
        let truth = &spec["truth"];
        let wanted = match truth["verdict"].as_str().expect("verdict") {
            "error" => "incomplete",
            verdict => verdict,
        };
        judged += 1;
        if result.verdict.as_str() != wanted || !is_planted(&result, truth) {
            let culprit = result.culprit.map(|culprit| culprit.tensor);
            wrong.push(format!("{name}: {} ({culprit:?}), truth {truth}", result.verdict.as_str()));
        }
        if wanted == "pass" {
            // Some cases are copies, which is told.
            let mut others = result.findings.iter().filter(|finding| finding.code != "sides-identical");
            assert!(others.next().is_none(), "{name}: {:?}", result.findings);
        }
    }
    assert!(judged >= 36, "only {judged} cases were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn strict_fails_on_another_precision_and_bit_exact_on_any_difference() {
    let name = "cnn_tensor_l1_fp16_linear";
    assert_eq!(case(name, "").verdict, Verdict::Warn);
    assert_eq!(case(name, "profile: strict").verdict, Verdict::Fail);
    assert_eq!(case(name, "profile: release").verdict, Verdict::Fail);
    assert_eq!(case("benign_llama_tensor_l1", "profile: strict").verdict, Verdict::Pass);
    assert_eq!(case("benign_llama_tensor_l1", "profile: bit-exact").verdict, Verdict::Fail);
    assert_eq!(case("identical_glm_tensor_mix", "profile: bit-exact").verdict, Verdict::Pass);
}

#[test]
fn limits_by_selector_decide_and_an_idle_selector_is_told() {
    let name = "cnn_tensor_l1_fp16_linear";
    let looser = "dump: { limits: [ { op: 'Functional.linear.*', noise: 0.01 } ] }";
    assert_eq!(case(name, looser).culprit, None);
    let stricter = "dump: { limits: [ { op: 'Functional.linear.*', noise: 0, wrong: 1.0e-5 } ] }";
    assert_eq!(case(name, stricter).verdict, Verdict::Fail);
    let idle = case(name, "dump: { limits: [ { op: 'Nothing.*', noise: 0.01 } ] }");
    let told: Vec<&str> = idle.findings.iter().map(|finding| finding.code.as_str()).collect();
    assert!(told.contains(&"selector-unused"), "{told:?}");
    let absolute = case(name, "dump: { limits: [ { op: 'Functional.linear.*', absolute: 1.0e6 } ] }");
    assert_eq!(absolute.verdict, Verdict::Warn, "no element differs by a million");
    let told: Vec<&str> = absolute.findings.iter().map(|finding| finding.code.as_str()).collect();
    assert!(told.contains(&"limit-wide") && !told.contains(&"output-diverges"), "{told:?}");
}

#[test]
fn a_preset_decides_and_the_gates_own_judgement_stands_beside_it() {
    let verdict = |name: &str, preset: &str| case(name, &format!("dump: {{ preset: {preset} }}")).verdict;
    for preset in ["torch-assert-close", "numpy", "polygraphy", "pcc-0.99", "cann-mixed", "cann-double-1e-3", "msprobe"]
    {
        assert_eq!(verdict("identical_glm_tensor_mix", preset), Verdict::Pass, "{preset}");
    }
    // fp16 operands in one linear layer: 3e-4 of the scale.
    for (preset, wanted) in [
        ("torch-assert-close", Verdict::Fail),
        ("numpy", Verdict::Fail),
        ("pcc-0.99", Verdict::Pass),
        ("msprobe", Verdict::Pass),
    ] {
        assert_eq!(verdict("cnn_tensor_l1_fp16_linear", preset), wanted, "{preset}");
    }
    let shown = case("cnn_tensor_l1_fp16_linear", "dump: { preset: msprobe }");
    assert!(
        shown.findings.iter().any(|finding| finding.code == "other-precision" && finding.severity == Severity::Info)
    );
    assert_eq!(verdict("benign_glm_stats_mix", "numpy"), Verdict::Incomplete, "statistics hold no elements");
}

#[test]
fn a_waiver_covers_until_it_expires() {
    let name = "cnn_tensor_l1_fp16_linear";
    let waiver = |place: &str, expires: &str| {
        format!("waivers: [ {{ code: other-precision, where: '{place}', reason: r, owner: o, expires: {expires} }} ]")
    };
    let covered = case(name, &waiver("*", "2027-01-01"));
    assert_eq!(covered.verdict, Verdict::Pass);
    assert!(!covered.waived.is_empty());
    let expired = case(name, &waiver("*", "2026-11-20"));
    assert_eq!(expired.verdict, Verdict::Fail);
    assert!(
        expired.findings.iter().any(|finding| finding.code == "waiver-expired" && finding.severity == Severity::Fail)
    );
    let unused = case(name, &waiver("Nothing.*", "2027-01-01"));
    assert_eq!(unused.verdict, Verdict::Warn);
    assert!(unused.findings.iter().any(|finding| finding.code == "waiver-unused"));
}

#[test]
fn a_rank_that_only_received_its_error_says_from_where() {
    let result = case("tp2_bf16_tensor_rank1_bad_tile", "");
    let origin = result.checks[0].units.iter().find_map(|unit| match unit {
        Unit::Dump(unit) if unit.step == 0 && unit.rank == Some(0) => unit.inherited_from.clone(),
        _ => None,
    });
    let origin = origin.expect("rank 0 inherits");
    assert_eq!((origin.step, origin.rank, origin.op.as_str()), (0, Some(1), "Functional.linear.0.forward"));
}

#[test]
fn nothing_in_common_is_incomplete_and_not_a_pass() {
    let result = judge(&cases().join("cnn_tensor_l1_fp16_linear/gpu"), &cases().join("debug_save_tensor/npu"), "");
    assert_eq!(result.verdict, Verdict::Incomplete);
}

#[test]
fn a_missing_side_is_incomplete_and_a_missing_path_is_an_error() {
    let empty = tempfile::tempdir().expect("folder");
    let result = judge(&cases().join("md5_identical/gpu"), empty.path(), "");
    assert_eq!(result.verdict, Verdict::Incomplete);
    assert!(result.findings.iter().any(|finding| finding.code == "nothing-recognised"));
}

#[test]
fn files_of_a_check_on_one_side_alone_are_told() {
    let sides = [tempfile::tempdir().expect("folder"), tempfile::tempdir().expect("folder")];
    let write = |side: usize, name: &str, text: &str| fs::write(sides[side].path().join(name), text).expect("written");
    let codes = || {
        let result = judge_by(CheckId::CHECKS, sides[0].path(), sides[1].path(), "");
        result.findings.into_iter().map(|finding| finding.code).collect::<Vec<_>>()
    };
    write(0, "loss.csv", "step,loss\n1,2.0\n2,1.5\n");
    write(1, "loss.csv", "step,loss\n1,2.0\n2,1.50000001\n");
    assert!(!codes().contains(&"one-side-only".to_owned()));
    write(1, "dump.json", r#"{"task": "statistics", "level": "L1", "dump_data_dir": null, "data": {}}"#);
    assert!(codes().contains(&"one-side-only".to_owned()), "{:?}", codes());
}

#[test]
fn a_preset_that_is_met_shows_its_worst_tensor() {
    let result = case("benign_gpt_fp16_tensor_l1", "dump: {preset: pcc-0.99}");
    let outcome = &result.checks.iter().flat_map(|check| &check.units).next().expect("a unit").rules()[0];
    assert_eq!((outcome.verdict, outcome.subject()), (Verdict::Pass, "Functional.layer_norm.0.backward.output.2"));
    let (value, margin) = (outcome.value.expect("measured").0, outcome.margin.expect("a limit").0);
    assert!(value < 1.0 && (margin - (value / 0.99 - 1.0)).abs() < 1e-12, "other tensors correlate by 1: {value}");
}
