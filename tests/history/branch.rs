//! Records in a branch of the repository, with the real git.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::support::{Night, Run, commit, commits, ended, program, records, summary, together};

const BRANCH: &str = "branch:precision-history";

fn git(folder: &Path, arguments: &[&str]) -> String {
    let identity = ["-c", "user.name=a", "-c", "user.email=a@b"];
    let ran = Command::new("git").arg("-C").arg(folder).args(identity).args(arguments).output().expect("git");
    assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8_lossy(&ran.stdout).trim().to_owned()
}

/// A bare repository with one commit on `main`, and clones of it.
fn clones<const N: usize>(folder: &Path) -> [PathBuf; N] {
    let (bare, seed) = (folder.join("bare.git"), folder.join("seed"));
    git(folder, &["init", "-q", "--bare", "-b", "main", "bare.git"]);
    git(folder, &["init", "-q", "-b", "main", "seed"]);
    std::fs::write(seed.join("train.py"), "print(1)\n").expect("written");
    git(&seed, &["add", "."]);
    git(&seed, &["commit", "-qm", "first"]);
    git(&seed, &["push", "-q", bare.to_str().expect("UTF-8"), "main"]);
    std::array::from_fn(|number| {
        let name = format!("clone-{number}");
        git(folder, &["clone", "-q", "--depth", "1", &format!("file://{}", bare.display()), &name]);
        folder.join(name)
    })
}

fn keep(clone: &Path, day: u32) -> Command {
    kept(clone, &Run { out: format!("../out-{day}"), ..Run::new(day, Night::Green) })
}

fn kept(clone: &Path, run: &Run) -> Command {
    let mut command = run.within(clone);
    command.args(["--history", BRANCH, "--suite", "nightly"]);
    command
}

#[test]
fn a_branch_grows_by_one_commit_per_run_and_nothing_else_is_touched() {
    let folder = tempfile::tempdir().expect("a folder");
    let [clone, other] = clones(folder.path());
    std::fs::write(clone.join("train.py"), "print(2)\n").expect("written");
    std::fs::write(clone.join("staged.py"), "").expect("written");
    git(&clone, &["add", "staged.py"]);
    let state =
        || [git(&clone, &["status", "--porcelain"]), git(&clone, &["rev-parse", "HEAD"]), git(&clone, &["branch"])];
    let before = state();
    for day in 1..=2 {
        let (code, _, stderr) = ended(&mut keep(&clone, day));
        assert_eq!((code, stderr.as_str()), (0, ""));
    }
    assert_eq!(state(), before);
    let bare = folder.path().join("bare.git");
    assert_eq!(git(&bare, &["rev-list", "--count", "precision-history"]), "2");
    assert_eq!(git(&bare, &["ls-tree", "-r", "--name-only", "precision-history"]).lines().count(), 2);
    assert!(git(&bare, &["log", "-1", "--format=%an %s", "precision-history"]).ends_with("[skip ci]"));
    // Another clone has never seen the branch.
    let (found, _) = records(&other, BRANCH);
    assert_eq!(commits(&found), [1, 2].map(commit));
    let prune = ended(program(&other).args(["history", "prune", "--history", BRANCH, "--keep", "1"]));
    assert!(prune.1.contains("1 of 2 records removed"), "{prune:?}");
    assert_eq!(commits(&records(&clone, BRANCH).0), [commit(2)]);
}

#[test]
fn jobs_that_push_at_the_same_moment_lose_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let clones: [PathBuf; 4] = clones(folder.path());
    let runs = (1..).zip(&clones).map(|(day, clone)| keep(clone, day));
    // Two more in a clone that is written from already.
    for (code, _, stderr) in together(runs.chain([keep(&clones[0], 5), keep(&clones[0], 6)]).collect()) {
        assert_eq!((code, stderr.as_str()), (0, ""));
    }
    let (found, _) = records(&clones[3], BRANCH);
    assert_eq!(commits(&found), (1..=6).map(commit).collect::<Vec<_>>());
    assert_eq!(git(&folder.path().join("bare.git"), &["rev-list", "--count", "precision-history"]), "6");
}

/// A `git` in front of the real one: before the first push of the caller, another job pushes.
fn faster_job(folder: &Path, other: &Path) -> PathBuf {
    let bin = folder.join("bin");
    std::fs::create_dir(&bin).expect("made");
    let real = Command::new("sh").args(["-c", "command -v git"]).output().expect("a shell").stdout;
    let real = String::from_utf8(real).expect("UTF-8").trim().to_owned();
    let job: Vec<String> =
        keep(other, 9).get_args().map(|argument| format!("'{}'", argument.to_string_lossy())).collect();
    let script = format!(
        "#!/bin/sh\ncase \" $* \" in *' push '*)\n  if mkdir '{mark}' 2>/dev/null; then\n    (cd '{other}' && PATH='{path}' '{program}' {job}) >'{log}' 2>&1\n  fi;;\nesac\nexec '{real}' \"$@\"\n",
        mark = folder.join("raced").display(),
        other = other.display(),
        path = std::env::var("PATH").expect("a path"),
        program = env!("CARGO_BIN_EXE_precision-gate"),
        job = job.join(" "),
        log = folder.join("raced.log").display(),
    );
    std::fs::write(bin.join("git"), script).expect("written");
    std::fs::set_permissions(bin.join("git"), std::fs::Permissions::from_mode(0o755)).expect("executable");
    bin
}

#[test]
fn a_rejected_push_is_made_again_on_top_of_the_other() {
    for exists in [false, true] {
        let folder = tempfile::tempdir().expect("a folder");
        let [clone, other] = clones(folder.path());
        if exists {
            assert_eq!(ended(&mut keep(&clone, 7)).0, 0);
        }
        let bin = faster_job(folder.path(), &other);
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").expect("a path"));
        let (code, _, stderr) = ended(keep(&clone, 8).env("PATH", path));
        assert_eq!((code, stderr.as_str()), (0, ""));
        assert!(folder.path().join("raced").is_dir(), "the race took place");
        let (found, _) = records(&other, BRANCH);
        let expected: Vec<String> = [7, 8, 9].into_iter().filter(|day| exists || *day != 7).map(commit).collect();
        assert_eq!(
            commits(&found),
            expected,
            "{}",
            std::fs::read_to_string(folder.path().join("raced.log")).unwrap_or_default()
        );
        let bare = folder.path().join("bare.git");
        assert_eq!(
            git(&bare, &["rev-list", "--count", "precision-history"]),
            expected.len().to_string(),
            "a line of commits"
        );
    }
}

#[test]
fn a_remote_that_takes_no_push_is_told_with_its_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let [clone] = clones(folder.path());
    let hook = folder.path().join("bare.git/hooks/pre-receive");
    std::fs::write(&hook, "#!/bin/sh\necho 'only ann may push here'\nexit 1\n").expect("written");
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).expect("executable");
    let (code, _, stderr) = ended(&mut keep(&clone, 1));
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("only ann may push here") && stderr.contains("contents: write"), "{stderr}");
    git(&clone, &["remote", "remove", "origin"]);
    let (code, _, stderr) = ended(&mut keep(&clone, 1));
    assert!(code == 0 && stderr.contains("has no remote") && stderr.contains("git remote add"), "{stderr}");
    let (code, _, stderr) = ended(keep(&clone, 1).env("PATH", "/nowhere"));
    assert!(code == 0 && stderr.contains("install git"), "{stderr}");
}

#[test]
fn the_commits_of_a_range_are_named_where_the_clone_holds_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let [clone] = clones(folder.path());
    let mut ids = vec![git(&clone, &["rev-parse", "HEAD"])];
    for subject in ["raise the learning rate", "</details> @all", "torch-npu 2.6"] {
        git(&clone, &["commit", "-q", "--allow-empty", "-m", subject]);
        ids.push(git(&clone, &["rev-parse", "HEAD"]));
    }
    for (day, id, night) in [(1, &ids[0], Night::Green), (2, &ids[3], Night::Drift)] {
        let run = Run { sha: id.clone(), out: format!("../out-{day}"), ..Run::new(day, night) };
        assert_eq!(ended(&mut kept(&clone, &run)).0, i32::from(night == Night::Drift));
    }
    let history = summary(folder.path(), 2);
    assert_eq!(history["commits"]["total"], 3);
    assert_eq!(history["commits"]["list"][2]["subject"], "raise the learning rate");
    let text = std::fs::read_to_string(folder.path().join("out-2/summary.md")).expect("a summary");
    assert!(text.contains("raise the learning rate") && text.contains("`</details> @all`"), "{text}");
}
