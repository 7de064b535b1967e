//! Reports for systems: against their published schemas, and the same bytes from `report`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use assert_cmd::Command;
use precision_gate::report::messages::Language;
use precision_gate::report::{code_quality, issue, junit, metrics, sarif};
use serde_json::Value;

use crate::data::fixture;
use crate::reports::cases::CASES;

pub(crate) fn check_sarif(text: &str) {
    // One published pattern has a stray bracket.
    let schema = include_str!("../schemas/sarif-2.1.0.json").replace("[a-zA-Z]{2}]?$", "[a-zA-Z]{2}$");
    let schema: Value = serde_json::from_str(&schema).expect("the schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is sound");
    let log: Value = serde_json::from_str(text).expect("JSON");
    let errors: Vec<String> = validator.iter_errors(&log).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
}

pub(crate) fn check_code_quality(text: &str) {
    let report: Vec<Value> = serde_json::from_str(text).expect("an array");
    let mut fingerprints = BTreeSet::new();
    for entry in &report {
        let text = |name: &str| entry[name].as_str().unwrap_or_default();
        assert!(!text("description").is_empty() && !text("check_name").is_empty(), "{entry}");
        assert!(["info", "minor", "major", "critical", "blocker"].contains(&text("severity")), "{entry}");
        assert!(fingerprints.insert(text("fingerprint").to_owned()), "{entry}");
        assert!(entry["location"]["path"].as_str().is_some_and(|path| !path.starts_with(['/', '.'])), "{entry}");
        assert!(entry["location"]["lines"]["begin"].as_u64().is_some_and(|line| line > 0), "{entry}");
    }
}

/// OpenMetrics 1.0, the part that is written: `# TYPE`, `# HELP`, samples of that family, `# EOF` last.
pub(crate) fn check_metrics(text: &str) {
    assert!(text.ends_with("# EOF\n"));
    let mut family = "";
    let mut seen = BTreeSet::new();
    for line in text.lines().filter(|line| *line != "# EOF") {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            family = rest.strip_suffix(" gauge").expect("a gauge");
        } else if !line.starts_with(&format!("# HELP {family} ")) {
            let rest = line.strip_prefix(family).and_then(|rest| rest.strip_prefix('{')).expect("of its family");
            let (labels, value) = rest.rsplit_once("} ").expect("labels, then a value");
            assert!(value == "NaN" || value.trim_start_matches(['+', '-']) == "Inf" || value.parse::<f64>().is_ok());
            assert!(labels.replace("\\\\", "").replace("\\\"", "").matches('"').count() % 2 == 0, "{line}");
            assert!(seen.insert(format!("{family}{labels}")), "twice: {line}");
        }
    }
}

#[test]
fn reports_keep_their_schemas() {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    let _settings = settings.bind_to_scope();
    for case in CASES {
        let result = case.run().result;
        let issues = issue::all_issues(&result, &issue::IssueOptions { language: Language::En, source_root: None })
            .expect("issues");
        check_sarif(&sarif::render(&result, &issues).expect("renders"));
        check_code_quality(&code_quality::render(&issues).expect("renders"));
        check_metrics(&metrics::render(&result));
        insta::assert_snapshot!(format!("junit.{}", case.name), junit::render(&result, &issues, &[]).expect("renders"));
    }
}

fn documents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = fs::read_dir(folder)
        .expect("a folder")
        .flatten()
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path()).expect("a file")))
        .filter(|(name, _)| !name.ends_with(".csv"))
        .collect();
    files.sort();
    files
}

#[test]
fn report_renders_the_same_bytes_again() {
    for (command, folder) in [("compare", "dumps/zoo_tensor_nan_inf"), ("loss", "loss/nan_from_step")] {
        let out = tempfile::tempdir().expect("a folder");
        let pair = ["gpu", "npu"].map(|side| fixture(folder).join(side));
        let mut gate = Command::cargo_bin("precision-gate").expect("built");
        gate.arg(command).args(&pair).args(["--quiet", "--today", "2026-11-21", "--lang", "zh", "--out"]);
        gate.arg(out.path()).assert().code(1);
        let first = documents(out.path());
        assert!(first.len() >= 9, "{:?}", first.iter().map(|file| &file.0).collect::<Vec<_>>());
        for (name, _) in first.iter().filter(|(name, _)| name != "result.json" && name != "operations.jsonl") {
            fs::remove_file(out.path().join(name)).expect("removed");
        }
        let mut again = Command::cargo_bin("precision-gate").expect("built");
        again.arg("report").arg(out.path().join("result.json")).args(["--quiet", "--lang", "zh"]).assert().success();
        for ((name, before), (_, after)) in first.iter().zip(&documents(out.path())) {
            assert!(before == after, "{name} differs");
        }
    }
}

#[test]
fn findings_point_at_source_lines_that_exist() {
    let root = tempfile::tempdir().expect("a folder");
    fs::write(root.path().join("modeling_gpt.py"), "").expect("written");
    let result = crate::reports::cases::find("culprit_forward").run().result;
    let options = issue::IssueOptions { language: Language::En, source_root: Some(root.path()) };
    let issues = issue::all_issues(&result, &options).expect("issues");
    let log: Value = serde_json::from_str(&sarif::render(&result, &issues).expect("renders")).expect("JSON");
    let place = &log["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "modeling_gpt.py");
    assert_eq!(place["region"]["startLine"], 46);
}
