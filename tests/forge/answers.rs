//! Answers that are none: a forge that says success and does not show it, sends without end, or asks to wait for years.

use std::fs;
use std::process::Stdio;

use serde_json::json;

use crate::data::fixture;
use crate::forge::fake::community::Community;
use crate::forge::fake::github::{GitHub, HEAD, Rights, TOKEN};
use crate::forge::fake::gitlab::GitLab;
use crate::forge::fake::{Brain, Fake, PIECE, Reply, Wrong};
use crate::forge::gate::{Ended, Gate, Pair, finished_workflow};

/// Bodies that are no valid answer to any request.
const BODIES: [&str; 5] = ["", "null", "<html><body>Sign in</body></html>", "{\"id\": 1, \"bo", "{\"id\": 0}"];

fn said(status: u16, body: &str) -> Reply {
    Reply { status, body: body.as_bytes().to_vec(), ..Reply::default() }
}

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

fn warnings(ended: &Ended) -> Vec<String> {
    let is_warning = |line: &&str| line.starts_with("::warning") || line.starts_with("warning: ");
    ended.stdout.lines().chain(ended.stderr.lines()).filter(is_warning).map(str::to_owned).collect()
}

/// Every request of a kind is answered with `body` and a status of success.
fn each_body<B: Brain>(
    start: impl Fn() -> (Fake<B>, Gate),
    (method, contains, status): (&'static str, &'static str, u16),
    prepare: impl Fn(&Fake<B>, &Gate),
    more: &[&str],
) {
    for body in BODIES {
        let (fake, gate) = start();
        prepare(&fake, &gate);
        fake.requests();
        fake.fail(method, contains, 100, Wrong::Instead(said(status, body)));
        let place = format!("{method} {contains} {status} {body}");
        let ended = gate.run(Pair::Pass, &[more, &["--strict-publish"]].concat());
        assert_eq!(ended.code, 3, "{place}: {ended:?}");
        let told = warnings(&ended);
        assert_eq!(told.len(), 1, "{place}: {told:#?}");
        assert!(told[0].contains(&format!("answered {status} with")), "{place}: {told:#?}");
        let requests = fake.requests();
        assert!(!requests.iter().any(|line| line.contains("check-runs/0")), "{place}: {requests:#?}");
        assert_eq!(gate.run(Pair::Pass, more).code, 0, "the verdict stands: {place}");
        fake.requests();
    }
}

#[test]
fn success_of_github_counts_only_with_what_was_asked_for() {
    let fails_first = |_: &Fake<GitHub>, gate: &Gate| {
        gate.run(Pair::Fail, &[]);
    };
    each_body(on_github, ("POST", "/check-runs", 201), |_, _| {}, &[]);
    each_body(on_github, ("PATCH", "/check-runs/", 200), |_, _| {}, &[]);
    each_body(on_github, ("GET", "/pulls/7", 200), |_, _| {}, &[]);
    each_body(on_github, ("GET", "/user", 200), |_, _| {}, &[]);
    each_body(on_github, ("GET", "/issues/7/comments", 200), fails_first, &[]);
    each_body(on_github, ("POST", "/issues/7/comments", 201), |_, _| {}, &[]);
    each_body(on_github, ("PATCH", "/issues/comments/", 200), fails_first, &[]);
    each_body(on_github, ("POST", "/statuses/", 201), |_, _| {}, &["--check", "status"]);
}

#[test]
fn success_of_gitlab_counts_only_with_what_was_asked_for() {
    let fails_first = |_: &Fake<GitLab>, gate: &Gate| {
        gate.run(Pair::Fail, &[]);
    };
    each_body(on_gitlab, ("GET", "/merge_requests/5", 200), |_, _| {}, &[]);
    each_body(on_gitlab, ("GET", "/user", 200), |_, _| {}, &[]);
    each_body(on_gitlab, ("GET", "/notes", 200), fails_first, &[]);
    each_body(on_gitlab, ("POST", "/notes", 201), |_, _| {}, &[]);
    each_body(on_gitlab, ("PUT", "/notes/", 200), fails_first, &[]);
    each_body(on_gitlab, ("POST", "/statuses/", 201), |_, _| {}, &["--check", "status"]);
}

#[test]
fn a_forge_that_says_nothing_but_200_is_not_believed() {
    for body in ["", "null", "{}", "[]", "{\"id\":"] {
        let (github, on_github) = on_github();
        let (gitlab, on_gitlab) = on_gitlab();
        let community = Community::start(false);
        let mut outside = Gate::outside();
        outside.set(&[("GITEE_TOKEN", TOKEN)]);
        for method in ["GET", "POST", "PATCH", "PUT", "DELETE"] {
            github.fail(method, "", 1_000, Wrong::Instead(said(200, body)));
            gitlab.fail(method, "", 1_000, Wrong::Instead(said(200, body)));
            community.fail(method, "", 1_000, Wrong::Instead(said(200, body)));
        }
        let place = ["--publish", "--forge", "gitee", "--url", &community.base, "--repo", "org/model", "--number", "7"];
        for (name, gate, more) in
            [("github", &on_github, &[][..]), ("gitlab", &on_gitlab, &[]), ("gitee", &outside, &place)]
        {
            let ended = gate.run(Pair::Pass, &[more, &["--strict-publish"]].concat());
            assert_eq!(ended.code, 3, "{name} {body}: {ended:?}");
            let ended = gate.run(Pair::Pass, more);
            // Whose change `--number` names, only the forge could tell.
            assert_eq!(ended.code, if name == "gitee" { 3 } else { 0 }, "{name} {body}: {ended:?}");
            assert!(!warnings(&ended).is_empty(), "{name} {body}: {ended:?}");
        }
        let requests = [github.requests(), gitlab.requests(), community.requests()].concat();
        assert!(!requests.iter().any(|line| line.contains("/0 ")), "{requests:#?}");
    }
}

#[test]
fn what_took_effect_though_its_answer_says_nothing_is_found() {
    for body in BODIES {
        let (fake, gate) = on_github();
        fake.fail("POST", "/issues/7/comments", 1, Wrong::Afterwards(said(201, body)));
        fake.fail("POST", "/check-runs", 1, Wrong::Afterwards(said(201, body)));
        let ended = gate.run(Pair::Fail, &["--strict-publish"]);
        assert_eq!((ended.code, warnings(&ended).len()), (1, 0), "{body}: {ended:?}");
        let state = fake.state();
        assert_eq!((state.comments.len(), state.checks.len()), (1, 1), "{body}");
        assert_eq!(state.checks[0]["conclusion"], "failure");
        drop(state);
        fake.requests();
        let (fake, gate) = on_gitlab();
        fake.fail("POST", "/notes", 1, Wrong::Afterwards(said(201, body)));
        let ended = gate.run(Pair::Fail, &["--strict-publish"]);
        assert_eq!((ended.code, fake.state().said().len()), (1, 1), "{body}: {ended:?}");
        fake.requests();
    }
}

#[test]
fn an_answer_that_shows_something_else_is_no_success() {
    let other_check = |name: &str, value: serde_json::Value| {
        let mut check = json!({
            "id": 1, "head_sha": HEAD, "status": "completed", "conclusion": "success", "external_id": null, "app": null,
        });
        check[name] = value;
        said(200, &check.to_string())
    };
    for (name, value) in [
        ("id", json!(9)),
        ("head_sha", json!("5555555555555555555555555555555555555555")),
        ("status", json!("in_progress")),
        ("conclusion", json!("failure")),
    ] {
        let (fake, gate) = on_github();
        fake.fail("PATCH", "/check-runs/1", 9, Wrong::Instead(other_check(name, value)));
        let ended = gate.run(Pair::Pass, &["--strict-publish"]);
        assert_eq!((ended.code, warnings(&ended).len()), (3, 1), "{name}: {ended:?}");
    }
    let user = json!({ "login": "github-actions[bot]" });
    for comment in [json!({ "id": 101, "body": "another text", "user": user }), json!({ "id": 101, "user": user })] {
        let (fake, gate) = on_github();
        fake.fail("POST", "/issues/7/comments", 9, Wrong::Instead(said(201, &comment.to_string())));
        let ended = gate.run(Pair::Pass, &["--strict-publish"]);
        assert_eq!((ended.code, warnings(&ended).len()), (3, 1), "{ended:?}");
    }
    let (fake, gate) = on_github();
    let status = json!({ "state": "pending", "context": "precision-gate" });
    fake.fail("POST", "/statuses/", 9, Wrong::Instead(said(201, &status.to_string())));
    assert_eq!(gate.run(Pair::Pass, &["--check", "status", "--strict-publish"]).code, 3);
    let (fake, gate) = on_gitlab();
    let refusal = json!({ "message": "Cannot transition status via :run from :success (Reason(s): x)" });
    fake.fail("POST", "/statuses/", 9, Wrong::Instead(Reply::json(400, &refusal)));
    let ended = gate.run(Pair::Fail, &["--check", "status", "--strict-publish"]);
    assert_eq!(ended.code, 3, "another state than the one that was sent: {ended:?}");
}

#[test]
fn line_ends_that_a_forge_changes_are_no_other_text() {
    let (fake, gate) = on_github();
    gate.run(Pair::Fail, &[]);
    let (id, _, _, text) = fake.state().comments.remove(0);
    let text = text.replace('\n', "\r\n");
    let comment = json!({ "id": id, "body": text.trim_end(), "user": { "login": "github-actions[bot]" } });
    fake.fail("POST", "/issues/7/comments", 1, Wrong::Instead(said(201, &comment.to_string())));
    let ended = gate.run(Pair::Fail, &["--strict-publish"]);
    assert_eq!((ended.code, warnings(&ended).len()), (1, 0), "{ended:?}");
}

#[test]
fn a_page_that_is_missing_leads_to_no_second_comment() {
    let damages = [said(200, ""), said(200, "null"), said(200, "{}"), said(200, "[{}]"), said(404, "{}")];
    for wrong in damages {
        let (fake, gate) = on_github();
        for number in 0..250 {
            fake.state().say("reviewer", &format!("remark {number}"));
        }
        gate.run(Pair::Fail, &[]);
        fake.requests();
        fake.fail("GET", "page=2", 100, Wrong::Instead(wrong.clone()));
        let ended = gate.run(Pair::Pass, &["--strict-publish"]);
        assert_eq!(ended.code, 3, "{wrong:?}: {ended:?}");
        let writes = fake.writes();
        assert!(!writes.iter().any(|line| line.contains("comments")), "{writes:?}");

        let (fake, gate) = on_gitlab();
        for number in 0..250 {
            fake.state().say(3, &format!("remark {number}"));
        }
        gate.run(Pair::Fail, &["--image", "none"]);
        fake.requests();
        fake.fail("GET", "page=2", 100, Wrong::Instead(wrong.clone()));
        let ended = gate.run(Pair::Pass, &["--image", "none", "--strict-publish"]);
        assert_eq!((ended.code, fake.writes()), (3, vec![]), "{wrong:?}: {ended:?}");
    }
}

/// Runs the program and gives its end and the most memory that it held, in MiB.
fn measured(gate: &Gate, more: &[&str]) -> (i32, u64) {
    let [baseline, candidate] =
        ["gpu", "npu"].map(|side| fixture("dumps/md5_identical").join(side).display().to_string());
    let start = ["run", "--baseline", &baseline, "--candidate", &candidate, "--strict-publish"];
    let mut command = gate.started(&[&start, more].concat());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("runs");
    let mut most = 0;
    loop {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        // Until it runs the program, a child counts the memory of its parent.
        let is_program = status.starts_with("Name:\tprecision-gate\n");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).filter(|_| is_program);
        let held = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        most = most.max(held.unwrap_or(0) >> 10);
        if let Some(ended) = child.try_wait().expect("a child") {
            return (ended.code().unwrap_or(-1), most);
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn an_endless_answer_is_read_up_to_its_limit() {
    /// Bytes that two sockets hold on the way.
    const ON_THE_WAY: usize = (16 << 20) + PIECE;
    const MEBIBYTE: usize = 1 << 20;
    for (method, contains, status, start, limit) in [
        ("POST", "/check-runs", 201, &b"{\"id\": 1"[..], 8 * MEBIBYTE),
        ("GET", "/pulls/7", 200, b"{", 8 * MEBIBYTE),
        ("GET", "/issues/7/comments", 200, b"[", 32 * MEBIBYTE),
        ("POST", "/issues/7/comments", 201, b"{", 8 * MEBIBYTE),
        ("POST", "/issues/7/comments", 422, b"{\"message\": \"", MEBIBYTE / 16),
    ] {
        let (fake, gate) = on_github();
        fake.fail(method, contains, 1, Wrong::Endless(status, start));
        let (code, most) = measured(&gate, &[]);
        let place = format!("{method} {contains} {status}: {} bytes, {most} MiB", fake.endless());
        // What took effect is found by a look.
        let is_found = method == "POST" && status == 201;
        assert_eq!(code, if is_found { 0 } else { 3 }, "{place}");
        assert!((1..=limit + ON_THE_WAY).contains(&fake.endless()), "{place}");
        assert!(most < 300, "{place}");
    }
    for (method, contains, status, start, limit) in [
        ("GET", "/notes", 200, &b"["[..], 32 * MEBIBYTE),
        ("POST", "/notes", 201, b"{", 8 * MEBIBYTE),
        ("GET", "/user", 401, b"", MEBIBYTE / 16),
    ] {
        let (fake, gate) = on_gitlab();
        fake.fail(method, contains, 1, Wrong::Endless(status, start));
        let (code, most) = measured(&gate, &[]);
        let place = format!("{method} {contains} {status}: {} bytes, {most} MiB", fake.endless());
        assert_eq!(code, if method == "POST" { 0 } else { 3 }, "{place}");
        assert!((1..=limit + ON_THE_WAY).contains(&fake.endless()), "{place}");
        assert!(most < 300, "{place}");
    }
}

#[test]
fn a_list_without_end_is_no_list() {
    let (fake, gate) = on_github();
    let page = Reply { headers: vec![("link", "<https://x/?page=2>; rel=\"next\"".into())], ..said(200, "[]") };
    fake.fail("GET", "/issues/7/comments", 1_000, Wrong::Instead(page));
    let ended = gate.run(Pair::Fail, &["--strict-publish"]);
    assert_eq!(ended.code, 3, "{ended:?}");
    assert!(warnings(&ended)[0].contains("with a longer list than is read"), "{ended:?}");
    let requests = fake.requests();
    assert_eq!(requests.iter().filter(|line| line.contains("comments")).count(), 100);
    assert!(fake.state().said().is_empty());
}

#[test]
fn a_wait_of_years_is_not_waited_for_and_told() {
    for (header, said) in [
        ("99999999999999999999999999", "it asks to wait 10 years or more, and one run waits at most 5 minutes in all"),
        ("18446744073709551615", "it asks to wait 10 years or more"),
        ("86400", "it asks to wait 24 hours"),
        ("Fri, 31 Dec 2027 00:00:00 GMT", "it asks to wait 404 days"),
    ] {
        let limited = || Reply { headers: vec![("retry-after", header.into())], ..Reply::refusal(429, "slow down") };
        let (fake, gate) = on_github();
        fake.fail("POST", "/issues/7/comments", 9, Wrong::Instead(limited()));
        let ended = gate.run(Pair::Pass, &["--strict-publish"]);
        assert_eq!((ended.code, warnings(&ended).len()), (3, 1), "{header}: {ended:?}");
        assert!(warnings(&ended)[0].contains(said), "{header}: {ended:?}");
        fake.requests();
        let (fake, gate) = on_gitlab();
        fake.fail("POST", "/notes", 9, Wrong::Instead(limited()));
        let ended = gate.run(Pair::Pass, &[]);
        assert_eq!((ended.code, warnings(&ended).len()), (0, 1), "{header}: {ended:?}");
        assert!(warnings(&ended)[0].contains(said), "{header}: {ended:?}");
        fake.requests();
    }
    let past = Reply {
        headers: vec![("retry-after", "Sat, 21 Nov 2020 18:00:00 GMT".into())],
        ..Reply::refusal(429, "slow down")
    };
    let (fake, gate) = on_github();
    fake.fail("POST", "/issues/7/comments", 1, Wrong::Instead(past));
    assert_eq!(gate.run(Pair::Pass, &["--strict-publish"]).code, 0, "a wait that is over is none");
    fake.requests();
    let far = Reply {
        headers: vec![("x-ratelimit-remaining", "0".into()), ("x-ratelimit-reset", "9223372036854775807".into())],
        ..Reply::refusal(403, "API rate limit exceeded")
    };
    fake.fail("GET", "/issues/7/comments", 9, Wrong::Instead(far));
    let ended = gate.run(Pair::Fail, &[]);
    assert_eq!(ended.code, 1);
    assert!(warnings(&ended)[0].contains("it asks to wait 10 years or more"), "{ended:?}");
}

/// The rows of "When a forge fails" in docs/publish.md: how many warnings there are, and what `--strict-publish` makes of
/// them.
#[test]
fn strict_publishing_fails_whenever_something_did_not_certainly_arrive() {
    type Change = fn(&Fake<GitHub>, &mut Gate);
    let rows: [(&str, Change, &[&str], usize); 12] = [
        ("no token", |_, gate| gate.unset("INPUT_TOKEN"), &[], 1),
        ("no token that fits a header", |_, gate| gate.set(&[("INPUT_TOKEN", "a\nb")]), &[], 1),
        ("a token that is not valid", |_, gate| gate.set(&[("INPUT_TOKEN", "other")]), &[], 2),
        (
            "an unknown repository",
            |_, gate| {
                gate.set(&[("GITHUB_REPOSITORY", "org/other")]);
                gate.write("event.json", &gate.read("event.json").replace("org/model", "org/other"));
            },
            &[],
            3,
        ),
        (
            "an event without a commit",
            |_, gate| {
                gate.set(&[("GITHUB_EVENT_NAME", "issue_comment")]);
                gate.write("event.json", r#"{"issue":{"number":7}}"#);
            },
            &[],
            1,
        ),
        (
            "no pull request of the branch",
            |fake, gate| {
                fake.state().pulls.clear();
                gate.set(&[("GITHUB_EVENT_NAME", "workflow_run")]);
                let event = finished_workflow().to_string().replace("\"dev/model\"", "\"org/model\"");
                gate.write("event.json", &event);
            },
            &[],
            1,
        ),
        ("a server that stays down", |fake, _| fake.fail("GET", "/pulls/7", 9, Wrong::Instead(said(502, ""))), &[], 1),
        (
            "a token without rights",
            |fake, _| {
                fake.state().tokens.insert(TOKEN.into(), Rights::read_only());
            },
            &["--check", "none"],
            1,
        ),
        ("no comment wanted", |_, _| {}, &["--comment", "never"], 0),
        ("a comment for failures alone", |_, _| {}, &["--comment", "on-failure"], 0),
        (
            "a schedule",
            |_, gate| {
                gate.set(&[("GITHUB_EVENT_NAME", "schedule")]);
                gate.write("event.json", "{}");
            },
            &["--check", "none"],
            0,
        ),
        ("a newer commit", |fake, _| fake.state().pulls.get_mut(&7).expect("there").0 = "4".repeat(40), &[], 0),
    ];
    for (name, change, more, count) in rows {
        for strict in [false, true] {
            let (fake, mut gate) = on_github();
            change(&fake, &mut gate);
            let strictly: &[&str] = if strict { &["--strict-publish"] } else { &[] };
            let ended = gate.run(Pair::Pass, &[more, strictly].concat());
            assert_eq!(ended.code, if strict && count > 0 { 3 } else { 0 }, "{name}: {ended:?}");
            assert_eq!(warnings(&ended).len(), count, "{name}: {ended:?}");
        }
    }
    // Whose change it is cannot be known of a pull request that is not there: the target's policy cannot be read.
    let (_fake, gate) = on_github();
    assert_eq!(gate.run(Pair::Pass, &["--number", "99"]).code, 3);
}

#[test]
fn strict_publishing_at_gitlab() {
    type Change = fn(&Fake<GitLab>, &mut Gate);
    let rows: [(&str, Change, &[&str], usize); 6] = [
        ("no token", |_, gate| gate.unset("PRECISION_GATE_TOKEN"), &[], 1),
        ("a token that is not valid", |_, gate| gate.set(&[("PRECISION_GATE_TOKEN", "other")]), &[], 1),
        (
            "an unknown project",
            |_, gate| gate.set(&[("CI_MERGE_REQUEST_PROJECT_ID", "8"), ("CI_MERGE_REQUEST_SOURCE_PROJECT_ID", "8")]),
            &[],
            1,
        ),
        ("no such merge request", |_, gate| gate.set(&[("CI_MERGE_REQUEST_IID", "6")]), &[], 1),
        ("no comment wanted", |_, _| {}, &["--comment", "never"], 0),
        ("a newer commit", |fake, _| fake.state().head = "4".repeat(40), &[], 0),
    ];
    for (name, change, more, count) in rows {
        for strict in [false, true] {
            let (fake, mut gate) = on_gitlab();
            change(&fake, &mut gate);
            let strictly: &[&str] = if strict { &["--strict-publish"] } else { &[] };
            let ended = gate.run(Pair::Pass, &[more, strictly].concat());
            assert_eq!(ended.code, if strict && count > 0 { 3 } else { 0 }, "{name}: {ended:?}");
            assert_eq!(warnings(&ended).len(), count, "{name}: {ended:?}");
        }
    }
}

#[test]
fn gitcode_says_nothing_when_it_updates_and_that_counts() {
    for (gitcode, forge, variable, code) in [(true, "gitcode", "GITCODE_TOKEN", 0), (false, "gitee", "GITEE_TOKEN", 3)]
    {
        let fake = Community::start(gitcode);
        let mut gate = Gate::outside();
        gate.set(&[(variable, TOKEN)]);
        let place = ["--publish", "--forge", forge, "--url", &fake.base, "--repo", "org/model", "--number", "7"];
        gate.run(Pair::Fail, &place);
        fake.fail("PATCH", "/pulls/comments/", 1, Wrong::Afterwards(Reply::empty(204)));
        let ended = gate.run(Pair::Pass, &[&place[..], &["--strict-publish"]].concat());
        assert_eq!(ended.code, code, "{forge}: {ended:?}");
    }
}
