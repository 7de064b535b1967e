//! Comments that ask for something: whose word counts, what comes of it, and what does not.

use serde_json::{Value, json};

use crate::forge::fake::Fake;
use crate::forge::fake::github::{GitHub, HEAD, PULL, Rights, TIP, TOKEN};
use crate::forge::fake::gitlab::{self, GitLab};
use crate::forge::gate::{Ended, Gate, Pair};

const WAIVE: &str = "/precision-gate waive output-diverges until 2026-12-24 because HF32 is accepted";
const POLICY: &str = "# Our limits.\nprofile: default\nwaivers:\n  # HF32\n  - { code: other-precision, where: a, owner: o, reason: r, expires: 2026-12-01 }\n";
const NEWER: &str = "9999999999999999999999999999999999999999";

/// A repository whose pull request was judged, with a policy at the target branch, and who may do what.
fn judged() -> (Fake<GitHub>, Gate) {
    let fake = GitHub::start("");
    let gate = Gate::on_github(&fake.base);
    gate.run(Pair::Fail, &[]);
    let mut state = fake.state();
    state.permissions.extend([("li", "write"), ("boss", "admin"), ("visitor", "read"), ("nobody", "none")]);
    state.files.insert((TIP.into(), "precision-gate.yml".into()), POLICY.into());
    drop(state);
    fake.requests();
    (fake, gate)
}

/// The event of a new comment.
fn comment(login: &str, text: &str) -> Value {
    json!({
        "action": "created",
        "repository": { "id": 1, "full_name": "org/model", "default_branch": "main" },
        "issue": { "number": PULL, "pull_request": { "url": "https://api.github.com/pulls/7" } },
        // What GitHub says about the author's standing is no permission, and is not looked at.
        "comment": { "body": text, "user": { "login": login }, "author_association": "OWNER", "created_at": "2026-11-21T10:05:00Z" },
    })
}

fn answer(gate: &mut Gate, event: &Value) -> Ended {
    gate.write("event.json", &event.to_string());
    gate.set(&[("GITHUB_EVENT_NAME", "issue_comment")]);
    gate.command(&["answer", "--today", "2026-11-21"])
}

fn last_reply(fake: &Fake<GitHub>) -> String {
    fake.state().said().last().map_or_else(String::new, |(_, body)| (*body).to_owned())
}

/// The policy of the only proposal.
fn proposed(fake: &Fake<GitHub>) -> (Value, String) {
    let state = fake.state();
    let [opened] = state.opened.as_slice() else { panic!("not one pull request: {:?}", state.opened) };
    let commit = &state.tips[&opened.branch];
    (opened.said.clone(), state.files[&(commit.clone(), "precision-gate.yml".to_owned())].clone())
}

#[test]
fn a_stranger_s_word_does_nothing() {
    for login in ["visitor", "nobody", "unheard-of"] {
        let (fake, mut gate) = judged();
        let ended = answer(&mut gate, &comment(login, WAIVE));
        assert_eq!(ended.code, 0, "{ended:?}");
        assert!(ended.stdout.contains("may not write to the repository: nothing is done"), "{ended:?}");
        assert_eq!(fake.writes(), Vec::<String>::new(), "{login}");
    }
}

#[test]
fn a_writer_s_waiver_becomes_a_pull_request() {
    let (fake, mut gate) = judged();
    let ended = answer(&mut gate, &comment("li", WAIVE));
    assert_eq!(ended.code, 0, "{ended:?}");
    let (said, policy) = proposed(&fake);
    assert_eq!(said["base"], "main");
    assert_eq!(said["title"], "Waive output-diverges until 2026-12-24");
    assert!(said["head"].as_str().expect("a branch").starts_with("precision-gate/waive-output-diverges-7-"), "{said}");
    let waiver = "waivers:\n  - code: output-diverges\n    where: \"*\"\n    reason: \"HF32 is accepted\"\n    owner: \"li\"\n    expires: 2026-12-24\n  # HF32\n";
    assert_eq!(policy, POLICY.replace("waivers:\n  # HF32\n", waiver));
    insta::assert_snapshot!("waiver_pull_request", said["body"].as_str().expect("text"));
    insta::assert_snapshot!("waiver_reply", last_reply(&fake));
    assert_eq!(
        fake.writes(),
        [
            "POST /repos/org/model/git/trees -> 201",
            "POST /repos/org/model/git/commits -> 201",
            "POST /repos/org/model/git/refs -> 201",
            "POST /repos/org/model/pulls -> 201",
            "POST /repos/org/model/issues/7/comments -> 201",
        ]
    );
}

#[test]
fn no_character_of_a_comment_is_more_than_text() {
    let reason = "$(touch pwned); `touch pwned` && \"it's\" \\ ${{ github.token }} | > x @everyone <script>alert(1)</script> [a](b) {{ x }} # no";
    let (fake, mut gate) = judged();
    let text =
        format!("/precision-gate waive output-diverges at Torch.bmm.* until 2026-12-24 because {reason}\nwaivers: []");
    let ended = answer(&mut gate, &comment("boss", &text));
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(!gate.folder().join("pwned").exists());
    let (said, policy) = proposed(&fake);
    gate.write("amended.yml", &policy);
    let waiver = policy.lines().find_map(|line| line.trim().strip_prefix("reason: ")).expect("a reason");
    assert_eq!(serde_json::from_str::<String>(&waiver.replace("\\U", "\\u")).expect("one scalar"), reason);
    let body = said["body"].as_str().expect("text");
    // What could be more than text stands between backticks.
    for word in ["`@everyone`", "`<script>alert(1)</script>`", "`[a](b`", "`{{`", "`$(touch`"] {
        assert!(body.contains(word), "{word}: {body}");
    }
    let checked = gate.run(Pair::Pass, &["--config", "amended.yml"]);
    assert_eq!(checked.code, 0, "the amended policy is read: {checked:?}");
}

#[test]
fn asking_twice_proposes_once() {
    let (fake, mut gate) = judged();
    answer(&mut gate, &comment("li", WAIVE));
    fake.requests();
    let ended = answer(&mut gate, &comment("li", WAIVE));
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(fake.writes(), ["POST /repos/org/model/issues/7/comments -> 201"]);
    assert!(last_reply(&fake).contains("has proposed just this for"), "{}", last_reply(&fake));
    proposed(&fake);
}

#[test]
fn nothing_is_proposed_where_the_answer_is_no_longer_about_the_newest_commit() {
    type Prepare = fn(&Fake<GitHub>);
    let cases: [(&str, Prepare, &str); 4] = [
        ("closed", |fake| fake.state().closed = true, "The pull request is closed."),
        ("force-push", |fake| fake.state().pulls.get_mut(&PULL).expect("there").0 = NEWER.into(), "is not about"),
        ("judged again", |fake| fake.state().updated = "2026-11-21T10:06:00Z", "or it changed after the comment"),
        ("no result", |fake| fake.state().comments.clear(), "is not about"),
    ];
    for (name, prepare, said) in cases {
        let (fake, mut gate) = judged();
        prepare(&fake);
        let ended = answer(&mut gate, &comment("li", WAIVE));
        assert_eq!(ended.code, 1, "{name}: {ended:?}");
        assert_eq!(fake.writes(), ["POST /repos/org/model/issues/7/comments -> 201"], "{name}");
        assert!(last_reply(&fake).contains(said), "{name}: {}", last_reply(&fake));
    }
}

#[test]
fn a_marker_that_somebody_quotes_is_no_result() {
    let (fake, mut gate) = judged();
    let quoted = last_reply(&fake).replace(HEAD, NEWER);
    assert!(quoted.contains(NEWER));
    fake.state().say("visitor", &quoted);
    fake.state().pulls.get_mut(&PULL).expect("there").0 = NEWER.into();
    assert_eq!(answer(&mut gate, &comment("li", WAIVE)).code, 1);
}

#[test]
fn what_cannot_be_done_is_said() {
    for (text, said) in [
        ("/precision-gate approve", "`/precision-gate waive CODE until YYYY-MM-DD because REASON`"),
        (
            "/precision-gate waive nothing-known until 2026-12-24 because x",
            "is no code of a finding that a waiver covers",
        ),
        (
            "/precision-gate waive waiver-expired until 2026-12-24 because x",
            "is no code of a finding that a waiver covers",
        ),
        ("/precision-gate waive output-diverges until 2029-12-24 because x", "at most 366 are allowed"),
        ("/precision-gate waive output-diverges until soon because x", "expects a date"),
        ("/precision-gate accept-baseline", "is pinned for"),
    ] {
        let (fake, mut gate) = judged();
        let ended = answer(&mut gate, &comment("li", text));
        assert_eq!(ended.code, 1, "{text}: {ended:?}");
        assert!(last_reply(&fake).starts_with("**Nothing was proposed.**"), "{text}: {}", last_reply(&fake));
        assert!(last_reply(&fake).contains(said), "{text}: {}", last_reply(&fake));
        assert!(fake.state().opened.is_empty());
    }
    let (fake, mut gate) = judged();
    assert_eq!(answer(&mut gate, &comment("li", "looks good to me")).code, 0);
    let mut edited = comment("li", WAIVE);
    edited["action"] = "edited".into();
    assert_eq!(answer(&mut gate, &edited).code, 2, "an edited comment may be another person's words");
    assert_eq!(fake.writes(), Vec::<String>::new());
}

#[test]
fn a_token_that_may_not_open_pull_requests_leaves_a_branch_and_a_link() {
    let (fake, mut gate) = judged();
    fake.state().tokens.insert(TOKEN.into(), Rights { pulls: false, ..Rights::workflow() });
    let ended = answer(&mut gate, &comment("li", WAIVE));
    assert_eq!(ended.code, 0, "{ended:?}");
    let reply = last_reply(&fake);
    assert!(
        reply.contains("(https://github.com/org/model/compare/main...precision-gate/waive-output-diverges-7-"),
        "{reply}"
    );
    assert_eq!(fake.state().tips.len(), 2, "the branch is there");
}

/// A repository whose baseline lies in a folder that is named by the commit, with one more run for the judged commit.
fn with_baseline(location: &str) -> (Fake<GitHub>, Gate) {
    let (fake, mut gate) = judged();
    let [baseline, changed] = Pair::Fail.folders();
    for (commit, folder) in [(TIP, baseline), (HEAD, changed)] {
        copy(&folder, &gate.folder().join("golden").join(commit));
    }
    let place = gate.path(location);
    gate.set(&[
        ("GITHUB_EVENT_NAME", "workflow_dispatch"),
        ("GITHUB_JOB", "promote"),
        ("RUNNER_TEMP", &gate.path("temp")),
    ]);
    let promote = ["baseline", "promote", &place, "--name", "gpt", "--reason", "first", "--approved-by", "ann"];
    let ended = gate.command(&[&promote[..], &["--commit", TIP, "--today", "2026-11-20"]].concat());
    assert_eq!(ended.code, 0, "{ended:?}");
    for path in ["precision-gate.lock", "baselines/gpt.json"] {
        fake.state().files.insert((TIP.into(), path.into()), gate.read(path));
    }
    (fake, gate)
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() { copy(&from, &to) } else { std::fs::copy(&from, &to).map(|_| ()).expect("copied") }
    }
}

#[test]
fn an_accepted_baseline_is_the_run_that_the_manifest_names_for_the_commit() {
    let (fake, mut gate) = with_baseline(&format!("golden/{TIP}"));
    let ended = answer(&mut gate, &comment("li", "/precision-gate accept-baseline because new attention scale"));
    assert_eq!(ended.code, 0, "{ended:?}");
    let state = fake.state();
    let opened = state.opened.last().expect("a pull request");
    assert!(opened.branch.starts_with("precision-gate/baseline-gpt-7-"), "{}", opened.branch);
    let commit = &state.tips[&opened.branch];
    let manifest = &state.files[&(commit.clone(), "baselines/gpt.json".to_owned())];
    let manifest: Value = serde_json::from_str(manifest).expect("a manifest");
    assert_eq!(manifest["location"], gate.path(&format!("golden/{HEAD}")).as_str());
    assert_eq!(manifest["recorded"]["commit"], HEAD);
    assert_eq!(manifest["approval"]["by"], "li");
    assert_eq!(manifest["approval"]["reason"], "new attention scale");
    assert_eq!(manifest["approval"]["exceeds_band"], true, "old against new stands in it");
    assert!(state.files.contains_key(&(commit.clone(), "precision-gate.lock".to_owned())));
    let body = opened.said["body"].as_str().expect("text");
    assert!(body.contains("new judged against old: fail") && body.contains("output-diverges"), "{body}");
}

#[test]
fn a_baseline_is_not_accepted_from_elsewhere() {
    let accept = comment("li", "/precision-gate accept-baseline gpt because new attention scale");
    type Prepare = fn(&Fake<GitHub>, &Gate);
    let cases: [(&str, &str, Prepare, &str); 4] = [
        ("no commit in the location", "golden", |_, _| {}, "names no commit"),
        ("a fork", &format!("golden/{TIP}"), |fake, _| fake.state().from_fork = true, "comes from a fork"),
        (
            "another checkout",
            &format!("golden/{TIP}"),
            |_, gate| drop(gate.write("precision-gate.lock", "{}")),
            "is not that of the target branch",
        ),
        (
            "no run yet",
            &format!("golden/{TIP}"),
            |_, gate| std::fs::remove_dir_all(gate.folder().join("golden").join(HEAD)).expect("removed"),
            "**Nothing was proposed.**",
        ),
    ];
    for (name, location, prepare, said) in cases {
        let location = if location == "golden" { "golden".to_owned() } else { location.to_owned() };
        let (fake, mut gate) = with_baseline(&location);
        prepare(&fake, &gate);
        let ended = answer(&mut gate, &accept);
        assert_eq!(ended.code, 1, "{name}: {ended:?}");
        assert!(last_reply(&fake).contains(said), "{name}: {}", last_reply(&fake));
        assert!(fake.state().opened.is_empty(), "{name}");
    }
}

#[test]
fn a_promotion_can_be_proposed_and_a_large_change_is_accepted_first() {
    for (accept, code, opened) in [(None, 1, 0), (Some("--accept-change"), 0, 1)] {
        let (fake, mut gate) = with_baseline(&format!("golden/{TIP}"));
        gate.set(&[("GITHUB_EVENT_NAME", "push"), ("GITHUB_REF_NAME", "main")]);
        gate.write("event.json", r#"{"ref":"refs/heads/main"}"#);
        let new = gate.path(&format!("golden/{HEAD}"));
        let promote =
            ["baseline", "promote", &new, "--name", "gpt", "--reason", "attention scale", "--approved-by", "li"];
        let more = ["--commit", HEAD, "--today", "2026-11-21", "--propose"];
        let ended = gate.command(&[&promote[..], &more, accept.as_slice()].concat());
        assert_eq!(ended.code, code, "{ended:?}");
        assert_eq!(fake.state().opened.len(), opened);
        if let Some(opened) = fake.state().opened.last() {
            assert!(opened.branch.starts_with("precision-gate/baseline-gpt-"), "{}", opened.branch);
            insta::assert_snapshot!(
                "baseline_pull_request",
                opened.said["body"].as_str().expect("text").replace(&new, "NEW").replace(&gate.path(""), "")
            );
        }
        gate.write("precision-gate.lock", "{}");
        let ended = gate.command(&[&promote[..], &more].concat());
        assert_eq!(ended.code, 2, "an old checkout: {ended:?}");
        fake.requests();
    }
}

#[test]
fn gitlab_answers_the_person_who_starts_the_job() {
    for (level, instruction, code, opened) in [
        (30, WAIVE.trim_start_matches("/precision-gate "), 0, 1),
        (40, WAIVE, 0, 1),
        (20, WAIVE, 0, 0),
        (30, "approve", 1, 0),
    ] {
        let fake = GitLab::start();
        fake.state().members.insert(2, level);
        fake.state().files.insert((gitlab::TIP.into(), "precision-gate.yml".into()), POLICY.into());
        let mut gate = Gate::on_gitlab(&fake.base);
        gate.set(&[("PRECISION_GATE_ANSWER", instruction)]);
        for _ in 0..2 {
            let ended = gate.command(&["answer", "--today", "2026-11-21", "--lang", "zh"]);
            assert_eq!(ended.code, code, "{level} {instruction}: {ended:?}");
        }
        assert_eq!(fake.state().opened.len(), opened, "{level} {instruction}");
        fake.requests();
        let is_moved = gate.command_after_push(&fake);
        assert_eq!(is_moved.code, i32::from(level >= 30), "{is_moved:?}");
    }
}

#[test]
fn gitlab_itself_says_who_started_the_job() {
    // 9 may write and 2 may not; only the job's token says who it is.
    for (token, started, code) in [
        (gitlab::JOB_TOKEN, (2, 1), 0),
        (gitlab::JOB_TOKEN, (9, 7), 2),
        ("made-up", (9, 1), 3),
        (gitlab::TOKEN, (9, 1), 3),
        ("", (9, 1), 2),
    ] {
        let fake = GitLab::start();
        fake.state().members.extend([(2, 20), (9, 40)]);
        fake.state().jobs.insert(gitlab::JOB_TOKEN.into(), started);
        let mut gate = Gate::on_gitlab(&fake.base);
        gate.set(&[("PRECISION_GATE_ANSWER", WAIVE), ("GITLAB_USER_ID", "9"), ("GITLAB_USER_LOGIN", "owner")]);
        gate.set(&[("CI_JOB_TOKEN", token), ("CI_JOB_ID", "1"), ("CI_PROJECT_ID", "1")]);
        let ended = gate.command(&["answer", "--today", "2026-11-21"]);
        assert_eq!(ended.code, code, "{token} {started:?}: {ended:?}");
        assert!(fake.state().opened.is_empty() && !ended.stdout.contains("owner"), "{ended:?}");
        fake.requests();
    }
}

impl Gate {
    /// The same job once a newer commit was pushed.
    fn command_after_push(&self, fake: &Fake<GitLab>) -> Ended {
        fake.state().head = NEWER.into();
        self.command(&["answer", "--today", "2026-11-21"])
    }
}
