//! Records in a folder: parallel writers, damage, pruning, secrets.

use std::path::Path;

use super::support::{Night, Run, commit, commits, ended, program, records, run, summary, together};

fn keep(folder: &Path, day: u32, night: Night) -> i32 {
    ended(run(folder, day, night).args(["--history", "hist", "--suite", "nightly"])).0
}

fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn runs_that_write_at_the_same_moment_lose_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |day: u32, out: u32| {
        // All at the same time; only their commits differ.
        let at = "2026-11-21T02:00:00Z".to_owned();
        let run = Run { out: format!("own-{out}"), at, ..Run::new(day, Night::Green) };
        let mut command = run.within(folder.path());
        command.args(["--history", "hist", "--suite", "nightly"]);
        command
    };
    let runs = (1..=8).map(|day| write(day, day)).chain([write(8, 9), write(8, 10)]);
    for (code, _, stderr) in together(runs.collect()) {
        assert_eq!((code, stderr.as_str()), (0, ""));
    }
    let (found, complaints) = records(folder.path(), "hist");
    assert_eq!(commits(&found), (1..=8).map(commit).collect::<Vec<_>>(), "one each; those that say the same are one");
    assert_eq!(complaints, "");
    assert!(
        files(&folder.path().join("hist/nightly")).iter().all(|name| name.ends_with(".json")),
        "nothing is left over"
    );
}

#[test]
fn a_damaged_or_hostile_record_hides_no_other() {
    let folder = tempfile::tempdir().expect("a folder");
    for day in 1..=3 {
        assert_eq!(keep(folder.path(), day, Night::Green), 0);
    }
    let place = folder.path().join("hist/nightly");
    let names = files(&place);
    std::fs::write(place.join(&names[0]), "[".repeat(1 << 20)).expect("written");
    std::fs::write(place.join("20261102T120000.000Z-unknown-0123456789ab.json"), "\u{1b}[2J").expect("written");
    std::fs::write(place.join("README.md"), "not a record").expect("written");
    std::os::unix::fs::symlink("/etc/passwd", place.join("20261102T130000.000Z-unknown-0123456789ab.json"))
        .expect("a link");
    assert_eq!(keep(folder.path(), 4, Night::Drift), 1);
    let history = summary(folder.path(), 4);
    assert_eq!(history["last"].as_array().map(Vec::len), Some(3));
    assert_eq!(history["unread"].as_array().map(Vec::len), Some(2), "{history}");
    let (found, complaints) = records(folder.path(), "hist");
    assert_eq!(commits(&found), [2, 3, 4].map(commit));
    assert_eq!(complaints.matches("warning: ").count(), 2, "{complaints}");
    assert!(!complaints.contains('\u{1b}') && complaints.contains("is not a record"), "{complaints}");
}

#[test]
fn pruning_needs_a_criterion_and_says_first_what_it_would_do() {
    let folder = tempfile::tempdir().expect("a folder");
    for day in 1..=5 {
        keep(folder.path(), day, Night::Green);
    }
    let prune =
        |more: &[&str]| ended(program(folder.path()).args(["history", "prune", "--history", "hist"]).args(more));
    assert_eq!(prune(&[]).0, 2);
    let (_, said, _) = prune(&["--keep", "2", "--dry-run"]);
    assert!(said.contains("3 of 5 records would be removed"), "{said}");
    assert_eq!(records(folder.path(), "hist").0.len(), 5);
    let now = ["--at", "2026-11-05T12:00:00Z"];
    let (_, said, _) = prune(&[&now[..], &["--older-than", "3d", "--keep", "1"]].concat());
    assert!(said.contains("2 of 5 records removed"), "both criteria hold: {said}");
    assert_eq!(commits(&records(folder.path(), "hist").0), [3, 4, 5].map(commit));
    assert_eq!(prune(&["--keep", "1", "--suite", "other"]).0, 2, "there is no such suite");
    assert_eq!(prune(&["--keep", "1", "--suite", "../x"]).0, 2);
}

#[test]
fn a_record_can_be_looked_at_and_holds_no_secret() {
    let folder = tempfile::tempdir().expect("a folder");
    let token = format!("ghp_{}", "a1".repeat(18));
    let mut command = run(folder.path(), 7, Night::Drift);
    command.args(["--history", "hist", "--with", &format!("cann=8.2 {token}"), "--with", "driver=25.2"]);
    assert_eq!(ended(&mut command).0, 1);
    let show = |more: &[&str]| ended(program(folder.path()).args(["history", "show", "--history", "hist"]).args(more));
    let (code, said, _) = show(&[&commit(7)[..9]]);
    assert_eq!(code, 0);
    for part in [
        "verdict      fail",
        "version      driver 25.2",
        "failing      loss loss ",
        "measure      loss loss mean_rel: ",
    ] {
        assert!(said.contains(part), "{part} is not in {said}");
    }
    assert!(!said.contains(&token) && said.contains("<redacted>"), "{said}");
    assert!(!show(&["--json"]).1.contains(&token));
    assert_eq!(show(&["ffff"]).0, 2);
}
