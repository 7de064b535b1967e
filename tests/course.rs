//! One run by itself, its logs, curves, dumps, monitors and checkpoints, and pairs whose cause it shows: cases with a known truth, and
//! healthy data that nobody made for these rules.
#![allow(
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that indexes beyond what is there fails, as it should; it says what it could not look at"
)]

mod parts;

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use precision_gate::judge::invariants::{ALL, InvariantRow};
use rayon::prelude::*;
use serde_json::Value;
use tempfile::TempDir;

/// Cases of this test among the fixtures.
const CASES: [&str; 33] = [
    "all-skipped-megatron-0",
    "at-chance-0",
    "bn-one-rank-eval",
    "checkpoints-equal-0",
    "crash-hccl-timeout-0",
    "crash-nan-in-local-grad-norm-0",
    "detached",
    "dropout-in-eval",
    "growth-one-run-0",
    "half-skipped-deepspeed-0",
    "layer-left-out",
    "mindyolo-overflow-still-update-0",
    "monitor-stale-rank2",
    "no-decay-0",
    "no-zero-grad",
    "ok-converged-near-zero-0",
    "ok-error-after-the-end-0",
    "ok-handled-error-0",
    "ok-micro-steps",
    "ok-norm-after-clipping-0",
    "ok-rate-rounded-0",
    "ok-scale-probes-deepspeed-0",
    "ok-tp-norm-not-reduced",
    "overfit-0",
    "pair-crash-0",
    "pair-freeze-forgotten",
    "pair-gradient-inf-first-0",
    "pair-growth-colon-0",
    "pair-jump-debug-0",
    "periodic-0",
    "same-batch",
    "step-never-called",
    "tp-norm-not-reduced",
];

/// Codes of these rules.
const CODES: [&str; 22] = [
    "batch-norm-mode",
    "batch-repeated",
    "curve-at-chance",
    "curve-ends-high",
    "curve-overfits",
    "curve-periodic",
    "dropout-in-evaluation",
    "gradient-accumulates",
    "gradient-missing",
    "gradient-non-finite",
    "growth-by-layer",
    "learning-rate-schedule",
    "learning-rate-zero",
    "parameter-frozen",
    "parameters-never-move",
    "ranks-same-data",
    "replicas-differ",
    "run-ended-early",
    "run-ended-with-error",
    "throughput-collapse",
    "updates-overflowed",
    "updates-skipped",
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn gate(arguments: &[&str], out: &Path) -> (String, Value) {
    let mut command = Command::cargo_bin("precision-gate").expect("a binary");
    for (name, _) in std::env::vars()
        .filter(|(name, _)| ["CI", "GITHUB_", "GITLAB_", "INPUT_"].iter().any(|start| name.starts_with(start)))
    {
        command.env_remove(name);
    }
    let output =
        command.args(arguments).arg("--out").arg(out).args(["--today", "2026-11-25"]).output().expect("it runs");
    let text = [output.stdout, output.stderr].map(|part| String::from_utf8_lossy(&part).into_owned()).concat();
    let result = fs::read(out.join("result.json")).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    (text, result.unwrap_or(Value::Null))
}

/// Judges a case, alone or against its baseline as its truth says.
fn judged(case: &Path, truth: &Value, more: &[&str], out: &Path) -> (String, Value) {
    let [gpu, npu] = ["gpu", "npu"].map(|side| case.join(side).display().to_string());
    let arguments: Vec<&str> = match truth["mode"] == "pair" {
        true => vec!["run", "--baseline", &gpu, "--candidate", &npu],
        false => vec!["run", "--candidate", &npu, "--health"],
    };
    gate(&[arguments.as_slice(), more].concat(), out)
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_else(|| vec![value.clone()])
}

/// Whether a value is one that the truth allows; a file is named by its end.
fn fits(value: &Value, wanted: &Value) -> bool {
    list(wanted).iter().any(|wanted| match (value, wanted) {
        (Value::Number(a), Value::Number(b)) => {
            (a.as_f64().unwrap_or(f64::NAN) - b.as_f64().unwrap_or_default()).abs() < 1e-6
        }
        (Value::String(text), Value::Number(number)) => text.parse::<f64>().ok() == number.as_f64(),
        (Value::String(text), Value::String(end)) => text.ends_with(end.as_str()),
        (value, wanted) => value == wanted,
    })
}

/// Whether the fields of `value` are those that the truth names.
fn holds(value: &Value, wanted: &Value) -> bool {
    wanted.as_object().into_iter().flatten().all(|(key, wanted)| match wanted.is_object() {
        true => holds(&value[key], wanted),
        false => fits(&value[key], wanted),
    })
}

#[test]
fn a_checkpoint_that_ends_within_its_header_is_damage_and_no_other_format() {
    let folder = TempDir::new().expect("a folder");
    let case = root().join("tests/fixtures/onerun/checkpoints-equal-0/npu");
    for step in [10, 20, 30] {
        let name = format!("checkpoint-{step}");
        let bytes = fs::read(case.join(&name).join("model.safetensors")).expect("a checkpoint");
        let kept = if step == 20 { 200 } else { bytes.len() };
        fs::create_dir(folder.path().join(&name)).expect("a folder");
        fs::write(folder.path().join(&name).join("model.safetensors"), &bytes[..kept]).expect("a file");
    }
    let candidate = folder.path().display().to_string();
    let out = TempDir::new().expect("a folder");
    let (text, result) = gate(&["run", "--candidate", &candidate, "--health"], out.path());
    assert_eq!(result["verdict"], "incomplete", "{text}");
    assert!(text.contains("checkpoint-20/model.safetensors") && text.contains("does not fit the file"), "{text}");
}

#[test]
fn causes_of_a_pair_and_notes_on_one_run_are_given() {
    for (name, part, code) in [
        ("pair-freeze-forgotten", "diagnoses", "trainable-differs"),
        ("pair-growth-colon-0", "diagnoses", "amplification"),
        ("ok-norm-after-clipping-0", "findings", "gradient-norm-constant"),
    ] {
        let case = root().join("tests/fixtures/onerun").join(name);
        let spec: Value = serde_json::from_slice(&fs::read(case.join("case.json")).expect(name)).expect("JSON");
        let out = TempDir::new().expect("a folder");
        let (text, result) = judged(&case, &spec["truth"], &[], out.path());
        let given = list(&result[part]);
        assert!(given.iter().any(|one| one["cause"] == code || one["code"] == code), "{name}: {text}");
    }
}

#[test]
fn every_case_gets_its_verdict_its_finding_and_its_course() {
    for name in CASES {
        let case = root().join("tests/fixtures/onerun").join(name);
        let spec: Value = serde_json::from_slice(&fs::read(case.join("case.json")).expect(name)).expect("JSON");
        let (truth, out) = (&spec["truth"], TempDir::new().expect("a folder"));
        let (text, result) = judged(&case, truth, &[], out.path());
        let allowed = [list(&truth["verdict"]), list(&truth["also"])].concat();
        assert!(allowed.contains(&result["verdict"]), "{name}: {text}");
        let findings = list(&result["findings"]);
        for wanted in truth["codes"].as_array().into_iter().flatten() {
            let codes = list(wanted);
            assert!(findings.iter().any(|finding| codes.contains(&finding["code"])), "{name}: no {wanted}\n{text}");
        }
        for (code, facts) in truth["facts"].as_object().into_iter().flatten() {
            let fit = |finding: &&Value| finding["code"] == **code && holds(&finding["facts"], facts);
            assert!(findings.iter().any(|finding| fit(&finding)), "{name}: {code} {facts}");
        }
        for part in ["timeline", "growth"] {
            let told = if part == "timeline" { &result[part]["candidate"] } else { &result[part] };
            assert!(holds(told, &truth[part]), "{name}: {part} is {told}, not {}", truth[part]);
        }
        for (invariant, state) in truth["looked"].as_object().into_iter().flatten() {
            let looked = list(&result["looked"]);
            let one = looked.iter().find(|one| one["invariant"] == **invariant).unwrap_or(&Value::Null);
            assert_eq!(one["state"], *state, "{name}: {invariant}");
        }
        if truth["cause"].is_array() {
            assert!(
                list(&truth["cause"]).contains(&result["diagnoses"][0]["cause"]),
                "{name}: {}",
                result["diagnoses"]
            );
        }
        if name.starts_with("pair-growth") {
            assert_eq!(result["diagnoses"][0]["cause"], "amplification", "{name}");
        }
        if truth["mode"] == "health" {
            assert_eq!(untold(&result), Vec::<String>::new(), "{name}: {text}");
            for finding in findings.iter().filter(|finding| finding["code"] != "no-baseline") {
                let message = finding["message"].as_str().unwrap_or_default();
                assert!(!message.contains("baseline"), "{name}: {message}");
            }
        }
        if truth["forbid"] == 1 {
            let counts = |finding: &&Value| finding["severity"] != "info";
            assert_eq!(findings.iter().find(counts), None, "{name}");
        }
    }
}

#[test]
fn a_run_that_died_is_told_by_its_end_in_both_languages() {
    let case = root().join("tests/fixtures/onerun/crash-nan-in-local-grad-norm-0");
    let truth = serde_json::json!({"mode": "health"});
    for (language, parts) in [
        ("en", ["died in iteration 0 on rank 14", "NaN in the local gradient norm", "param_and_grad_buffer.py:160"]),
        ("zh", ["迭代 0", "梯度范数为 NaN", "param_and_grad_buffer.py:160"]),
    ] {
        let out = TempDir::new().expect("a folder");
        let (text, _) = judged(&case, &truth, &["--lang", language], out.path());
        let summary = fs::read_to_string(out.path().join("summary.md")).expect("a summary");
        let headlines = [text.lines().next().unwrap_or_default(), summary.lines().next().unwrap_or_default()];
        for headline in headlines {
            assert!(parts.iter().all(|part| headline.contains(part)), "{language}: {headline}\n{text}");
        }
    }
}

#[test]
fn the_course_is_drawn_and_told_in_both_languages() {
    let case = root().join("tests/fixtures/onerun/all-skipped-megatron-0");
    let truth = serde_json::json!({"mode": "health"});
    for (language, sentence) in [
        ("en", "Update 7 was the first to be skipped; 54 of 60 were; the scale fell from 65536 to 1 by step 22."),
        ("zh", "loss scale 从 65536 降到 1，到第 22 步为止"),
    ] {
        let out = TempDir::new().expect("a folder");
        let (text, _) = judged(&case, &truth, &["--lang", language], out.path());
        let summary = fs::read_to_string(out.path().join("summary.md")).expect("a summary");
        assert!(
            summary.contains(sentence) && text.replace('\n', "").contains(sentence),
            "{language}: {summary}\n{text}"
        );
        assert!(fs::metadata(out.path().join("timeline.png")).is_ok_and(|file| file.len() > 1000));
    }
}

/// Writes a log of records, one a step.
fn log(folder: &Path, steps: u32, record: impl Fn(u32) -> String) {
    let lines: String = (1..=steps).map(|step| format!("{{\"step\": {step}, {}}}\n", record(step))).collect();
    fs::write(folder.join("log.jsonl"), lines).expect("written");
}

#[test]
fn each_fault_of_a_curve_is_told_and_its_healthy_twin_is_not() {
    let loss = |step: u32| 1.0 + 3.0 * (-f64::from(step) / 20.0).exp() + f64::from(step * 7919 % 263) * 1e-4;
    type Record<'r> = &'r dyn Fn(u32) -> String;
    let cases: [(&str, &str, Record<'_>, Record<'_>); 7] = [
        ("gradient-norm-constant", "pass", &|step| format!("\"loss\": {}, \"grad_norm\": 1.0", loss(step)), &|step| {
            format!("\"loss\": {}, \"grad_norm\": {}", loss(step), loss(step))
        }),
        (
            "gradient-non-finite",
            "fail",
            &|step| {
                format!("\"loss\": {}, \"grad_norm\": {}", loss(step), if step % 5 == 0 { "Infinity" } else { "1.5" })
            },
            &|step| format!("\"loss\": {}, \"grad_norm\": {}", loss(step), if step == 50 { "Infinity" } else { "1.5" }),
        ),
        (
            "curve-ends-high",
            "fail",
            &|step| format!("\"loss\": {}", if step > 70 { 1.9 * loss(30) } else { loss(step) }),
            &|step| format!("\"loss\": {}", if step > 70 { 1.25 * loss(70) } else { loss(step) } + loss(step) * 1e-3),
        ),
        (
            "curve-overfits",
            "warn",
            &|step| format!("\"loss\": {}, \"eval_loss\": {}", loss(step), 2.0 + (f64::from(step) - 30.0).abs() / 60.0),
            &|step| {
                format!("\"loss\": {}, \"eval_loss\": {}", loss(step), 2.0 + (f64::from(step) - 30.0).abs() / 300.0)
            },
        ),
        ("curve-periodic", "fail", &|step| format!("\"loss\": {}", loss(step % 8)), &|step| {
            format!("\"loss\": {}", loss(step))
        }),
        (
            "ranks-same-data",
            "warn",
            &|step| format!("\"rank\": {}, \"local_loss\": {}", step % 2, loss(step / 2)),
            &|step| format!("\"rank\": {}, \"local_loss\": {}", step % 2, loss(step)),
        ),
        (
            "throughput-collapse",
            "warn",
            &|step| format!("\"loss\": {}, \"tokens_per_second\": {}", loss(step), if step > 70 { 200 } else { 3000 }),
            &|step| {
                format!("\"loss\": {}, \"tokens_per_second\": {}", loss(step), if step % 20 == 0 { 200 } else { 3000 })
            },
        ),
    ];
    for (code, verdict, fault, healthy) in cases {
        for (record, is_there) in [(fault, true), (healthy, false)] {
            let (folder, out) = (TempDir::new().expect("a folder"), TempDir::new().expect("a folder"));
            if code == "ranks-same-data" {
                let lines: String =
                    (2..=81).map(|line| format!("{{\"step\": {}, {}}}\n", line / 2, record(line))).collect();
                fs::write(folder.path().join("log.jsonl"), lines).expect("written");
            } else {
                log(folder.path(), 100, record);
            }
            let (text, result) =
                gate(&["run", "--candidate", &folder.path().display().to_string(), "--health"], out.path());
            let codes: Vec<Value> = list(&result["findings"]).iter().map(|finding| finding["code"].clone()).collect();
            assert_eq!(codes.iter().any(|known| known == code), is_there, "{code}: {codes:?}\n{text}");
            if is_there {
                assert_eq!(result["verdict"], verdict, "{code}: {text}");
            }
        }
    }
}

/// The fixtures beside the checkout, where they are.
fn shared() -> Option<PathBuf> {
    let folder = root().join("../shared/fixtures");
    if folder.is_dir() {
        return Some(folder);
    }
    println!("no shared fixtures beside the checkout: they were not looked at");
    None
}

/// Folders named `side` below a folder, at any depth.
fn sides(folder: &Path, side: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten().filter(|entry| entry.path().is_dir()) {
        match entry.file_name() == side {
            true => found.push(entry.path()),
            false => sides(&entry.path(), side, found),
        }
    }
}

/// GPU sides of all fixtures of other checks: healthy data that nobody made for these rules. No new finding is more than
/// information, and every invariant is told, with its reason where it was not looked at.
#[test]
fn healthy_runs_of_other_fixtures_give_no_alarm_and_every_invariant_is_told() {
    let mut runs = Vec::new();
    let folders = [Some(root().join("tests/fixtures")), shared()].into_iter().flatten();
    for family in folders.flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten()) {
        if family.file_name() != "onerun" {
            sides(&family.path(), "gpu", &mut runs);
        }
    }
    runs.sort();
    let wrong: Vec<String> = runs.par_iter().flat_map(|run| alarms(run)).collect();
    println!("{} runs were looked at", runs.len());
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), runs.len(), wrong.join("\n"));
}

/// Alarms about a healthy run, and invariants that are not told as they should.
fn alarms(run: &Path) -> Vec<String> {
    let out = TempDir::new().expect("a folder");
    let (text, result) = gate(&["run", "--candidate", &run.display().to_string(), "--health"], out.path());
    let mut wrong = Vec::new();
    let counts = |finding: &Value| finding["severity"] != "info" && CODES.iter().any(|code| finding["code"] == *code);
    for finding in list(&result["findings"]).into_iter().filter(counts) {
        wrong.push(format!("{}: {} {}", run.display(), finding["code"], finding["message"]));
    }
    wrong.extend(untold(&result).into_iter().map(|one| format!("{}: {one}\n{text}", run.display())));
    wrong
}

/// Invariants of a result without a baseline that are not told as the table of invariants has them.
fn untold(result: &Value) -> Vec<String> {
    let (looked, findings) = (list(&result["looked"]), list(&result["findings"]));
    let names: Vec<&str> = looked.iter().filter_map(|one| one["invariant"].as_str()).collect();
    if names != ALL.iter().map(|row| row.invariant.as_str()).collect::<Vec<_>>() {
        return vec![format!("{names:?}")];
    }
    let is_told = |(row, one): &(&InvariantRow, &Value)| {
        let breaks = |finding: &Value| row.rules.iter().any(|rule| finding["code"] == rule.code);
        // NaN in a curve breaks the invariant of that curve alone.
        let alone = |finding: &Value| breaks(finding) && finding["code"] != "curve-non-finite";
        match one["state"].as_str() {
            Some("not-looked") => {
                let is_worded = one["because"].as_str().is_some_and(|because| !because.is_empty());
                is_worded && row.reasons.iter().any(|reason| one["reason"] == *reason) && !findings.iter().any(alone)
            }
            Some("broken") => findings.iter().any(breaks),
            _ => !findings.iter().any(alone),
        }
    };
    let wrong = ALL.iter().zip(&looked).filter(|pair| !is_told(pair));
    wrong
        .map(|(row, one)| {
            format!("{one}, to be broken by {:?}", row.rules.iter().map(|rule| rule.code).collect::<Vec<_>>())
        })
        .collect()
}
