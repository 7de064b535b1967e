//! GitLab: the note of a merge request, its pictures, and statuses from elsewhere.

use crate::forge::fake::gitlab::{BASE, BOT, GitLab, HEAD, TIP};
use crate::forge::fake::{Fake, Reply, Wrong};
use crate::forge::gate::{Gate, OLD, Pair, shows};

fn start() -> (Fake<GitLab>, Gate) {
    let fake = GitLab::start();
    let gate = Gate::on_gitlab(&fake.base);
    (fake, gate)
}

#[test]
fn the_note_lives_as_long_as_the_merge_request() {
    let (fake, gate) = start();
    assert_eq!(gate.run(Pair::Fail, &[]).code, 1);
    let uploads = fake.state().uploads;
    assert_eq!(uploads, 1, "the error against execution order");
    let writes = fake.writes();
    assert_eq!(writes, ["POST /projects/1/uploads -> 201", "POST /projects/1/merge_requests/5/notes -> 201"]);
    let body = fake.state().said()[0].1.to_owned();
    assert!(shows(&body, "fail"), "{body}");
    assert!(body.contains("](/uploads/00000000000000000000000000000001/loss.png)"), "{body}");

    gate.run(Pair::Fail, &[]);
    assert_eq!((fake.writes(), fake.state().uploads), (vec![], 1), "the same picture is not stored again");

    assert_eq!(gate.run(Pair::Pass, &[]).code, 0);
    assert!(fake.state().said()[0].1.contains("verdict=pass"));
    assert!(fake.writes().iter().any(|line| line.starts_with("PUT /projects/1/merge_requests/5/notes/")));

    fake.state().notes.clear();
    gate.run(Pair::Pass, &[]);
    assert_eq!(fake.state().said().len(), 1, "a removed note comes back");
}

#[test]
fn lost_answers_limits_and_races_leave_one_note() {
    let (fake, gate) = start();
    fake.fail("POST", "/notes", 1, Wrong::Afterwards(Reply::refusal(500, "oops")));
    fake.fail("GET", "/notes", 3, Wrong::Instead(Reply::refusal(502, "bad gateway")));
    assert_eq!(gate.run(Pair::Fail, &["--strict-publish"]).code, 1);
    assert_eq!(fake.state().said().len(), 1);

    let (fake, gate) = start();
    let limited = Reply { headers: vec![("retry-after", "1".into())], ..Reply::refusal(429, "slow down") };
    fake.fail("POST", "/notes", 1, Wrong::Instead(limited));
    fake.fail("POST", "/uploads", 1, Wrong::Cut);
    assert_eq!(gate.run(Pair::Fail, &["--strict-publish"]).code, 1);
    assert_eq!(fake.state().said().len(), 1);

    let (fake, gate) = start();
    let other = Gate::on_gitlab(&fake.base);
    fake.hold_until_two("POST");
    std::thread::scope(|scope| {
        scope.spawn(|| gate.run(Pair::Pass, &["--image", "none"]));
        scope.spawn(|| other.run(Pair::Pass, &["--image", "none"]));
    });
    let writes = fake.writes();
    assert_eq!(writes.iter().filter(|line| line.starts_with("POST")).count(), 2, "{writes:?}");
    assert_eq!(fake.state().said().len(), 1);
}

#[test]
fn a_note_of_an_earlier_release_is_brought_up_to_date_once() {
    let (fake, mut gate) = start();
    fake.state().say(BOT, &format!("{OLD}\n## Pass\n"));
    assert_eq!(gate.run(Pair::Pass, &["--comment", "on-change", "--image", "none"]).code, 0);
    let body = fake.state().said()[0].1.to_owned();
    assert!(fake.state().said().len() == 1 && shows(&body, "pass") && !body.contains("v1"), "{body}");
    assert!(fake.writes()[0].starts_with("PUT "));
    gate.run(Pair::Pass, &["--comment", "on-change", "--image", "none"]);
    assert_eq!(fake.writes(), [""; 0]);
    // A branch pipeline names the project by its path, and finds the note all the same.
    gate.unset_merge_request();
    gate.set(&[
        ("CI_COMMIT_BRANCH", "topic"),
        ("CI_OPEN_MERGE_REQUESTS", "org/model!5"),
        ("CI_PROJECT_PATH", "org/model"),
    ]);
    gate.run(Pair::Pass, &["--image", "none"]);
    assert_eq!(fake.state().said().len(), 1);
    fake.requests();
}

#[test]
fn notes_of_others_are_left_alone() {
    let (fake, gate) = start();
    fake.state().say(2, &format!("{OLD}\n/merge"));
    for number in 0..220 {
        fake.state().say(3, &format!("remark {number}"));
    }
    gate.run(Pair::Fail, &[]);
    gate.run(Pair::Pass, &[]);
    let state = fake.state();
    assert_eq!(state.said().iter().filter(|(author, _)| *author == BOT).count(), 1);
    assert_eq!(state.said()[0], (2, format!("{OLD}\n/merge").as_str()));
    drop(state);
    fake.requests();
}

#[test]
fn a_status_is_set_from_elsewhere_and_asked_for_twice_without_harm() {
    let (fake, gate) = start();
    gate.run(Pair::Fail, &["--check", "status"]);
    gate.run(Pair::Fail, &["--check", "status", "--strict-publish"]);
    let state = fake.state();
    let states: Vec<&str> = state.statuses.iter().filter_map(|status| status["status"].as_str()).collect();
    assert_eq!(states, ["running", "failed", "running", "failed"]);
    assert_eq!((&state.statuses[0]["sha"], &state.statuses[0]["pipeline_id"]), (&HEAD.into(), &9.into()));
    drop(state);
    // A lost answer: the state is set already, and GitLab refuses to set it again.
    fake.fail("POST", "/statuses/", 1, Wrong::Afterwards(Reply::refusal(500, "oops")));
    let ended = gate.run(Pair::Fail, &["--check", "status", "--strict-publish"]);
    assert_eq!(ended.code, 1, "{ended:?}");
    fake.requests();
}

#[test]
fn without_a_token_the_verdict_stands_and_the_way_out_is_told() {
    let (fake, mut gate) = start();
    gate.set(&[("PRECISION_GATE_TOKEN", ""), ("CI_JOB_TOKEN", "job-token")]);
    let ended = gate.run(Pair::Pass, &[]);
    assert_eq!((ended.code, fake.requests()), (0, vec![]));
    assert!(ended.stderr.contains("a protected variable is empty on branches that are not protected"), "{ended:?}");
    assert_eq!(gate.run(Pair::Pass, &["--strict-publish"]).code, 3);
    gate.set(&[("PRECISION_GATE_TOKEN", "wrong")]);
    let ended = gate.run(Pair::Pass, &[]);
    assert_eq!(ended.code, 0);
    assert!(ended.stderr.contains("401 Unauthorized"), "{ended:?}");
}

#[test]
fn a_merge_request_of_a_fork_is_judged_by_the_target_branch_and_posts_nothing() {
    let (fake, mut gate) = start();
    gate.set(&[
        ("CI_PROJECT_ID", "2"),
        ("CI_MERGE_REQUEST_SOURCE_PROJECT_ID", "2"),
        // Chosen by the change: a commit from before the policy existed.
        ("CI_MERGE_REQUEST_DIFF_BASE_SHA", BASE),
        ("CI_PROJECT_DIR", &gate.path("")),
    ]);
    fake.state().files.insert((TIP.into(), "precision-gate.yml".into()), "required: [config]\n".into());
    gate.write("precision-gate.yml", "severity: { output-diverges: info }\n");
    let ended = gate.run(Pair::Pass, &[]);
    assert_eq!(ended.code, 1, "the target branch requires what is not there: {ended:?}");
    assert!(ended.stderr.contains("comes from a fork"), "{ended:?}");
    assert_eq!(fake.writes(), [""; 0]);
}

#[test]
fn a_member_publishes_the_result_of_a_fork() {
    let (fake, mut gate) = start();
    gate.unset("PRECISION_GATE_TOKEN");
    gate.run(Pair::Fail, &[]);
    let result = gate.read("precision-gate-out/result.json");
    let mut job = Gate::on_gitlab(&fake.base);
    job.unset_merge_request();
    job.set(&[("CI_COMMIT_SHA", BASE), ("CI_COMMIT_BRANCH", "main")]);
    job.write("result.json", &result);
    job.write("operations.jsonl", &gate.read("precision-gate-out/operations.jsonl"));
    let given = ["publish", "result.json", "--number", "5", "--sha", HEAD, "--check", "status", "--strict-publish"];
    let ended = job.command(&given);
    assert_eq!(ended.code, 0, "{ended:?}");
    let state = fake.state();
    assert!(state.said()[0].1.contains("The numbers were measured by the fork's run"), "{:?}", state.said());
    assert_eq!((&state.statuses[0]["status"], &state.statuses[0]["sha"]), (&"failed".into(), &HEAD.into()));
    drop(state);
    fake.requests();
}
