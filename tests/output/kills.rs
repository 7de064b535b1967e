//! `kill -9` at any moment: what is left is of one run, and whole.

use std::path::Path;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::support::{Documents, documents, ended, names, numbers, put, reference, run};

/// What a folder holds after a kill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    Old,
    Nothing,
    New,
}

/// Holds a folder against the documents of the run before and of the run that was killed, and says whose it holds.
fn check(folder: &Path, old: &Documents, new: &Documents) -> Left {
    let found = documents(folder);
    let is_of = |run: &Documents| found.iter().all(|(name, bytes)| run.get(name) == Some(bytes));
    let shown: Vec<&String> = found.keys().collect();
    assert!(is_of(old) || is_of(new), "torn, or of two runs: {shown:?}");
    let is_lone = |name: &str| found.keys().all(|found| found == name);
    assert!(found.contains_key("result.json") || is_lone("operations.jsonl"), "without its result: {shown:?}");
    assert!(!found.contains_key("result.json") || found.contains_key("operations.jsonl"), "{shown:?}");
    for name in names(folder).iter().filter(|name| !found.contains_key(*name)) {
        assert!(name.starts_with(".precision-gate.") || name == "mine.txt", "{name}");
    }
    match found.is_empty() {
        true => Left::Nothing,
        false if is_of(old) => Left::Old,
        false => Left::New,
    }
}

/// Kills as many runs, each at a moment of its own, and prints what they left.
fn kill(count: usize) {
    let (old, new) = (reference("gpu"), reference("npu"));
    let folder = TempDir::new().expect("a folder");
    let out = folder.path().join("out");
    let start = Instant::now();
    assert_eq!(ended(run(folder.path(), "npu", Path::new("out"))).0, 1);
    // Some come when all is over.
    let longest = u64::try_from(start.elapsed().as_micros()).expect("short") * 11 / 10;
    let mut left = Vec::new();
    for (index, number) in numbers(19).take(count).enumerate() {
        let _gone = std::fs::remove_dir_all(&out);
        put(&out, &old);
        std::fs::write(out.join("mine.txt"), "mine").expect("written");
        let mut child = run(folder.path(), "npu", Path::new("out")).spawn().expect("started");
        std::thread::sleep(Duration::from_micros(number % longest));
        child.kill().expect("killed");
        child.wait().expect("ended");
        left.push(check(&out, &old, &new));
        assert!(out.join("mine.txt").exists());
        if index % 10 == 0 {
            let (code, error) = ended(run(folder.path(), "npu", Path::new("out")));
            assert_eq!(code, 1, "a killed run is in the way: {error}");
            assert_eq!(documents(&out), new);
            assert!(names(&out).iter().all(|name| !name.starts_with('.')), "{:?}", names(&out));
        }
    }
    let of = |what: Left| left.iter().filter(|left| **left == what).count();
    println!(
        "{count} kills left: the old run {}, nothing {}, the new run {}",
        of(Left::Old),
        of(Left::Nothing),
        of(Left::New)
    );
    assert!(of(Left::Nothing) > 0, "no kill came while a run was under way");
}

#[test]
fn a_killed_run_leaves_no_mixed_folder() {
    kill(20);
}

#[test]
#[ignore = "a hundred kills, for the second stage of .ci/run"]
fn a_hundred_killed_runs_leave_no_mixed_folder() {
    kill(100);
}
