//! Runs of the gate, and folders to compare.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use precision_gate::output::DocumentSet;
use tempfile::TempDir;

/// Variables that tell a job of CI, which these tests are not.
const CI: [&str; 6] =
    ["GITHUB_WORKSPACE", "CI_PROJECT_DIR", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT", "GITLAB_CI"];

/// A folder of the shipped example.
pub(crate) fn example(side: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/quickstart").join(side)
}

/// The gate, to be started in `folder`.
pub(crate) fn gate(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_precision-gate"));
    for name in CI {
        command.env_remove(name);
    }
    command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A run of the example with `candidate` (`gpu` passes, `npu` fails) into `out`.
pub(crate) fn run(folder: &Path, candidate: &str, out: &Path) -> Command {
    let mut command = gate(folder);
    command.args(["run", "--quiet", "--today", "2026-11-21", "--baseline"]).arg(example("gpu"));
    command.arg("--candidate").arg(example(candidate)).arg("--out").arg(out);
    command
}

/// Exit code and standard error of a command.
pub(crate) fn ended(mut command: Command) -> (i32, String) {
    told(&command.output().expect("started"))
}

pub(crate) fn told(output: &Output) -> (i32, String) {
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Documents by name: those of a run, whole.
pub(crate) type Documents = BTreeMap<String, Vec<u8>>;

/// The documents of a run in a folder; none where there is no folder.
pub(crate) fn documents(folder: &Path) -> Documents {
    names(folder)
        .into_iter()
        .filter(|name| DocumentSet::Run.write_order(name).is_some())
        .map(|name| (name.clone(), fs::read(folder.join(&name)).expect("a document")))
        .collect()
}

/// Everything in a folder.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Documents that an undisturbed run with `candidate` writes into `out`, the same as any whole run.
pub(crate) fn reference(candidate: &str) -> Documents {
    let folder = TempDir::new().expect("a folder");
    let (code, error) = ended(run(folder.path(), candidate, Path::new("out")));
    assert_eq!(code, i32::from(candidate == "npu"), "{error}");
    let found = documents(&folder.path().join("out"));
    assert!(found.len() > 9 && found.contains_key("result.json"), "{:?}", found.keys());
    found
}

/// Puts documents into a folder.
pub(crate) fn put(folder: &Path, documents: &Documents) {
    fs::create_dir_all(folder).expect("a folder");
    for (name, bytes) in documents {
        fs::write(folder.join(name), bytes).expect("written");
    }
}

/// Numbers that look random, the same every time (Knuth's constants of a linear congruential generator).
pub(crate) fn numbers(seed: u64) -> impl Iterator<Item = u64> {
    let next = |last: &u64| Some(last.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407));
    std::iter::successors(Some(seed), next).skip(1).map(|number| number >> 33)
}
