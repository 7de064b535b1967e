//! Limits of the policy that count elements.

use std::collections::HashMap;
use std::path::Path;

use precision_gate::error::{Error, ErrorKind};
use precision_gate::gate::{self, Quiet, Request};
use precision_gate::judge::register;
use precision_gate::msprobe::dump::Matching;
use precision_gate::policy::Policy;
use precision_gate::policy::location::TrustedLocation;
use precision_gate::report::RunOutcome;
use precision_gate::result::operation::State;
use precision_gate::result::outcome::RuleOutcome;
use precision_gate::verdict::{CheckId, Verdict};
use serde_json::Value;

use crate::dumps::build::{Op, Tensor, dump, x};
use crate::dumps::support::fixtures;

fn run(baseline: &Path, candidate: &Path, policy: &str) -> Result<RunOutcome, Error> {
    let codes: Vec<&str> = register::all_rules().map(|rule| rule.code).collect();
    let request = Request {
        baseline: TrustedLocation::own(baseline.display().to_string()),
        several: Default::default(),
        candidate: candidate.display().to_string(),
        checks: vec![CheckId::Dump],
        policy: Policy::parse("policy.yml", policy, &codes)?,
        matching: Matching::default(),
    };
    gate::run(&request, &Quiet)
}

fn judge(task: &str, baseline: &[Op], candidate: &[Op], policy: &str) -> Result<RunOutcome, Error> {
    let folder = tempfile::tempdir().expect("folder");
    let [left, right] = ["gpu", "npu"].map(|side| folder.path().join(side));
    dump(&left.join("step0/rank0"), task, baseline);
    dump(&right.join("step0/rank0"), task, candidate);
    run(&left, &right, policy)
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u32> = hex.chars().map(|digit| digit.to_digit(16).expect("hexadecimal")).collect();
    digits.chunks(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).expect("a byte")).collect()
}

#[test]
fn rtol_and_atol_agree_with_numpy() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/allclose/allclose.json");
    let table: Value = serde_json::from_slice(&std::fs::read(path).expect("there")).expect("JSON");
    let mut of_type: HashMap<&'static str, Vec<&Value>> = HashMap::new();
    for row in table["rows"].as_array().expect("rows") {
        let types = ["float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "complex64"];
        let name = types.into_iter().find(|name| row[0] == *name).expect("a known type");
        of_type.entry(name).or_default().push(row);
    }
    assert_eq!(of_type.len(), 7);
    for (dtype, rows) in of_type {
        assert_eq!(rows.len(), 200, "{dtype}");
        let size = match dtype {
            "float64" | "complex64" => 8,
            "float32" => 4,
            "float16" | "bfloat16" => 2,
            _ => 1,
        };
        let side = |column: usize| -> Vec<Op> {
            let tensor = |row: &Value| {
                let bytes = bytes(row[column].as_str().expect("text"));
                Tensor::raw(dtype, &[(bytes.len() / size) as u64], bytes)
            };
            let named = |(index, row): (usize, &&Value)| Op::output(&format!("Torch.f{index}.0.forward"), tensor(row));
            rows.iter().enumerate().map(named).collect()
        };
        let limit = |(index, row): (usize, &&Value)| {
            format!("{{op: Torch.f{index}.0.forward, rtol: {}, atol: {}}}", row[1], row[2])
        };
        let limits: Vec<String> = rows.iter().enumerate().map(limit).collect();
        let policy = format!("dump: {{limits: [{}]}}", limits.join(", "));
        let outcome = judge("tensor", &side(3), &side(4), &policy).expect("judged");
        let states: HashMap<&str, State> = outcome.operations.iter().map(|line| (&*line.op, line.state)).collect();
        for (index, row) in rows.iter().enumerate() {
            let is_close = states[format!("Torch.f{index}.0.forward").as_str()] == State::Agrees;
            assert_eq!(Some(is_close), row[5].as_bool(), "{dtype}: {row}");
        }
    }
}

/// A thousand elements, `beyond` of which are off by one part in ten.
fn pair(beyond: usize) -> [Vec<Op>; 2] {
    let values = |off: f32| -> Vec<f32> { (0..1000).map(|i| if i < beyond { 1.0 + off } else { 1.0 }).collect() };
    [0.0, 0.1].map(|off| x(Tensor::f32(&[1000], &values(off))))
}

fn rule(outcome: &RunOutcome, name: &str) -> RuleOutcome {
    let rules = outcome.result.checks[0].units[0].rules();
    rules.iter().find(|outcome| outcome.rule == name).expect("the rule was applied").clone()
}

#[test]
fn within_a_limit_passes_and_beyond_it_fails() {
    let [baseline, candidate] = pair(2);
    for (limit, kind, verdict, value) in [
        ("rtol: 1e-3, atol: 1e-5", "allclose", Verdict::Fail, 0.002),
        ("rtol: 1e-3, atol: 1e-5, misses: 0.001", "allclose", Verdict::Fail, 0.002),
        ("rtol: 1e-3, atol: 1e-5, misses: 0.002", "allclose", Verdict::Pass, 0.002),
        ("atol: 0.11", "allclose", Verdict::Pass, 0.0),
        ("cosine: 0.999, wrong: 0.1, noise: 0.1", "cosine", Verdict::Pass, 0.999_990),
        ("cosine: 0.999999, max-relative: 0.2", "cosine", Verdict::Fail, 0.999_990),
        ("max-relative: 0.11", "max-relative", Verdict::Pass, 0.1),
        ("max-relative: 0.05", "max-relative", Verdict::Fail, 0.1),
    ] {
        let policy = format!("dump: {{limits: [{{op: 'Torch.X.*', {limit}}}]}}\nseverity: {{limit-wide: info}}");
        let outcome = judge("tensor", &baseline, &candidate, &policy).expect("judged");
        assert_eq!(outcome.result.verdict, verdict, "{limit}: {:?}", outcome.result.findings);
        let rule = rule(&outcome, kind);
        assert_eq!(rule.verdict == Verdict::Fail, verdict == Verdict::Fail, "{limit}");
        assert!((rule.value.expect("measured").0 - value).abs() < 1e-6, "{limit}: {rule:?}");
        assert_eq!(rule.subject(), "Torch.X.0.forward.output.0");
        let culprit = outcome.result.culprit.map(|culprit| culprit.code);
        assert_eq!(culprit.as_deref(), (verdict == Verdict::Fail).then_some("limit-not-met"), "{limit}");
    }
}

#[test]
fn noise_beside_a_limit_that_counts_elements_holds_as_well() {
    let [baseline, candidate] = pair(2);
    let verdict = |limit: &str| {
        let policy = format!("dump: {{limits: [{{op: 'Torch.X.*', misses: 0.01, rtol: 1e-3, {limit}}}]}}");
        judge("tensor", &baseline, &candidate, &policy).expect("judged").result.verdict
    };
    assert_eq!(verdict("atol: 1e-5"), Verdict::Pass);
    assert_eq!(verdict("noise: 1e-5, wrong: 1e-3"), Verdict::Fail);
    assert_eq!(verdict("noise: 0.2"), Verdict::Pass);
}

#[test]
fn integers_stay_exact_under_any_limit() {
    let [baseline, candidate] = [3, 4].map(|value| x(Tensor::i64(&[2], &[1, value])));
    let outcome = judge("tensor", &baseline, &candidate, "dump: {limits: [{op: 'Torch.X.*', atol: 9}]}");
    let culprit = outcome.expect("judged").result.culprit.expect("a culprit");
    assert_eq!(culprit.code, "integer-differs");
}

#[test]
fn a_limit_that_counts_elements_of_statistics_is_a_policy_error() {
    let [baseline, candidate] = pair(2);
    for limit in ["rtol: 1e-3", "atol: 1e-5", "cosine: 0.9", "max-relative: 0.1"] {
        let policy = format!("dump: {{limits: [{{op: 'Torch.X.*', noise: 1, {limit}}}]}}");
        let error = judge("statistics", &baseline, &candidate, &policy).expect_err(limit);
        assert_eq!(error.kind(), ErrorKind::Policy);
        let key = limit.split(':').next().expect("a key");
        assert!(error.to_string().contains(&format!("dump.limits[0]: `{key}` needs the elements")), "{error}");
        assert!(error.help().is_some_and(|help| help.contains("task: tensor") && help.contains("noise")));
        let other = policy.replace("Torch.X", "Torch.Y");
        judge("statistics", &baseline, &candidate, &other).expect("it selects nothing there");
    }
    let md5 = fixtures().join("md5_identical");
    let error = run(&md5.join("gpu"), &md5.join("npu"), "dump: {limits: [{rtol: 1e-3, atol: 1e-5}]}");
    assert!(error.expect_err("no elements").to_string().contains("checksums only"));
}

#[test]
fn tensors_without_data_beside_others_are_told() {
    let folder = tempfile::tempdir().expect("folder");
    let ops = [
        Op::output("Torch.X.0.forward", Tensor::f32(&[1], &[1.0])),
        Op::output("Torch.Y.0.forward", Tensor::f32(&[1], &[2.0])),
    ];
    let sides = ["gpu", "npu"].map(|side| folder.path().join(side));
    for side in &sides {
        let rank = side.join("step0/rank0");
        dump(&rank, "tensor", &ops);
        let text = std::fs::read_to_string(rank.join("dump.json")).expect("there");
        let text = text.replace(r#", "data_name": "Torch.Y.0.forward.output.0.pt""#, "");
        std::fs::write(rank.join("dump.json"), text).expect("written");
    }
    let outcome = run(&sides[0], &sides[1], "dump: {limits: [{rtol: 1e-3, atol: 1e-5}]}").expect("judged");
    let told = outcome.result.findings.iter().find(|finding| finding.code == "limit-needs-data").expect("told");
    assert_eq!(told.place, "Torch.Y.0.forward.output.0");
    assert_eq!(outcome.result.verdict, Verdict::Incomplete);
}

#[test]
fn limits_that_say_nothing_are_refused() {
    for (policy, expected) in [
        ("dump: {limits: [{misses: 0.1}]}", "`dump.limits[0].misses:` counts the elements outside"),
        ("dump: {preset: numpy, limits: [{rtol: 0.1}]}", "`dump.limits[0].rtol:` and `dump.preset` would both decide"),
        ("dump: {limits: [{rtol: 0.1, misses: 1}]}", "expects a number from 0 to below 1"),
        ("dump: {limits: [{cosine: 0}]}", "expects a number above 0 and at most 1"),
        ("dump: {limits: [{max-relative: -1}]}", "`dump.limits[0].max-relative:` expects a number of at least 0"),
        ("dump: {limits: [{cosine: 0.99}]}", "so wide that a known defect passes"),
    ] {
        let folder = fixtures().join("zoo_tensor_identical");
        let error = run(&folder.join("gpu"), &folder.join("npu"), policy).expect_err(policy);
        assert_eq!(error.kind(), ErrorKind::Policy);
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn known_pairs_under_the_limits_of_the_documentation() {
    let limits = "dump: {limits: [{atol: 1e-5, rtol: 1e-3}]}";
    let of = |name: &str| {
        let case = fixtures().join(name);
        run(&case.join("gpu"), &case.join("npu"), limits).expect("judged").result
    };
    assert_eq!(of("identical_glm_tensor_mix").verdict, Verdict::Pass);
    let wrong = of("cnn_tensor_l1_fp16_linear");
    let culprit = wrong.culprit.expect("a culprit");
    assert_eq!((culprit.code.as_str(), culprit.op.as_str()), ("limit-not-met", "Functional.linear.0.forward"));
}
