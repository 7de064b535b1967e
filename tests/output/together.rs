//! Two runs into one folder at once: one of them, or one after the other, and never both.

use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;

use crate::output::support::{documents, names, numbers, put, reference, run, told};

/// Starts as many pairs of runs, and prints how they ended.
fn race(count: usize) {
    let (pass, fail) = (reference("gpu"), reference("npu"));
    let (mut refused, mut in_turn) = (0, 0);
    for (index, number) in numbers(7).take(count).enumerate() {
        let folder = TempDir::new().expect("a folder");
        let out = folder.path().join("out");
        if index % 2 == 0 {
            put(&out, if index % 4 == 0 { &pass } else { &fail });
        }
        let mut candidates = ["gpu", "npu"];
        candidates.rotate_left(index % 2);
        // A third of the pairs start at once, of the others the second comes while the first is under way, or over.
        let pause = Duration::from_millis(if index % 3 == 0 { 0 } else { number % 400 });
        let started = candidates.map(|candidate| {
            let child = run(folder.path(), candidate, Path::new("out")).spawn().expect("started");
            std::thread::sleep(pause);
            (candidate, child)
        });
        let ends = started.map(|(candidate, child)| (candidate, told(&child.wait_with_output().expect("ended"))));
        let mut winners = Vec::new();
        for (candidate, (code, error)) in ends {
            if code == 2 {
                let is_told = error.contains("out: another run is writing into this folder") && error.contains("--out");
                assert!(is_told, "{error}");
            } else {
                assert_eq!((code, error.as_str()), (i32::from(candidate == "npu"), ""));
                winners.push(if candidate == "npu" { &fail } else { &pass });
            }
        }
        assert!(!winners.is_empty(), "each kept the other out");
        assert!(winners.contains(&&documents(&out)), "a mixed folder: {:?}", names(&out));
        assert!(names(&out).iter().all(|name| !name.starts_with('.')), "{:?}", names(&out));
        if winners.len() == 1 { refused += 1 } else { in_turn += 1 }
    }
    println!("{count} pairs of runs: {refused} times one was refused, {in_turn} times one came after the other");
}

#[test]
fn two_runs_do_not_share_a_folder() {
    race(15);
}

#[test]
#[ignore = "a hundred pairs of runs, for the second stage of .ci/run"]
fn a_hundred_pairs_of_runs_do_not_share_a_folder() {
    race(100);
}
