//! One commit, several requests: each is judged by its own branch's policy, and the worst counts for the commit's check.

use serde_json::{Value, json};

use crate::forge::fake::Fake;
use crate::forge::fake::github::{BASE, GitHub, HEAD, PULL, TIP};
use crate::forge::fake::gitlab::{self, GitLab};
use crate::forge::gate::{Ended, Gate, Pair, finished_workflow, pull_request};

/// A policy that lets everything pass.
const LAX: &str = "waivers: [{ code: '*', where: '*', reason: all is well, owner: mallory, expires: 2027-01-01 }]\n";
const STRICT: &str = "required: [dump]\n";
/// Tip of the branch with the lax policy.
const LAX_TIP: &str = "6666666666666666666666666666666666666666";

/// A repository whose pull requests 7 and 8, of the forks' branches `labels`, go to `targets`, with a lax policy on `lax`.
fn repository(targets: [&str; 2], labels: [&str; 2]) -> Fake<GitHub> {
    let fake = GitHub::start("");
    let mut state = fake.state();
    state.from_fork = true;
    state.tips.insert("lax".into(), LAX_TIP.into());
    for (number, (target, label)) in [PULL, PULL + 1].into_iter().zip(targets.into_iter().zip(labels)) {
        state.pulls.insert(number, (HEAD.into(), BASE.into(), label.into()));
        state.targets.insert(number, target.into());
    }
    let lax = format!("{STRICT}{LAX}");
    for (commit, policy) in [(TIP, STRICT), (LAX_TIP, lax.as_str())] {
        state.files.insert((commit.into(), "precision-gate.yml".into()), policy.into());
    }
    drop(state);
    fake
}

fn job(fake: &Fake<GitHub>, event: &str, payload: &Value) -> Gate {
    let mut gate = Gate::on_github(&fake.base);
    gate.write("event.json", &payload.to_string());
    gate.set(&[("GITHUB_EVENT_NAME", event)]);
    gate
}

/// The event of request 7 as if it went to `base`.
fn event_of(base: &str) -> Value {
    let mut event = pull_request("dev/model");
    event["pull_request"]["base"]["ref"] = base.into();
    event
}

fn judge_upload(gate: &Gate) -> Ended {
    let [gpu, npu] = Pair::Fail.folders();
    for side in walk(&npu) {
        let text = std::fs::read(&side).expect("a file");
        let name = side.strip_prefix(&npu).expect("below").display().to_string();
        gate.write(&format!("incoming/{name}"), &String::from_utf8(text).expect("text"));
    }
    gate.command(&["publish", "--judge", "incoming", "--baseline", &gpu.display().to_string(), "--today", "2026-11-21"])
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

/// The check blocks, and names each branch with the commit of its policy.
fn assert_both_told(fake: &Fake<GitHub>, what: &str) {
    let state = fake.state();
    let check = state.checks.last().expect("a check");
    assert_eq!(check["conclusion"], "failure", "{what}");
    let summary = check["output"]["summary"].as_str().expect("text");
    assert!(summary.contains("`main` (policy at `444444444444`): `fail`"), "{what}: {summary}");
    assert!(summary.contains("`lax` (policy at `666666666666`): `pass`"), "{what}: {summary}");
}

/// Comment and verdict of a request.
fn comment(fake: &Fake<GitHub>, number: u64) -> String {
    let state = fake.state();
    let said: Vec<&String> = state.comments.iter().filter(|comment| comment.1 == number).map(|said| &said.3).collect();
    assert_eq!(said.len(), 1, "one comment on #{number}");
    said[0].clone()
}

#[test]
fn the_worst_of_a_commits_requests_counts_whichever_came_first() {
    let dev = "dev:topic";
    for (targets, labels) in [
        (["main", "lax"], [dev, dev]),
        (["lax", "main"], [dev, dev]),
        (["lax", "main"], ["dev:topic", "dev:copy"]),
        (["lax", "main"], ["mallory:topic", "dev:topic"]),
    ] {
        let what = format!("{targets:?} {labels:?}");
        let fake = repository(targets, labels);
        let gate = job(&fake, "workflow_run", &finished_workflow());
        let ended = judge_upload(&gate);
        assert_eq!(ended.code, 0, "{what}: {ended:?}");
        assert_both_told(&fake, &what);
        fake.requests();

        let fake = repository(targets, labels);
        let gate = job(&fake, "pull_request_target", &event_of(targets[0]));
        let ended = gate.run(Pair::Fail, &[]);
        assert_eq!(ended.code, 1, "{what}: {ended:?}");
        assert_both_told(&fake, &what);
        // The event's own request has its comment; the other's is left to its own run.
        let verdict = if targets[0] == "main" { "verdict=fail" } else { "verdict=pass" };
        assert!(comment(&fake, PULL).contains(verdict), "{what}");
        assert!(comment(&fake, PULL).contains("requests to 2 branches"), "{what}");
        fake.requests();
    }
}

#[test]
fn an_earlier_result_is_decided_for_every_request_of_its_commit() {
    let first = repository(["main", "main"], ["dev:topic", "dev:topic"]);
    let judged = job(&first, "pull_request_target", &event_of("main"));
    judged.run(Pair::Fail, &[]);
    first.requests();
    for targets in [["main", "lax"], ["lax", "main"]] {
        let fake = repository(targets, ["dev:topic", "dev:topic"]);
        let gate = job(&fake, "workflow_run", &finished_workflow());
        for file in ["result.json", "operations.jsonl"] {
            gate.write(file, &judged.read(&format!("precision-gate-out/{file}")));
        }
        let ended = gate.command(&["publish", "result.json"]);
        assert_eq!(ended.code, 0, "{ended:?}");
        assert_both_told(&fake, &format!("{targets:?}"));
        let of_main = if targets[0] == "main" { PULL } else { PULL + 1 };
        assert!(comment(&fake, of_main).contains("verdict=fail"));
        assert!(comment(&fake, PULL + PULL + 1 - of_main).contains("verdict=pass"));
        fake.requests();
    }
}

/// The event was made before somebody edited the request's base.
#[test]
fn a_request_whose_base_was_edited_is_judged_by_the_branch_that_it_goes_to_now() {
    let fake = repository(["main", "main"], ["dev:topic", "dev:topic"]);
    let gate = job(&fake, "pull_request_target", &event_of("lax"));
    let ended = gate.run(Pair::Fail, &[]);
    assert_eq!(ended.code, 1, "{ended:?}");
    let result: Value = serde_json::from_str(&gate.read("precision-gate-out/result.json")).expect("JSON");
    assert_eq!(result["source"]["target"], json!({ "branch": "main", "commit": TIP }));
    fake.requests();
}

#[test]
fn a_request_that_is_retargeted_while_it_is_judged_is_judged_again() {
    let fake = repository(["lax", "lax"], ["dev:topic", "dev:topic"]);
    fake.state().retargeted = Some((1, PULL, "main".into()));
    let gate = job(&fake, "workflow_run", &finished_workflow());
    let ended = judge_upload(&gate);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_both_told(&fake, "retargeted");
    fake.requests();
}

#[test]
fn a_dry_run_is_judged_by_the_branch_of_its_request() {
    let fake = repository(["release", "release"], ["dev:topic", "dev:topic"]);
    fake.state().tips.insert("release".into(), TIP.into());
    let gate = job(&fake, "pull_request_target", &event_of("release"));
    let ended = gate.run(Pair::Fail, &["--dry-run"]);
    assert_eq!(ended.code, 1, "{ended:?}");
    let result: Value = serde_json::from_str(&gate.read("precision-gate-out/result.json")).expect("JSON");
    assert_eq!(result["source"]["target"]["branch"], "release");
    assert_eq!(fake.writes(), [""; 0]);
    fake.requests();
}

#[test]
fn a_closed_request_decides_nothing() {
    let fake = repository(["lax", "lax"], ["dev:topic", "dev:topic"]);
    fake.state().closed = true;
    let gate = job(&fake, "pull_request_target", &event_of("lax"));
    let ended = gate.run(Pair::Fail, &[]);
    assert_eq!(ended.code, 1, "{ended:?}");
    let result: Value = serde_json::from_str(&gate.read("precision-gate-out/result.json")).expect("JSON");
    assert_eq!(result["source"]["target"], json!({ "branch": "main", "commit": TIP }), "the default branch decides");
    assert_eq!(fake.state().checks.last().expect("a check")["conclusion"], "failure");
    fake.requests();
}

#[test]
fn a_merge_queue_is_judged_by_its_own_branch() {
    let fake = repository(["lax", "lax"], ["dev:topic", "dev:topic"]);
    fake.state().tips.insert("release".into(), TIP.into());
    let queue = json!({
        "head_sha": "7777777777777777777777777777777777777777",
        "head_ref": "refs/heads/gh-readonly-queue/release/pr-7-0123abcd", "base_ref": "refs/heads/release",
    });
    let event =
        json!({ "repository": { "id": 1, "full_name": "org/model", "default_branch": "lax" }, "merge_group": queue });
    let gate = job(&fake, "merge_group", &event);
    let ended = gate.run(Pair::Fail, &[]);
    assert_eq!(ended.code, 1, "{ended:?}");
    let result: Value = serde_json::from_str(&gate.read("precision-gate-out/result.json")).expect("JSON");
    assert_eq!(result["source"]["target"]["branch"], "release");
    fake.requests();
}

#[test]
fn requests_to_more_branches_than_are_judged_block() {
    let fake = repository(["lax", "main"], ["dev:topic", "dev:topic"]);
    for number in 20..30_u64 {
        let mut state = fake.state();
        state.pulls.insert(number, (HEAD.into(), BASE.into(), "dev:topic".into()));
        state.targets.insert(number, format!("branch-{number}"));
    }
    let gate = job(&fake, "workflow_run", &finished_workflow());
    let ended = judge_upload(&gate);
    assert_eq!(ended.code, 2, "{ended:?}");
    assert!(ended.stderr.contains("is the head of requests to 12 branches; at most 8 are judged"), "{ended:?}");
    assert_eq!(fake.state().checks.last().expect("a check")["conclusion"], "failure");
    fake.requests();
}

#[test]
fn a_merge_request_is_judged_for_every_branch_that_its_commit_is_to_be_merged_into() {
    let fake = GitLab::start();
    let mut state = fake.state();
    state.others = vec![(6, "lax".into())];
    state.tips.insert("lax".into(), LAX_TIP.into());
    let lax = format!("{STRICT}{LAX}");
    for (commit, policy) in [(gitlab::TIP, STRICT), (LAX_TIP, lax.as_str())] {
        state.files.insert((commit.into(), "precision-gate.yml".into()), policy.into());
    }
    drop(state);
    for target in ["main", "lax"] {
        let mut gate = Gate::on_gitlab(&fake.base);
        gate.set(&[("CI_MERGE_REQUEST_SOURCE_PROJECT_ID", "2"), ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", target)]);
        let ended = gate.run(Pair::Fail, &["--check", "status"]);
        assert_eq!(ended.code, 1, "{target}: {ended:?}");
        let statuses = fake.state().statuses.clone();
        assert_eq!(statuses.last().expect("a status")["status"], "failed", "{target}");
    }
    fake.requests();
}
