//! Every result that the gate itself writes passes, and comes out as it went in.

use std::fs;
use std::path::{Path, PathBuf};

use precision_gate::check::Command;
use precision_gate::fetch::Digest;
use precision_gate::gate::Request;
use precision_gate::gate::recheck::decide_again;
use precision_gate::report::messages::Language;
use precision_gate::report::rewrite::rewrite;
use precision_gate::result::GateResult;
use precision_gate::verdict::CheckId;

use super::{checked, fixture, judged, policy_of};

/// Names of all pairs.
pub(super) fn all_fixtures() -> Vec<String> {
    let mut found = Vec::new();
    for kind in ["checkpoints", "config-check", "dumps", "loss", "monitor", "evaluation", "operators", "performance"] {
        for entry in fs::read_dir(crate::data::fixture(kind)).expect("a folder").flatten() {
            let name = format!("{kind}/{}", entry.file_name().to_string_lossy());
            if fixture(&name).iter().all(|side| side.exists()) {
                found.push(name);
            }
        }
    }
    found.sort();
    assert!(found.len() > 130, "{}", found.len());
    found
}

/// The result as `report` and `signoff` read it.
fn decided_again(mut result: GateResult) -> Result<GateResult, String> {
    let lines = Digest::of(b"").to_string();
    decide_again(&mut result, "result.json", Some(&lines)).map_err(|error| error.to_string())?;
    Ok(result)
}

/// The first line in which two results differ. Documents are made of a result, so equal ones give equal documents.
fn difference(before: &GateResult, after: &GateResult) -> Option<String> {
    if before == after {
        return None;
    }
    let [before, after] = [before, after].map(|result| format!("{result:#?}"));
    let differ = before.lines().zip(after.lines()).find(|(before, after)| before != after);
    Some(format!("{differ:?}"))
}

/// Contradictions that are found in honest results under one policy; there have to be none.
fn wrong(policy: &str, checks: &[CheckId], only: &[&str]) -> Vec<String> {
    let parsed = policy_of(policy);
    let mut wrong = Vec::new();
    for name in all_fixtures().iter().filter(|name| only.iter().any(|kind| name.starts_with(kind))) {
        let result = judged(&fixture(name), &parsed, checks);
        for (command, again) in [
            ("publish", checked(result.clone(), &parsed).map(|rechecked| rechecked.result)),
            ("report and signoff", decided_again(result.clone())),
        ] {
            match again {
                Err(error) => wrong.push(format!("{command} {name} ({policy}): {error}")),
                Ok(mut again) => {
                    rewrite(&mut again, "result.json", Language::En).expect("texts");
                    wrong
                        .extend(difference(&result, &again).map(|what| format!("{command} {name} ({policy}): {what}")));
                }
            }
        }
    }
    wrong
}

#[test]
fn every_result_of_the_gate_passes_unchanged() {
    let all = ["checkpoints", "config-check", "dumps", "loss", "monitor", "evaluation", "operators", "performance"];
    let mut found = wrong("", Request::ALL_CHECKS, &all);
    found.extend(wrong("", &Command::Compare.checks(), &["checkpoints", "dumps"]));
    found.extend(wrong("", &[CheckId::Config], &["config-check"]));
    found.extend(wrong("", &[CheckId::Loss], &["loss"]));
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn so_does_every_result_of_another_policy() {
    let mut found = Vec::new();
    for policy in [
        "profile: strict",
        "profile: bit-exact",
        "profile: release",
        "severity: { output-diverges: info, curve-mean: warn, parameter-diverges: incomplete, hyperparameter-differs: warn, monitor-jump: info }",
        "required: [dump, loss, config, checkpoint]",
        "waivers: [{ code: '*', where: '*', reason: r, owner: o, expires: 2027-01-01 }]",
        "waivers: [{ code: 'curve-*', where: loss, reason: r, owner: o, expires: 2026-01-01 }]",
    ] {
        found.extend(wrong(
            policy,
            Request::ALL_CHECKS,
            &[
                "checkpoints",
                "dumps/g",
                "dumps/b",
                "loss",
                "config-check/h",
                "monitor",
                "evaluation",
                "operators",
                "performance",
            ],
        ));
    }
    for policy in [
        "monitor: { ignore: ['*'] }",
        "monitor: { limits: [{ noise: 0.1 }] }",
        "waivers: [{ code: 'monitor-*', where: '*weight', reason: r, owner: o, expires: 2027-01-01 }]",
    ] {
        found.extend(wrong(policy, Request::ALL_CHECKS, &["monitor"]));
    }
    for policy in [
        "evaluation: { alpha: 0.001, correction: none }",
        "evaluation: { margin: 0.03, accept-scores: true }",
        "evaluation: { margin: '5%', preset: vllm-ascend, tie: 0.3, logprob-mean: 0.01 }",
        "evaluation: { margin: { acc: 0.05, exact_match: '1%' }, required: [gsm8k], answers-changed: 0.01 }",
        "waivers: [{ code: 'evaluation-drop', where: '*', reason: r, owner: o, expires: 2027-01-01 }]",
    ] {
        found.extend(wrong(policy, Request::ALL_CHECKS, &["evaluation"]));
    }
    for policy in [
        "operators: { ignore: ['Functional.gelu.*'] }",
        "operators: { limits: [{ api: 'Functional.*', level: L2, rmse-ratio: 5 }, { max-rel-ratio: 100 }] }",
        "severity: { operators-inaccurate: info, operators-missing: warn }",
        "waivers: [{ code: 'operators-*', where: '*.forward.*', reason: r, owner: o, expires: 2027-01-01 }]",
    ] {
        found.extend(wrong(policy, Request::ALL_CHECKS, &["operators"]));
    }
    for mode in ["same-weights", "own-weights"] {
        found.extend(wrong(&format!("loss: {{ mode: {mode} }}"), &[CheckId::Loss], &["loss"]));
    }
    for preset in [
        "megatron",
        "mindspeed-llm",
        "mindspeed-mm",
        "torchtitan-exact",
        "flagperf",
        "mindformers",
        "msprobe-guide",
        "rl-mae-2pct",
    ] {
        found.extend(wrong(&format!("loss: {{ preset: {preset} }}"), &[CheckId::Loss], &["loss"]));
    }
    for preset in ["torch-assert-close", "numpy", "polygraphy", "pcc-0.99", "cann-mixed", "cann-double-1e-3", "msprobe"]
    {
        found.extend(wrong(&format!("dump: {{ preset: {preset} }}"), &Command::Compare.checks(), &["dumps"]));
    }
    for limits in ["rtol: 1e-3, atol: 1e-5", "rtol: 1e-3, misses: 0.01, cosine: 0.99", "max-relative: 0.1"] {
        let policy = format!("dump: {{ limits: [{{ {limits} }}] }}");
        found.extend(wrong(
            &policy,
            &Command::Compare.checks(),
            &["dumps/benign_llama", "dumps/cnn", "dumps/tp2", "dumps/zoo_tensor"],
        ));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn real_curves_pass_unchanged_too() {
    let quickstart = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/quickstart");
    let sides: [PathBuf; 2] = ["gpu", "npu"].map(|side| quickstart.join(side));
    let policy = policy_of("");
    let result = judged(&sides, &policy, Request::ALL_CHECKS);
    let rechecked = checked(result.clone(), &policy).expect("passes");
    assert_eq!(rechecked.claimed, result.verdict);
    assert_eq!(rechecked.result.verdict, result.verdict);
}
