//! Tests of judging a candidate alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::*;
use crate::fetch::progress::Quiet;
use crate::fetch::{Files, open};
use crate::gate::checks::search;
use crate::gate::discover;
use crate::judge::culprit;
use crate::verdict::Verdict;

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/operators")
}

fn judged(folder: &Path, policy: &str) -> CheckOutcome {
    let files: Arc<dyn Files> = open(&folder.display().to_string()).expect("there");
    let inventory = discover::inventory_of_files(files, search(None), &Quiet).expect("readable");
    let policy = Policy::parse("policy.yml", policy, &[]).expect("sound");
    let mut outcome = health(&inventory, &policy, &Quiet);
    outcome.settle(&policy);
    outcome
}

fn codes(outcome: &CheckOutcome) -> Vec<&str> {
    outcome.observations.iter().map(|one| one.finding.code.as_str()).collect()
}

fn row(outcome: &CheckOutcome) -> Option<String> {
    culprit::first_culprit(std::slice::from_ref(&outcome.check)).map(|culprit| culprit.tensor)
}

#[test]
fn every_candidate_alone_gets_its_verdict_and_its_culprit() {
    let mut judged_cases = 0;
    for entry in fs::read_dir(cases()).expect("cases").flatten() {
        let Ok(text) = fs::read(entry.path().join("case.json")) else { continue };
        if entry.path().join("gpu").exists() {
            continue;
        }
        let case: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
        let truth = case.get("truth").expect("truth");
        let outcome = judged(&entry.path().join("npu"), "");
        let verdict = outcome.check.verdict.as_str();
        let also = truth.get("also").and_then(serde_json::Value::as_array).expect("a list");
        let fits =
            truth.get("verdict").is_some_and(|wanted| wanted == verdict) || also.iter().any(|one| one == verdict);
        assert!(fits, "{}: {verdict}", entry.path().display());
        let wanted = truth.get("culprit").and_then(|culprit| culprit.get("row")).and_then(serde_json::Value::as_str);
        assert_eq!(row(&outcome).as_deref(), wanted, "{}", entry.path().display());
        judged_cases += 1;
    }
    assert_eq!(judged_cases, 5);
}

#[test]
fn a_mask_is_doubtful_and_an_operator_without_masks_is_wrong() {
    let outcome = judged(&cases().join("candidate-only-mask/npu"), "");
    assert!(codes(&outcome).contains(&"operators-mask"), "{:?}", codes(&outcome));
    let folder = tempfile::tempdir().expect("a folder");
    let table = "accuracy_checking_details_20261122123756.csv";
    let text = fs::read_to_string(cases().join("candidate-only-mask/npu").join(table)).expect("text");
    fs::write(folder.path().join(table), text.replace("Tensor.masked_fill.0.", "Functional.softmax.7."))
        .expect("written");
    let outcome = judged(folder.path(), "");
    assert_eq!(outcome.check.verdict, Verdict::Fail);
    assert_eq!(row(&outcome).as_deref(), Some("Functional.softmax.7.forward.output.0"));
    assert!(codes(&outcome).contains(&"operators-tool-error"));
}

#[test]
fn a_table_of_headers_or_of_skips_never_passes() {
    let outcome = judged(&cases().join("candidate-only-all-skip/npu"), "");
    assert_eq!((outcome.check.verdict, codes(&outcome)), (Verdict::Incomplete, vec!["operators-nothing-checked"]));
    let folder = tempfile::tempdir().expect("a folder");
    let text = fs::read_to_string(cases().join("candidate-only-ok/npu/accuracy_checking_details_20261122123828.csv"));
    let text = text.expect("text");
    let header = text.lines().next().expect("a header");
    fs::write(folder.path().join("accuracy_checking_details_20261122123828.csv"), header).expect("written");
    assert_eq!(judged(folder.path(), "").check.verdict, Verdict::Incomplete);
    fs::write(folder.path().join("accuracy_checking_details_20261122123828.csv"), "").expect("written");
    let outcome = judged(folder.path(), "");
    assert_eq!((outcome.check.verdict, codes(&outcome)), (Verdict::Incomplete, vec!["operators-file-damaged"]));
}

#[test]
fn what_the_policy_leaves_out_or_waives_does_not_count() {
    let case = cases().join("candidate-only-error/npu");
    let outcome = judged(&case, "operators: {ignore: ['Functional.gelu.*']}");
    assert_eq!((outcome.check.verdict, row(&outcome)), (Verdict::Pass, None));
    let outcome = judged(&cases().join("compare-result-only/npu"), "");
    assert_eq!(row(&outcome).as_deref(), Some("Functional.linear.0"));
    assert_eq!(outcome.tables.len(), 1);
}

#[test]
fn a_result_worse_than_its_details_counts() {
    let folder = tempfile::tempdir().expect("a folder");
    let case = cases().join("candidate-only-ok/npu");
    for name in ["accuracy_checking_details_20261122123828.csv", "accuracy_checking_result_20261122123828.csv"] {
        let text = fs::read_to_string(case.join(name)).expect("text");
        let text = text.replace("Functional.linear.0,pass,pass", "Functional.linear.0,error,pass");
        fs::write(folder.path().join(name), text).expect("written");
    }
    let outcome = judged(folder.path(), "");
    assert_eq!((outcome.check.verdict, row(&outcome).as_deref()), (Verdict::Fail, Some("Functional.linear.0")));
}
