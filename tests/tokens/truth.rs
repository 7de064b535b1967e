//! Truth of the cases of `fixtures/tokens`: verdict, codes, place and numbers.

use crate::tokens::unmet;

use std::fs;
use std::path::{Path, PathBuf};

use precision_gate::gate::{self, Quiet, Request};
use precision_gate::judge::register;
use precision_gate::msprobe::dump::Matching;
use precision_gate::policy::Policy;
use precision_gate::policy::location::TrustedLocation;
use precision_gate::policy::value::Date;
use precision_gate::result::GateResult;
use precision_gate::verdict::{CheckId, Verdict};
use serde_json::Value;

/// Cases of a folder whose names begin so.
pub(crate) fn cases(folder: &Path, beginning: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_one = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with(beginning) && path.join("case.json").exists()
    };
    let mut found: Vec<PathBuf> = entries.filter(is_one).collect();
    found.sort();
    found
}

/// Judges a candidate, without a baseline where there is none.
pub(crate) fn judge(baseline: Option<&Path>, candidate: &Path, policy: &str) -> GateResult {
    let codes: Vec<&str> = register::all_rules().map(|rule| rule.code).collect();
    let today = Date::try_from("2026-11-25".to_owned()).expect("a date");
    let health = if baseline.is_none() { "health: true\n" } else { "" };
    let text = format!("{health}{policy}");
    let request = Request {
        baseline: baseline.map(|path| TrustedLocation::own(path.display().to_string())).unwrap_or_default(),
        several: Default::default(),
        candidate: candidate.display().to_string(),
        checks: CheckId::CHECKS.to_vec(),
        policy: Policy { today, ..Policy::parse("policy.yml", &text, &codes).expect("a sound policy") },
        matching: Matching::default(),
    };
    gate::run(&request, &Quiet).expect("the sides are there").result
}

/// Rank of a verdict, in which what blocks is one.
pub(crate) fn rank_of(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Fail | Verdict::Incomplete => 2,
        Verdict::Warn => 1,
        _ => 0,
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Every object in a value.
fn objects<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
    match value {
        Value::Object(entries) => {
            found.push(value);
            entries.values().for_each(|value| objects(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| objects(item, found)),
        _ => {}
    }
}

/// Holds the result of a case against its truth.
pub(crate) fn assert_case(case: &Path) {
    let text = fs::read(case.join("case.json")).expect("a case");
    let truth = serde_json::from_slice::<Value>(&text).expect("JSON")["truth"].clone();
    let (name, baseline) = (case.display(), case.join("gpu"));
    let result = judge((truth["mode"] == "pair").then_some(baseline.as_path()), &case.join("npu"), "");
    let said: Vec<&str> = result.findings.iter().map(|finding| finding.code.as_str()).collect();
    assert_eq!(unmet::unmet(&truth, result.verdict.as_str(), &said), Vec::<String>::new(), "{name}");
    let written = serde_json::to_value(&result).expect("JSON");
    let mut all = Vec::new();
    objects(&written["checks"], &mut all);
    objects(&written["findings"], &mut all);
    let has = |keys: &[&str], wanted: &Value| all.iter().any(|object| keys.iter().any(|key| object[*key] == *wanted));
    for (key, wanted) in truth["place"].as_object().into_iter().flatten() {
        assert!(has(&[key], wanted), "{name}: {key} {wanted}");
    }
    for key in ["lag", "rows"].into_iter().filter(|key| !truth[*key].is_null()) {
        assert!(has(&[key], &truth[key]), "{name}: {key} {}", truth[key]);
    }
    for (key, wanted) in truth["counts"].as_object().into_iter().flatten() {
        // What is garbage to a reader may be a loop to the rules.
        let keys: &[&str] = match key.as_str() {
            "garbled" => &["garbled", "looping"],
            key => &[key],
        };
        assert!(has(keys, wanted), "{name}: {key} {wanted}");
    }
    let told = written.to_string();
    for tensor in list(&truth["names"]) {
        assert!(told.contains(tensor.as_str().expect("a name")), "{name}: {tensor}");
    }
}
