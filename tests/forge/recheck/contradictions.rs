//! Each kind of contradiction is refused with words of its own.

use precision_gate::gate::{self, Quiet, Request};
use precision_gate::msprobe::dump::Matching;
use precision_gate::result::GateResult;
use precision_gate::verdict::Verdict;
use serde_json::{Value, json};

use super::{checked, fixture, judged, of_head, policy_of};

/// A result, changed, and what is said of it.
fn said(base: &Value, change: impl FnOnce(&mut Value)) -> String {
    let mut value = base.clone();
    change(&mut value);
    let result: GateResult = serde_json::from_value(value).expect("still a result");
    match checked(result, &policy_of("")) {
        Err(error) => error,
        Ok(rechecked) => format!("accepted as {}", rechecked.result.verdict.as_str()),
    }
}

fn base(name: &str) -> Value {
    of_head(&judged(&fixture(name), &policy_of(""), Request::ALL_CHECKS))
}

#[allow(clippy::type_complexity, reason = "a table of changes")]
fn hold(name: &str, changes: &[(&str, fn(&mut Value))]) {
    let base = base(name);
    assert!(said(&base, |_| {}).starts_with("accepted as"), "{}", said(&base, |_| {}));
    for (expected, change) in changes {
        let found = said(&base, change);
        assert!(found.contains(expected), "expected `{expected}`, found `{found}`");
    }
}

const LOSS: usize = 1;
const DUMP: usize = 2;
const CHECKPOINT: usize = 3;
const MONITOR: usize = 4;
const EVALUATION: usize = 5;
const OPERATORS: usize = 6;

fn unit(value: &mut Value, check: usize) -> &mut Value {
    &mut value["checks"][check]["units"][0]
}

#[test]
fn a_result_that_contradicts_itself_as_a_whole() {
    hold(
        "dumps/gpt_bf16_stats_attention_scale",
        &[
            ("verdict: is pass, and its checks and findings come to fail", |v| v["verdict"] = "pass".into()),
            ("verdict: is incomplete", |v| v["verdict"] = "incomplete".into()),
            ("checks: holds no check", |v| v["checks"] = json!([])),
            ("checks: are not those of any command", |v| {
                v["checks"].as_array_mut().unwrap().remove(0);
            }),
            ("checks: holds a check twice", |v| v["checks"][3] = v["checks"][2].clone()),
            ("source.repository: `dev/model` is not the repository", |v| {
                v["source"]["repository"] = "dev/model".into()
            }),
            ("today: `soon` is not a date", |v| v["today"] = "soon".into()),
            ("tool.name", |v| v["tool"]["name"] = "another".into()),
            ("the code does not exist", |v| v["findings"][0]["code"] = "all-is-well".into()),
            ("has no such code", |v| v["findings"][0]["check"] = "loss".into()),
            ("its unit is missing", |v| v["findings"][0]["facts"]["unit"] = "step 9".into()),
            ("culprit: is not", |v| v["culprit"] = Value::Null),
            ("culprit: is not", |v| v["culprit"]["op"] = "Torch.add.0.forward".into()),
            ("was read, and the check `dump` judged nothing", |v| {
                v["checks"][DUMP] = json!({ "id": "dump", "verdict": "skipped" });
                v["findings"] = json!([]);
                v["culprit"] = Value::Null;
                v["verdict"] = "pass".into();
            }),
            ("artifacts: hold nothing of the check `dump`", |v| v["artifacts"] = json!([])),
            ("no waiver is named", |v| {
                let finding = v["findings"][0].clone();
                v["waived"] =
                    json!([{ "waiver": "", "finding": finding, "reason": "", "owner": "", "expires": "2027-01-01" }]);
            }),
            ("the history is missing", |v| {
                v["findings"][0] =
                    json!({ "check": "history", "severity": "warn", "code": "history-step", "where": "x" });
            }),
        ],
    );
}

#[test]
fn a_unit_of_a_dump_that_contradicts_itself() {
    hold(
        "dumps/gpt_bf16_stats_attention_scale",
        &[
            ("says pass, and its findings come to fail", |v| unit(v, DUMP)["verdict"] = "pass".into()),
            ("checks.dump: claims pass, but its content gives fail", |v| v["checks"][DUMP]["verdict"] = "pass".into()),
            ("lists 1 suspects of 5", |v| v["findings"][0]["facts"]["suspects"] = 5.into()),
            ("is suspected, and it has no culprit", |v| {
                unit(v, DUMP)["culprit"] = Value::Null;
                unit(v, DUMP).as_object_mut().unwrap().remove("runner_up");
            }),
            ("its culprit belongs to another unit", |v| unit(v, DUMP)["culprit"]["step"] = 3.into()),
            ("which no dump has", |v| unit(v, DUMP)["culprit"]["code"] = "curve-mean".into()),
            (" has no finding", |v| unit(v, DUMP)["culprit"]["tensor"] = "x".into()),
            ("have different errors", |v| unit(v, DUMP)["culprit"]["metrics"]["error"] = 1e-9.into()),
            ("which its findings deny", |v| unit(v, DUMP)["compared"] = 0.into()),
            ("values without a partner, and no finding says so", |v| unit(v, DUMP)["unmatched_baseline"] = 4.into()),
            ("counts other states of its values than values", |v| unit(v, DUMP)["not_compared"] = 400.into()),
            ("values, and no finding says why", |v| {
                unit(v, DUMP)["not_compared"] = 4.into();
                let evidence = json!({"compared": unit(v, DUMP)["compared"], "unreadable": 4});
                unit(v, DUMP)["evidence"] = evidence;
            }),
            ("partly missing in one dump, but there is no finding about them", |v| {
                unit(v, DUMP)["not_compared"] = 4.into();
                let evidence = json!({"compared": unit(v, DUMP)["compared"], "one_sided": 4});
                unit(v, DUMP)["evidence"] = evidence;
            }),
            ("is there twice", |v| {
                let twice = unit(v, DUMP).clone();
                v["checks"][DUMP]["units"].as_array_mut().unwrap().push(twice);
                let rows = v["artifacts"].clone();
                v["artifacts"].as_array_mut().unwrap().extend(rows.as_array().unwrap().clone());
            }),
            ("hold 4 dumps, and there are 1 units", |v| {
                let rows = v["artifacts"].clone();
                v["artifacts"].as_array_mut().unwrap().extend(rows.as_array().unwrap().clone());
            }),
            ("artifacts: hold nothing of the check `loss`", |v| {
                v["checks"][LOSS]["units"] = v["checks"][DUMP]["units"].clone()
            }),
            ("could not be read, and holds something", |v| unit(v, DUMP)["data"] = "".into()),
            ("its profile is not in order", |v| unit(v, DUMP)["profile"][0]["order"] = 900.into()),
        ],
    );
}

#[test]
fn a_limit_that_counts_elements_and_contradicts_itself() {
    let policy = policy_of("dump: {limits: [{rtol: 1e-3, atol: 1e-5}]}");
    let base = of_head(&judged(&fixture("dumps/cnn_tensor_l1_fp16_linear"), &policy, Request::ALL_CHECKS));
    let said = |change: &dyn Fn(&mut Value)| {
        let mut value = base.clone();
        change(&mut value);
        checked(serde_json::from_value(value).expect("still a result"), &policy)
            .map_or_else(|error| error, |rechecked| format!("accepted as {}", rechecked.result.verdict.as_str()))
    };
    let rule = |value: &mut Value| -> Value { unit(value, DUMP)["rules"][0].clone() };
    assert_eq!(said(&|_| {}), "accepted as fail");
    for (expected, change) in [
        (
            "whose verdict does not follow from its value",
            (|v, _| unit(v, DUMP)["rules"][0]["verdict"] = "pass".into()) as fn(&mut Value, Value),
        ),
        ("holds a limit that counts elements twice", |v, rule| unit(v, DUMP)["rules"] = json!([rule, rule])),
        ("lacks the limit that is not met", |v, _| unit(v, DUMP)["rules"] = json!([])),
        ("a limit that the target's policy does not hold", |v, _| {
            for unit in v["checks"][DUMP]["units"].as_array_mut().unwrap() {
                unit["rules"][0]["fail"] = 0.5.into();
                unit["rules"][0]["margin"] = (1.0 - unit["rules"][0]["value"].as_f64().unwrap() / 0.5).into();
            }
        }),
    ] {
        let found = said(&|value| {
            let rule = rule(value);
            change(value, rule);
        });
        assert!(found.contains(expected), "expected `{expected}`, found `{found}`");
    }
}

#[test]
fn a_curve_that_contradicts_itself() {
    fn rule<'a>(value: &'a mut Value, name: &str) -> &'a mut Value {
        let rules = unit(value, LOSS)["rules"].as_array_mut().unwrap();
        rules.iter_mut().find(|rule| rule["rule"] == name).unwrap()
    }
    hold(
        "loss/diverging_trend",
        &[
            ("which does not follow from its value and limits", |v| rule(v, "mean_rel")["verdict"] = "pass".into()),
            ("its margin does not follow", |v| rule(v, "mean_rel")["margin"] = 0.9.into()),
            ("its margin does not follow", |v| rule(v, "mean_rel")["value"] = 1e-9.into()),
            ("has the wrong direction of its limits", |v| rule(v, "mean_rel")["direction"] = "at-least".into()),
            ("has the wrong direction of its limits", |v| rule(v, "coverage")["direction"] = "at-most".into()),
            ("or the wrong unit", |v| rule(v, "mean_rel")["unit"] = "steps".into()),
            ("is negative, which no such rule measures", |v| rule(v, "mean_rel")["value"] = (-1e-9).into()),
            ("has notes that the gate does not write", |v| rule(v, "mean_rel")["notes"] = json!([{"code": "step"}])),
            ("lacks the rule `mean_rel`", |v| {
                unit(v, LOSS)["rules"].as_array_mut().unwrap().retain(|rule| rule["rule"] != "mean_rel");
                v["findings"].as_array_mut().unwrap().retain(|finding| finding["code"] != "curve-mean");
            }),
            ("the rule does not exist", |v| rule(v, "mean_rel")["rule"] = "mean_change".into()),
            ("has a rule twice", |v| {
                let twice = rule(v, "mean_rel").clone();
                unit(v, LOSS)["rules"].as_array_mut().unwrap().push(twice);
            }),
            ("but there is no finding `curve-", |v| {
                let findings = v["findings"].as_array_mut().unwrap();
                let first = findings.iter().position(|finding| finding["severity"] == "fail").unwrap();
                findings.remove(first);
            }),
            ("next to a preset that did not decide", |v| {
                rule(v, "mean_rel")["notes"] = json!([{"code": "beside-preset"}])
            }),
            ("its numbers do not fit each other", |v| {
                rule(v, "coverage")["notes"] = json!([{"code": "steps-covered", "both": 1, "baseline": 9}])
            }),
            ("and the series has one", |v| unit(v, LOSS)["series"]["candidate"][3] = "nan".into()),
            ("differ in length", |v| {
                unit(v, LOSS)["series"]["candidate"].as_array_mut().unwrap().pop();
            }),
            ("do not rise", |v| unit(v, LOSS)["series"]["step"][1] = 0.into()),
            ("diverges at a step outside", |v| unit(v, LOSS)["first_diverging_step"] = 99_999.into()),
            ("lists steps outside", |v| unit(v, LOSS)["non_finite_steps"] = json!([99_999])),
            ("paired steps", |v| unit(v, LOSS)["paired"] = 0.into()),
            ("is skipped, and has rules", |v| unit(v, LOSS)["verdict"] = "skipped".into()),
            ("is judged by looser limits without being declared", |v| {
                let mode = if unit(v, LOSS)["mode"] == "same-weights" { "own-weights" } else { "same-weights" };
                unit(v, LOSS)["mode"] = mode.into();
            }),
            ("in a mode other than the policy's", |v| unit(v, LOSS)["mode_source"] = "declared".into()),
            ("other limits than the target's policy", |v| {
                let rule = rule(v, "coverage");
                let share = rule["value"].as_f64().unwrap();
                rule["fail"] = 0.5.into();
                rule["margin"] = (share / 0.5 - 1.0).into();
            }),
        ],
    );
}

#[test]
fn a_checkpoint_or_config_check_that_contradicts_itself() {
    hold(
        "checkpoints/one_parameter_wrong",
        &[
            ("says pass, and its findings", |v| unit(v, CHECKPOINT)["verdict"] = "pass".into()),
            ("which does not follow", |v| unit(v, CHECKPOINT)["rules"][0]["verdict"] = "pass".into()),
            ("its margin does not follow", |v| unit(v, CHECKPOINT)["rules"][0]["value"] = 1e-12.into()),
            ("shows 0 parameters that differ, but has 1 findings about them", |v| {
                unit(v, CHECKPOINT)["rules"] = json!([])
            }),
            ("parameters, which its findings deny", |v| unit(v, CHECKPOINT)["compared"] = 0.into()),
            ("parameters without a partner", |v| unit(v, CHECKPOINT)["unmatched_candidate"] = 2.into()),
        ],
    );
    hold(
        "config-check/hyper-static-vs-dynamic",
        &[
            ("says pass, and its findings", |v| {
                let items = v["checks"][0]["items"].as_array_mut().unwrap();
                let item = items.iter_mut().find(|item| item["name"] == "hyperparameters").unwrap();
                item["verdict"] = "pass".into();
            }),
            ("findings, and there are", |v| v["checks"][0]["items"][0]["findings"] = 99.into()),
            ("lacks a checker", |v| {
                v["checks"][0]["items"].as_array_mut().unwrap().pop();
            }),
            ("has a checker twice", |v| v["checks"][0]["items"][1] = v["checks"][0]["items"][0].clone()),
            ("msprobe says no such thing", |v| v["checks"][0]["items"][0]["msprobe"] = "fine".into()),
        ],
    );
}

#[test]
fn a_monitor_that_contradicts_itself() {
    hold(
        "monitor/loss-scale-half-v1",
        &[
            ("says pass, and its findings come to fail", |v| unit(v, MONITOR)["verdict"] = "pass".into()),
            ("checks.monitor: claims pass", |v| v["checks"][MONITOR]["verdict"] = "pass".into()),
            ("compared nothing, and no finding says so", |v| unit(v, MONITOR)["compared"] = 0.into()),
            ("rows without a partner, and no finding says so", |v| unit(v, MONITOR)["unmatched_baseline"] = 7.into()),
            ("its evidence does not add up", |v| unit(v, MONITOR)["compared"] = 7.into()),
            ("which its findings deny", |v| unit(v, MONITOR)["evidence"]["not_compared"] = 7.into()),
            ("its horizon is not that of its findings", |v| unit(v, MONITOR)["horizon"] = 3.into()),
            ("is not an element type of a monitor", |v| unit(v, MONITOR)["dtype"] = "int4".into()),
            ("steps, more than a side has", |v| unit(v, MONITOR)["steps"]["paired"] = 9_999.into()),
            ("lacks its rule", |v| unit(v, MONITOR)["rules"] = json!([])),
            ("does not exist, or has other limits", |v| unit(v, MONITOR)["rules"][0]["warn"] = 9.0.into()),
            ("its rule's verdict does not follow", |v| unit(v, MONITOR)["rules"][0]["verdict"] = "pass".into()),
            ("and it has no culprit", |v| unit(v, MONITOR)["culprit"] = Value::Null),
            ("its culprit belongs to another unit", |v| unit(v, MONITOR)["culprit"]["rank"] = 5.into()),
            (" has no finding", |v| unit(v, MONITOR)["culprit"]["metrics"]["error"] = 1e-9.into()),
            (" has no finding", |v| unit(v, MONITOR)["culprit"]["cause"] = "data".into()),
            ("differ in length, or do not rise", |v| unit(v, MONITOR)["culprit_series"]["step"][0] = 9_999.into()),
            ("its map of errors has rows of other lengths", |v| unit(v, MONITOR)["heatmap"]["cells"][0] = json!([])),
            ("heatmap.layers: holds 201", |v| unit(v, MONITOR)["heatmap"]["layers"] = vec!["x"; 201].into()),
            ("culprit: is not", |v| v["culprit"] = Value::Null),
            ("artifacts: hold nothing of the check `monitor`", |v| v["artifacts"] = json!([])),
        ],
    );
    let base = base("monitor/loss-scale-half-v1");
    let lowered = said(&base, |value| {
        for finding in value["findings"].as_array_mut().unwrap() {
            finding["severity"] = "info".into();
        }
        unit(value, MONITOR)["verdict"] = "pass".into();
        value["checks"][MONITOR]["verdict"] = "pass".into();
        value["verdict"] = "pass".into();
        unit(value, MONITOR)["culprit"] = Value::Null;
        unit(value, MONITOR).as_object_mut().unwrap().remove("culprit_series");
        value["culprit"] = Value::Null;
    });
    assert_eq!(lowered, "accepted as fail", "a jump weighs by its numbers");
    let policy = policy_of("waivers: [{ code: 'monitor-jump', where: '*', reason: r, owner: o, expires: 2027-01-01 }]");
    let refused = checked(serde_json::from_value(base).expect("a result"), &policy).map(|_| ());
    assert!(
        refused.unwrap_err().contains("which the target's policy lets through"),
        "what comes behind was not judged"
    );
}

#[test]
fn operator_tests_that_contradict_themselves() {
    hold(
        "operators/gelu-2-percent",
        &[
            ("says pass, and its findings come to fail", |v| unit(v, OPERATORS)["verdict"] = "pass".into()),
            ("checks.operators: claims pass", |v| v["checks"][OPERATORS]["verdict"] = "pass".into()),
            ("its statuses add up to", |v| unit(v, OPERATORS)["compared"] = 7.into()),
            ("its statuses add up to", |v| unit(v, OPERATORS)["counts"]["pass"] = 7.into()),
            ("outputs without a partner, and no finding says so", |v| {
                unit(v, OPERATORS)["unmatched_baseline"] = 7.into();
            }),
            ("its evidence does not add up", |v| unit(v, OPERATORS)["counts"]["skip"] = 7.into()),
            ("outputs that are wrong or doubtful", |v| {
                unit(v, OPERATORS)["counts"]["error"] = 1.into();
                unit(v, OPERATORS)["counts"]["pass"] = 24.into();
            }),
            ("its largest error is not that of its findings", |v| unit(v, OPERATORS)["worst"] = 0.5.into()),
            ("and it has no culprit", |v| unit(v, OPERATORS)["culprit"] = Value::Null),
            ("its culprit belongs to another unit", |v| unit(v, OPERATORS)["culprit"]["rank"] = 5.into()),
            ("its culprit belongs to another unit", |v| unit(v, OPERATORS)["culprit"]["row"] = "Torch.add.0".into()),
            (" has no finding", |v| unit(v, OPERATORS)["culprit"]["metrics"]["value"] = 1.5.into()),
            (" has no finding", |v| unit(v, OPERATORS)["culprit"]["metrics"]["rule"] = "dtype".into()),
            ("has another limit than the target's policy", |v| {
                v["findings"][1]["facts"]["limit"] = 1e9.into();
            }),
            ("culprit: is not", |v| v["culprit"] = Value::Null),
            ("artifacts: hold nothing of the check `operators`", |v| v["artifacts"] = json!([])),
        ],
    );
    let base = base("operators/gelu-2-percent");
    let lowered = said(&base, |value| {
        for finding in value["findings"].as_array_mut().unwrap() {
            finding["severity"] = "info".into();
        }
        unit(value, OPERATORS)["verdict"] = "pass".into();
        value["checks"][OPERATORS]["verdict"] = "pass".into();
        value["verdict"] = "pass".into();
        unit(value, OPERATORS)["culprit"] = Value::Null;
        value["culprit"] = Value::Null;
    });
    assert_eq!(lowered, "accepted as fail", "an inaccurate operator weighs by its code");
}

#[test]
fn an_evaluation_that_contradicts_itself() {
    hold(
        "evaluation/ais_bench_worse",
        &[
            ("says pass, and its findings come to fail", |v| unit(v, EVALUATION)["verdict"] = "pass".into()),
            ("pairs changed, of 100 samples", |v| unit(v, EVALUATION)["paired"] = 7.into()),
            ("its chance does not follow from its counts", |v| unit(v, EVALUATION)["worse"] = 16.into()),
            ("its chance does not follow from its counts", |v| unit(v, EVALUATION)["p_value"] = 0.5.into()),
            ("its drop does not follow from its counts", |v| unit(v, EVALUATION)["drop"] = 0.14.into()),
            ("its drop lies outside of its interval", |v| unit(v, EVALUATION)["drop"] = 0.9.into()),
            ("its corrected chances do not follow", |v| {
                unit(v, EVALUATION)["p_adjusted"] = 0.5.into();
                v["findings"][0]["facts"]["p"] = 0.5.into();
            }),
            ("have different numbers", |v| v["findings"][0]["facts"]["drop"] = 0.01.into()),
            ("has some numbers of a test and lacks others", |v| unit(v, EVALUATION)["test"] = Value::Null),
            ("shows a sample that it does not list", |v| unit(v, EVALUATION)["examples"] = json!([])),
            ("shows a text of more than", |v| unit(v, EVALUATION)["flipped"][0]["question"] = "x".repeat(999).into()),
            ("its class of documents and its findings disagree", |v| {
                unit(v, EVALUATION)["shard"] = json!({"modulus": 4, "remainder": 1});
            }),
            ("its score is not finite, and no finding says so", |v| unit(v, EVALUATION)["candidate"] = "nan".into()),
            ("was not decided by the target's levels", |v| {
                v["findings"].as_array_mut().unwrap().remove(0);
                unit(v, EVALUATION)["verdict"] = "pass".into();
                v["checks"][EVALUATION]["verdict"] = "pass".into();
                v["verdict"] = "pass".into();
            }),
            ("has another margin than the target's policy", |v| {
                unit(v, EVALUATION)["margin"] = 0.09.into();
                v["findings"][0]["facts"]["margin"] = 0.09.into();
            }),
        ],
    );
    hold(
        "evaluation/gen_first_token_wrong",
        &[
            ("says pass, and its findings come to fail", |v| unit(v, EVALUATION)["verdict"] = "pass".into()),
            ("prompts changed, and tells of", |v| unit(v, EVALUATION)["far"] = 1.into()),
            ("that no finding `evaluation-diverges-without-tie` tells", |v| {
                v["findings"][0]["facts"]["count"] = 1.into();
            }),
            ("its first difference and its counts disagree", |v| unit(v, EVALUATION)["first_divergence"] = Value::Null),
            ("lacks prompts, and no finding says so", |v| unit(v, EVALUATION)["unmatched"] = 3.into()),
        ],
    );
    let strict = policy_of("evaluation: { alpha: 0.000001, alpha-warn: 0.00001 }");
    let lost = of_head(&judged(&fixture("evaluation/ais_bench_worse"), &strict, Request::ALL_CHECKS));
    let refused = checked(serde_json::from_value(lost).expect("a result"), &policy_of("")).map(|_| ());
    assert!(refused.unwrap_err().contains("was not decided by the target's levels"));
}

#[test]
fn more_than_the_gate_writes_is_refused() {
    hold(
        "dumps/gpt_bf16_stats_attention_scale",
        &[
            ("findings: holds 4001", |v| v["findings"] = vec![v["findings"][0].clone(); 4_001].into()),
            ("profile: holds 2001", |v| {
                let point = unit(v, DUMP)["profile"][0].clone();
                unit(v, DUMP)["profile"] = vec![point; 2_001].into();
            }),
            ("units: holds 4097", |v| {
                let one = unit(v, DUMP).clone();
                v["checks"][DUMP]["units"] = vec![one; 4_097].into();
            }),
            ("culprit.stack: holds 1001", |v| unit(v, DUMP)["culprit"]["stack"] = vec!["x"; 1_001].into()),
        ],
    );
    hold(
        "loss/diverging_trend",
        &[("series: holds 2001", |v| {
            unit(v, LOSS)["series"]["step"] = (0..2_001).collect::<Vec<u64>>().into();
        })],
    );
}

#[test]
fn a_finding_weighs_by_its_code_and_its_numbers() {
    let base = base("dumps/gpt_bf16_stats_attention_scale");
    let lowered = said(&base, |value| {
        for finding in value["findings"].as_array_mut().unwrap() {
            finding["severity"] = "info".into();
        }
        unit(value, DUMP)["verdict"] = "pass".into();
        value["checks"][DUMP]["verdict"] = "pass".into();
        value["verdict"] = "pass".into();
    });
    assert_eq!(lowered, "accepted as fail");
    let result: GateResult = serde_json::from_value(base).expect("a result");
    let policy = policy_of("severity: { output-diverges: info, other-precision: info, input-differs: info }");
    assert_ne!(
        checked(result, &policy).expect("consistent").result.verdict,
        Verdict::Fail,
        "the target's policy decides"
    );
}

#[test]
fn the_side_that_is_off_follows_from_the_errors_against_the_reference() {
    let [baseline, candidate] = fixture("dumps/gpt_bf16_stats_attention_scale");
    // A reference that is the candidate itself: the baseline is off.
    let policy = policy_of(&format!("reference: {{ location: '{}' }}", candidate.display()));
    let base = of_head(&judged(&[baseline, candidate], &policy, Request::ALL_CHECKS));
    let off = |value: &Value| value["culprit"]["reference"]["off_side"].clone();
    assert_eq!(off(&base), "baseline");
    assert!(said(&base, |_| {}).starts_with("accepted as fail"), "{}", said(&base, |_| {}));
    let blamed = said(&base, |value| {
        value["culprit"]["reference"]["off_side"] = "candidate".into();
        unit(value, DUMP)["culprit"]["reference"]["off_side"] = "candidate".into();
    });
    assert!(blamed.contains("does not follow from the errors against the reference"), "{blamed}");
    let untold = said(&base, |value| {
        value["findings"].as_array_mut().expect("a list").retain(|finding| finding["code"] != "baseline-off");
    });
    assert!(untold.contains("name other places at which the baseline is off"), "{untold}");
}

#[test]
fn a_result_without_a_baseline_is_never_taken_for_a_comparison() {
    let [_, candidate] = fixture("dumps/gpt_bf16_stats_attention_scale");
    let policy = policy_of("health: true");
    let request = Request {
        baseline: String::new(),
        candidate: candidate.display().to_string(),
        checks: Request::ALL_CHECKS.to_vec(),
        policy: policy.clone(),
        matching: Matching::default(),
    };
    let health = of_head(&gate::run(&request, &Quiet).expect("the candidate is there").result);
    let result: GateResult = serde_json::from_value(health.clone()).expect("a result");
    let refused = checked(result, &policy).expect_err("refused under the policy that allows it too");
    assert!(refused.contains("was judged without a baseline"), "{refused}");
    for (expected, change) in [
        ("baseline: is there in a result of mode `health`", (|v| v["mode"] = Value::Null) as fn(&mut Value)),
        ("mode: contradicts the finding `no-baseline`", |v| {
            v["mode"] = Value::Null;
            v["baseline"] = v["candidate"].clone();
        }),
        ("artifacts: hold", |v| {
            v["mode"] = Value::Null;
            v["baseline"] = v["candidate"].clone();
            v["findings"].as_array_mut().unwrap().retain(|finding| finding["code"] != "no-baseline");
        }),
    ] {
        let found = said(&health, change);
        assert!(found.contains(expected), "expected `{expected}`, found `{found}`");
    }
}
