//! Pull requests from forks: the first workflow cannot write, the second believes nothing.

use serde_json::Value;

use crate::forge::fake::Fake;
use crate::forge::fake::github::{BASE, GitHub, HEAD, Rights, TIP, TOKEN};
use crate::forge::gate::{Gate, Pair, finished_workflow, pull_request};

fn first_half(fake: &Fake<GitHub>) -> Gate {
    let gate = Gate::on_github(&fake.base);
    gate.write("event.json", &pull_request("dev/model").to_string());
    fake.state().tokens.insert(TOKEN.into(), Rights::read_only());
    gate
}

fn second_half(fake: &Fake<GitHub>) -> Gate {
    let mut gate = Gate::on_github(&fake.base);
    gate.write("event.json", &finished_workflow().to_string());
    gate.set(&[("GITHUB_EVENT_NAME", "workflow_run"), ("GITHUB_RUN_ID", "80")]);
    fake.state().tokens.insert(TOKEN.into(), Rights::workflow());
    gate
}

/// The result of a first half on a failing pair, and its lines.
fn judged(fake: &Fake<GitHub>) -> [String; 2] {
    let gate = first_half(fake);
    gate.run(Pair::Fail, &[]);
    fake.requests();
    ["result.json", "operations.jsonl"].map(|file| gate.read(&format!("precision-gate-out/{file}")))
}

#[test]
fn the_first_half_writes_nothing_and_says_how_to_go_on() {
    let fake = GitHub::start("");
    let gate = first_half(&fake);
    let ended = gate.run(Pair::Fail, &["--strict-publish"]);
    assert_eq!(ended.code, 1, "{ended:?}");
    let notices: Vec<&str> = ended.stdout.lines().filter(|line| line.contains("docs/publish.md")).collect();
    assert!(matches!(notices[..], [one] if one.starts_with("::notice ")), "{ended:?}");
    assert_eq!(fake.writes(), [""; 0]);
    assert!(gate.read("step-summary").contains("## ❌ "));
}

#[test]
fn the_second_half_posts_a_result_of_the_head_commit() {
    let fake = GitHub::start("");
    let [result, lines] = judged(&fake);
    let gate = second_half(&fake);
    gate.write("result.json", &result);
    gate.write("operations.jsonl", &lines);
    let ended = gate.command(&["publish", "result.json"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    let state = fake.state();
    let body = state.said()[0].1;
    assert!(body.contains("verdict=fail") && body.contains("The numbers were measured by the fork's run"), "{body}");
    assert_eq!((&state.checks[0]["conclusion"], &state.checks[0]["head_sha"]), (&"failure".into(), &HEAD.into()));
    drop(state);
    fake.requests();
}

#[test]
fn what_is_not_of_the_head_commit_or_no_result_is_refused() {
    let fake = GitHub::start("");
    let [result, _] = judged(&fake);
    let mut other: Value = serde_json::from_str(&result).expect("JSON");
    other["source"]["commit"] = "5555555555555555555555555555555555555555".into();
    let mut nameless = other.clone();
    nameless.as_object_mut().expect("an object").remove("source");
    let mut shapeless = other.clone();
    shapeless["checks"] = "none".into();
    for (index, (text, said)) in [
        (other.to_string(), "is of commit 5555555555555555555555555555555555555555, and the head commit is 1111"),
        (nameless.to_string(), "does not say which commit it is of"),
        (shapeless.to_string(), "give a `result.json` as precision-gate wrote it"),
        ("{".into(), "give a `result.json` as precision-gate wrote it"),
        (String::new(), "result.json"),
    ]
    .into_iter()
    .enumerate()
    {
        let gate = second_half(&fake);
        if !text.is_empty() {
            gate.write("result.json", &text);
        }
        let ended = gate.command(&["publish", "result.json"]);
        assert_eq!(ended.code, 2, "{said}: {ended:?}");
        assert!(ended.stderr.contains(said), "{said}: {ended:?}");
        let state = fake.state();
        assert!(matches!(state.said()[..], [(_, body)] if body.contains("verdict=unfinished")), "{said}");
        assert_eq!(state.checks[index]["conclusion"], "failure", "a refused result blocks: {said}");
    }
    fake.requests();
}

#[test]
fn the_target_branch_decides_about_a_fork() {
    let fake = GitHub::start("");
    fake.state()
        .files
        .insert((TIP.into(), "precision-gate.yml".into()), "severity: { output-diverges: fail }\n".into());
    let gate = first_half(&fake);
    gate.write("precision-gate.yml", "waivers: damaged\n");
    gate.write("templates/summary.md.j2", "all is well");
    let ended = gate.run(Pair::Fail, &["--templates", "templates"]);
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(!gate.read("precision-gate-out/summary.md").contains("all is well"));
    let summary = gate.read("step-summary");
    assert!(summary.contains("It was judged by the target branch's version."), "{summary}");
    let requests = fake.requests();
    assert!(requests.contains(&"GET /repos/org/model/contents/precision-gate.yml -> 200".to_owned()), "{requests:?}");
}

#[test]
fn a_target_that_cannot_be_read_is_no_reason_to_believe_the_fork() {
    let fake = GitHub::start("");
    let mut gate = first_half(&fake);
    gate.unset("INPUT_TOKEN");
    gate.write("precision-gate.yml", "severity: { output-diverges: info }\n");
    let ended = gate.run(Pair::Fail, &[]);
    assert_eq!(ended.code, 3, "{ended:?}");
    assert!(ended.stderr.contains("no token to read the target branch with"), "{ended:?}");
}

#[test]
fn a_change_of_the_policy_is_told_by_the_second_half_too() {
    let fake = GitHub::start("");
    let [result, lines] = judged(&fake);
    let mut files = [(BASE, "profile: strict\n"), (HEAD, "profile: default\n")].into_iter();
    for (commit, text) in files.by_ref() {
        fake.state().files.insert((commit.into(), "precision-gate.yml".into()), text.into());
    }
    let gate = second_half(&fake);
    gate.write("result.json", &result);
    gate.write("operations.jsonl", &lines);
    assert_eq!(gate.command(&["publish", "result.json"]).code, 0);
    assert!(
        fake.state().said()[0]
            .1
            .contains("This change edits the files that decide its verdict:** `precision-gate.yml`")
    );
}
