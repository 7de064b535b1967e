//! Runs that report and block nothing: every state of a change, with and without `report-only`.

use crate::forge::fake::Fake;
use crate::forge::fake::community::Community;
use crate::forge::fake::github::{GitHub, HEAD, PULL, TIP, TOKEN};
use crate::forge::fake::gitlab::GitLab;
use crate::forge::gate::{Gate, Pair};

const WAIVER: &str = "waivers: [{ code: '*', where: '*', owner: li, reason: known, expires: 2026-12-01 }]\n";
const NEWER: &str = "4444444444444444444444444444444444444444";
const WOULD_BLOCK: &str = "Report only: nothing is blocked. Without `report-only` this would block.";
const WOULD_NOT: &str = "Report only: nothing is blocked. Without `report-only` this would not block either.";

/// Exit code, conclusion of the check, its title, and the comment; of runs on GitHub under `policy`.
struct Posted {
    code: i32,
    conclusion: String,
    title: String,
    comment: String,
}

fn on_github(pair: Pair, policy: &str, flags: &[&str], prepare: impl FnOnce(&Fake<GitHub>)) -> Posted {
    let fake = GitHub::start("");
    prepare(&fake);
    let gate = Gate::on_github(&fake.base);
    gate.write("precision-gate.yml", policy);
    let ended = gate.run(pair, flags);
    let state = fake.state();
    let check = state.checks.last().cloned().unwrap_or_default();
    assert!(check["head_sha"].as_str().is_none_or(|head| head == HEAD), "{check}");
    Posted {
        code: ended.code,
        conclusion: check["conclusion"].as_str().unwrap_or_default().to_owned(),
        title: check["output"]["title"].as_str().unwrap_or_default().to_owned(),
        comment: state.said().last().map_or_else(String::new, |(_, body)| (*body).to_owned()),
    }
}

#[test]
fn every_state_reports_and_only_errors_block() {
    let nothing: fn(&Fake<GitHub>) = |_| {};
    let moved_on: fn(&Fake<GitHub>) = |fake| fake.state().pulls.get_mut(&PULL).expect("there").0 = NEWER.into();
    let closed: fn(&Fake<GitHub>) = |fake| fake.state().closed = true;
    for (name, pair, policy, prepare, (blocking, conclusion), said) in [
        ("pass", Pair::Pass, "profile: default\n", nothing, (0, "success"), Some(WOULD_NOT)),
        ("fail", Pair::Fail, "profile: default\n", nothing, (1, "failure"), Some(WOULD_BLOCK)),
        ("waived", Pair::Fail, WAIVER, nothing, (0, "success"), Some(WOULD_NOT)),
        // The comment is the newer commit's run's to write.
        ("force-push", Pair::Fail, "profile: default\n", moved_on, (1, "failure"), None),
        ("closed", Pair::Fail, "profile: default\n", closed, (1, "failure"), Some(WOULD_BLOCK)),
        ("damaged policy", Pair::Fail, "no-such-key: 1\n", nothing, (2, "failure"), None),
    ] {
        let posted = on_github(pair, policy, &[], prepare);
        assert_eq!((posted.code, posted.conclusion.as_str()), (blocking, conclusion), "{name}");
        assert!(!posted.comment.contains("Report only"), "{name}: {}", posted.comment);
        let posted = on_github(pair, policy, &["--report-only"], prepare);
        let is_error = blocking > 1;
        let expected = if is_error { (blocking, "failure") } else { (0, "neutral") };
        assert_eq!((posted.code, posted.conclusion.as_str()), expected, "{name}");
        assert_eq!(posted.title.starts_with("report only: "), !is_error, "{name}: {}", posted.title);
        match said {
            Some(said) => assert!(posted.comment.contains(said), "{name}: {}", posted.comment),
            None => assert!(!posted.comment.contains("Report only"), "{name}: {}", posted.comment),
        }
    }
}

#[test]
fn the_policy_says_it_as_the_flag_does_and_the_result_holds_it() {
    for (policy, flags, expected) in [
        ("report-only: true\n", &[][..], true),
        ("report-only: false\n", &["--report-only"], true),
        ("report-only: false\n", &[], false),
    ] {
        let gate = Gate::outside();
        gate.write("precision-gate.yml", policy);
        let ended = gate.run(Pair::Fail, flags);
        assert_eq!(ended.code, i32::from(!expected), "{policy} {flags:?}: {ended:?}");
        assert_eq!(ended.stdout.contains("Report only: nothing is blocked."), expected, "{}", ended.stdout);
        let text = std::fs::read_to_string(gate.path("precision-gate-out/result.json")).expect("a result");
        let result: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(result.get("report_only").is_some(), expected, "{policy} {flags:?}");
        assert_eq!(result["verdict"], "fail", "the verdict that was found stays");
    }
    let gate = Gate::outside();
    assert_eq!(gate.command(&["run", "no", "no", "--report-only"]).code, 2, "a path that is not there");
}

#[test]
fn a_warning_whose_exit_code_is_one_blocks_nothing_either() {
    let gate = Gate::outside();
    gate.write("precision-gate.yml", "severity: { output-diverges: warn }\n");
    for (code, expected) in [("1", 0), ("10", 10)] {
        let ended = gate.run(Pair::Fail, &["--warn-exit-code", code, "--report-only"]);
        assert_eq!(ended.code, expected, "{ended:?}");
    }
}

#[test]
fn a_result_does_not_say_itself_that_it_blocks_nothing() {
    let fake = GitHub::start("");
    let gate = Gate::on_github(&fake.base);
    gate.run(Pair::Fail, &["--report-only"]);
    let result = gate.path("precision-gate-out/result.json");
    for (policy, conclusion) in [("profile: default\n", "failure"), ("report-only: true\n", "neutral")] {
        gate.write("precision-gate.yml", policy);
        fake.state().files.insert((TIP.into(), "precision-gate.yml".into()), policy.into());
        let ended = gate.command(&["publish", &result]);
        assert_eq!(ended.code, 0, "{ended:?}");
        let state = fake.state();
        assert_eq!(state.checks.last().expect("a check")["conclusion"], conclusion, "{policy}");
        let body = state.said().last().expect("a comment").1.to_owned();
        assert_eq!(body.contains(WOULD_BLOCK), conclusion == "neutral", "{body}");
    }
}

#[test]
fn forges_without_a_neutral_check_get_a_success_that_says_so() {
    let fake = GitLab::start();
    let gate = Gate::on_gitlab(&fake.base);
    let ended = gate.run(Pair::Fail, &["--report-only", "--check", "status", "--image", "none"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    let status = fake.state().statuses.last().expect("a status").clone();
    assert_eq!(status["status"], "success");
    assert!(status["description"].as_str().is_some_and(|said| said.starts_with("report only: ")), "{status}");
    assert!(fake.state().said()[0].1.contains(WOULD_BLOCK));

    let fake = Community::start(false);
    let mut gate = Gate::outside();
    gate.set(&[("GITEE_TOKEN", TOKEN)]);
    let place = ["--publish", "--forge", "gitee", "--url", &fake.base, "--repo", "org/model", "--number", "7"];
    assert_eq!(gate.run(Pair::Fail, &[&place[..], &["--report-only", "--lang", "zh"]].concat()).code, 0);
    assert!(fake.state().comments[0].1.contains("仅报告：不阻塞任何内容。去掉 `report-only` 后，本次会阻塞。"));
}
