//! Nights without a pull request: the issue of a suite.

use crate::forge::fake::github::{GitHub, Rights, TOKEN};
use crate::forge::fake::gitlab::GitLab;
use crate::forge::fake::{Reply, Wrong};
use crate::forge::gate::{Gate, Pair};

/// Ten nights: what each run finds, whether the issue is open after it, and how many comments it has by then.
const NIGHTS: [(Pair, bool, usize); 10] = [
    (Pair::Pass, false, 0),
    (Pair::Fail, true, 0),
    (Pair::Fail, true, 0),
    (Pair::OtherCulprit, true, 1),
    (Pair::OtherCulprit, true, 1),
    (Pair::Pass, false, 2),
    (Pair::Pass, false, 2),
    // A flaky night: the same issue, opened again.
    (Pair::Fail, true, 3),
    (Pair::Pass, false, 4),
    (Pair::Pass, false, 4),
];

#[test]
fn one_issue_follows_a_suite_over_ten_nights_on_github() {
    let fake = GitHub::start("");
    let gate = Gate::nightly_on_github(&fake.base);
    for (night, (pair, open, comments)) in NIGHTS.into_iter().enumerate() {
        let day = format!("2026-11-{:02}", night + 1);
        gate.run_on(&day, pair, &["--strict-publish"]);
        let writes = fake.writes();
        let state = fake.state();
        assert_eq!(state.issues.len(), usize::from(night > 0), "night {night}: {writes:?}");
        assert_eq!(state.issues.iter().any(|issue| issue.open), open, "night {night}: {writes:?}");
        assert_eq!(state.comments.len(), comments, "night {night}: {:?}", state.comments);
        if night > 0 {
            let body = &state.issues[0].body;
            let last = body.trim_end().lines().last().unwrap_or_default();
            assert!(last.starts_with("<!-- precision-gate:v2 issue key=default of="), "{body}");
        }
        match night {
            0 | 6 | 9 => assert_eq!(writes, [""; 0], "night {night}: a green night without an issue writes nothing"),
            1 => assert_eq!(writes, ["POST /repos/org/model/issues -> 201"]),
            // The day stands in the text, so that it changes; a comment would tell nobody anything new.
            2 | 4 => assert!(writes.iter().all(|line| line.starts_with("PATCH")), "{writes:?}"),
            _ => {}
        }
        if night == 4 {
            assert!(state.issues[0].body.contains("**Failing since `2026-11-02`.**"), "{}", state.issues[0].body);
        }
    }
    let state = fake.state();
    assert_eq!(state.issues[0].title, "precision-gate: suite default fails");
    let said: Vec<&str> = state.comments.iter().filter_map(|(_, _, _, body)| body.split(':').next()).collect();
    assert_eq!(said, ["Changed", "Passing again", "Failing again", "Passing again"]);
    assert!(state.issues[0].body.contains("**Passing again since `2026-11-09`.**"), "{}", state.issues[0].body);
}

#[test]
fn one_issue_follows_a_suite_over_ten_nights_on_gitlab() {
    let fake = GitLab::start();
    let gate = Gate::nightly_on_gitlab(&fake.base);
    for (night, (pair, open, comments)) in NIGHTS.into_iter().enumerate() {
        gate.run_on(&format!("2026-11-{:02}", night + 1), pair, &["--strict-publish", "--lang", "zh"]);
        let writes = fake.writes();
        let state = fake.state();
        assert_eq!(state.issues.len(), usize::from(night > 0), "night {night}: {writes:?}");
        assert_eq!(state.issues.iter().any(|issue| issue.open), open, "night {night}: {writes:?}");
        assert_eq!(state.issues.first().map_or(0, |issue| issue.notes.len()), comments, "night {night}");
    }
    assert_eq!(fake.state().issues[0].title, "precision-gate：用例集 default 未通过");
}

#[test]
fn lost_answers_races_and_dropped_labels_leave_one_open_issue() {
    let fake = GitHub::start("");
    let gate = Gate::nightly_on_github(&fake.base);
    fake.fail("POST", "/issues", 1, Wrong::Afterwards(Reply::refusal(502, "bad gateway")));
    gate.run(Pair::Fail, &["--strict-publish"]);
    assert_eq!(fake.state().issues.len(), 1);
    fake.fail("POST", "/comments", 1, Wrong::Cut);
    fake.fail("PATCH", "/issues/", 1, Wrong::Afterwards(Reply::refusal(500, "oops")));
    let ended = gate.run(Pair::Pass, &["--strict-publish"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    let state = fake.state();
    assert_eq!((state.comments.len(), state.issues[0].open), (1, false));
    drop(state);
    fake.requests();

    let fake = GitHub::start("");
    let (one, other) = (Gate::nightly_on_github(&fake.base), Gate::nightly_on_github(&fake.base));
    fake.hold_until_two("POST");
    std::thread::scope(|scope| {
        scope.spawn(|| one.run(Pair::Fail, &[]));
        scope.spawn(|| other.run(Pair::Fail, &[]));
    });
    assert_eq!(fake.state().issues.iter().filter(|issue| issue.open).count(), 1);
    fake.requests();

    let fake = GitHub::start("");
    fake.state().tokens.insert(TOKEN.into(), Rights { labels: false, ..Rights::workflow() });
    let gate = Gate::nightly_on_github(&fake.base);
    gate.run(Pair::Fail, &["--strict-publish"]);
    gate.run(Pair::OtherCulprit, &["--strict-publish"]);
    let state = fake.state();
    assert_eq!((state.issues.len(), state.issues[0].labels.len()), (1, 1));
    drop(state);
    fake.requests();
}

#[test]
fn a_pull_request_has_a_comment_and_no_issue() {
    let fake = GitHub::start("");
    let mut gate = Gate::on_github(&fake.base);
    gate.set(&[("INPUT_ISSUE", "true")]);
    gate.run(Pair::Fail, &["--strict-publish"]);
    let state = fake.state();
    assert_eq!((state.said().len(), state.issues.len()), (1, 0));
}

#[test]
fn what_is_missing_for_an_issue_is_told() {
    let fake = GitHub::start("");
    fake.state().tokens.insert(TOKEN.into(), Rights { issues: false, ..Rights::workflow() });
    let ended = Gate::nightly_on_github(&fake.base).run(Pair::Fail, &[]);
    assert_eq!(ended.code, 1);
    assert!(ended.stdout.contains("permissions: { issues: write }"), "{ended:?}");

    let mut gate = Gate::outside();
    gate.set(&[("GITEE_TOKEN", TOKEN)]);
    let place = ["--publish", "--issue", "--forge", "gitee", "--url", "http://127.0.0.1:9", "--repo", "org/model"];
    let ended = gate.run(Pair::Fail, &place);
    assert_eq!(ended.code, 1);
    assert!(ended.stderr.contains("issues of Gitee are not supported yet; use a chat"), "{ended:?}");
}
