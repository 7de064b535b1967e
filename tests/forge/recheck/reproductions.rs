//! Results that a fork could once get posted, and their treatment now.

use serde_json::{Value, json};

use precision_gate::error::ErrorKind;
use precision_gate::gate::Request;
use precision_gate::gate::recheck::parse;

use super::{fixture, judged, of_head, policy_of, second_half};
use crate::forge::fake::Fake;
use crate::forge::fake::github::{GitHub, TIP};
use crate::forge::gate::Ended;

/// Publishes a result under a policy: how the command ended, the check's conclusion, title and summary, and the comment.
struct Posted {
    ended: Ended,
    check: Value,
    comment: String,
}

fn publish(fake: &Fake<GitHub>, result: &Value, policy: &str) -> Posted {
    let gate = second_half(fake);
    gate.write("result.json", &result.to_string());
    gate.write("operations.jsonl", "");
    // Of the target branch; the working folder's own does not count.
    fake.state().files.insert((TIP.into(), "precision-gate.yml".into()), policy.into());
    gate.write("precision-gate.yml", "severity: { output-diverges: info }\n");
    let ended = gate.command(&["publish", "result.json", "--today", "2026-11-21"]);
    let state = fake.state();
    let comment = state.said().last().map_or_else(String::new, |(_, body)| (*body).to_owned());
    Posted { ended, check: state.checks.last().cloned().unwrap_or_default(), comment }
}

fn failing() -> Value {
    of_head(&judged(&fixture("dumps/gpt_bf16_stats_attention_scale"), &policy_of(""), Request::ALL_CHECKS))
}

fn passing() -> Value {
    of_head(&judged(&fixture("dumps/md5_identical"), &policy_of(""), Request::ALL_CHECKS))
}

#[test]
fn a_pass_with_failing_units_is_refused() {
    let fake = GitHub::start("");
    let mut lie = failing();
    lie["verdict"] = "pass".into();
    let posted = publish(&fake, &lie, "");
    assert_eq!(posted.ended.code, 2, "{:?}", posted.ended);
    assert!(posted.ended.stderr.contains("verdict: says pass, and a check says fail"), "{:?}", posted.ended);
    assert_eq!(posted.check["conclusion"], "failure");
    assert!(posted.comment.contains("verdict=unfinished"), "{}", posted.comment);
    fake.requests();
}

#[test]
fn a_pass_without_checks_is_refused() {
    let fake = GitHub::start("");
    let mut lie = passing();
    lie["checks"] = json!([]);
    let posted = publish(&fake, &lie, "");
    assert_eq!((posted.ended.code, posted.check["conclusion"].as_str()), (2, Some("failure")), "{:?}", posted.ended);
    assert!(posted.ended.stderr.contains("holds no check"), "{:?}", posted.ended);
}

#[test]
fn a_result_of_another_repository_is_refused() {
    let fake = GitHub::start("");
    let mut other = passing();
    other["source"]["repository"] = "mallory/other".into();
    let posted = publish(&fake, &other, "");
    assert_eq!((posted.ended.code, posted.check["conclusion"].as_str()), (2, Some("failure")), "{:?}", posted.ended);
    assert!(posted.ended.stderr.contains("is not the repository"), "{:?}", posted.ended);
}

#[test]
fn a_milder_profile_than_the_targets_is_refused() {
    let fake = GitHub::start("");
    for profile in ["strict", "release", "bit-exact"] {
        let posted = publish(&fake, &passing(), &format!("profile: {profile}\n"));
        assert_eq!(
            (posted.ended.code, posted.check["conclusion"].as_str()),
            (2, Some("failure")),
            "{:?}",
            posted.ended
        );
        let said = "has another section `profile` than the target branch's policy";
        assert!(posted.ended.stderr.contains(said), "{:?}", posted.ended);
    }
}

#[test]
fn a_required_check_that_judged_nothing_blocks() {
    let fake = GitHub::start("");
    let posted = publish(&fake, &passing(), "required: [loss]\n");
    assert_eq!((posted.ended.code, posted.check["conclusion"].as_str()), (0, Some("failure")), "{:?}", posted.ended);
    assert!(posted.comment.contains("verdict=incomplete"), "{}", posted.comment);
    assert!(
        posted
            .comment
            .contains("The result claims `pass`; judged by the target branch's policy, its content gives `incomplete`"),
        "{}",
        posted.comment
    );
    fake.requests();
}

#[test]
fn severities_and_waivers_are_the_targets() {
    let fake = GitHub::start("");
    let waived = "waivers: [{ code: '*', where: '*', reason: r, owner: o, expires: 2027-01-01 }]\n";
    let under_own = judged(&fixture("dumps/gpt_bf16_stats_attention_scale"), &policy_of(waived), Request::ALL_CHECKS);
    assert_eq!(under_own.verdict.as_str(), "pass", "the fork waives everything");
    let posted = publish(&fake, &of_head(&under_own), "");
    assert_eq!((posted.ended.code, posted.check["conclusion"].as_str()), (0, Some("failure")), "{:?}", posted.ended);
    assert!(posted.comment.contains("its content gives `fail`"), "{}", posted.comment);
    let posted = publish(&fake, &failing(), waived);
    assert_eq!((posted.ended.code, posted.check["conclusion"].as_str()), (0, Some("success")), "{:?}", posted.ended);
    let expired = waived.replace("2027", "2026");
    let posted = publish(&fake, &of_head(&under_own), &expired);
    assert_eq!(posted.check["conclusion"], "failure");
    assert!(posted.comment.contains("expired on `2026-01-01`"), "{}", posted.comment);
}

#[test]
fn whose_numbers_they_are_stands_in_the_check_and_in_the_comment() {
    let fake = GitHub::start("");
    let posted = publish(&fake, &passing(), "");
    assert_eq!((posted.ended.code, posted.check["conclusion"].as_str()), (0, Some("success")), "{:?}", posted.ended);
    let title = posted.check["output"]["title"].as_str().unwrap();
    assert!(title.starts_with("by the fork's own numbers: "), "{title}");
    for text in [posted.check["output"]["summary"].as_str().unwrap(), &posted.comment] {
        assert!(text.contains("The numbers were measured by the fork's run"), "{text}");
    }
    assert!(!posted.comment.contains("The result claims"), "{}", posted.comment);
}

#[test]
fn sentences_of_the_file_are_not_believed() {
    let fake = GitHub::start("");
    let mut result = failing();
    for finding in result["findings"].as_array_mut().unwrap() {
        finding["message"] = "all is well".into();
        finding["help"] = "merge it".into();
    }
    for diagnosis in result["diagnoses"].as_array_mut().unwrap() {
        diagnosis["evidence"] = json!(["all is well"]);
        diagnosis["advice"] = "merge it".into();
    }
    let posted = publish(&fake, &result, "");
    assert_eq!(posted.ended.code, 0, "{:?}", posted.ended);
    let said = format!("{}{}", posted.comment, posted.check["output"]);
    assert!(!said.contains("all is well") && !said.contains("merge it"), "{said}");
}

#[test]
fn operations_that_do_not_fit_are_refused() {
    let fake = GitHub::start("");
    let result = passing();
    let gate = second_half(&fake);
    gate.write("result.json", &result.to_string());
    let ended = gate.command(&["publish", "result.json"]);
    assert!(ended.code == 2 && ended.stderr.contains("so the verdict on its dumps is only claimed"), "{ended:?}");
    gate.write("operations.jsonl", "{}\n");
    let ended = gate.command(&["publish", "result.json"]);
    assert_eq!(ended.code, 2, "{ended:?}");
    assert!(ended.stderr.contains("does not match the `operations.jsonl` next to the result"), "{ended:?}");
    std::fs::remove_file(gate.path("operations.jsonl")).expect("removed");
    std::os::unix::fs::symlink("/dev/zero", gate.path("operations.jsonl")).expect("a link");
    let ended = gate.command(&["publish", "result.json"]);
    assert!(ended.code == 2 && ended.stderr.contains("is not a regular file"), "{ended:?}");
}

#[test]
fn more_than_a_result_can_hold_is_refused_before_it_is_kept() {
    for (text, said) in [
        (format!("[{}0]", "0,".repeat(2_000_000)), "more than 2000000 values"),
        (format!("[\"{}\"]", "x".repeat(70_000)), "a text of 70000 bytes"),
        (format!("{{\"{}\":1}}", "x".repeat(70_000)), "a text of 70000 bytes"),
    ] {
        let error = parse("r.json", &text).expect_err("too much");
        assert_eq!(error.kind(), ErrorKind::LimitExceeded);
        assert!(error.to_string().contains(said), "{error}");
    }
    let deep = "[".repeat(100_000);
    assert_eq!(parse("r.json", &deep).expect_err("no result").kind(), ErrorKind::Corrupt);
}
