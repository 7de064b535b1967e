//! Runs without a verdict: cancelled and refused ones leave nothing green behind, and the next run makes it good.

use std::process::Command;

use crate::forge::fake::community::Community;
use crate::forge::fake::github::{GitHub, HEAD, PULL, Rights, TOKEN};
use crate::forge::fake::gitlab::GitLab;
use crate::forge::fake::{Brain, Fake, Wrong};
use crate::forge::gate::{Gate, Pair, finished_workflow, shows};

const NEWER: &str = "4444444444444444444444444444444444444444";

fn on_github() -> (Fake<GitHub>, Gate) {
    let fake = GitHub::start("");
    let gate = Gate::on_github(&fake.base);
    (fake, gate)
}

fn on_gitlab() -> (Fake<GitLab>, Gate) {
    let fake = GitLab::start();
    let gate = Gate::on_gitlab(&fake.base);
    (fake, gate)
}

/// Starts a run that is long enough to be cancelled, and cancels it once it listens to signals; its exit code.
fn cancelled(gate: &Gate, signal: &str, more: &[&str]) -> i32 {
    let line = |step: usize| format!("{{\"step\": {step}, \"loss\": {}}}\n", 2.0 / (step as f64 + 1.0));
    let text: String = (0..400_000).map(line).collect();
    gate.write("gpu/loss.jsonl", &text);
    gate.write("npu/loss.jsonl", &text);
    let start = ["run", "--baseline", "gpu", "--candidate", "npu", "-q"];
    let mut child = gate.started(&[&start, more].concat()).spawn().expect("runs");
    while !listens(child.id()) {
        assert!(child.try_wait().expect("a child").is_none(), "it ended before it could be cancelled");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let killed = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill");
    assert!(killed.success());
    child.wait().expect("ends").code().unwrap_or(-1)
}

/// Whether a process catches SIGTERM and SIGINT.
fn listens(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    [2, 15].iter().all(|signal| mask >> (signal - 1) & 1 == 1)
}

fn body(fake: &Fake<GitHub>) -> String {
    let state = fake.state();
    let [(_, body)] = state.said()[..] else { panic!("one comment, not {:?}", state.said()) };
    body.to_owned()
}

fn note(fake: &Fake<GitLab>) -> String {
    let state = fake.state();
    let [(_, body)] = state.said()[..] else { panic!("one note, not {:?}", state.said()) };
    body.to_owned()
}

fn about<B: Brain>(fake: &Fake<B>, word: &str) -> Vec<String> {
    fake.writes().into_iter().filter(|line| line.contains(word)).collect()
}

#[test]
fn a_cancelled_run_leaves_no_green_comment_on_github() {
    let (fake, mut gate) = on_github();
    assert_eq!(gate.run(Pair::Pass, &[]).code, 0);
    assert!(shows(&body(&fake), "pass"));
    fake.requests();
    gate.set(&[("GITHUB_RUN_ID", "78")]);
    for (signal, code) in [("-TERM", 143), ("-INT", 130)] {
        assert_eq!(cancelled(&gate, signal, &[]), code);
        let said = body(&fake);
        assert!(shows(&said, "unfinished"), "{said}");
        assert!(said.contains("The run was cancelled before it had a verdict. Run the job again."), "{said}");
        assert!(said.contains("[job](https://github.com/org/model/actions/runs/78)"), "{said}");
        let check = fake.state().checks.last().expect("a check").clone();
        assert_eq!(check["conclusion"], "failure");
        assert_eq!(check["output"]["title"], "did not finish: the run was cancelled before it had a verdict");
        let writes = fake.writes();
        let places: Vec<bool> = writes.iter().map(|line| line.contains("check-runs")).collect();
        assert!(places.is_sorted_by(|one, other| one >= other), "the check goes first: {writes:?}");
    }
    // A new run makes it good, also where only changes are written.
    assert_eq!(gate.run(Pair::Pass, &["--comment", "on-change", "--strict-publish"]).code, 0);
    assert!(shows(&body(&fake), "pass"));
    fake.requests();
}

#[test]
fn a_cancelled_run_leaves_no_green_note_on_gitlab() {
    let (fake, gate) = on_gitlab();
    assert_eq!(gate.run(Pair::Pass, &["--image", "none"]).code, 0);
    fake.requests();
    assert_eq!(cancelled(&gate, "-TERM", &["--lang", "zh"]), 143);
    let said = note(&fake);
    assert!(shows(&said, "unfinished") && said.contains("运行在得出结论前被取消"), "{said}");
    assert!(fake.state().statuses.is_empty(), "the job is the status");
    assert_eq!(cancelled(&gate, "-TERM", &["--check", "status"]), 143);
    assert_eq!(fake.state().statuses.last().expect("a status")["status"], "failed");
    assert_eq!(gate.run(Pair::Pass, &["--image", "none", "--strict-publish"]).code, 0);
    assert!(shows(&note(&fake), "pass"));
    fake.requests();
}

#[test]
fn a_cancelled_run_writes_no_first_comment_and_none_that_is_not_its_own() {
    let (fake, gate) = on_github();
    cancelled(&gate, "-TERM", &[]);
    assert!(fake.state().said().is_empty());
    // A newer commit cancelled this run: the comment is its run's.
    gate.run(Pair::Pass, &[]);
    fake.state().pulls.get_mut(&PULL).expect("there").0 = NEWER.into();
    fake.requests();
    cancelled(&gate, "-TERM", &[]);
    assert!(shows(&body(&fake), "pass"));
    assert_eq!(about(&fake, "comments"), [""; 0]);
    assert_eq!(fake.state().checks.last().expect("a check")["conclusion"], "failure");
    fake.state().pulls.get_mut(&PULL).expect("there").0 = HEAD.into();
    cancelled(&gate, "-TERM", &["--comment", "never"]);
    assert!(shows(&body(&fake), "pass"), "not wanted");

    let (fake, gate) = on_gitlab();
    gate.run(Pair::Pass, &["--image", "none"]);
    fake.state().head = NEWER.into();
    fake.requests();
    cancelled(&gate, "-TERM", &[]);
    assert!(shows(&note(&fake), "pass"));
    assert_eq!(fake.writes(), [""; 0]);
}

#[test]
fn an_app_that_is_cancelled_finds_its_comment_by_its_check() {
    let (fake, gate) = on_github();
    fake.state().tokens.insert(TOKEN.into(), Rights { login: "my-gate[bot]", ..Rights::workflow() });
    gate.run(Pair::Pass, &[]);
    cancelled(&gate, "-TERM", &[]);
    assert!(shows(&body(&fake), "unfinished"));
    fake.requests();
}

#[test]
fn a_forge_that_keeps_silent_does_not_hold_up_a_cancelled_run() {
    let (fake, gate) = on_github();
    gate.run(Pair::Pass, &[]);
    fake.fail("GET", "/pulls/7", 9, Wrong::Silent);
    assert_eq!(cancelled(&gate, "-TERM", &[]), 143, "by itself, and not killed");
    assert_eq!(fake.state().checks.last().expect("a check")["conclusion"], "failure", "the check went first");
}

#[test]
fn a_refused_run_says_why_in_check_and_comment_on_github() {
    for green_before in [true, false] {
        let (fake, mut gate) = on_github();
        if green_before {
            gate.run(Pair::Pass, &[]);
        }
        gate.set(&[("GITHUB_RUN_ID", "78"), ("MY_API_TOKEN", "planted-secret-value")]);
        gate.write("precision-gate.yml", "planted-secret-value-key: 1\n");
        assert_eq!(gate.run(Pair::Fail, &[]).code, 2);
        let said = body(&fake);
        assert!(shows(&said, "unfinished"), "{said}");
        assert!(said.contains("## ❌ Did not finish: there is no verdict\n\nThe run ended with an error: "), "{said}");
        assert!(said.contains("precision-gate.yml") && said.contains("commit `111111111111`"), "{said}");
        assert!(!said.contains("planted-secret-value"), "{said}");
        let check = fake.state().checks.last().expect("a check").clone();
        let title = check["output"]["title"].as_str().unwrap_or_default().to_owned();
        assert!(title.starts_with("did not finish: precision-gate.yml"), "{title}");
        assert!(!check.to_string().contains("planted-secret-value"), "{check}");
        assert_eq!(check["conclusion"], "failure");

        gate.write("precision-gate.yml", "profile: default\n");
        let missing = gate.command(&["run", "--baseline", "no", "--candidate", "no"]);
        assert_eq!(missing.code, 2, "{missing:?}");
        assert!(body(&fake).contains("The run ended with an error: "), "{}", body(&fake));
        assert_eq!(gate.run(Pair::Pass, &["--strict-publish"]).code, 0);
        assert!(shows(&body(&fake), "pass"));
        fake.requests();
    }
}

#[test]
fn a_refused_run_says_why_in_its_note_on_gitlab() {
    let (fake, gate) = on_gitlab();
    gate.run(Pair::Pass, &["--image", "none"]);
    gate.write("precision-gate.yml", "'/merge @all <b>': 1\n");
    assert_eq!(gate.run(Pair::Fail, &["--comment", "on-change"]).code, 2);
    let said = note(&fake);
    assert!(shows(&said, "unfinished") && said.contains("precision-gate.yml"), "{said}");
    assert!(!said.contains(" @all") && !said.contains(" <b>") || said.contains('`'), "{said}");
    assert_eq!(gate.run(Pair::Fail, &["--comment", "never", "--check", "status"]).code, 2);
    assert_eq!(fake.state().statuses.last().expect("a status")["status"], "failed");
    gate.write("precision-gate.yml", "profile: default\n");
    assert_eq!(gate.run(Pair::Pass, &["--image", "none", "--comment", "on-change", "--strict-publish"]).code, 0);
    assert!(shows(&note(&fake), "pass"));
    fake.requests();
}

#[test]
fn a_refused_run_writes_as_its_damaged_policy_says() {
    for (policy, said, check) in [
        ("no-such-key: 1\n", 1, "precision-gate"),
        ("no-such-key: 1\npublish: { key: night }\n", 1, "precision-gate (night)"),
        ("no-such-key: 1\npublish: { comment: never }\n", 0, "precision-gate"),
        ("no-such-key: 1\npublish: { comment: on-failure }\n", 1, "precision-gate"),
        // Whose comment it would be cannot be told.
        ("publish: [\n", 0, "precision-gate"),
    ] {
        let (fake, gate) = on_github();
        gate.write("precision-gate.yml", policy);
        assert_eq!(gate.run(Pair::Fail, &[]).code, 2);
        let state = fake.state();
        assert_eq!((state.said().len(), state.checks[0]["name"].as_str()), (said, Some(check)), "{policy}");
        assert_eq!(state.checks[0]["conclusion"], "failure", "{policy}");
    }
    let (fake, gate) = on_github();
    gate.run(Pair::Pass, &[]);
    gate.write("precision-gate.yml", "publish: [\n");
    gate.run(Pair::Pass, &[]);
    assert!(shows(&body(&fake), "unfinished"), "what is there does not stay green");
    fake.state().pulls.get_mut(&PULL).expect("there").0 = NEWER.into();
    gate.run(Pair::Pass, &["--sha", HEAD]);
    assert_eq!(fake.state().said().len(), 1);
}

#[test]
fn a_result_that_is_refused_leaves_no_green_comment() {
    let (fake, gate) = on_github();
    gate.run(Pair::Pass, &[]);
    let mut second = Gate::on_github(&fake.base);
    let event = finished_workflow().to_string().replace("\"dev/model\"", "\"org/model\"");
    second.write("event.json", &event);
    second.set(&[("GITHUB_EVENT_NAME", "workflow_run"), ("GITHUB_RUN_ID", "80")]);
    second.write("result.json", "{");
    let ended = second.command(&["publish", "result.json"]);
    assert_eq!(ended.code, 2, "{ended:?}");
    let said = body(&fake);
    assert!(shows(&said, "unfinished") && said.contains("result.json"), "{said}");
    fake.requests();
}

#[test]
fn gitee_and_gitcode_lose_their_green_label_too() {
    for (gitcode, forge, variable) in [(false, "gitee", "GITEE_TOKEN"), (true, "gitcode", "GITCODE_TOKEN")] {
        let fake = Community::start(gitcode);
        let mut gate = Gate::outside();
        gate.set(&[(variable, TOKEN)]);
        let place = ["--publish", "--forge", forge, "--url", &fake.base, "--repo", "org/model", "--number", "7"];
        fake.state().labels.clear();
        gate.run(Pair::Pass, &place);
        assert_eq!(fake.state().labels, ["precision-gate-pass"]);
        cancelled(&gate, "-TERM", &place);
        assert_eq!(fake.state().labels, ["precision-gate-incomplete"], "{forge}");
        assert!(shows(&fake.state().comments[0].1, "unfinished"), "{forge}");
        gate.run(Pair::Pass, &[&place[..], &["--strict-publish"]].concat());
        assert_eq!(fake.state().labels, ["precision-gate-pass"]);
    }
}
