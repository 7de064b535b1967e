//! Grounds of a pass: waivers, lowered severities, wide limits, and sides that are no two runs.
#![allow(
    clippy::indexing_slicing,
    reason = "a test that indexes beyond what is there fails, as it should; a key that is not there reads as null"
)]

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use regex::Regex;
use serde_json::{Value, json};

mod canonical;
mod offered;

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/policies")
}

/// Output of a command.
struct Ran {
    code: i32,
    /// Summary and terminal.
    text: String,
    result: Value,
}

/// Runs `arguments` in `folder`, with the results in `out`.
fn run(folder: &Path, arguments: &[&str], out: &Path) -> Ran {
    let mut command = Command::cargo_bin("precision-gate").expect("built");
    for name in ["CI", "GITHUB_ACTIONS", "GITLAB_CI"] {
        command.env_remove(name);
    }
    let flag = if arguments[0] == "noise" {
        ["--output".into(), out.join("noise.json")]
    } else {
        ["--out".into(), out.into()]
    };
    let output = command.current_dir(folder).args(arguments).args(flag).output().expect("runs");
    let read = |name: &str| fs::read_to_string(out.join(name)).unwrap_or_default();
    let said = [output.stdout, output.stderr].concat();
    Ran {
        code: output.status.code().expect("no signal"),
        text: format!("{}\n{}", read("summary.md"), String::from_utf8_lossy(&said)),
        result: serde_json::from_str(&read("result.json")).unwrap_or_default(),
    }
}

fn run_case(name: &str, more: &[&str]) -> Ran {
    let case: Value =
        serde_json::from_str(&fs::read_to_string(cases().join(name).join("case.json")).expect("a case")).expect("JSON");
    let arguments: Vec<&str> = case["args"].as_array().expect("arguments").iter().filter_map(Value::as_str).collect();
    let out = tempfile::tempdir().expect("a folder");
    run(&cases().join(name), &[arguments.as_slice(), more].concat(), out.path())
}

fn codes(ran: &Ran) -> Vec<&str> {
    let findings = ran.result["findings"].as_array().into_iter().flatten();
    findings.filter_map(|finding| finding["code"].as_str()).collect()
}

/// Parts that fall short of the truth of a case.
fn shortfalls(ran: &Ran, truth: &Value) -> Vec<String> {
    let list = |key: &str| truth[key].as_array().cloned().unwrap_or_default();
    let fits = |pattern: &Value| Regex::new(pattern.as_str().expect("a pattern")).expect("sound").is_match(&ran.text);
    let mut wrong = Vec::new();
    if !list("exit").contains(&json!(ran.code)) {
        wrong.push(format!("exit {}", ran.code));
    }
    let verdict = &ran.result["verdict"];
    if !truth["verdict"].is_null() && !verdict.is_null() && !list("verdict").contains(verdict) {
        wrong.push(format!("verdict {verdict}"));
    }
    if !truth["culprit"].is_null() && truth["culprit"]["op"] != ran.result["culprit"]["op"] {
        wrong.push(format!("culprit {}", ran.result["culprit"]["op"]));
    }
    wrong.extend(
        list("present").iter().filter(|pattern| !fits(pattern)).map(|pattern| format!("does not say {pattern}")),
    );
    wrong.extend(list("absent").iter().filter(|pattern| fits(pattern)).map(|pattern| format!("says {pattern}")));
    wrong
}

#[test]
fn every_case_ends_as_its_truth_says() {
    let mut wrong = Vec::new();
    let mut names: Vec<_> = fs::read_dir(cases()).expect("cases").flatten().map(|entry| entry.path()).collect();
    names.retain(|path| path.is_dir());
    names.sort();
    assert!(names.len() >= 20, "{}", names.len());
    for path in names {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let case: Value =
            serde_json::from_str(&fs::read_to_string(path.join("case.json")).expect("a case")).expect("JSON");
        let found = shortfalls(&run_case(&name, &[]), &case["truth"]);
        wrong.extend(found.into_iter().map(|what| format!("{name}: {what}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_waived_failure_is_named_in_every_document() {
    let out = tempfile::tempdir().expect("a folder");
    for (language, waived) in [("en", "Passes with 1 waiver"), ("zh", "因 1 项豁免而通过")] {
        let case = cases().join("waived-failure-dump-output");
        let arguments =
            ["compare", "gpu", "npu", "--config", "policy.yml", "--today", "2026-11-22", "--lang", language];
        let ran = run(&case, &arguments, out.path());
        assert!(ran.result["culprit"].is_null(), "{}", ran.result["culprit"]);
        for name in ["summary.md", "report.html"] {
            let text = fs::read_to_string(out.path().join(name)).expect(name);
            assert!(text.contains(waived), "{name} in {language}");
        }
        let junit = fs::read_to_string(out.path().join("junit.xml")).expect("junit");
        assert!(junit.contains("waived: ") && junit.contains("(alice, 2027-03-31)"), "{junit}");
        let sarif: Value =
            serde_json::from_str(&fs::read_to_string(out.path().join("sarif.json")).expect("sarif")).expect("JSON");
        assert!(!sarif["runs"][0]["results"][0]["suppressions"][0].is_null());
    }
}

#[test]
fn copies_fail_a_release_and_other_files_are_no_copies() {
    for name in ["dump-copy", "tensor-copy", "checkpoint-copy", "curve-copy", "dump-same-folder"] {
        let name = format!("identical-sides-{name}");
        let out = tempfile::tempdir().expect("a folder");
        let policy = out.path().join("release.yml");
        fs::write(&policy, "profile: release\n").expect("written");
        let ran = run_case(&name, &["--config", &policy.display().to_string()]);
        assert_eq!((ran.code, ran.result["verdict"].as_str()), (1, Some("fail")), "{name}");
        let finding = ran.result["findings"]
            .as_array()
            .expect("findings")
            .iter()
            .find(|finding| finding["code"] == "sides-identical");
        assert_eq!(finding.expect("a finding")["severity"], "fail", "{name}");
        let ran = run_case(&name, &[]);
        let lines: Vec<&str> = ran.text.lines().filter(|line| !line.is_empty()).take(2).collect();
        assert!(lines[1].contains("identical") || lines[1].contains("same location"), "{name}: {}", lines[1]);
    }
    // The same numbers in files of other bytes.
    let folder = tempfile::tempdir().expect("a folder");
    let curve = fs::read_to_string(cases().join("identical-sides-curve-copy/gpu.csv")).expect("a curve");
    fs::write(folder.path().join("gpu.csv"), &curve).expect("written");
    fs::write(folder.path().join("npu.csv"), curve.replace('\n', "\r\n")).expect("written");
    let ran = run(folder.path(), &["loss", "gpu.csv", "npu.csv"], &folder.path().join("out"));
    assert_eq!((ran.code, codes(&ran).contains(&"sides-identical")), (0, false), "{:?}", codes(&ran));
}

#[test]
fn a_copy_that_was_changed_at_its_end_is_no_copy() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut bytes = fs::read(cases().join("identical-sides-checkpoint-copy/gpu.safetensors")).expect("a checkpoint");
    fs::write(folder.path().join("gpu.safetensors"), &bytes).expect("written");
    *bytes.last_mut().expect("bytes") ^= 1;
    fs::write(folder.path().join("npu.safetensors"), &bytes).expect("written");
    let ran = run(folder.path(), &["compare", "gpu.safetensors", "npu.safetensors"], &folder.path().join("out"));
    assert!(!codes(&ran).contains(&"sides-identical"), "{}", ran.text);
}

#[test]
fn a_wide_limit_for_a_named_operation_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let policy = folder.path().join("policy.yml");
    let with = |limits: &str| {
        fs::write(&policy, format!("dump: {{limits: [{limits}]}}\n")).expect("written");
        run_case("identical-sides-dump-copy", &["--config", &policy.display().to_string()])
    };
    let named = with("{op: 'Functional.linear.*', noise: 100, wrong: 1000}");
    assert_eq!((named.code, named.result["verdict"].as_str()), (0, Some("warn")), "{}", named.text);
    assert!(named.text.contains("only zeros") || named.text.contains("wrong sign"), "{}", named.text);
    let narrow = with("{op: 'Functional.linear.*', noise: 0.001}");
    assert!(!codes(&narrow).contains(&"limit-wide"), "{}", narrow.text);
    let global = with("{noise: 100}");
    assert_eq!(global.code, 2);
    assert!(global.text.contains("dump.limits: the limit of `*` is so wide"), "{}", global.text);
}

#[test]
fn operations_that_are_not_there_are_refused() {
    for name in ["identical-sides-tensor-copy", "identical-sides-dump-copy"] {
        let ran = run_case(name, &["--ops", "Foo*"]);
        assert_eq!(ran.code, 2, "{name}: {}", ran.text);
        assert!(ran.text.contains("`Foo*` fits no operation"), "{name}: {}", ran.text);
        assert!(ran.result.is_null(), "{name}: no result of an earlier question stays");
        assert_eq!(run_case(name, &["--ops", "*"]).code, 0, "{name}");
    }
}

#[test]
fn swapped_sides_warn_unless_the_policy_declares_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let policy = folder.path().join("policy.yml");
    fs::write(&policy, "config: {devices: {baseline: npu, candidate: gpu}}\n").expect("written");
    assert!(codes(&run_case("swapped-sides-packs", &[])).contains(&"sides-swapped"));
    let declared = run_case("swapped-sides-packs", &["--config", &policy.display().to_string()]);
    assert!(!codes(&declared).contains(&"sides-swapped"), "{}", declared.text);
}

#[test]
fn runs_that_are_no_repeats_are_recorded_only_where_that_is_asked_for() {
    let refused = run_case("unrelated-noise-record", &[]);
    assert!(
        refused.text.contains("is not a repeat of noise/run0: `loss` differs by 42 % on average"),
        "{}",
        refused.text
    );
    assert_eq!(run_case("unrelated-noise-record", &["--allow-different-runs"]).code, 0);
}

#[cfg(unix)]
#[test]
fn a_policy_that_is_no_file_or_nested_too_deep_is_refused_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let deep = folder.path().join("deep.yml");
    fs::write(&deep, format!("required: {}", "[".repeat(100_000))).expect("written");
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let [deep, pipe] = [deep, pipe].map(|path| path.display().to_string());
    for (config, said) in
        [(deep.as_str(), "nested deeper"), (&pipe, "is not a regular file"), ("/dev/zero", "is not a regular file")]
    {
        let ran = run_case("identical-sides-dump-copy", &["--config", config]);
        assert_eq!(ran.code, 2, "{config}");
        assert!(ran.text.contains(said), "{config}: {}", ran.text);
    }
}

#[cfg(unix)]
#[test]
fn a_side_that_is_a_pipe_or_a_device_is_refused_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(std::process::Command::new("mkfifo").arg(folder.path().join("pipe")).status().expect("mkfifo").success());
    fs::create_dir(folder.path().join("gpu")).expect("made");
    for candidate in ["pipe", "/dev/zero"] {
        let ran = run(folder.path(), &["compare", "gpu", candidate], &folder.path().join("out"));
        assert_eq!(ran.code, 2, "{candidate}");
        assert!(ran.text.contains("is neither a file nor a folder"), "{candidate}: {}", ran.text);
    }
}

#[test]
fn a_result_that_was_edited_is_not_rendered_again() {
    let out = tempfile::tempdir().expect("a folder");
    let honest = run(&cases().join("waived-failure-loss-mean"), &["loss", "gpu.csv", "npu.csv"], out.path()).result;
    assert_eq!(honest["verdict"], "fail");
    let render = |result: &Value| {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("result.json"), result.to_string()).expect("written");
        run(folder.path(), &["report", "result.json"], &folder.path().join("again"))
    };
    assert_eq!(render(&honest).code, 0);
    let edits: [(&str, Value); 6] = [
        ("/verdict", json!("pass")),
        ("/verdict", json!("green")),
        ("/checks/0/units/0/paired", json!(1_u64 << 63)),
        ("/checks/0/units/0/paired", json!(-1)),
        ("/checks/0/units/0/series/baseline/3", json!(-1.7e308)),
        ("/artifacts/0/status", json!("x")),
    ];
    for (place, value) in edits {
        let mut edited = honest.clone();
        *edited.pointer_mut(place).expect(place) = value;
        let ran = render(&edited);
        assert_eq!(ran.code, 2, "{place}: {}", ran.text);
    }
    // Whatever is said of what was measured is decided again.
    for (place, value) in [
        ("/checks/0/verdict", json!("pass")),
        ("/checks/0/units/0/verdict", json!("pass")),
        ("/findings/0/code", json!("all-is-well")),
    ] {
        let mut edited = honest.clone();
        *edited.pointer_mut(place).expect(place) = value;
        let ran = render(&edited);
        assert!(ran.code == 0 && ran.text.contains("The loss diverges from the"), "{place}: {}", ran.text);
    }
}
