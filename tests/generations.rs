//! Answers of one run, and rollouts of two, on every case with a known truth.
#![allow(clippy::indexing_slicing, reason = "a test that indexes beyond what is there fails, as it should")]

use crate::data;

use std::fs;
use std::path::{Path, PathBuf};

use data::beside;
use precision_gate::gate::{self, Quiet, Request};
use precision_gate::judge::register;
use precision_gate::msprobe::dump::Matching;
use precision_gate::policy::Policy;
use precision_gate::policy::location::TrustedLocation;
use precision_gate::policy::value::Date;
use precision_gate::result::GateResult;
use precision_gate::result::finding::{Fact, Finding};
use precision_gate::result::run::Invariant;
use precision_gate::result::unit::Unit;
use precision_gate::verdict::{CheckId, Severity, Verdict};
use serde_json::{Value, json};
use tempfile::TempDir;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Cases about answers in a folder of cases.
fn cases(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    found.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (name.starts_with("gen-") || name.contains("verl-")) && path.join("case.json").exists()
    });
    found.sort();
    found
}

fn judge(baseline: Option<&Path>, candidate: &Path, policy: &str) -> GateResult {
    let codes: Vec<&str> = register::all_rules().map(|rule| rule.code).collect();
    let today = Date::try_from("2026-11-25".to_owned()).expect("a date");
    let health = if baseline.is_none() && !policy.contains("health:") { "health: true\n" } else { "" };
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

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn is_named(findings: &[Finding], code: &Value) -> bool {
    match code {
        Value::Array(any) => any.iter().any(|code| is_named(findings, code)),
        code => findings.iter().any(|finding| *code == finding.code.as_str()),
    }
}

fn assert_case(case: &Path) {
    let text = fs::read(case.join("case.json")).expect("a case");
    let truth = serde_json::from_slice::<Value>(&text).expect("JSON")["truth"].clone();
    let name = case.display();
    let baseline = case.join("gpu");
    let result = judge((truth["mode"] == "pair").then_some(baseline.as_path()), &case.join("npu"), "");
    let said: Vec<_> = result.findings.iter().map(|finding| (finding.code.as_str(), finding.severity)).collect();
    let verdict = result.verdict.as_str();
    let is_right = truth["verdict"] == verdict || list(&truth["also"]).iter().any(|also| also == verdict);
    assert!(is_right, "{name}: {verdict} {said:?}");
    for code in list(&truth["codes"]) {
        assert!(is_named(&result.findings, code), "{name}: {code} {said:?}");
    }
    for (code, facts) in truth["facts"].as_object().into_iter().flatten() {
        let finding = result.findings.iter().find(|finding| finding.code == *code).expect("a finding");
        for (fact, value) in facts.as_object().into_iter().flatten() {
            assert_eq!(finding.facts.get(fact), value.as_u64().map(Fact::Count).as_ref(), "{name}: {code} {fact}");
        }
    }
    if !truth["forbid"].is_null() {
        assert!(said.iter().all(|(_, severity)| *severity == Severity::Info), "{name}: {said:?}");
    }
    for (invariant, state) in truth["looked"].as_object().into_iter().flatten() {
        let looked = serde_json::to_value(&result.looked).expect("JSON");
        let is_so = |one: &Value| one["invariant"] == *invariant && one["state"] == *state;
        assert!(list(&looked).iter().any(is_so), "{name}: {looked}");
    }
}

#[test]
fn answers_are_judged_as_the_truth_of_each_case_says() {
    let own = cases(&root().join("tests/fixtures/onerun"));
    assert_eq!(own.len(), 8);
    own.iter().for_each(|case| assert_case(case));
}

#[test]
fn answers_of_further_cases_are_judged_so_too() {
    let Some(folder) = beside("onerun") else { return };
    let further = cases(&folder);
    assert!(further.len() > 15, "{}", further.len());
    further.iter().for_each(|case| assert_case(case));
}

fn record(prompt: &str, text: &str) -> String {
    json!({"prompt": prompt, "response": {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}})
        .to_string()
}

fn rollout(input: &str, output: &str, score: f64, step: u64) -> String {
    json!({"input": input, "output": output, "gts": "1", "score": score, "step": step}).to_string()
}

/// A folder with these files.
fn folder(files: &[(&str, Vec<String>)]) -> TempDir {
    let folder = TempDir::new().expect("a folder");
    for (name, lines) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, lines.join("\n")).expect("written");
    }
    folder
}

fn has(result: &GateResult, code: &str) -> Option<Severity> {
    result.findings.iter().find(|finding| finding.code == code).map(|finding| finding.severity)
}

fn looked(result: &GateResult) -> Value {
    let one = result.looked.iter().find(|one| one.invariant == Invariant::Generations);
    serde_json::to_value(one).expect("JSON")
}

#[test]
fn the_invariant_is_not_looked_at_where_there_is_too_little() {
    let few = folder(&[("a.jsonl", vec![record("p", "one"), record("q", "two")])]);
    let result = judge(None, few.path(), "");
    assert_eq!(result.verdict, Verdict::Incomplete);
    assert_eq!(
        (&looked(&result)["state"], &looked(&result)["reason"]),
        (&json!("not-looked"), &json!("too-few-answers"))
    );
    let some = folder(&[("a.jsonl", (0..5).map(|nth| record("p", &format!("answer {nth}"))).collect())]);
    let result = judge(None, some.path(), "");
    assert_eq!((result.verdict, &looked(&result)["counts"]["answers"]), (Verdict::Pass, &json!(5)));
    assert_eq!((&looked(&result)["state"], &looked(&result)["counts"]["prompts"]), (&json!("held"), &json!(1)));
}

#[test]
fn results_of_a_harness_need_a_baseline_and_answers_beside_them_do_not() {
    let harness = root().join("tests/fixtures/evaluation/docs_differ/npu");
    let result = judge(None, &harness, "");
    assert_eq!(has(&result, "needs-baseline"), Some(Severity::Incomplete));
    assert_eq!(looked(&result)["state"], "not-looked");
    let answers = folder(&[("a.jsonl", (0..5).map(|nth| record("p", &format!("answer {nth}"))).collect())]);
    assert_eq!(has(&judge(None, answers.path(), ""), "needs-baseline"), None);
}

#[test]
fn settings_of_the_nearest_folder_say_whether_answers_are_drawn() {
    let lines = || (0..6).map(|nth| record("p", &format!("answer {nth}"))).collect::<Vec<_>>();
    let settings = |name: &'static str, text: &str| (name, vec![text.to_owned()]);
    let drifts = |files: &[(&str, Vec<String>)]| has(&judge(None, folder(files).path(), ""), "generation-drift");
    let greedy = settings("out/generation_config.json", r#"{"temperature": 0.0}"#);
    assert_eq!(drifts(&[("out/run/a.jsonl", lines()), greedy.clone()]), Some(Severity::Warn));
    let drawn = settings("out/run/generation_config.json", r#"{"do_sample": true, "temperature": 0.7}"#);
    assert_eq!(drifts(&[("out/run/a.jsonl", lines()), greedy, drawn]), None);
    assert_eq!(drifts(&[("out/run/a.jsonl", lines())]), None);
}

#[test]
fn settings_in_the_folder_of_a_model_are_no_evaluation() {
    let model = folder(&[("generation_config.json", vec![r#"{"temperature": 0.7, "do_sample": true}"#.to_owned()])]);
    let result = judge(None, model.path(), "");
    assert!(result.artifacts.iter().all(|row| row.status != "read"), "{:?}", result.artifacts);
}

#[test]
fn a_broken_line_makes_rollouts_incomplete_and_the_rest_is_judged() {
    let lines = |text: &str| -> Vec<String> {
        let whole = (0..20).map(|nth| rollout(&format!("q{nth}"), text, 1.0, 1));
        whole.chain(["{\"input\": \"q\", \"out".to_owned()]).collect()
    };
    let sound = judge(None, folder(&[("r/1.jsonl", lines("a sound answer"))]).path(), "");
    assert_eq!((sound.verdict, has(&sound, "evaluation-damaged")), (Verdict::Incomplete, Some(Severity::Incomplete)));
    let empty = judge(None, folder(&[("r/1.jsonl", lines(""))]).path(), "");
    assert_eq!((empty.verdict, has(&empty, "generation-empty")), (Verdict::Fail, Some(Severity::Fail)));
}

/// Rollouts of some steps, each prompt answered `times`, of which `right` are right.
fn rollouts(times: usize, right: impl Fn(usize) -> usize) -> Vec<(String, Vec<String>)> {
    let step = |step: u64| {
        let prompt = |nth: usize| {
            let right = right(nth);
            (0..times).map(move |time| {
                let score = if time < right { 1.0 } else { 0.0 };
                rollout(&format!("question {nth} of step {step}"), &format!("answer {nth}.{time}"), score, step)
            })
        };
        (format!("r/{step}.jsonl"), (0..32).flat_map(prompt).collect())
    };
    (1..=4).map(step).collect()
}

fn pair(ours: &[(String, Vec<String>)], theirs: &[(String, Vec<String>)]) -> GateResult {
    let [ours, theirs] = [ours, theirs].map(|files| {
        let files: Vec<(&str, Vec<String>)> =
            files.iter().map(|(name, lines)| (name.as_str(), lines.clone())).collect();
        folder(&files)
    });
    judge(Some(ours.path()), theirs.path(), "")
}

#[test]
fn rollouts_pair_by_step_and_input_and_repeats_are_a_set() {
    let ours = rollouts(4, |nth| nth % 5);
    let mut theirs = ours.clone();
    theirs.iter_mut().for_each(|(_, lines)| lines.reverse());
    let result = pair(&ours, &theirs);
    assert_eq!(result.verdict, Verdict::Pass, "{:?}", result.findings);
    let units = &result.checks.iter().find(|check| check.id == CheckId::Evaluation).expect("a check").units;
    let paired = |unit: &Unit| match unit {
        Unit::Rollout(unit) => Some((unit.step, unit.paired)),
        _ => None,
    };
    let steps: Vec<(u64, u64)> = units.iter().filter_map(paired).collect();
    assert_eq!(steps, [(1, 128), (2, 128), (3, 128), (4, 128)]);
    let worse = pair(&ours, &rollouts(4, |nth| (nth % 5).saturating_sub(2)));
    assert_eq!(has(&worse, "rollout-score-differs"), Some(Severity::Fail));
}

#[test]
fn answers_that_are_left_out_do_not_improve_a_score() {
    let ours = rollouts(4, |_| 2);
    let mut theirs = ours.clone();
    // The wrong answers of every prompt are gone.
    theirs.iter_mut().for_each(|(_, lines)| lines.retain(|line| line.contains("\"score\":1.0")));
    let result = pair(&ours, &theirs);
    assert_eq!((result.verdict, has(&result, "rollout-unpaired")), (Verdict::Incomplete, Some(Severity::Incomplete)));
    let mut short = ours.clone();
    short.pop();
    assert_eq!(pair(&ours, &short).verdict, Verdict::Incomplete);
}

#[test]
fn other_texts_with_equal_scores_are_no_fault() {
    let ours = rollouts(1, |nth| nth % 2);
    let theirs: Vec<(String, Vec<String>)> = ours
        .iter()
        .map(|(name, lines)| (name.clone(), lines.iter().map(|line| line.replace("answer", "reply")).collect()))
        .collect();
    assert_eq!(pair(&ours, &theirs).verdict, Verdict::Pass);
}

#[test]
fn an_answer_that_both_runs_lack_is_a_note() {
    let with = |empty: usize| {
        let text = |nth: usize| if nth < empty { String::new() } else { format!("answer {nth}") };
        let line = |nth: usize| rollout(&format!("q{nth}"), &text(nth), (nth % 2) as f64, 1);
        vec![("r/1.jsonl".to_owned(), (0..60).map(line).collect())]
    };
    assert_eq!(has(&pair(&with(0), &with(6)), "generation-empty"), Some(Severity::Fail));
    let both = pair(&with(20), &with(20));
    assert_eq!((both.verdict, has(&both, "generation-empty")), (Verdict::Pass, Some(Severity::Info)));
}

#[test]
fn codes_that_the_policy_leaves_out_are_told_with_their_number() {
    let case = root().join("tests/fixtures/onerun/gen-garbage-0/npu");
    let result = judge(None, &case, "health: {alone: true, ignore: [generation-garbage]}");
    assert_eq!((result.verdict, has(&result, "generation-garbage")), (Verdict::Pass, None));
    let left_out = result.findings.iter().find(|finding| finding.code == "evidence-left-out").expect("a finding");
    assert_eq!(left_out.facts["count"], Fact::Count(1));
    assert_eq!(left_out.facts["examples"], Fact::List(vec!["generation-garbage".to_owned()]));
    let other = judge(None, &case, "health: {alone: true, ignore: [generation-loops]}");
    assert_eq!(has(&other, "generation-garbage"), Some(Severity::Fail));
    let pair = root().join("tests/fixtures/onerun/pair-verl-half-garbled-0");
    let ignored = judge(Some(&pair.join("gpu")), &pair.join("npu"), "health: {ignore: [generation-loops]}");
    assert_eq!((has(&ignored, "generation-loops"), ignored.verdict), (None, Verdict::Fail));
}
