//! Damaged packs through the real program: exit code, one clear message, verdicts for what is whole.

use assert_cmd::Command;
use serde_json::Value;

use crate::config::common::folder;

fn check(case: &str) -> (i32, Value, String) {
    let out = tempfile::tempdir().expect("folder");
    let packs = ["gpu.zip", "npu.zip"].map(|name| folder().join(case).join(name));
    let run = Command::cargo_bin("precision-gate")
        .expect("binary")
        .arg("config-check")
        .args(packs)
        .arg("--out")
        .arg(out.path())
        .output()
        .expect("run");
    let result = std::fs::read_to_string(out.path().join("result.json")).unwrap_or_else(|_| "null".into());
    let code = run.status.code().expect("code");
    (code, serde_json::from_str(&result).expect("JSON"), String::from_utf8_lossy(&run.stderr).into_owned())
}

/// Blocking messages, as people read them.
fn blocking(result: &Value) -> Vec<String> {
    let findings = result["findings"].as_array().unwrap().iter();
    let blocking = findings.filter(|finding| ["fail", "incomplete"].contains(&finding["severity"].as_str().unwrap()));
    blocking.map(|f| format!("{}: {}", f["where"].as_str().unwrap(), f["message"].as_str().unwrap())).collect()
}

fn verdicts(result: &Value) -> Vec<(String, String)> {
    let items = result["checks"][0]["items"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    items
        .map(|item| (text(&item["name"]), text(&item["verdict"])))
        .filter(|(_, verdict)| verdict != "skipped")
        .collect()
}

#[test]
fn each_damage_has_one_message_and_spares_the_rest() {
    for (case, message, blocked) in [
        ("bad-damaged-member", "npu.zip:weights/step0/rank0/weight.json: cannot be read (candidate)", &["weights"][..]),
        ("bad-env-json", "npu.zip:env: cannot be read (candidate): not valid JSON at byte 40", &["env"]),
        ("bad-rank-name", "random/rankA.json: is in a place where no member belongs (candidate)", &["random"]),
        ("bad-weights-layout", "weights/weight.json: is in a place where no member belongs (baseline)", &["weights"]),
        ("bad-parent-path-member", "../outside.txt: was not read (candidate): a path that leads out", &[]),
        (
            "bad-truncated",
            "npu.zip: cannot be read (candidate): is not a complete zip archive",
            &["env", "pip", "dataset", "weights", "random"],
        ),
        (
            "bad-zero-bytes",
            "npu.zip: cannot be read (candidate): empty file",
            &["env", "pip", "dataset", "weights", "random"],
        ),
        (
            "bad-not-a-zip",
            "npu.zip: cannot be read (candidate): unknown format",
            &["env", "pip", "dataset", "weights", "random"],
        ),
        (
            "bad-empty-archive",
            "npu.zip: is of a kind that is not read (candidate)",
            &["env", "pip", "dataset", "weights", "random"],
        ),
    ] {
        let (code, result, _) = check(case);
        assert_eq!(code, 1, "{case}");
        // A pack that is whole enough to show its device gives its side that name.
        let by_side = |said: &String| said.replace("(NPU)", "(candidate)").replace("(GPU)", "(baseline)");
        let messages: Vec<String> = blocking(&result).iter().map(by_side).collect();
        assert!(matches!(messages.as_slice(), [only] if only.starts_with(message)), "{case}: {messages:?}");
        for (checker, verdict) in verdicts(&result) {
            let expected = if blocked.contains(&checker.as_str()) { "incomplete" } else { "pass" };
            assert_eq!(verdict, expected, "{case} {checker}");
        }
        assert_eq!(result["verdict"], "incomplete", "{case}");
    }
}

#[test]
fn a_pack_that_is_not_there_is_bad_usage() {
    let (code, result, errors) = check("bad-file-missing");
    assert_eq!((code, result), (2, Value::Null));
    assert!(errors.contains("npu.zip") && errors.contains("help:"), "{errors}");
}

#[test]
fn a_pack_of_many_broken_members_is_told_in_few_findings() {
    use std::io::Write as _;
    let folder = tempfile::tempdir().expect("folder");
    let pack = |name: &str, count: usize| {
        let path = folder.path().join(name);
        let mut writer = zip::ZipWriter::new(std::fs::File::create(&path).expect("created"));
        let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
        writer.start_file("env", options).expect("started");
        writer.write_all(b"{}").expect("written");
        for step in 0..count {
            writer.start_file(format!("dataset/step{step}/rank0/dataset.json"), options).expect("started");
            writer.start_file(format!("random/{step}.json"), options).expect("started");
        }
        writer.finish().expect("finished");
        path.display().to_string()
    };
    let outcome =
        crate::config::common::run_paths(&pack("gpu.zip", 3), &pack("npu.zip", 2000), "").expect("both are there");
    let count = |code: &str| outcome.result.findings.iter().filter(|finding| finding.code == code).count();
    assert_eq!(count("pack-member-damaged"), 3 + 100);
    assert_eq!(count("pack-member-misplaced"), 3 + 100);
    assert_eq!(count("pack-members-unlisted"), 2, "one of each kind");
    let said = format!("{:?}", outcome.result.findings);
    assert!(said.contains("1900"), "{said}");
    assert_eq!(outcome.result.verdict.as_str(), "incomplete");
}
