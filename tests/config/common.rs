//! The cases and how they are run.

use std::path::{Path, PathBuf};

use precision_gate::gate::{self, Quiet, Request};
use precision_gate::judge::register;
use precision_gate::msprobe::dump::Matching;
use precision_gate::policy::Policy;
use precision_gate::policy::location::TrustedLocation;
use precision_gate::report::RunOutcome;
use precision_gate::verdict::CheckId;
use serde_json::Value;

/// Folder of the cases.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/config-check")
}

/// Names of all cases, sorted.
pub(crate) fn cases() -> Vec<String> {
    let entries = std::fs::read_dir(folder()).expect("fixtures");
    let folders = entries.map(|entry| entry.expect("entry").path()).filter(|path| path.join("expected.json").exists());
    let mut names: Vec<String> = folders.map(|path| path.file_name().expect("name").to_string_lossy().into()).collect();
    names.sort();
    names
}

/// Results that msprobe wrote for a case.
pub(crate) fn expected(case: &str) -> Value {
    let text = std::fs::read_to_string(folder().join(case).join("expected.json")).expect("expected.json");
    serde_json::from_str(&text).expect("JSON")
}

/// Runs the config check over one case.
pub(crate) fn run(case: &str, policy: &str) -> precision_gate::error::Result<RunOutcome> {
    let path = |side: &str| folder().join(case).join(side).display().to_string();
    run_paths(&path("gpu.zip"), &path("npu.zip"), policy)
}

/// Runs the config check over two locations.
pub(crate) fn run_paths(baseline: &str, candidate: &str, policy: &str) -> precision_gate::error::Result<RunOutcome> {
    let codes: Vec<&str> = register::all_rules().map(|rule| rule.code).collect();
    let request = Request {
        baseline: TrustedLocation::own(baseline.to_owned()),
        several: Default::default(),
        candidate: candidate.to_owned(),
        checks: vec![CheckId::Config],
        policy: Policy::parse("policy.yml", policy, &codes).expect("policy"),
        matching: Matching::default(),
    };
    gate::run(&request, &Quiet)
}

/// Codes of all findings, sorted, without repetition.
pub(crate) fn codes(outcome: &RunOutcome) -> Vec<String> {
    let mut codes: Vec<String> = outcome.result.findings.iter().map(|finding| finding.code.clone()).collect();
    codes.sort();
    codes.dedup();
    codes
}
