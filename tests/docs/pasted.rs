//! Command lines that people paste run: those of the pages, and those that help ends with, in a folder that holds the artifacts which
//! they name. Lines that need more than this machine are listed with the reason; those of the program among them are still
//! parsed by it.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;

use assert_cmd::cargo::cargo_bin;
use rayon::prelude::*;

use super::command_line::{commands, help};
use super::commands::{lines, typed};
use super::pages::{files_below, pages, read, root};
use crate::data::fixture;

/// A file or folder that a command names.
enum Artifact {
    /// Of the repository, by its path from the root.
    Shipped(&'static str),
    /// Of the fixtures, by its path below them.
    Fixture(&'static str),
    /// A text file.
    Text(&'static str),
}
use Artifact::{Fixture, Shipped, Text};

/// Artifacts by the name that commands of every page give them.
const ARTIFACTS: &[(&str, Artifact)] = &[
    ("runs/gpu", Shipped("examples/quickstart/gpu")),
    ("runs/npu", Shipped("examples/quickstart/npu")),
    ("runs/gpu-1", Shipped("examples/quickstart/gpu")),
    ("runs/gpu-2", Shipped("examples/quickstart/gpu")),
    ("runs/gpu-3", Shipped("examples/quickstart/gpu")),
    ("runs/npu-1", Shipped("examples/quickstart/npu")),
    ("runs/npu-2", Shipped("examples/quickstart/npu")),
    ("GPU_FOLDER", Shipped("examples/quickstart/gpu")),
    ("NPU_FOLDER", Shipped("examples/quickstart/npu")),
    ("GPU目录", Shipped("examples/quickstart/gpu")),
    ("NPU目录", Shipped("examples/quickstart/npu")),
    ("LOCATION", Shipped("examples/quickstart/gpu")),
    ("dump_gpu", Shipped("examples/quickstart/gpu/dump")),
    ("dump_npu", Shipped("examples/quickstart/npu/dump")),
    ("dump_cpu_fp64", Shipped("examples/quickstart/gpu/dump")),
    ("gpu.json", Shipped("examples/quickstart/gpu/trainer_state.json")),
    ("npu.json", Shipped("examples/quickstart/npu/trainer_state.json")),
    ("trainer_state_gpu.json", Shipped("examples/quickstart/gpu/trainer_state.json")),
    ("trainer_state_npu.json", Shipped("examples/quickstart/npu/trainer_state.json")),
    ("gpu.zip", Shipped("examples/quickstart/gpu/config_check_pack.zip")),
    ("npu.zip", Shipped("examples/quickstart/npu/config_check_pack.zip")),
    ("gpu_pack.zip", Shipped("examples/quickstart/gpu/config_check_pack.zip")),
    ("npu_pack.zip", Shipped("examples/quickstart/npu/config_check_pack.zip")),
    ("gpu.safetensors", Fixture("checkpoints/identical/gpu/model.safetensors")),
    ("npu.safetensors", Fixture("checkpoints/identical/npu/model.safetensors")),
    ("DIR", Shipped("examples/source/project")),
    ("FILE", Shipped("examples/source/change.diff")),
    ("train.sh", Text("torchrun train.py --lr 1.5e-4 --bf16\n")),
    ("config.yaml", Text("lr: 1.5e-4\n")),
    ("corpus", Shipped("examples/source/project")),
    ("nights.csv", Text(NIGHTS)),
    ("precision-gate.yml", Text("profile: default\n")),
];

const NIGHTS: &str =
    "night,score\n1,0.891\n2,0.894\n3,0.889\n4,0.892\n5,0.893\n6,0.890\n7,0.892\n8,0.895\n9,0.891\n10,0.893\n";

/// Artifacts that one page calls by a name of [`ARTIFACTS`], or by one of its own.
const OF_PAGES: &[(&str, &str, Artifact)] = &[
    ("docs/arrays.md", "gpu", Fixture("tools/array-ok/gpu")),
    ("docs/arrays.md", "npu", Fixture("tools/array-ok/npu")),
    ("docs/arrays.md", "runs", Fixture("tools/array-off")),
    ("docs/findings.md", "BEFORE", Shipped("examples/quickstart/gpu")),
    ("docs/findings.md", "AFTER", Shipped("examples/quickstart/npu")),
    ("docs/findings.zh.md", "BEFORE", Shipped("examples/quickstart/gpu")),
    ("docs/findings.zh.md", "AFTER", Shipped("examples/quickstart/npu")),
    ("docs/config-check.md", "BASELINE", Shipped("examples/quickstart/gpu/config_check_pack.zip")),
    ("docs/config-check.md", "CANDIDATE", Shipped("examples/quickstart/npu/config_check_pack.zip")),
    ("docs/config-check.md", "ckpt", Fixture("checkpoints/identical/gpu")),
    ("docs/dump-tables.md", "a/step0/rank0", Shipped("examples/quickstart/gpu/dump/step0/proc33758")),
    ("docs/dump-tables.md", "b/step0/rank0", Shipped("examples/quickstart/npu/dump/step0/proc46801")),
    ("docs/dump.md", "runs/cpu-fp64", Shipped("examples/quickstart/gpu")),
    ("docs/dump.md", "GPU", Shipped("examples/quickstart/gpu")),
    ("docs/dump.md", "NPU", Shipped("examples/quickstart/npu")),
    ("docs/dump.md", "cells.yaml", Text("Module.layer_norm.LayerNorm: Module.layernorm.LayerNorm\n")),
    ("docs/evaluation.md", "eval", Shipped("examples/evaluation")),
    ("docs/health.md", "runs/npu", Shipped("examples/health/npu")),
    ("docs/monitor.md", "runs", Shipped("examples/monitor")),
    ("docs/operators.md", "runs", Shipped("examples/operators")),
    ("docs/performance-check.md", "profiles/last-night", Shipped("examples/performance/gpu")),
    ("docs/performance-check.md", "profiles/tonight", Shipped("examples/performance/npu")),
    ("docs/samples.md", "old", Shipped("examples/quickstart/gpu")),
    ("docs/samples.md", "new", Shipped("examples/quickstart/gpu")),
    (
        "docs/samples.md",
        "renew.yml",
        Text("renew:\n  - {suite: glm, baseline: old, candidate: new, because: new image}\n"),
    ),
    ("docs/source.md", "train.py", Shipped("examples/source/project/train.py")),
    ("examples/shards/README.md", "gpu", Shipped("examples/quickstart/gpu")),
    ("examples/shards/README.md", "npu", Shipped("examples/quickstart/npu")),
];

/// Lines that run before those of a page: they make what an earlier step of the reader has made.
const BEFORE: &[(&str, &str)] = &[
    ("docs/many-ranks.md", JUDGED),
    ("docs/next-dump.md", JUDGED),
    ("docs/python.md", JUDGED),
    ("docs/quick-looks.md", "precision-gate run runs/gpu runs/npu --shard 1/1 --out parts"),
    ("docs/reproduce.md", JUDGED),
    ("docs/source.md", "git init -q -b main . && git add train.py"),
    ("docs/source.md", "git -c user.name=a -c user.email=a@b.c commit -qm one && git switch -qc change"),
    ("docs/source.md", "echo 'model.cuda()' >> train.py && git add train.py"),
    ("docs/source.md", "git -c user.name=a -c user.email=a@b.c commit -qm two"),
    ("docs/samples.md", SEEDS),
    ("examples/policies/README.md", LOGS),
    ("help", "mkdir -p .config/fish/completions"),
    ("help", "cp examples/source/project/train.py . && git init -q -b main . && git add train.py"),
    ("help", "git -c user.name=a -c user.email=a@b.c commit -qm one"),
    ("docs/findings.md", JUDGED),
    ("docs/findings.zh.md", JUDGED),
    ("help", JUDGED),
    ("help", "precision-gate noise runs/gpu-1 runs/gpu-2 runs/gpu-3 --out noise.json"),
    ("help", "precision-gate run runs/gpu runs/npu --shard 1/1 --out ."),
];
const SEEDS: &str = "rm -rf runs; mkdir -p runs/gpu runs/npu; for run in gpu-1 gpu-2 gpu-3 npu-1 npu-2 gpu/a gpu/b gpu/c npu/a npu/b npu/c; do seed=$((seed + 1)); awk -v seed=$seed 'BEGIN { srand(seed); level = 1 + (rand() - 0.5) / 1000; for (s = 1; s <= 60; s++) print \"step\", s, \"| loss\", level * (2 + 3 / s) + rand() / 1000 }' >runs/$run; done";
const LOGS: &str = "mkdir gpu npu; for step in $(seq 60); do echo \"2026-01-02 03:04:05,123 - mindformers/output/log[callback.py:564] - INFO - { step:[$step/60], loss: 11.$((900 - step * 7)), lr: 1.0e-05, grad_norm: 13.$((800 - step)) }\"; done | tee gpu/train.log >npu/train.log";
const JUDGED: &str = "precision-gate run runs/gpu runs/npu";

/// Words that stand for what the reader knows.
const WORDS: &[(&str, &str)] = &[
    ("CODE", "near-tie"),
    ("RUN...", "runs/gpu-1 runs/gpu-2 runs/gpu-3"),
    ("PART...", "parts/part-*.jsonl"),
    ("WHY", "reviewed"),
    ("WHO", "ann"),
    ("NAME", "ann"),
    ("/data/corpus", "corpus"),
    ("--data … --weights …", "--data corpus --weights corpus"),
];

/// Beginnings of lines that are not run, with the reason.
const NOT_RUN: &[(&str, &str)] = &[
    ("cargo ", "builds and measures for minutes"),
    ("PRECISION_GATE_", "measures for minutes"),
    ("TORCH_PYTHON=", "needs torch"),
    ("python3 benches/", "makes gigabytes"),
    ("python3 tests/", "needs packages of Python"),
    ("python3 -m venv", "installs from a registry"),
    ("python3 -c", "makes a million lines"),
    ("python3 reproduce/", "needs torch"),
    ("python train.py", "needs msprobe and torch"),
    ("pip install", "installs from a registry"),
    ("npm install", "installs from a registry"),
    ("mdbook build", "needs mdbook; `.ci/run` runs it"),
    ("/usr/bin/time ", "measures what was made before"),
    ("cp gpu.log", "measures what was made before"),
    (".ci/", "runs on its own"),
    ("docker run", "needs Docker and the network"),
    ("curl ", "needs the network"),
    ("version=", "is about a download"),
    ("file=", "is about a download"),
    ("base=", "is about a download"),
    ("sha256sum ", "is about a download"),
    ("tar -xzf \"$file\"", "is about a download"),
    ("git add baselines", "is about a bucket"),
    ("git bisect", "trains"),
    ("precision-gate baseline promote s3:", "needs a bucket"),
    ("precision-gate baseline promote \"s3:", "needs a bucket and a forge"),
    ("precision-gate baseline diff glm s3:", "needs a bucket"),
    ("precision-gate baseline show glm", "needs a baseline that was promoted"),
    ("precision-gate baseline verify glm", "needs a baseline that was promoted"),
    ("precision-gate baseline list", "needs a baseline that was promoted"),
    ("precision-gate baseline renew renew.yml", "needs repeats of suites"),
    ("precision-gate run --baseline baseline:glm", "needs a baseline that was promoted"),
    ("precision-gate history list", "needs a bucket or a repository"),
    ("precision-gate history show", "needs a bucket"),
    ("precision-gate history prune", "needs a bucket"),
    ("precision-gate history page", "needs a bucket or a repository"),
    ("precision-gate publish", "needs a forge"),
    ("precision-gate answer", "needs a comment on a forge"),
    ("precision-gate signoff results/*", "needs the results of a release"),
    ("precision-gate completions bash > /etc", "needs root"),
    ("precision-gate completions zsh", "needs zsh"),
];

/// Lines that a person types from a page, in the order of the page.
fn lines_of(text: &str) -> Vec<String> {
    let all = typed(text).into_iter().flat_map(|text| lines(&text)).map(|line| line.trim().to_owned());
    let is_line = |line: &String| !line.is_empty() && !line.starts_with('#') && !is_mention(line);
    all.filter(is_line).map(|line| line.replace("cargo run --release -- ", "precision-gate ")).collect()
}

/// Whether a line names a command or a flag, and is none to type: `precision-gate publish --judge`, `precision-gate (KEY)`.
fn is_mention(line: &str) -> bool {
    let Some(rest) = line.strip_prefix("precision-gate ") else { return false };
    let words: Vec<&str> = rest.split_whitespace().collect();
    let is_name = |word: &&str| word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-');
    rest.starts_with('(')
        || words.len() == 1 && !["selftest", "explain"].contains(&rest)
        || words.iter().all(is_name) && words.last().is_some_and(|word| word.starts_with("--") && words.len() == 2)
        || words.iter().all(is_name) && words.len() == 2 && ["baseline", "history"].contains(&words[0])
}

/// A folder with the artifacts that a text names.
fn prepared(page: &str, text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["examples", "tests", "templates"] {
        symlink(root().join(name), folder.path().join(name)).expect("linked");
    }
    let before: String = BEFORE.iter().filter(|(of, _)| *of == page).map(|(_, line)| format!("{line}\n")).collect();
    let text = filled(&(before + text));
    let own = OF_PAGES.iter().filter(|(of, ..)| *of == page).map(|(_, name, artifact)| (*name, artifact));
    let replaced: BTreeSet<&str> = own.clone().map(|(name, _)| name).collect();
    let general = ARTIFACTS.iter().map(|(name, artifact)| (*name, artifact));
    let is_within = |one: &str, other: &str| one == other || one.starts_with(&format!("{other}/"));
    let is_named = |(name, _): &(&str, &Artifact)| {
        text.contains(name) && !replaced.iter().any(|other| is_within(name, other) || is_within(other, name))
    };
    for (name, artifact) in general.filter(is_named).chain(own) {
        let target = folder.path().join(name);
        fs::create_dir_all(target.parent().expect("a folder")).expect("made");
        match artifact {
            Shipped(path) => copy(&root().join(path), &target),
            Fixture(path) => copy(&fixture(path), &target),
            Text(text) => fs::write(&target, text).expect("written"),
        }
    }
    folder
}

/// Copies a file, or a folder with all that is in it.
fn copy(from: &Path, to: &Path) {
    if !from.is_dir() {
        fs::copy(from, to).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
        return;
    }
    fs::create_dir_all(to).expect("made");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        copy(&entry.path(), &to.join(entry.file_name()));
    }
}

/// Runs a line in bash, with the program on the path and without a network.
fn run(line: &str, folder: &Path, programs: &Path) -> Output {
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", programs.display());
    let mut command = Command::new("bash");
    command.arg("-c").arg(line).current_dir(folder).env_clear().env("PATH", path).env("HOME", folder);
    command.env("LANG", "C.UTF-8").env("COMMIT", "0123456789abcdef0123456789abcdef01234567");
    command.envs(["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].map(|name| (name, "http://127.0.0.1:9")));
    command.stdin(Stdio::null()).output().expect("bash")
}

/// The fault of a line's end: an answer is success, or a verdict with its own exit code.
fn fault(line: &str, output: &Output) -> Option<String> {
    let said = String::from_utf8_lossy(&output.stdout);
    let is_verdict = output.status.code() == Some(1) && said.starts_with('✗');
    let is_answered = output.status.success() || is_verdict;
    (!is_answered).then(|| format!("`{line}`: {}\n{said}{}", output.status, String::from_utf8_lossy(&output.stderr)))
}

/// Whether the program refused the words of a line, rather than what they name.
fn is_misread(output: &Output) -> bool {
    String::from_utf8_lossy(&output.stderr).contains("try '--help'")
}

/// Lines by what came of them, over all pages.
#[derive(Default)]
struct Found {
    run: usize,
    faults: Vec<String>,
    reasons: BTreeSet<&'static str>,
}

fn try_page(page: &str, text: &str, all: Vec<String>, programs: &Path) -> Found {
    let (folder, mut found, mut seen) = (prepared(page, text), Found::default(), BTreeSet::new());
    let before = BEFORE.iter().filter(|(of, _)| *of == page).map(|(_, line)| (*line).to_owned());
    for line in before.chain(all).filter(|line| seen.insert(line.clone())) {
        if let Some((beginning, _)) = NOT_RUN.iter().find(|(beginning, _)| line.starts_with(beginning)) {
            found.reasons.insert(beginning);
            // A completion script goes into no folder of this machine.
            let command = line.split(" >").next().unwrap_or_default();
            if line.starts_with("precision-gate ") && is_misread(&run(&filled(command), folder.path(), programs)) {
                found.faults.push(format!("{page}: `{line}` is no command line"));
            }
            continue;
        }
        if line.contains("jq -r") && run("jq --version", folder.path(), programs).status.code() == Some(127) {
            continue;
        }
        found.run += 1;
        // Another command of the page may have judged something else.
        if line.contains("precision-gate-out/result.json") && BEFORE.contains(&(page, JUDGED)) {
            run(JUDGED, folder.path(), programs);
        }
        let output = run(&filled(&line), folder.path(), programs);
        found.faults.extend(fault(&line, &output).map(|fault| format!("{page}: {fault}")));
    }
    found
}

/// A line with what the reader knows in place of the words for it.
fn filled(line: &str) -> String {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    WORDS.iter().fold(line.to_owned(), |line, (word, value)| {
        let mut filled = String::new();
        let mut rest = line.as_str();
        while let Some(at) = rest.find(word) {
            let end = at + word.len();
            let is_whole = !rest[..at].ends_with(is_part) && !rest[end..].starts_with(is_part);
            filled.push_str(&rest[..at]);
            filled.push_str(if is_whole { value } else { word });
            rest = &rest[end..];
        }
        filled + rest
    })
}

/// A folder that holds the program by its name.
fn programs() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    symlink(cargo_bin("precision-gate"), folder.path().join("precision-gate")).expect("linked");
    folder
}

/// Command lines below the headings of examples in the help of every command.
fn examples() -> Vec<String> {
    let mut found = Vec::new();
    for command in commands() {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let text = help(&words, "100");
        let after = text.split("\nExample").nth(1).unwrap_or_default();
        let after = after.split("\n\n").next().unwrap_or_default().replace("\\\n", " ");
        let lines = after.lines().skip(1).map(str::trim);
        found.extend(lines.map(|line| line.split("  (").next().unwrap_or_default().trim().to_owned()));
    }
    found
}

#[test]
fn whatever_a_page_says_to_type_runs() {
    let programs = programs();
    let all: Vec<PathBuf> = pages().into_iter().chain(files_below("examples", "README.md")).collect();
    let total = Mutex::new(Found::default());
    let add = |found: Found| {
        let mut total = total.lock().expect("whole");
        total.run += found.run;
        total.faults.extend(found.faults);
        total.reasons.extend(found.reasons);
    };
    all.par_iter().for_each(|page| {
        let text = read(page);
        let lines = lines_of(&text);
        if !lines.is_empty() {
            add(try_page(&page.display().to_string(), &text, lines, programs.path()));
        }
    });
    let examples = examples();
    assert!(examples.len() > 30, "{examples:?}");
    add(try_page("help", &examples.join("\n"), examples, programs.path()));
    let total = total.into_inner().expect("whole");
    assert!(total.faults.is_empty(), "{} faults:\n{}", total.faults.len(), total.faults.join("\n"));
    assert!(total.run > 90, "{} lines were run", total.run);
    let unused = NOT_RUN.iter().filter(|(beginning, _)| !total.reasons.contains(beginning));
    let unused: Vec<&str> = unused.map(|(beginning, _)| *beginning).collect();
    assert!(unused.is_empty(), "no page has such a line any more: {unused:?}");
}

/// A line that a terminal of 80 columns breaks is pasted in two halves.
#[test]
fn examples_of_the_help_fit_a_terminal() {
    for command in commands() {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let (wide, narrow) = (help(&words, "120"), help(&words, "80"));
        let examples = |text: &str| {
            let after = text.split("\nExample").nth(1).unwrap_or_default();
            after.split("\nMore:").next().unwrap_or_default().to_owned()
        };
        assert_eq!(examples(&wide), examples(&narrow), "{command:?}");
    }
}
