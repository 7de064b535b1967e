//! GitHub: comment, check and status through the whole life of a pull request.

use serde_json::Value;

use crate::forge::fake::github::{GitHub, HEAD, PULL, Rights, TOKEN};
use crate::forge::fake::{Fake, Reply, Wrong};
use crate::forge::gate::{Gate, OLD, Pair, pull_request, shows};

const BOT: &str = "github-actions[bot]";

fn start() -> (Fake<GitHub>, Gate) {
    let fake = GitHub::start("");
    let gate = Gate::on_github(&fake.base);
    (fake, gate)
}

fn comment_writes(fake: &Fake<GitHub>) -> Vec<String> {
    fake.writes().into_iter().filter(|line| line.contains("comments")).collect()
}

/// Numbers of comments and checks.
fn posted(fake: &Fake<GitHub>) -> (usize, usize) {
    let state = fake.state();
    (state.comments.len(), state.checks.len())
}

fn status(code: u16) -> Reply {
    Reply::refusal(code, "the server is having a bad day")
}

#[test]
fn the_first_run_creates_the_second_updates_and_a_third_alike_writes_nothing() {
    let (fake, mut gate) = start();
    let ended = gate.run(Pair::Fail, &[]);
    assert_eq!(ended.code, 1, "{ended:?}");
    assert_eq!(
        fake.writes(),
        [
            "POST /repos/org/model/check-runs -> 201",
            "PATCH /repos/org/model/check-runs/1 -> 200",
            "POST /repos/org/model/issues/7/comments -> 201",
        ]
    );
    {
        let state = fake.state();
        let [(login, body)] = state.said()[..] else { panic!("{:?}", state.said()) };
        assert_eq!(login, BOT);
        assert!(shows(body, "fail") && body.starts_with("## "), "{body}");
        assert!(body.contains("## ❌ `Torch.baddbmm.1` "), "{body}");
        assert!(body.contains("[job](https://github.com/org/model/actions/runs/77)"), "{body}");
        let check = &state.checks[0];
        assert_eq!((check["conclusion"].as_str(), check["head_sha"].as_str()), (Some("failure"), Some(HEAD)));
        assert_eq!(check["name"], "precision-gate");
    }

    let again = gate.run(Pair::Fail, &[]);
    assert_eq!(again.code, 1);
    assert_eq!(comment_writes(&fake), [""; 0], "the same comment needs no request");

    gate.set(&[("GITHUB_RUN_ID", "78")]);
    assert_eq!(gate.run(Pair::Pass, &[]).code, 0);
    let writes = comment_writes(&fake);
    assert!(matches!(&writes[..], [one] if one.starts_with("PATCH ")), "{writes:?}");
    let state = fake.state();
    let said = state.said();
    assert!(said.len() == 1 && said[0].1.contains("verdict=pass"), "{said:?}");
    assert_eq!(state.checks.last().expect("a check")["conclusion"], "success");
}

#[test]
fn a_run_without_a_verdict_ends_the_check() {
    let (fake, gate) = start();
    gate.write("precision-gate.yml", "no-such-key: 1\n");
    assert_eq!(gate.run(Pair::Fail, &[]).code, 2);
    assert_eq!(fake.state().checks[0]["conclusion"], "failure");
    let title = fake.state().checks[0]["output"]["title"].as_str().unwrap().to_owned();
    assert!(title.starts_with("did not finish: precision-gate.yml"), "{title}");
    let missing = gate.command(&["run", "--baseline", "no", "--candidate", "no"]);
    assert_eq!(missing.code, 2);
    assert_eq!(fake.state().checks[1]["conclusion"], "failure");
    assert_eq!(fake.state().said().len(), 1, "tests/forge/states.rs holds what it says");
    fake.requests();
}

#[test]
fn a_cancelled_run_ends_its_check() {
    let (fake, gate) = start();
    // Enough to be still at it when the signal comes.
    let line = |step: usize| format!("{{\"step\": {step}, \"loss\": {}}}\n", 2.0 / (step as f64 + 1.0));
    let text: String = (0..400_000).map(line).collect();
    gate.write("gpu/loss.jsonl", &text);
    gate.write("npu/loss.jsonl", &text);
    let mut child = gate.started(&["run", "--baseline", "gpu", "--candidate", "npu", "-q"]).spawn().expect("runs");
    while fake.state().checks.is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    // The answer has to arrive, and the wait to begin.
    std::thread::sleep(std::time::Duration::from_millis(300));
    let killed = std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status().expect("kill");
    assert!(killed.success());
    assert_eq!(child.wait().expect("ends").code(), Some(143));
    assert_eq!(
        fake.writes(),
        ["POST /repos/org/model/check-runs -> 201", "PATCH /repos/org/model/check-runs/1 -> 200"]
    );
    assert_eq!(fake.state().checks[0]["conclusion"], "failure");
}

#[test]
fn two_runs_at_once_leave_one_comment() {
    let (fake, gate) = start();
    let mut other = Gate::on_github(&fake.base);
    other.set(&[("GITHUB_RUN_ID", "78")]);
    gate.run(Pair::Pass, &["--check", "none", "--comment", "never"]);
    fake.requests();
    // Both have listed no comment when the first of them writes.
    fake.hold_until_two("POST");
    std::thread::scope(|scope| {
        let one = scope.spawn(|| gate.run(Pair::Fail, &["--check", "none"]));
        let two = scope.spawn(|| other.run(Pair::Fail, &["--check", "none"]));
        assert_eq!((one.join().expect("ran").code, two.join().expect("ran").code), (1, 1));
    });
    let writes = comment_writes(&fake);
    assert_eq!(writes.iter().filter(|line| line.starts_with("POST")).count(), 2, "{writes:?}");
    assert_eq!(fake.state().said().len(), 1, "{writes:?}");
}

#[test]
fn a_lost_answer_leads_to_a_look_and_not_to_a_second_comment() {
    for wrong in [Wrong::Afterwards(status(500)), Wrong::Cut] {
        let (fake, gate) = start();
        fake.fail("POST", "/issues/7/comments", 1, wrong.clone());
        fake.fail("POST", "/check-runs", 1, wrong);
        let ended = gate.run(Pair::Fail, &[]);
        assert_eq!(
            (ended.code, ended.stdout.contains("::warning title=precision-gate::could not")),
            (1, false),
            "{ended:?}"
        );
        assert_eq!(posted(&fake), (1, 1));
        let requests = fake.requests();
        let posts = |text: &str| requests.iter().filter(|line| line.starts_with("POST") && line.contains(text)).count();
        assert_eq!((posts("comments"), posts("check-runs")), (1, 1), "{requests:?}");
    }
}

#[test]
fn nothing_done_is_done_again() {
    let (fake, gate) = start();
    let limited = Reply { headers: vec![("retry-after", "1".into())], ..Reply::refusal(429, "slow down") };
    let secondary = Reply {
        headers: vec![("retry-after", "1".into())],
        ..Reply::refusal(403, "You have exceeded a secondary rate limit")
    };
    fake.fail("POST", "/issues/7/comments", 1, Wrong::Instead(limited));
    fake.fail("PATCH", "/check-runs/", 1, Wrong::Instead(secondary));
    fake.fail(
        "GET",
        "/issues/7/comments",
        3,
        Wrong::Instead(Reply { status: 502, body: b"<html>".to_vec(), ..Reply::default() }),
    );
    let ended = gate.run(Pair::Fail, &["--strict-publish"]);
    assert_eq!(ended.code, 1, "{ended:?}");
    let requests = fake.requests();
    let count = |line: &str| requests.iter().filter(|one| one.as_str() == line).count();
    assert_eq!(count("GET /repos/org/model/issues/7/comments -> 502"), 3, "{requests:?}");
    assert_eq!(count("POST /repos/org/model/issues/7/comments -> 429"), 1);
    assert_eq!(count("POST /repos/org/model/issues/7/comments -> 201"), 1);
    assert_eq!(count("PATCH /repos/org/model/check-runs/1 -> 403"), 1);
    assert_eq!(fake.state().checks[0]["conclusion"], "failure");
}

#[test]
fn a_forge_that_stays_down_is_one_warning_and_changes_no_verdict() {
    for (more, code) in [(&[][..], 0), (&["--strict-publish"][..], 3)] {
        let (fake, gate) = start();
        fake.fail("GET", "/issues/7/comments", 100, Wrong::Instead(status(502)));
        let ended = gate.run(Pair::Pass, more);
        assert_eq!(ended.code, code, "{ended:?}");
        let warnings: Vec<&str> = ended.stdout.lines().filter(|line| line.starts_with("::warning")).collect();
        assert_eq!(warnings.len(), 1, "{ended:?}");
        assert!(
            warnings[0].contains("could not list the comments: GET ") && warnings[0].contains("(tried 4 times)"),
            "{warnings:?}"
        );
        assert_eq!(fake.state().checks[0]["conclusion"], "success");
    }
}

#[test]
fn a_read_only_token_is_told_which_permission_is_missing() {
    let (fake, gate) = start();
    fake.state().tokens.insert(TOKEN.into(), Rights::read_only());
    let ended = gate.run(Pair::Fail, &[]);
    assert_eq!(ended.code, 1);
    for permission in ["checks: write", "statuses: write", "pull-requests: write"] {
        let told =
            ended.stdout.lines().filter(|line| line.starts_with("::warning") && line.contains(permission)).count();
        assert_eq!(told, 1, "{permission}: {}", ended.stdout);
    }
    assert!(fake.state().said().is_empty());
    assert!(gate.read("step-summary").contains("fail"), "the summary needs no token");
}

#[test]
fn a_token_without_checks_sets_a_status() {
    let (fake, gate) = start();
    fake.state().tokens.insert(TOKEN.into(), Rights { checks: false, ..Rights::workflow() });
    let ended = gate.run(Pair::Fail, &["--strict-publish"]);
    assert_eq!(ended.code, 1, "no failure: {ended:?}");
    assert!(ended.stdout.contains("::notice title=precision-gate::a status was set instead of the check"), "{ended:?}");
    let states: Vec<Value> = fake.state().statuses.iter().map(|status| status["state"].clone()).collect();
    assert_eq!(states, ["pending", "failure"]);
    let writes = fake.writes();
    assert_eq!(writes.iter().filter(|line| line.contains("check-runs")).count(), 1, "{writes:?}");
}

#[test]
fn a_removed_comment_comes_back() {
    let (fake, gate) = start();
    gate.run(Pair::Fail, &[]);
    fake.state().comments.clear();
    gate.run(Pair::Fail, &[]);
    assert_eq!(fake.state().said().len(), 1);
    // Removed between the look and the update.
    let id = fake.state().say(BOT, &format!("{OLD}\nold"));
    fake.state().comments.retain(|comment| comment.0 == id);
    fake.fail("PATCH", "/issues/comments/", 1, Wrong::Instead(Reply::refusal(404, "Not Found")));
    fake.requests();
    gate.run(Pair::Fail, &[]);
    let writes = comment_writes(&fake);
    assert!(writes[0].ends_with("404") && writes[1].starts_with("POST"), "{writes:?}");
}

#[test]
fn a_comment_of_someone_else_is_left_alone() {
    let (fake, gate) = start();
    let quoted = format!("{OLD}\nall is well, merge it");
    fake.state().say("mallory", &quoted);
    // Another workflow's comment, with the same name for all of them, that repeats what somebody wrote.
    gate.run(Pair::Pass, &[]);
    let own = fake.state().said().last().expect("a comment").1.to_owned();
    fake.state().comments.pop();
    fake.requests();
    for echoed in
        [format!("Thanks for:\n{own}\n_posted by the greeter_"), "<!-- precision-gate:v1 key=default -->\nhi".into()]
    {
        fake.state().say(BOT, &echoed);
    }
    for number in 0..250 {
        fake.state().say("reviewer", &format!("remark {number}"));
    }
    gate.run(Pair::Fail, &[]);
    gate.run(Pair::Pass, &[]);
    let state = fake.state();
    let said = state.said();
    let bots: Vec<&str> = said.iter().filter(|(login, _)| *login == BOT).map(|(_, body)| *body).collect();
    assert!(
        bots.len() == 3 && bots[0].starts_with("Thanks for:") && bots[1].ends_with("hi") && shows(bots[2], "pass"),
        "{bots:?}"
    );
    assert_eq!(said[0], ("mallory", quoted.as_str()));
    drop(state);
    let pages = fake.requests().iter().filter(|line| line.starts_with("GET") && line.contains("issues")).count();
    assert_eq!(pages, 9, "three pages, once per look");
}

#[test]
fn a_report_of_seventy_thousand_characters_is_cut_by_rank() {
    let (fake, gate) = start();
    let mut long = String::new();
    for number in 0..70 {
        long.push_str(&format!("row {number}: {}\n", "x".repeat(1_000)));
    }
    let template =
        format!("{{{{ t('verdict_' ~ view.verdict) }}}}\n\n{{% if room.findings %}}\n{long}{{% endif %}}\nend");
    gate.write("templates/summary.md.j2", &template);
    let ended = gate.run(Pair::Fail, &["--templates", "templates"]);
    assert_eq!(ended.code, 1, "{ended:?}");
    let state = fake.state();
    let body = state.said()[0].1;
    assert!(body.encode_utf16().count() <= 65_000 && body.len() <= 65_000, "{}", body.len());
    assert!(shows(body, "fail") && body.contains("[job](https://"), "what matters stays");
    drop(state);
    fake.requests();
}

#[test]
fn an_enterprise_server_keeps_its_path() {
    let fake = GitHub::start("/api/v3");
    let gate = Gate::on_github(&fake.base);
    assert_eq!(gate.run(Pair::Fail, &[]).code, 1);
    assert_eq!(posted(&fake), (1, 1));
    fake.requests();
}

#[test]
fn comments_are_written_when_they_are_wanted() {
    let (fake, mut gate) = start();
    gate.run(Pair::Pass, &["--comment", "on-failure"]);
    assert!(fake.state().said().is_empty(), "silent while all is well");
    gate.run(Pair::Fail, &["--comment", "on-failure"]);
    gate.run(Pair::Pass, &["--comment", "on-failure"]);
    assert!(fake.state().said()[0].1.contains("verdict=pass"), "updated to green");
    fake.requests();
    gate.set(&[("GITHUB_RUN_ID", "99")]);
    gate.run(Pair::Pass, &["--comment", "on-change"]);
    assert_eq!(comment_writes(&fake), [""; 0], "the same verdict and culprit");
    gate.run(Pair::Fail, &["--comment", "on-change"]);
    assert_eq!(comment_writes(&fake).len(), 1);
    gate.run(Pair::Fail, &["--key", "nightly"]);
    assert_eq!(fake.state().said().len(), 2, "one comment per key");
    assert_eq!(fake.state().checks.last().expect("a check")["name"], "precision-gate (nightly)");
}

#[test]
fn the_comment_of_a_newer_commit_is_left_to_its_run() {
    let (fake, gate) = start();
    fake.state().pulls.get_mut(&PULL).expect("there").0 = "4444444444444444444444444444444444444444".into();
    let ended = gate.run(Pair::Fail, &["--strict-publish"]);
    assert_eq!(ended.code, 1, "no failure: {ended:?}");
    assert!(ended.stdout.contains("::notice title=precision-gate::#7 has a newer commit 444444444444"), "{ended:?}");
    assert!(fake.state().said().is_empty());
    assert_eq!(fake.state().checks[0]["conclusion"], "failure");
}

#[test]
fn a_push_finds_its_pull_request_and_other_events_have_a_check_only() {
    let (fake, mut gate) = start();
    let push = gate.write("push.json", r#"{"ref": "refs/heads/topic"}"#);
    gate.set(&[("GITHUB_EVENT_NAME", "push"), ("GITHUB_EVENT_PATH", &push), ("GITHUB_SHA", HEAD)]);
    gate.run(Pair::Fail, &[]);
    assert_eq!(fake.state().said().len(), 1);
    fake.state().comments.clear();
    gate.set(&[("GITHUB_EVENT_NAME", "schedule")]);
    gate.run(Pair::Fail, &[]);
    assert!(fake.state().said().is_empty());
    assert_eq!(fake.state().checks.len(), 2);
    fake.requests();
}

#[test]
fn pictures_lie_on_a_branch_of_one_commit_and_are_not_stored_twice() {
    let (fake, mut gate) = start();
    assert_eq!(gate.run(Pair::Curves, &["--image", "branch"]).code, 1);
    let first = fake.state().said()[0].1.to_owned();
    assert!(first.contains("](https://raw.githubusercontent.com/org/model/0000"), "{first}");
    assert!(!first.contains("```mermaid"), "a picture takes the diagram's place");
    let stored = fake.writes().iter().filter(|line| line.contains("/git/blobs")).count();
    assert!(stored > 0);
    gate.set(&[("GITHUB_RUN_ID", "78")]);
    gate.run(Pair::Curves, &["--image", "branch"]);
    assert_eq!(fake.writes().iter().filter(|line| line.contains("/git/")).count(), 0);
    gate.run(Pair::Curves, &["--image", "mermaid"]);
    assert!(fake.state().said()[0].1.contains("```mermaid"));
    gate.run(Pair::Curves, &["--image", "none"]);
    assert!(!fake.state().said()[0].1.contains("```mermaid"));
}

#[test]
fn the_runner_gets_outputs_summary_and_annotations_without_publishing() {
    let (fake, mut gate) = start();
    gate.unset("INPUT_PUBLISH");
    gate.write("step-summary", "from an earlier step\n");
    let ended = gate.run(Pair::Fail, &[]);
    assert_eq!((ended.code, fake.requests()), (1, vec![]));
    assert!(ended.stdout.lines().any(|line| line.starts_with("::error title=precision-gate%3A fail::")), "{ended:?}");
    let summary = gate.read("step-summary");
    assert!(summary.starts_with("from an earlier step\n## ❌ `Torch.baddbmm.1` "), "{summary}");
    let output = gate.read("output");
    for pair in ["verdict<<", "report<<", "culprit<<", "\nfail\n", "\nTorch.baddbmm.1.forward\n"] {
        assert!(output.contains(pair), "{pair}: {output}");
    }
    let result: Value = serde_json::from_str(&gate.read("precision-gate-out/result.json")).expect("JSON");
    assert_eq!(result["source"]["commit"], HEAD);
}

#[test]
fn a_dry_run_sends_nothing_and_prints_all() {
    let (fake, gate) = start();
    let ended = gate.run(Pair::Fail, &["--dry-run", "--image", "branch"]);
    assert_eq!((ended.code, fake.requests()), (1, vec![]));
    for line in [
        format!("POST {}/repos/org/model/check-runs", fake.base),
        format!("POST {}/repos/org/model/issues/7/comments", fake.base),
        format!("POST {}/repos/org/model/git/refs", fake.base),
        r#""conclusion": "failure""#.to_owned(),
    ] {
        assert!(ended.stdout.contains(&line), "{line}: {}", ended.stdout);
    }
}

#[test]
fn an_app_is_known_by_its_check_or_by_what_it_wrote() {
    for more in [&[][..], &["--check", "none"][..]] {
        let (fake, gate) = start();
        fake.state().tokens.insert(TOKEN.into(), Rights { login: "my-gate[bot]", ..Rights::workflow() });
        for pair in [Pair::Fail, Pair::Pass] {
            gate.run(pair, more);
            let state = fake.state();
            assert!(matches!(state.said()[..], [("my-gate[bot]", _)]), "{:?}", state.said());
        }
        assert!(fake.state().said()[0].1.contains("verdict=pass"));
        fake.requests();
    }
}

#[test]
fn a_finding_on_a_line_of_the_repository_is_annotated() {
    let (fake, gate) = start();
    gate.write("train/modeling_gpt.py", "");
    gate.run(Pair::Fail, &["--source-root", "."]);
    let seen = fake.state().checks[0]["seen_annotations"].clone();
    assert_eq!(seen[0]["path"], "train/modeling_gpt.py", "{seen}");
    assert_eq!((&seen[0]["annotation_level"], &seen[0]["title"]), (&"failure".into(), &"output-diverges".into()));
    fake.requests();
}

#[test]
fn flags_go_before_inputs_and_inputs_before_the_policy() {
    let (fake, mut gate) = start();
    gate.write("precision-gate.yml", "publish: { key: of-policy, comment: never }\n");
    let names = |fake: &Fake<GitHub>| {
        let state = fake.state();
        (state.checks.last().expect("a check")["name"].as_str().unwrap().to_owned(), state.said().len())
    };
    gate.run(Pair::Fail, &[]);
    assert_eq!(names(&fake), ("precision-gate (of-policy)".into(), 0));
    gate.set(&[("INPUT_KEY", "of-input"), ("INPUT_COMMENT", "always")]);
    gate.run(Pair::Fail, &[]);
    assert_eq!(names(&fake), ("precision-gate (of-input)".into(), 1));
    gate.run(Pair::Fail, &["--key", "of-flag"]);
    assert_eq!(names(&fake), ("precision-gate (of-flag)".into(), 2));
}

#[test]
fn a_proxy_is_used() {
    let (fake, mut gate) = start();
    // Nobody answers at this address but the proxy.
    gate.set(&[("GITHUB_API_URL", "http://forge.invalid"), ("HTTP_PROXY", &fake.base), ("http_proxy", &fake.base)]);
    assert_eq!(gate.run(Pair::Fail, &["--strict-publish"]).code, 1);
    assert_eq!(posted(&fake), (1, 1));
    fake.requests();
}

#[test]
fn a_change_of_the_policy_is_told() {
    let (fake, gate) = start();
    fake.state()
        .files
        .insert((crate::forge::fake::github::BASE.into(), "precision-gate.yml".into()), "profile: strict\n".into());
    gate.write("precision-gate.yml", "profile: default\n");
    let event = pull_request("org/model");
    gate.write("event.json", &event.to_string());
    gate.run(Pair::Fail, &[]);
    let state = fake.state();
    assert!(
        state.said()[0]
            .1
            .contains("> ⚠️ **This change edits the files that decide its verdict:** `precision-gate.yml`")
    );
    drop(state);
    fake.requests();
}
