//! Bad input, through the real binary: one clear message, the right exit code, and the rest still judged.
#![allow(
    clippy::indexing_slicing,
    clippy::float_cmp,
    clippy::print_stdout,
    reason = "a test that indexes beyond what is there fails, as it should; it compares exactly where that is meant, and says what it counted"
)]

use crate::data;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::Command;
use serde_json::Value;

struct Runs {
    folder: tempfile::TempDir,
}

impl Runs {
    /// Both sides of the quickstart, to be damaged.
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("folder");
        for side in ["gpu", "npu"] {
            copy(
                &Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/quickstart").join(side),
                &folder.path().join(side),
            );
        }
        Self { folder }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    fn records(&self, side: &str) -> PathBuf {
        let step = self.path(side).join("dump/step0");
        let unit = fs::read_dir(step).expect("step").flatten().next().expect("one process").path();
        unit.join("dump.json")
    }

    fn run(&self, more: &[&str]) -> (Output, Value) {
        let out = self.path("out");
        let mut command = Command::cargo_bin("precision-gate").expect("built");
        command.arg("run").arg("--baseline").arg(self.path("gpu")).arg("--candidate").arg(self.path("npu"));
        let output = command.arg("--out").arg(&out).args(more).output().expect("ran");
        let result = fs::read(out.join("result.json")).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        (output, result.unwrap_or(Value::Null))
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("folder");
    for entry in fs::read_dir(from).expect("readable").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).expect("copied");
        }
    }
}

fn cut(path: &Path) {
    let bytes = fs::read(path).expect("readable");
    fs::write(path, bytes.get(..bytes.len() / 2).expect("half")).expect("written");
}

fn verdict<'a>(result: &'a Value, check: &str) -> &'a str {
    let checks = result["checks"].as_array().expect("checks");
    checks.iter().find(|found| found["id"] == check).and_then(|found| found["verdict"].as_str()).expect("verdict")
}

fn finding<'a>(result: &'a Value, code: &str) -> &'a Value {
    let findings = result["findings"].as_array().expect("findings");
    findings.iter().find(|finding| finding["code"] == code).unwrap_or_else(|| panic!("no {code} in {findings:?}"))
}

#[test]
fn a_cut_dump_is_incomplete_and_the_other_checks_are_judged() {
    let runs = Runs::new();
    cut(&runs.records("npu"));
    let (output, result) = runs.run(&[]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(verdict(&result, "dump"), "incomplete");
    assert_eq!(verdict(&result, "loss"), "fail");
    assert_eq!(verdict(&result, "config"), "pass");
    let finding = finding(&result, "artifact-damaged");
    assert!(finding["where"].as_str().expect("place").ends_with("dump.json"), "{finding}");
    assert!(finding["message"].as_str().expect("message").contains("the file ends here"), "{finding}");
    assert!(finding["help"].as_str().expect("help").contains("collect it again"), "{finding}");
}

#[test]
fn a_required_check_that_cannot_be_read_is_incomplete() {
    let runs = Runs::new();
    cut(&runs.records("npu"));
    fs::write(runs.path("policy.yml"), "required: [dump]\n").expect("written");
    let policy = runs.path("policy.yml").display().to_string();
    let (output, result) = runs.run(&["--config", &policy]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        result["checks"].as_array().expect("checks").iter().filter(|check| check["verdict"] == "fail").count(),
        1,
        "the loss is judged"
    );
}

#[test]
fn a_cut_pack_is_damaged_and_the_other_checks_are_judged() {
    let runs = Runs::new();
    cut(&runs.path("npu/config_check_pack.zip"));
    let (output, result) = runs.run(&[]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(verdict(&result, "dump"), "fail");
    assert!(runs.path("out/summary.md").exists());
}

#[test]
fn a_pickle_with_a_forbidden_call_is_refused_by_name() {
    let runs = Runs::new();
    let fixture = data::fixture("dumps/zoo_tensor_identical");
    for side in ["gpu", "npu"] {
        fs::remove_dir_all(runs.path(side)).expect("removed");
        copy(&fixture.join(side), &runs.path(side));
    }
    // A tensor file whose pickle calls `posix.system`.
    let mut archive = zip::ZipWriter::new(fs::File::create(find(&runs.path("npu"), "pt")).expect("created"));
    let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    archive.start_file("x/data.pkl", stored).expect("started");
    archive.write_all(b"\x80\x02cposix\nsystem\nX\x04\x00\x00\x00echo\x85R.").expect("written");
    archive.finish().expect("finished");
    let (output, result) = runs.run(&[]);
    assert_eq!(output.status.code(), Some(1));
    let message = finding(&result, "tensor-unreadable")["message"].as_str().expect("message");
    assert!(message.contains("posix"), "{message}");
    assert_eq!(verdict(&result, "dump"), "incomplete");
}

fn find(folder: &Path, ending: &str) -> PathBuf {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).expect("folder").flatten().map(|entry| entry.path()).collect();
    entries.sort();
    let nested = entries.iter().filter(|path| path.is_dir()).map(|path| find(path, ending));
    let here = entries.iter().find(|path| path.extension().is_some_and(|found| found == ending)).cloned();
    here.unwrap_or_else(|| nested.into_iter().next().expect("a file of that kind"))
}

#[test]
fn a_folder_with_nothing_known_is_incomplete_and_lists_what_was_ignored() {
    let runs = Runs::new();
    fs::remove_dir_all(runs.path("npu")).expect("removed");
    fs::create_dir(runs.path("npu")).expect("folder");
    fs::write(runs.path("npu/notes.txt"), "hello\n").expect("written");
    let (output, result) = runs.run(&[]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(result["verdict"], "incomplete");
    assert!(finding(&result, "nothing-recognised")["message"].as_str().expect("message").contains("on the NPU side"));
    let artifacts = result["artifacts"].as_array().expect("artifacts");
    assert!(artifacts.iter().any(|artifact| artifact["path"] == "notes.txt" && artifact["status"] == "ignored"));
}

#[test]
fn a_path_that_is_not_there_exits_2_and_says_which() {
    let runs = Runs::new();
    fs::remove_dir_all(runs.path("npu")).expect("removed");
    let (output, _) = runs.run(&[]);
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("npu") && text.contains("help:"), "{text}");
}

#[test]
fn a_missing_side_on_the_command_line_exits_2() {
    let mut command = Command::cargo_bin("precision-gate").expect("built");
    let output = command.args(["run", "--baseline", "."]).output().expect("ran");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--candidate"));
}

#[test]
fn a_wrong_policy_exits_2_with_its_line() {
    let runs = Runs::new();
    let policy = runs.path("policy.yml");
    fs::write(&policy, "dump:\n  limits:\n    - noise: .nan\n").expect("written");
    let (output, _) = runs.run(&["--config", &policy.display().to_string()]);
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("policy.yml:3:"), "{text}");
}

/// One pair of each kind of file whose reader keeps what it reads.
const KEPT: [&str; 11] = [
    "checkpoints/rounding",
    "checkpoints/legacy_container",
    "evaluation/scores_only_same",
    "evaluation/lines_twice_contradict",
    "evaluation/gen_no_logprobs",
    "loss/aligned_fp32",
    "monitor/ok-crlf-bom-v1",
    "operators/ok-fp32",
    "performance/fusion-lost",
    "performance/gpu-to-npu-limit",
    "policies/identical-sides-dump-copy",
];

#[test]
fn what_a_file_holds_is_counted_before_it_is_kept() {
    for pair in KEPT {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(pair);
        let out = tempfile::tempdir().expect("folder");
        let mut command = Command::cargo_bin("precision-gate").expect("built");
        command.arg("run").arg(root.join("gpu")).arg(root.join("npu")).args(["--max-memory", "2KB", "--quiet"]);
        let output = command.arg("--out").arg(out.path()).output().expect("ran");
        let result = fs::read_to_string(out.path().join("result.json")).expect("written");
        assert_eq!(output.status.code(), Some(1), "{pair}");
        let says = result.contains("takes more than 500 bytes of memory, a quarter of `--max-memory`")
            || result.contains("or 500 bytes of memory; the records from here on are not read");
        assert!(says && result.contains("\"incomplete\""), "{pair}: {result}");
    }
}

#[test]
fn scores_beyond_the_memory_are_not_read_and_the_file_and_the_limit_are_named() {
    let runs = tempfile::tempdir().expect("folder");
    let task = |name: usize| (format!("task_{name}"), serde_json::json!({"acc,none": 0.5, "acc_stderr,none": 0.01}));
    let results: serde_json::Map<String, Value> = (0..9).map(task).collect();
    let file = "model/results_2026-11-22T12-29-39.821141.json";
    for side in ["gpu", "npu"] {
        let path = runs.path().join(side).join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        let document = serde_json::json!({"results": results, "configs": {}, "config": {"model": "hf"}});
        fs::write(path, document.to_string()).expect("written");
    }
    let judged = |memory: &str| {
        let out = runs.path().join("out");
        let mut command = Command::cargo_bin("precision-gate").expect("built");
        command.arg("run").arg(runs.path().join("gpu")).arg(runs.path().join("npu")).arg("--out").arg(&out);
        command.args(["--quiet", "--max-memory", memory]).output().expect("ran");
        serde_json::from_slice::<Value>(&fs::read(out.join("result.json")).expect("written")).expect("JSON")
    };
    let of = |result: &Value| {
        let checks = result["checks"].as_array().expect("checks").clone();
        let check = checks.into_iter().find(|check| check["id"] == "evaluation").expect("the check");
        (check["verdict"].clone(), check["units"].as_array().map_or(0, Vec::len))
    };
    let short = judged("400KB");
    assert_eq!(of(&short), ("incomplete".into(), 4));
    let text = short.to_string();
    assert!(text.contains("beyond the 4 that fit into 100000 bytes of memory, a quarter of `--max-memory`"), "{text}");
    assert!(text.contains(file), "{text}");
    assert_eq!(of(&judged("1MB")).1, 9);
}

#[cfg(target_os = "linux")]
#[test]
fn where_the_system_refuses_memory_a_sentence_and_the_exit_code_say_so() {
    let folder = tempfile::tempdir().expect("folder");
    let numbers = "0,".repeat(1_000_000);
    fs::write(folder.path().join("dense.py"), format!("x = [{numbers}]\n")).expect("written");
    let program = assert_cmd::cargo::cargo_bin("precision-gate");
    let limited = format!("ulimit -v 300000; exec '{}' source . --out out --quiet", program.display());
    let output = std::process::Command::new("sh").args(["-c", &limited]).current_dir(folder.path()).output();
    let output = output.expect("ran");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("memory allocation of") || said.contains("error: threads:"), "{said}");
}
