//! The main job, end to end, on the shipped example.
#![allow(
    clippy::indexing_slicing,
    clippy::float_cmp,
    clippy::print_stdout,
    reason = "a test that indexes beyond what is there fails, as it should; it compares exactly where that is meant, and says what it counted"
)]

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use regex::Regex;
use serde_json::Value;

fn gate(baseline: &Path, candidate: &Path, out: &Path, more: &[&str]) -> Value {
    let mut command = Command::cargo_bin("precision-gate").expect("built");
    command.arg("run").arg("--baseline").arg(baseline).arg("--candidate").arg(candidate);
    command.arg("--out").arg(out).args(["--today", "2026-11-21"]).args(more).assert().code(1);
    serde_json::from_slice(&fs::read(out.join("result.json")).expect("written")).expect("JSON")
}

fn example(side: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/quickstart").join(side)
}

#[test]
fn the_planted_culprit_is_named_and_all_three_checks_run() {
    let out = tempfile::tempdir().expect("folder");
    let result = gate(&example("gpu"), &example("npu"), out.path(), &[]);
    assert_eq!(result["verdict"], "fail");
    assert_eq!(result["culprit"]["op"], "Tensor.__getitem__.0.backward");
    let verdicts: Vec<(&str, &str)> = result["checks"]
        .as_array()
        .expect("checks")
        .iter()
        .map(|check| (check["id"].as_str().expect("id"), check["verdict"].as_str().expect("verdict")))
        .filter(|(_, verdict)| *verdict != "skipped")
        .collect();
    assert_eq!(verdicts, [("config", "pass"), ("loss", "fail"), ("dump", "fail")]);
    for file in ["result.json", "operations.jsonl", "summary.md", "loss.png"] {
        assert!(out.path().join(file).metadata().expect(file).len() > 0, "{file} is empty");
    }
    let summary = fs::read_to_string(out.path().join("summary.md")).expect("written");
    for line in [
        "## ❌ The backward of `h[order]` returns only zeros on the NPU\n",
        "**Fix:** write `h.index_select(0, order)` ",
    ] {
        assert!(summary.contains(line), "the README says {line:?}: {summary}");
    }
}

#[test]
fn files_are_recognised_by_content_whatever_they_are_called() {
    let folder = tempfile::tempdir().expect("folder");
    for side in ["gpu", "npu"] {
        let target = folder.path().join(side);
        fs::create_dir(&target).expect("folder");
        fs::copy(example(side).join("trainer_state.json"), target.join("x1")).expect("copied");
        fs::copy(example(side).join("config_check_pack.zip"), target.join("x2")).expect("copied");
    }
    let out = folder.path().join("out");
    let result = gate(&folder.path().join("gpu"), &folder.path().join("npu"), &out, &[]);
    let read: Vec<&str> = result["artifacts"]
        .as_array()
        .expect("artifacts")
        .iter()
        .filter(|artifact| artifact["status"] == "read")
        .map(|artifact| artifact["path"].as_str().expect("path"))
        .collect();
    assert_eq!(read, ["x1", "x2", "x1", "x2"]);
}

#[test]
fn the_same_input_gives_the_same_bytes_whatever_the_thread_count() {
    let out = tempfile::tempdir().expect("folder");
    let mut outputs = Vec::new();
    for threads in ["1", "2", "2"] {
        // Commands that are advised name the folder.
        let folder = out.path().join("out");
        gate(&example("gpu"), &example("npu"), &folder, &["--threads", threads]);
        let mut files: Vec<_> = fs::read_dir(&folder).expect("folder").flatten().map(|entry| entry.path()).collect();
        files.sort();
        let content: Vec<(String, Vec<u8>)> = files
            .into_iter()
            .map(|path| {
                (path.file_name().expect("name").to_string_lossy().into_owned(), fs::read(&path).expect("read"))
            })
            .collect();
        outputs.push(content);
    }
    let names = |content: &[(String, Vec<u8>)]| content.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    for other in outputs.iter().skip(1) {
        assert_eq!(names(&outputs[0]), names(other));
        for ((name, first), (_, second)) in outputs[0].iter().zip(other) {
            assert!(first == second, "{name} differs");
        }
    }
}

/// The README in Chinese, word for word: its command, the beginning of what it prints, and no English sentence in any of it.
#[test]
fn the_readme_in_chinese_quotes_what_is_printed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(root.join("README.zh.md")).expect("a page");
    let block = |language: &str| {
        let begin = format!("```{language}\n");
        readme.split_once(&begin).and_then(|(_, rest)| rest.split_once("```")).expect("a block").0.to_owned()
    };
    let (command, quoted) = (block("sh"), block("text"));
    let arguments = command.trim().strip_prefix("cargo run --locked -- ").expect("a command");
    let out = tempfile::tempdir().expect("folder");
    let mut gate = Command::cargo_bin("precision-gate").expect("built");
    gate.current_dir(root).env("LANG", "C.UTF-8").args(arguments.split(' ')).arg("--out").arg(out.path());
    let output = gate.args(["--today", "2026-11-21", "--no-history"]).assert().code(1).get_output().clone();
    let printed = String::from_utf8(output.stdout).expect("text");
    assert!(printed.starts_with(&quoted), "{quoted}\nis quoted, and this is printed:\n{printed}");
    let english = Regex::new(r"\b[a-z]{2,}(?: [a-z]{2,}){2,}\b").expect("a pattern");
    let summary = fs::read_to_string(out.path().join("summary.md")).expect("written");
    let errors = String::from_utf8(output.stderr).expect("text");
    let all = [&printed, &errors, &summary].map(|text| text.lines()).into_iter().flatten();
    // Commands are words of the program.
    let without_commands = |line: &str| line.split("precision-gate ").next().unwrap_or_default().to_owned();
    let left: Vec<&str> = all.filter(|line| english.is_match(&without_commands(line))).collect();
    assert!(left.is_empty(), "{}", left.join("\n"));
    for words in ["退出码为 1", "从第 6 步起", "`--lang zh`"] {
        assert!(readme.contains(words), "{words}");
    }
}
