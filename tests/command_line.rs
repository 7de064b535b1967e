//! Command line as its users meet it: two folders, a wrong command, a log that is not understood, and completions in
//! the shells themselves.
#![allow(
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that indexes beyond what is there fails, as it should, and says what it left out"
)]

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::Value;

mod completions;

fn quickstart(path: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/quickstart").join(path).display().to_string()
}

/// Exit code, everything printed, and the result of a command that ran in a folder of its own.
struct Ran {
    code: Option<i32>,
    text: String,
    result: Value,
}

fn run_in(folder: &Path, arguments: &[&str]) -> Ran {
    let mut command = Command::cargo_bin("precision-gate").expect("built");
    let kept: Vec<(_, _)> = std::env::vars_os().filter(|(name, _)| name == "PATH").collect();
    command.env_clear().envs(kept).env("HOME", folder).env("AWS_EC2_METADATA_DISABLED", "true");
    let output = command.current_dir(folder).args(arguments).output().expect("ran");
    let result = fs::read_to_string(folder.join("precision-gate-out/result.json")).unwrap_or_default();
    Ran {
        code: output.status.code(),
        text: String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned(),
        result: serde_json::from_str(&result).unwrap_or_default(),
    }
}

fn run(arguments: &[&str]) -> Ran {
    run_in(tempfile::tempdir().expect("a folder").path(), arguments)
}

fn codes(ran: &Ran) -> Vec<&str> {
    let findings = ran.result["findings"].as_array().into_iter().flatten();
    findings.filter_map(|finding| finding["code"].as_str()).collect()
}

#[test]
fn two_folders_stand_for_baseline_and_candidate() {
    let (gpu, npu) = (quickstart("gpu"), quickstart("npu"));
    let folders = run(&["run", &gpu, &npu]);
    let flags = run(&["run", "--baseline", &gpu, "--candidate", &npu]);
    assert_eq!((folders.code, flags.code), (Some(1), Some(1)), "{}", folders.text);
    assert_eq!(folders.result, flags.result);
    assert_eq!(folders.result["baseline"]["location"], gpu.as_str());
}

#[test]
fn the_result_is_printed_beside_its_folder_or_without_one() {
    let (gpu, npu) = (quickstart("gpu"), quickstart("npu"));
    let printed = run(&["run", &gpu, &npu, "--json"]);
    let alone = tempfile::tempdir().expect("a folder");
    let kept = run_in(alone.path(), &["run", &gpu, &npu, "--out", "-"]);
    assert_eq!((printed.code, kept.code), (Some(1), Some(1)), "{}", kept.text);
    let parsed: Value = serde_json::from_str(&printed.text).expect("nothing but the result");
    assert_eq!(parsed, printed.result);
    let mut without: Value = serde_json::from_str(&kept.text).expect("nothing but the result");
    without["operations_digest"] = parsed["operations_digest"].clone();
    without["seal"] = parsed["seal"].clone();
    assert_eq!(without, parsed, "tables and pictures change nothing in the result");
    assert_eq!(fs::read_dir(alone.path()).expect("a folder").count(), 0, "nothing is written");

    for arguments in
        [["--json", "--part=1/2"], ["--out=-", "--part=1/2"], ["--json", "--dry-run"], ["--json", "--verbose"]]
    {
        let refused = run(&[&["run", gpu.as_str(), npu.as_str()], arguments.as_slice()].concat());
        assert_eq!(refused.code, Some(2), "{arguments:?}: {}", refused.text);
    }
}

#[test]
fn a_result_says_the_first_lines_of_its_documents() {
    let (gpu, npu) = (quickstart("gpu"), quickstart("npu"));
    for (arguments, checked) in [(["--lang=en"], "Not checked: "), (["--lang=zh"], "未检查")] {
        let ran = run(&[&["run", gpu.as_str(), npu.as_str()], arguments.as_slice()].concat());
        // The terminal breaks long lines.
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let shown = words(&ran.text);
        for field in ["headline", "place", "fix", "certainty", "not_judged"] {
            let said = words(ran.result[field].as_str().unwrap_or_default());
            assert!(!said.is_empty() && shown.contains(&said), "{field}: {said}\n{shown}");
        }
        assert!(
            ran.result["not_judged"].as_str().is_some_and(|said| said.contains(checked)),
            "{}",
            ran.result["not_judged"]
        );
    }
    let same = run(&["run", &gpu, &gpu]);
    let said = |field: &str| same.result[field].as_str().unwrap_or_default().to_owned();
    assert_eq!((said("fix"), said("certainty")), (String::new(), String::new()), "a pass has no fix");
    assert!(!said("headline").is_empty() && said("place").ends_with(&said("not_judged")), "{}", said("place"));
}

#[test]
fn runs_that_are_given_in_two_ways_or_in_part_are_refused() {
    for (arguments, said) in [
        (vec!["a", "b", "--baseline", "c"], "the runs are given both with and without --baseline and --candidate"),
        (vec!["b", "--baseline", "a"], "one run is given without --baseline or --candidate"),
        (vec!["a"], "only one run is given"),
        (vec![], "a baseline and a candidate are needed"),
    ] {
        let ran = run(&[vec!["run"], arguments.clone()].concat());
        assert_eq!(ran.code, Some(2), "{arguments:?}: {}", ran.text);
        assert!(
            ran.text.contains(said) && ran.text.contains("precision-gate run GPU_FOLDER NPU_FOLDER"),
            "{}",
            ran.text
        );
    }
}

#[test]
fn a_command_that_does_not_judge_these_files_names_the_one_that_does() {
    for (command, path, other, kind) in [
        ("compare", "trainer_state.json", "loss", "training curves"),
        ("config-check", "trainer_state.json", "loss", "training curves"),
        ("loss", "dump", "compare", "dumps or checkpoints"),
        ("config-check", "dump", "compare", "dumps or checkpoints"),
        ("loss", "config_check_pack.zip", "config-check", "config packs"),
        ("compare", "config_check_pack.zip", "config-check", "config packs"),
    ] {
        let sides = [quickstart(&format!("gpu/{path}")), quickstart(&format!("npu/{path}"))];
        let ran = run(&[command, &sides[0], &sides[1]]);
        assert_eq!(ran.code, Some(1), "{command} {path}: {}", ran.text);
        let said = format!("holds {kind}, which this command does not judge");
        assert!(ran.text.contains(&said), "{}", ran.text);
        let line = format!("`precision-gate {other} {} {}`", sides[0], sides[1]);
        // The terminal breaks long lines.
        let text = ran.text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&line), "{command} {path}: {}", ran.text);
    }
}

const LOG: &str = "training begins on 8 devices\n[0] it~1 lss~2.5\n[0] it~2 lss~2.4\n[0] it~3 lss~2.3\ndone `ok`\n";

#[test]
fn a_log_without_known_lines_shows_some_of_them_and_the_pattern_to_set() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    };
    write("gpu/train.log", LOG);
    write("npu/train.log", &LOG.replace("2.4", "2.41"));
    write("gpu run/train.log", &LOG.replace("lss~", "Loss~>"));
    write("npu run/train.log", &LOG.replace("lss~", "Loss~>").replace("2.4", "2.41"));
    write("npu run/notes.txt", "no log at all\n");
    for (arguments, lines) in [
        (["loss", "gpu/train.log", "npu/train.log"], "`[0] it~1 lss~2.5`, `[0] it~2 lss~2.4`"),
        (["run", "gpu run", "npu run"], "`[0] it~1 Loss~>2.5`"),
    ] {
        let ran = run_in(folder.path(), &arguments);
        assert_eq!(ran.code, Some(1), "{}", ran.text);
        assert!(ran.text.contains("o loss values recognised in train.log"), "{arguments:?}: {}", ran.text);
        assert!(ran.text.contains(lines), "{arguments:?}: {}", ran.text);
        assert!(
            ran.text.contains("`loss.log-pattern`") && ran.text.contains("'iter {step} loss {loss}'")
                || ran.text.contains("loss: {log-pattern: 'it~{step} Loss~>{loss}'}"),
            "{}",
            ran.text
        );
    }
    write("precision-gate.yml", "loss: {log-pattern: 'it~{step} lss~{loss}'}\n");
    let ran = run_in(folder.path(), &["loss", "gpu/train.log", "npu/train.log"]);
    assert_eq!(ran.result["checks"][0]["units"][0]["paired"], 3, "{}", ran.text);
    write("precision-gate.yml", "loss: {log-pattern: 'step {step} loss {loss}'}\n");
    let ran = run_in(folder.path(), &["loss", "gpu/train.log", "npu/train.log"]);
    assert!(ran.text.contains("`loss.log-pattern` matches no line of train.log"), "{}", ran.text);
}

#[test]
fn a_log_that_is_left_out_of_a_run_says_so_in_the_list_of_files() {
    let folder = tempfile::tempdir().expect("a folder");
    for side in ["gpu", "npu"] {
        let path = |name: &str| folder.path().join(side).join(name);
        fs::create_dir_all(path("")).expect("made");
        fs::copy(quickstart(&format!("{side}/config_check_pack.zip")), path("pack.zip")).expect("copied");
        fs::write(path("train.log"), "[0] it~1 Loss~>2.5\n[0] it~2 Loss~>2.4\n").expect("written");
    }
    let ran = run_in(folder.path(), &["run", "gpu", "npu"]);
    let rows = ran.result["artifacts"].as_array().expect("artifacts");
    let notes: Vec<_> = rows.iter().filter(|row| row["path"] == "train.log").map(|row| &row["note"]).collect();
    assert_eq!(notes, ["no loss values recognised; set `loss.log-pattern` to read it"; 2], "{rows:?}");
}

#[test]
fn several_config_packs_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    for (side, path) in [("gpu", "gpu.zip"), ("npu", "a/pack.zip"), ("npu", "b/pack.zip")] {
        let path = folder.path().join(side).join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::copy(quickstart(&format!("{side}/config_check_pack.zip")), path).expect("copied");
    }
    let ran = run_in(folder.path(), &["config-check", "gpu", "npu"]);
    assert!(codes(&ran).contains(&"artifact-ambiguous"), "{}", ran.text);
    let said = "2 config packs in the NPU folder; name one: a/pack.zip, b/pack.zip";
    assert!(ran.text.contains(said), "{}", ran.text);
}

#[test]
fn a_bucket_without_credentials_says_which_variables_to_set() {
    for (location, service, variables) in [
        ("s3://bucket/run?endpoint=http://127.0.0.1:9", "S3", "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
        ("obs://bucket/run?endpoint=http://127.0.0.1:9", "OBS", "OBS_ACCESS_KEY_ID and OBS_SECRET_ACCESS_KEY"),
    ] {
        let ran = run(&["run", location, &quickstart("npu")]);
        assert_eq!(ran.code, Some(3), "{}", ran.text);
        assert!(ran.text.contains(&format!("no {service} credentials")), "{}", ran.text);
        assert!(ran.text.contains(variables) && ran.text.contains("`?anonymous=true`"), "{}", ran.text);
    }
}

#[test]
fn a_broken_policy_stops_every_command_that_reads_one() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("precision-gate.yml"), "loss:\n  limts: {}\n").expect("written");
    let [gpu, npu] = ["gpu", "npu"].map(quickstart);
    for arguments in [
        vec!["run", &gpu, &npu],
        vec!["compare", &gpu, &npu],
        vec!["loss", &gpu, &npu],
        vec!["config-check", &gpu, &npu],
        vec!["noise", &gpu, &npu],
        vec!["selftest"],
        vec!["history", "list"],
    ] {
        let ran = run_in(folder.path(), &arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}: {}", ran.text);
        let said = "precision-gate.yml:2:3: unknown key `loss.limts`; did you mean `loss.limits`?";
        assert!(ran.text.contains(said), "{arguments:?}: {}", ran.text);
        assert!(ran.text.contains("for example `loss: {limits: {step-1: {warn: 0.01}}}`"), "{}", ran.text);
    }
}

/// The program that the tests were built with.
fn program() -> PathBuf {
    assert_cmd::cargo::cargo_bin!("precision-gate").to_path_buf()
}
