//! A training job that failed: the gate has nothing to judge, says so, and blocks.

use serde_json::Value;

use crate::forge::fake::github::{GitHub, HEAD, Rights, TOKEN};
use crate::forge::fake::gitlab::{self, GitLab};
use crate::forge::gate::{Ended, Gate};

/// The trusted run of the quickstart.
const BASELINE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/quickstart/gpu");

/// Outcomes of training, in the forges' words, and the gate's report on each.
const ENDS: [(&str, &str); 6] = [
    ("failure", "Nothing to judge: training failed"),
    ("failed", "Nothing to judge: training failed"),
    ("cancelled", "Nothing to judge: training was cancelled"),
    ("canceled", "Nothing to judge: training was cancelled"),
    ("skipped", "Nothing to judge: training did not run"),
    ("unknown", "Nothing to judge: the training job wrote no artifacts, and its result is not known"),
];

/// `run` on a candidate in the job's own folder.
fn run(gate: &Gate, training: &str) -> Ended {
    gate.command(&[
        "run",
        "--baseline",
        BASELINE,
        "--candidate",
        "npu",
        "--today",
        "2026-11-21",
        "--training",
        training,
    ])
}

fn result(gate: &Gate) -> Value {
    serde_json::from_str(&gate.read("precision-gate-out/result.json")).expect("a result")
}

#[test]
fn github_is_told_that_there_is_nothing_to_judge() {
    for (training, said) in ENDS {
        let fake = GitHub::start("");
        let gate = Gate::on_github(&fake.base);
        let ended = run(&gate, training);
        assert_eq!(ended.code, 1, "{training}: {ended:?}");
        let state = fake.state();
        assert_eq!(state.checks[0]["name"], "precision-gate");
        assert_eq!(state.checks[0]["conclusion"], "failure", "{training}");
        assert_eq!(state.checks[0]["output"]["title"], format!("incomplete: {said}"));
        let [(_, body)] = state.said()[..] else { panic!("{:?}", state.said()) };
        assert!(body.contains(&format!("## ⚠️ {said}\n")), "{body}");
        drop(state);
        assert!(gate.read("step-summary").contains(said));
        assert!(gate.read("output").contains("incomplete"));
        fake.requests();
    }
}

#[test]
fn gitlab_is_told_that_there_is_nothing_to_judge() {
    for (training, said) in ENDS {
        let fake = GitLab::start();
        let gate = Gate::on_gitlab(&fake.base);
        let ended = run(&gate, training);
        assert_eq!(ended.code, 1, "{training}: {ended:?}");
        let state = fake.state();
        let [(author, body)] = state.said()[..] else { panic!("{:?}", state.said()) };
        assert_eq!(author, gitlab::BOT);
        assert!(body.contains(&format!("## ⚠️ {said}\n")), "{body}");
        drop(state);
        fake.requests();
    }
}

/// `run` as the component of GitLab runs it, with a file that the training job left.
fn run_by_file(text: Option<&str>, candidate: &str) -> (Gate, Ended) {
    let mut gate = Gate::outside();
    text.into_iter().for_each(|text| drop(gate.write("training.txt", text)));
    gate.set(&[("INPUT_TRAINING", "unknown"), ("INPUT_TRAINING_FILE", "training.txt")]);
    let ended = gate.command(&["run", "--baseline", BASELINE, "--candidate", candidate, "--today", "2026-11-21"]);
    (gate, ended)
}

#[test]
fn the_outcome_travels_as_a_file() {
    for (training, said) in ENDS {
        let (gate, ended) = run_by_file(Some(&format!("{training}\n")), "npu");
        assert_eq!((ended.code, ended.stderr.contains("warning")), (1, false), "{training}: {ended:?}");
        assert!(gate.read("precision-gate-out/summary.md").contains(said), "{training}");
    }
    // What the job before left is told as it would be without the file: the run is judged.
    let codes = |text| {
        let (gate, ended) = run_by_file(text, BASELINE);
        let result = result(&gate);
        (ended.stderr.contains("training.txt: "), result["findings"].to_string().contains("training-failed"))
    };
    assert_eq!(codes(Some("success")), (false, false));
    assert_eq!(codes(Some("failed")), (false, true));
    assert_eq!(codes(None), (false, false));
    assert_eq!(codes(Some("success\nINPUT_REPORT_ONLY=true")), (true, false));
    let (gate, ended) = run_by_file(Some("::set-output name=verdict::pass"), "npu");
    assert_eq!(ended.code, 1, "not known, and there is nothing: {ended:?}");
    assert!(ended.stderr.contains("counts as `unknown`") && !ended.stderr.contains("set-output"), "{ended:?}");
    assert!(gate.read("precision-gate-out/summary.md").contains("its result is not known"));
}

#[test]
fn every_document_is_written_without_a_candidate() {
    let gate = Gate::outside();
    let ended = run(&gate, "failure");
    assert_eq!(ended.code, 1, "{ended:?}");
    let found = result(&gate);
    assert_eq!(found["verdict"], "incomplete");
    assert_eq!(found["findings"][0]["code"], "training-failed");
    for document in ["summary.md", "report.html", "junit.xml", "sarif.json", "gl-code-quality.json", "metrics.txt"] {
        assert!(!gate.read(&format!("precision-gate-out/{document}")).is_empty(), "{document}");
    }
    let chinese = gate.command(&["report", "precision-gate-out/result.json", "--lang", "zh"]);
    assert_eq!(chinese.code, 0, "{chinese:?}");
    assert!(gate.read("precision-gate-out/summary.md").contains("没有可判定的内容：训练失败"));
}

#[test]
fn a_candidate_that_is_not_there_after_a_training_that_succeeded_is_a_slip() {
    let fake = GitHub::start("");
    let gate = Gate::on_github(&fake.base);
    let ended = run(&gate, "success");
    assert_eq!(ended.code, 2, "{ended:?}");
    assert!(ended.stderr.contains("npu"), "{ended:?}");
    let state = fake.state();
    assert_eq!(state.checks[0]["conclusion"], "failure");
    assert!(state.said()[0].1.contains("verdict=unfinished"), "{:?}", state.said());
}

#[test]
fn a_missing_baseline_is_a_slip_whatever_became_of_training() {
    let fake = GitHub::start("");
    let gate = Gate::on_github(&fake.base);
    let ended = gate.command(&["run", "--baseline", "gpu", "--candidate", "npu", "--training", "failure"]);
    assert_eq!(ended.code, 2, "{ended:?}");
    assert!(ended.stderr.contains("gpu"), "{ended:?}");
    assert_eq!(fake.state().checks[0]["conclusion"], "failure");
}

/// Judges the baseline against itself, as what a training job left that ended so.
fn left_behind(training: &str) -> (Ended, Value) {
    let gate = Gate::outside();
    let ended = gate.command(&["run", "--baseline", BASELINE, "--candidate", BASELINE, "--training", training]);
    let found = result(&gate);
    (ended, found)
}

#[test]
fn what_a_failed_training_left_is_judged_and_never_passes() {
    for training in ["failure", "cancelled", "skipped"] {
        let (ended, found) = left_behind(training);
        assert_eq!((ended.code, &found["verdict"]), (1, &"incomplete".into()), "{training}: {ended:?}");
        let message = found["findings"][0]["message"].as_str().expect("a message");
        assert!(message.starts_with("training ") && !message.contains("Nothing to judge"), "{message}");
        let judged = found["checks"].as_array().expect("checks").iter().filter(|check| check["verdict"] == "pass");
        assert!(judged.count() >= 2, "{found}");
    }
    for training in ["success", "unknown"] {
        let (ended, found) = left_behind(training);
        assert_eq!((ended.code, &found["verdict"]), (0, &"pass".into()), "{training}: {ended:?}");
    }
}

#[test]
fn an_empty_folder_is_as_good_as_none() {
    for (training, code) in
        [("failure", "training-failed"), ("unknown", "training-failed"), ("success", "nothing-recognised")]
    {
        let gate = Gate::outside();
        std::fs::create_dir(gate.folder().join("npu")).expect("a folder");
        let ended = run(&gate, training);
        assert_eq!(ended.code, 1, "{training}: {ended:?}");
        let found = result(&gate);
        assert_eq!(
            (&found["verdict"], &found["findings"][0]["code"]),
            (&"incomplete".into(), &code.into()),
            "{training}"
        );
    }
}

#[test]
fn a_merge_queue_gets_its_check_and_no_comment() {
    let fake = GitHub::start("");
    let mut gate = Gate::on_github(&fake.base);
    let event =
        serde_json::json!({ "repository": { "id": 1, "full_name": "org/model" }, "merge_group": { "head_sha": HEAD } });
    gate.write("event.json", &event.to_string());
    gate.set(&[
        ("GITHUB_EVENT_NAME", "merge_group"),
        ("GITHUB_SHA", HEAD),
        ("GITHUB_REF", "refs/heads/gh-readonly-queue/main/pr-7-1111"),
    ]);
    assert_eq!(run(&gate, "failure").code, 1);
    let state = fake.state();
    let check = &state.checks[0];
    assert_eq!((&check["name"], &check["head_sha"]), (&"precision-gate".into(), &HEAD.into()));
    assert_eq!(check["conclusion"], "failure");
    assert!(state.said().is_empty(), "{:?}", state.said());
}

#[test]
fn dependabot_gets_no_check_from_its_own_run_and_so_is_blocked() {
    let fake = GitHub::start("");
    let mut gate = Gate::on_github(&fake.base);
    gate.set(&[("GITHUB_ACTOR", "dependabot[bot]")]);
    fake.state().tokens.insert(TOKEN.into(), Rights::read_only());
    let ended = run(&gate, "failure");
    assert_eq!(ended.code, 1, "{ended:?}");
    assert_eq!(fake.writes(), [""; 0]);
    assert!(gate.read("step-summary").contains("Nothing to judge: training failed"));
}

#[test]
fn a_run_again_replaces_what_the_failed_one_said() {
    let fake = GitHub::start("");
    let mut gate = Gate::on_github(&fake.base);
    assert_eq!(run(&gate, "cancelled").code, 1);
    gate.set(&[("GITHUB_RUN_ATTEMPT", "2")]);
    let again = ["run", "--baseline", BASELINE, "--candidate", BASELINE, "--training", "success"];
    assert_eq!(gate.command(&again).code, 0);
    let state = fake.state();
    assert_eq!(state.checks.last().expect("a check")["conclusion"], "success");
    let [(_, body)] = state.said()[..] else { panic!("{:?}", state.said()) };
    assert!(body.contains("verdict=pass") && !body.contains("training was cancelled"), "{body}");
}
