//! `kill -9` at any moment: what is left is of one run, and whole.

use std::path::Path;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::output::support::{Documents, documents, ended, names, numbers, put, reference, run};

/// State of a folder after a kill.
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

/// Moment at which a run is killed.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// After so many microseconds.
    After(u64),
    /// While old documents go.
    Removing,
    /// While new ones appear; so many turns of a loop later.
    Appearing(u64),
}

impl Moment {
    /// Waits for it, at most until a run is over.
    fn wait(self, out: &Path) {
        let start = Instant::now();
        let until = |is_there: &dyn Fn() -> bool| {
            while !is_there() && start.elapsed() < Duration::from_secs(20) {
                std::hint::spin_loop();
            }
        };
        let exists = |name: &str| out.join(name).exists();
        match self {
            Self::After(micros) => std::thread::sleep(Duration::from_micros(micros)),
            Self::Removing => until(&|| !exists("summary.md")),
            Self::Appearing(turns) => {
                until(&|| !exists("result.json"));
                until(&|| exists("operations.jsonl"));
                (0..turns).for_each(|_| std::hint::spin_loop());
            }
        }
    }
}

/// Kills a run at each of the moments, and prints what they left.
fn kill(moments: &[Moment]) -> Vec<Left> {
    let (old, new) = (reference("gpu"), reference("npu"));
    let folder = TempDir::new().expect("a folder");
    let out = folder.path().join("out");
    let (mut left, mut partial) = (Vec::new(), 0);
    for (index, moment) in moments.iter().enumerate() {
        let _gone = std::fs::remove_dir_all(&out);
        put(&out, &old);
        std::fs::write(out.join("mine.txt"), "mine").expect("written");
        let mut child = run(folder.path(), "npu", Path::new("out")).spawn().expect("started");
        moment.wait(&out);
        child.kill().expect("killed");
        child.wait().expect("ended");
        left.push(check(&out, &old, &new));
        let count = documents(&out).len();
        partial += usize::from(count > 0 && count != old.len() && count != new.len());
        assert!(out.join("mine.txt").exists());
        if index % 10 == 0 {
            let (code, error) = ended(run(folder.path(), "npu", Path::new("out")));
            assert_eq!(code, 1, "a killed run is in the way: {error}");
            assert_eq!(documents(&out), new);
            assert!(names(&out).iter().all(|name| !name.starts_with('.')), "{:?}", names(&out));
        }
    }
    let of = |what: Left| left.iter().filter(|left| **left == what).count();
    let (total, old, nothing, new) = (moments.len(), of(Left::Old), of(Left::Nothing), of(Left::New));
    println!("{total} kills left: the old run {old}, nothing {nothing}, the new run {new}; a part of one {partial}");
    left
}

/// As many moments of a run, the last ones when all is over.
fn at_random(count: usize) -> Vec<Moment> {
    let folder = TempDir::new().expect("a folder");
    let start = Instant::now();
    assert_eq!(ended(run(folder.path(), "npu", Path::new("out"))).0, 1);
    let longest = u64::try_from(start.elapsed().as_micros()).expect("short") * 11 / 10;
    numbers(19).take(count).map(|number| Moment::After(number % longest)).collect()
}

/// Moments that last microseconds, and that chance would hardly meet.
fn aimed(count: usize) -> Vec<Moment> {
    let moment = |(index, number)| if index % 2 == 0 { Moment::Removing } else { Moment::Appearing(number % 20_000) };
    numbers(23).enumerate().map(moment).take(count).collect()
}

#[test]
fn a_killed_run_leaves_no_mixed_folder() {
    let left = kill(&at_random(15));
    assert!(left.contains(&Left::Nothing), "no kill came while a run was under way");
    kill(&aimed(10));
}

#[test]
#[ignore = "a hundred kills, for the second stage of .ci/run"]
fn a_hundred_killed_runs_leave_no_mixed_folder() {
    let left = kill(&at_random(100));
    assert!(left.contains(&Left::Nothing), "no kill came while a run was under way");
    kill(&aimed(60));
}
