//! Report of a run on the nights before it.

use std::path::Path;

use super::support::{Night, commit, ended, program, records, run, summary};

const POLICY: &str = "history: { location: hist, suite: nightly, alert-after: 2 }\n";

fn judge(folder: &Path, day: u32, night: Night) -> serde_json::Value {
    let (code, _, stderr) = ended(&mut run(folder, day, night));
    assert_eq!((code, stderr.as_str()), (i32::from(night != Night::Green), ""), "a history changes no exit code");
    summary(folder, day)
}

#[test]
fn a_flaky_night_raises_no_alert_and_a_broken_suite_does() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("precision-gate.yml"), POLICY).expect("written");
    let nights = [Night::Green, Night::Nan, Night::Green, Night::Drift, Night::Drift];
    let said: Vec<_> = (1..).zip(nights).map(|(day, night)| judge(folder.path(), day, night)).collect();
    let alerts: Vec<_> = said.iter().map(|history| (history["failed"].as_u64(), history["alert"].as_bool())).collect();
    assert_eq!(alerts, [0, 1, 0, 1, 2].map(|failed| (Some(failed), Some(failed == 2))));
    let last = &said[4];
    assert_eq!(last["since"]["green"]["commit"], commit(3));
    assert_eq!(last["since"]["red"]["commit"], commit(4));
    assert_eq!(last["last"].as_array().map(Vec::len), Some(5));
    let kinds: Vec<_> = last["changed"].as_array().expect("changes").iter().map(|change| &change["kind"]).collect();
    assert_eq!(kinds, ["commit", "baseline"], "the fixtures of the two nights are not the same baseline");

    let text = std::fs::read_to_string(folder.path().join("out-5/summary.md")).expect("a summary");
    for part in [
        "`nightly`, 5 runs, this one last: ✅❌✅❌❌",
        "Alert: the same case has failed 2 times in a row. Last green run: `030303030303` (2026-11-03 02:00 UTC); first red run: `040404040404`",
        &format!("git bisect start {} {}", commit(4), commit(3)),
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    let text = std::fs::read_to_string(folder.path().join("out-2/summary.md")).expect("a summary");
    assert!(text.contains("No alert yet: the same case has failed 1 time in a row, and an alert takes 2."), "{text}");
}

#[test]
fn a_run_without_history_says_nothing_of_it() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(judge(folder.path(), 1, Night::Drift), serde_json::Value::Null);
    std::fs::write(folder.path().join("precision-gate.yml"), POLICY).expect("written");
    assert_eq!(ended(run(folder.path(), 2, Night::Green).arg("--no-history")).0, 0);
    assert!(!folder.path().join("hist").exists());
}

#[test]
fn a_pull_request_looks_at_the_history_of_its_policy_and_adds_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("precision-gate.yml"), POLICY).expect("written");
    judge(folder.path(), 1, Night::Green);
    let mut merge_request = run(folder.path(), 2, Night::Drift);
    merge_request.envs([
        ("GITLAB_CI", "true"),
        ("CI_PROJECT_ID", "7"),
        ("CI_MERGE_REQUEST_IID", "5"),
        ("CI_MERGE_REQUEST_SOURCE_PROJECT_ID", "7"),
        ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main"),
        ("CI_COMMIT_SHA", &commit(2)),
    ]);
    let (code, _, stderr) = ended(&mut merge_request);
    assert_eq!(code, 1, "{stderr}");
    assert_eq!(summary(folder.path(), 2)["since"]["green"]["commit"], commit(1));
    assert_eq!(records(folder.path(), "hist").0.len(), 1);
}

#[test]
fn what_cannot_be_kept_is_a_warning() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("file"), "").expect("written");
    for (location, says) in [
        ("file/hist", "history: "),
        ("https://host.example/hist", "is not a location for writing"),
        ("branch:a..b", "is not a branch name"),
        ("branch:history", "there is no git repository here"),
    ] {
        let (code, _, stderr) = ended(run(folder.path(), 1, Night::Green).args(["--history", location]));
        assert_eq!(code, 0, "{location}: {stderr}");
        assert!(stderr.starts_with("warning: ") && stderr.contains(says), "{location}: {stderr}");
        let strict = ended(run(folder.path(), 1, Night::Green).args(["--history", location, "--strict-publish"]));
        assert_eq!(strict.0, 3, "{location}");
    }
    assert_eq!(ended(run(folder.path(), 1, Night::Green).args(["--history", "x", "--suite", "../up"])).0, 2);
    let (code, _, stderr) = ended(program(folder.path()).args(["history", "list", "--history", "nowhere"]));
    assert_eq!(code, 2, "{stderr}");
    assert_eq!(ended(program(folder.path()).args(["history", "list"])).0, 2, "no history is named");
}
