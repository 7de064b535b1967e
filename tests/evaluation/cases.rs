//! The whole check on every case with a known truth: verdict, place, findings and numbers.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use precision_gate::gate::{self, Quiet, Request};
use precision_gate::judge::register;
use precision_gate::msprobe::dump::Matching;
use precision_gate::policy::Policy;
use precision_gate::policy::location::TrustedLocation;
use precision_gate::policy::value::Date;
use precision_gate::result::GateResult;
use precision_gate::verdict::CheckId;
use serde_json::Value;

fn cases() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/evaluation");
    std::env::var_os("EVALUATION_CASES").map_or(folder, PathBuf::from)
}

fn judge(case: &Path, policy: &str) -> GateResult {
    let codes: Vec<&str> = register::all_rules().map(|rule| rule.code).collect();
    let today = Date::try_from("2026-11-23".to_owned()).expect("a date");
    let request = Request {
        baseline: TrustedLocation::own(case.join("gpu").display().to_string()),
        several: Default::default(),
        candidate: case.join("npu").display().to_string(),
        checks: CheckId::CHECKS.to_vec(),
        policy: Policy { today, ..Policy::parse("policy.yml", policy, &codes).expect("a sound policy") },
        matching: Matching::default(),
    };
    gate::run(&request, &Quiet).expect("both sides are there").result
}

/// The check in JSON, as it stands in a result.
fn check(result: &GateResult) -> Value {
    let of = result.checks.iter().find(|check| check.id == CheckId::Evaluation).expect("the check ran");
    serde_json::to_value(of).expect("JSON")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Whether a unit is the one that a truth names; `none` is no filter, too.
fn is_named(unit: &Value, wanted: &Value) -> bool {
    let no_filter = |value: &Value| value.is_null() || value == "none";
    ["task", "metric", "filter", "model"]
        .iter()
        .filter(|key| wanted.get(**key).is_some())
        .all(|key| unit[*key] == wanted[*key] || *key == "filter" && no_filter(&unit[*key]) && no_filter(&wanted[*key]))
}

fn assert_unit(name: &str, units: &[Value], wanted: &Value) {
    let unit = units.iter().find(|unit| is_named(unit, wanted)).unwrap_or_else(|| panic!("{name}: no {wanted}"));
    for key in ["verdict", "worse", "better", "paired", "samples", "test"] {
        let is_right = wanted.get(key).is_none_or(|wanted| *wanted == unit[key])
            || key == "verdict" && list(&wanted["also"]).contains(&unit[key]);
        assert!(is_right, "{name}: {wanted}: {key} {}", unit[key]);
    }
}

#[test]
fn every_case_is_judged_as_its_truth_says() {
    let mut judged = 0;
    for entry in fs::read_dir(cases()).expect("cases").flatten() {
        let Ok(text) = fs::read(entry.path().join("case.json")) else { continue };
        let case: Value = serde_json::from_slice(&text).expect("JSON");
        let (name, truth) = (entry.file_name().display().to_string(), &case["truth"]);
        let result = judge(&entry.path(), "");
        let check = check(&result);
        let (verdict, units) = (&check["verdict"], list(&check["units"]));
        let is_right = *verdict == truth["verdict"]
            || list(&truth["also"]).contains(verdict)
            || truth["verdict"] == result.verdict.as_str();
        assert!(is_right, "{name}: {verdict}");
        let culprit = &truth["culprit"];
        if !culprit.is_null() {
            let is_wrong = |unit: &Value| unit["verdict"] == truth["verdict"] || unit["verdict"] == "fail";
            let is_there = units.iter().any(|unit| is_named(unit, culprit) && is_wrong(unit));
            assert!(is_there, "{name}: {culprit}");
        }
        let codes: BTreeSet<&str> =
            result.findings.iter().map(|finding| finding.code.trim_start_matches("evaluation-")).collect();
        let said = |code: &Value| codes.contains(code.as_str().expect("a code"));
        assert!(list(&truth["codes"]).iter().all(&said), "{name}: {codes:?}");
        assert!(!list(&truth["absent"]).iter().any(said), "{name}: {codes:?}");
        list(&truth["units"]).iter().for_each(|wanted| assert_unit(&name, units, wanted));
        let wanted = &truth["shard"];
        assert!(wanted.is_null() || units.iter().any(|unit| unit["shard"] == *wanted), "{name}: {wanted}");
        let wanted = &truth["first"]["token"];
        let first = |unit: &Value| unit["first_divergence"]["token"] == *wanted;
        assert!(wanted.is_null() || units.iter().any(first), "{name}: {wanted}");
        judged += 1;
    }
    assert!(judged > 20, "{judged}");
}

#[test]
fn an_older_run_in_the_folder_is_told() {
    let says = |case: &str| {
        let result = judge(&cases().join(case), "");
        result.findings.iter().any(|finding| finding.code == "evaluation-older-run-ignored")
    };
    assert!(says("two_results_in_folder") && !says("docs_differ"));
}

#[test]
fn any_number_of_threads_gives_the_same_result() {
    for case in ["perplexity_scaled", "shard_every_4th", "gen_first_token_wrong"] {
        let of = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            let result = pool.install(|| judge(&cases().join(case), ""));
            serde_json::to_string(&(check(&result), result.findings)).expect("JSON")
        };
        assert_eq!(of(1), of(5), "{case}");
    }
}

#[test]
fn margins_that_fit_nothing_are_told_and_blind_ones_are_refused() {
    let case = cases().join("shard_every_4th");
    let unused = judge(&case, "evaluation: {margin: {acc: 0.02, toy_sum1/exact_match: 0.5}}");
    let codes: Vec<&str> = unused.findings.iter().map(|finding| finding.code.as_str()).collect();
    assert!(codes.contains(&"selector-unused") && codes.contains(&"limit-wide"), "{codes:?}");
    assert!(!codes.contains(&"evaluation-drop"), "{codes:?}");
    let request = |yaml: &str| Request {
        baseline: TrustedLocation::own(case.join("gpu").display().to_string()),
        several: Default::default(),
        candidate: case.join("npu").display().to_string(),
        checks: CheckId::CHECKS.to_vec(),
        policy: Policy::parse("policy.yml", yaml, &[]).expect("a sound policy"),
        matching: Matching::default(),
    };
    let error = gate::run(&request("evaluation: {margin: 0.5}"), &Quiet).expect_err("blind").to_string();
    assert!(error.contains("so wide that a known defect passes"), "{error}");
}

#[test]
fn a_required_task_that_was_not_run_is_incomplete() {
    let result = judge(&cases().join("shard_every_4th"), "evaluation: {required: [gsm8k, toy_sum1]}");
    let missing: Vec<&str> = result
        .findings
        .iter()
        .filter(|finding| finding.code == "evaluation-required-task-missing")
        .map(|finding| finding.place.as_str())
        .collect();
    assert_eq!(missing, ["gsm8k"]);
}
