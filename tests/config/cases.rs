//! The gate's own verdict on every case, and the page that sets it beside msprobe's.
//!
//! `UPDATE_CONFIG_CASES=1 cargo test --test all config::` writes `gate.json` of every case and `docs/config-cases.md`
//! again. The field `why` of a `gate.json` is written by hand and kept.

use std::path::Path;

use precision_gate::report::RunOutcome;
use precision_gate::verdict::Verdict;
use serde_json::{Value, json};

use crate::config::common::{cases, codes, expected, folder, run};

fn snapshot(case: &str) -> Value {
    let why = known(case).get("why").cloned().unwrap_or_else(|| "".into());
    match run(case, "{}") {
        Ok(outcome) => {
            let items = outcome.result.checks[0].items.iter().filter(|item| item.verdict != Verdict::Skipped);
            let checkers: serde_json::Map<String, Value> =
                items.map(|item| (item.name.clone(), item.verdict.as_str().into())).collect();
            json!({"verdict": outcome.result.verdict.as_str(), "checkers": checkers, "codes": codes(&outcome), "why": why})
        }
        Err(error) => {
            json!({"verdict": "none", "checkers": {}, "codes": [], "error": format!("{:?}", error.kind()), "why": why})
        }
    }
}

fn known(case: &str) -> Value {
    let text = std::fs::read_to_string(folder().join(case).join("gate.json")).unwrap_or_else(|_| "{}".into());
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn verdicts_and_codes_are_as_reviewed_and_the_page_is_fresh() {
    let update = std::env::var_os("UPDATE_CONFIG_CASES").is_some();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/config-cases.md");
    let mut text = String::from(HEAD);
    for case in cases() {
        let now = snapshot(&case);
        if update {
            let json = serde_json::to_string_pretty(&now).expect("JSON") + "\n";
            std::fs::write(folder().join(&case).join("gate.json"), json).expect("written");
        }
        assert_eq!(now, known(&case), "{case}");
        text.push_str(&line(&case, &now));
    }
    if update {
        std::fs::write(&page, &text).expect("written");
    }
    assert_eq!(std::fs::read_to_string(&page).expect("page"), text, "run with UPDATE_CONFIG_CASES=1");
}

const HEAD: &str = "# Verdicts of msprobe and precision-gate, case by case

One line per pair of packs under `tests/fixtures/config-check`. First msprobe 26.2.0's verdict, then that of
precision-gate with its defaults, then why they differ. Checkers that pass are not named. `env warning` with a pass of
precision-gate has one reason: msprobe warns of `HCCL_INTRA_ROCE_ENABLE` for every pair of a GPU and an NPU, set or not.
Written by `UPDATE_CONFIG_CASES=1 cargo test --test all config::`.

| Case | msprobe | gate | why they differ |
|---|---|---|---|
";

fn line(case: &str, gate: &Value) -> String {
    let expected = expected(case);
    let mut msprobe = named(&expected["summary"]);
    if let Some(kind) = expected["error"]["type"].as_str() {
        let kind = kind.rsplit('.').next().unwrap();
        msprobe = if expected["summary"].as_object().unwrap().is_empty() { String::new() } else { msprobe + "; " };
        msprobe = format!("{msprobe}ends with {kind}");
    }
    let (verdict, why) = (gate["verdict"].as_str().unwrap(), gate["why"].as_str().unwrap());
    let ours =
        if verdict == "none" { "exit 2".to_owned() } else { format!("**{verdict}**: {}", named(&gate["checkers"])) };
    format!("| `{case}` | {msprobe} | {ours} | {why} |\n")
}

/// Checkers that do not pass, by name, with their level.
fn named(checkers: &Value) -> String {
    let checkers = checkers.as_object().unwrap();
    let loud: Vec<String> = checkers
        .iter()
        .filter(|(_, level)| *level != "pass")
        .map(|(checker, level)| format!("{checker} {}", level.as_str().unwrap()))
        .collect();
    match (loud.len(), checkers.len()) {
        (_, 0) => "no checker".into(),
        (0, _) => "all pass".into(),
        (loud_ones, all) if loud_ones == all => loud.join(", "),
        _ => loud.join(", ") + ", others pass",
    }
}

#[test]
fn a_difference_to_msprobe_has_a_reason() {
    for case in cases() {
        let (expected, gate) = (expected(&case), known(&case));
        let differs = expected["exit_code"] != 0
            || expected["summary"].as_object().unwrap().len() != gate["checkers"].as_object().unwrap().len()
            || expected["summary"].as_object().unwrap().iter().any(|(checker, level)| {
                let same = [("pass", "pass"), ("warning", "warn"), ("error", "fail")];
                let pair = (level.as_str().unwrap(), gate["checkers"][checker].as_str().unwrap_or(""));
                !(same.contains(&pair) || checker == "env" && pair == ("warning", "pass"))
            });
        assert!(!differs || !gate["why"].as_str().unwrap().is_empty(), "{case}");
    }
}

/// Rules that hold whatever the snapshots contain.
#[test]
fn healthy_pairs_do_not_block_and_blind_ones_do_not_pass() {
    for case in cases() {
        let healthy = case.starts_with("identical-")
            || [
                "env-explicit-default",
                "env-deterministic-spelling",
                "random-lines-shifted",
                "random-launcher-differs",
                "random-same-two-lines",
                "numeric-edges-same",
            ]
            .contains(&case.as_str());
        let blind = case.starts_with("bad-")
            || [
                "weights-renamed",
                "weights-rank-missing",
                "dataset-fewer-steps",
                "dataset-scalar-vs-tensor",
                "dataset-key-dropped",
                "hyper-static-vs-dynamic",
                "random-one-side-unpatched",
                "random-no-patch",
                "pack-written-twice",
            ]
            .contains(&case.as_str());
        let verdict = run(&case, "{}").map(|outcome| outcome.result.verdict).unwrap_or(Verdict::Incomplete);
        assert!(!healthy || verdict <= Verdict::Warn, "{case}: {verdict:?}");
        assert!(!blind || verdict >= Verdict::Incomplete, "{case}: {verdict:?}");
    }
}

fn verdict(case: &str, policy: &str) -> Verdict {
    outcome(case, policy).result.verdict
}

fn outcome(case: &str, policy: &str) -> RunOutcome {
    run(case, policy).expect("read")
}

#[test]
fn a_mapped_prefix_makes_renamed_weights_equal() {
    let mapped = "config: {weights: {prefixes: {module.: ''}}}";
    assert_eq!(verdict("weights-renamed", mapped), Verdict::Pass);
    let finding = outcome("weights-renamed", "{}")
        .result
        .findings
        .into_iter()
        .find(|finding| finding.code == "weights-one-sided");
    let facts = serde_json::to_value(finding.expect("told").facts).expect("JSON");
    assert_eq!(facts["prefix"], "module.");
}

#[test]
fn the_policy_decides() {
    let has = |case: &str, policy: &str, code: &str| codes(&outcome(case, policy)).iter().any(|found| found == code);
    let swapped = "config: {devices: {baseline: gpu, candidate: npu}}";
    assert!(has("env-baseline-is-npu", swapped, "device-differs"));
    assert!(!has("env-differs", swapped, "device-differs"));
    assert!(!has("env-ascend-name-on-gpu", swapped, "device-differs"));
    let required = "config: {env: {required: [{name: HCCL_DETERMINISTIC, value: 'true'}]}}";
    assert_eq!(verdict("identical-gpu-vs-npu", required), Verdict::Fail);
    assert_eq!(verdict("env-deterministic-spelling", required), Verdict::Pass);
    let ignore = "config: {pip: {rules: [{package: '*', require: ignore}]}}";
    assert_eq!(verdict("pip-watched-differ", ignore), Verdict::Pass);
    let range =
        "config: {pip: {rules: [{package: numpy, require: '>=2.2,<2.3'}, {package: transformers, require: ignore}]}}";
    assert_eq!(verdict("pip-watched-differ", range), Verdict::Pass);
    assert_eq!(
        verdict("pip-watched-differ", "severity: {pip-version-differs: info, pip-package-missing: info}"),
        Verdict::Pass
    );
    assert_eq!(verdict("hyper-not-parsed", "config: {expect: [env, random]}"), Verdict::Incomplete);
    assert!(has("static-env-pip-only", "config: {expect: [weights]}", "checker-missing"));
    let loose = "config: {weights: {relative: 0.01}}";
    assert_eq!(verdict("weights-one-value", loose), Verdict::Pass);
    let watch = "config: {env: {watch: [JOB_STEPS]}}";
    assert!(has("dataset-fewer-steps", watch, "env-watched-differs"));
}

#[test]
fn the_same_packs_give_the_same_result_however_they_are_given() {
    let case = folder().join("identical-gpu-vs-npu");
    let by_folder = |side: &str| {
        let place = tempfile::tempdir().expect("folder");
        std::fs::copy(case.join(format!("{side}.zip")), place.path().join("whatever.bin")).expect("copied");
        place
    };
    let (a, b) = (by_folder("gpu"), by_folder("npu"));
    let path = |place: &tempfile::TempDir| place.path().display().to_string();
    let outcome = crate::config::common::run_paths(&path(&a), &path(&b), "{}").expect("read");
    let direct = run("identical-gpu-vs-npu", "{}").expect("read");
    assert_eq!(outcome.result.checks, direct.result.checks);
    assert_eq!(outcome.tables, direct.tables);
}
