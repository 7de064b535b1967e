//! Advice is executed: every command and waiver that documents offer about a fixture's result is run as it stands.
#![allow(clippy::print_stdout, reason = "it says how much it executed")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;

use assert_cmd::cargo::CommandCargoExt;
use rayon::prelude::*;
use serde_json::Value;

/// Date by which waivers are offered and accepted.
const TODAY: &str = "2026-11-28";

/// Folders that hold `npu`, below the fixtures.
fn cases(folder: &Path, found: &mut Vec<PathBuf>) {
    if folder.join("npu").is_dir() {
        found.push(folder.to_owned());
        return;
    }
    let mut below: Vec<PathBuf> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("one").path()).collect();
    below.sort();
    below.iter().filter(|path| path.is_dir()).for_each(|path| cases(path, found));
}

fn gate(arguments: &[String], folder: &Path) -> Output {
    let mut command = Command::cargo_bin("precision-gate").expect("the program");
    command.args(arguments).current_dir(folder).output().expect("it runs")
}

/// Offers of one case, and those that failed.
#[derive(Default)]
struct Executed {
    commands: usize,
    waivers: usize,
    failed: Vec<String>,
}

/// Commands between backticks, and in code of the page.
fn commands(text: &str, page: &str) -> BTreeSet<String> {
    let page = page
        .replace("&#39;", "'")
        .replace("&quot;", "\"")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&");
    let in_text = text.split('`').skip(1).step_by(2).map(str::to_owned);
    let in_page = page.split("<code>").skip(1).filter_map(|rest| rest.split("</code>").next()).map(str::to_owned);
    let is_command = |text: &String| text.starts_with("precision-gate ") && !text.contains('\n');
    in_text.collect::<Vec<_>>().into_iter().chain(in_page.collect::<Vec<_>>()).filter(is_command).collect()
}

/// Runs of a case for words in capitals, which stand for what the reader knows.
fn filled(word: &str, case: &Path) -> String {
    let baseline = Some(case.join("gpu")).filter(|folder| folder.is_dir()).unwrap_or_else(|| case.join("npu"));
    match word {
        "GPU_FOLDER" | "GPU_DUMP" => baseline.display().to_string(),
        "NPU_FOLDER" | "NPU_DUMP" | "LOCATION" => case.join("npu").display().to_string(),
        "NAME" => "glm".into(),
        "WHY" => "reviewed".into(),
        "WHO" => "ann".into(),
        other => other.into(),
    }
}

fn execute(case: &Path) -> Executed {
    let mut done = Executed::default();
    let folder = tempfile::tempdir().expect("a folder");
    // A space in its name is what a command has to quote.
    let out = "night 7";
    let mut run = vec!["run".to_owned(), "--candidate".into(), case.join("npu").display().to_string()];
    if case.join("gpu").is_dir() {
        run.extend(["--baseline".into(), case.join("gpu").display().to_string()]);
    } else {
        run.push("--health".into());
    }
    run.extend(["--no-history", "--today", TODAY, "--out"].map(str::to_owned));
    let first = gate(&[run.clone(), vec![out.into()]].concat(), folder.path());
    let read = |name: &str| fs::read_to_string(folder.path().join(out).join(name)).unwrap_or_default();
    let (comment, page) = (read("summary.md"), read("report.html"));
    let said = String::from_utf8_lossy(&first.stdout).into_owned();
    for line in commands(&format!("{comment}\n`\n`{said}"), &page) {
        let Some(words) = shlex::split(&line) else {
            done.failed.push(format!("{}: `{line}` is no line of a shell", case.display()));
            continue;
        };
        let mut words: Vec<String> = words.iter().skip(1).map(|word| filled(word, case)).collect();
        if words.first().is_some_and(|word| word == "run") {
            words.extend(["--out".into(), "again".into()]);
        }
        done.commands += 1;
        let answer = gate(&words, folder.path());
        let text = String::from_utf8_lossy(&answer.stdout).into_owned() + &String::from_utf8_lossy(&answer.stderr);
        // A verdict is an answer; bad usage and a refusal are none.
        let is_answered =
            answer.status.code().is_some_and(|code| code < 2) && !text.contains("nothing more to collect");
        if !is_answered {
            done.failed.push(format!("{}: `{line}`: {text}", case.display()));
        }
    }
    let Some(waivers) = comment.split("```yaml\nwaivers:").nth(1).and_then(|rest| rest.split("```").next()) else {
        return done;
    };
    let waivers = waivers.replace("why it is acceptable", "reviewed").replace("the person responsible", "ann");
    done.waivers = waivers.matches("- code:").count();
    fs::write(folder.path().join("policy.yml"), format!("waivers:{waivers}")).expect("written");
    let again = gate(&[run, vec!["waived".into(), "--config".into(), "policy.yml".into()]].concat(), folder.path());
    let result = fs::read_to_string(folder.path().join("waived/result.json")).unwrap_or_default();
    let result: Value = serde_json::from_str(&result).unwrap_or_default();
    // What no waiver covers, an absence, may still block.
    if result["verdict"].is_null() || result["verdict"] == "fail" {
        let text = String::from_utf8_lossy(&again.stderr).into_owned();
        done.failed.push(format!("{}: waivers do not waive: {}{text}", case.display(), result["findings"]));
    }
    done
}

#[test]
fn whatever_documents_advise_about_a_result_works() {
    let mut all = Vec::new();
    cases(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures"), &mut all);
    assert!(all.len() > 300, "{}", all.len());
    let total = Mutex::new(Executed::default());
    all.par_iter().for_each(|case| {
        let done = execute(case);
        let mut total = total.lock().expect("whole");
        total.commands += done.commands;
        total.waivers += done.waivers;
        total.failed.extend(done.failed);
    });
    let total = total.into_inner().expect("whole");
    println!("{} results: {} commands and {} waivers executed", all.len(), total.commands, total.waivers);
    assert!(total.failed.is_empty(), "{}", total.failed.join("\n"));
    assert!(total.commands > 100 && total.waivers > 200);
}

#[test]
fn a_file_of_another_program_is_not_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/loss/nan_from_step");
    let side = |name: &str| case.join(name).display().to_string();
    let run = ["run", &side("gpu"), &side("npu"), "--out", "out", "--history", "hist"].map(str::to_owned);
    fs::create_dir(folder.path().join("out")).expect("made");
    fs::write(folder.path().join("out/loss.png"), "of an earlier run").expect("written");
    assert_eq!(gate(&run, folder.path()).status.code(), Some(1), "a run's folder holds documents of a run");

    let page = |more: &[&str]| {
        let words = ["history", "page", "--history", "hist", "--out", "site"].iter().chain(more);
        gate(&words.map(|word| (*word).to_owned()).collect::<Vec<_>>(), folder.path()).status.code()
    };
    let index = folder.path().join("site/index.html");
    fs::create_dir(folder.path().join("site")).expect("made");
    fs::write(&index, "<h1>mine</h1>").expect("written");
    assert_eq!(page(&[]), Some(2));
    assert_eq!(fs::read_to_string(&index).expect("there"), "<h1>mine</h1>");
    assert_eq!(page(&["--force"]), Some(0));
    assert_eq!(page(&[]), Some(0), "its own is replaced");

    let next = |more: &[&str]| {
        let words = ["next-dump", "out/result.json"].iter().chain(more).map(|word| (*word).to_owned());
        gate(&words.collect::<Vec<_>>(), folder.path()).status.code()
    };
    let config = folder.path().join("config.json");
    fs::write(&config, r#"{"architectures": ["GlmForCausalLM"]}"#).expect("written");
    assert_eq!(next(&["--out", "config.json"]), Some(2));
    assert_eq!(fs::read_to_string(&config).expect("there"), r#"{"architectures": ["GlmForCausalLM"]}"#);
    assert_eq!(next(&["--out", "config.json", "--force"]), Some(0));
    assert_eq!(next(&["--out", "config.json", "--dump-path", "./other"]), Some(0), "its own is replaced");
    assert_eq!(next(&[]), Some(0));
    assert!(folder.path().join("msprobe_next_dump.json").is_file());
}

#[test]
fn what_is_given_by_mistake_gets_the_command_that_works() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).expect("written");
    write("a.rar", b"Rar!\x1a\x07\x01\x00rest of it");
    write("b.7z", b"7z\xbc\xaf\x27\x1c\x00\x04rest of it");
    write("train.sh", b"#!/bin/bash\ntorchrun train.py --lr 1\n");
    write("table.csv", b"NPU Name,Bench Name,NPU Dtype,Bench Dtype\nA,A,float32,float32\n");
    for name in ["dump/gpu/dump_tensor_data", "dump/npu/dump_tensor_data"] {
        fs::create_dir_all(folder.path().join(name)).expect("made");
        write(&format!("{name}/Functional.linear.0.forward.output.0.pt"), b"PK");
    }
    for (given, part) in [
        (vec!["a.rar", "b.7z"], "7z x FILE"),
        (vec!["train.sh", "train.sh"], "precision-gate config-pack --out"),
        (vec!["table.csv", "table.csv"], "precision-gate run GPU_DUMP NPU_DUMP"),
        (vec!["dump/gpu/dump_tensor_data", "dump/npu/dump_tensor_data"], "precision-gate run dump/gpu dump/npu"),
        (vec!["dump"], "precision-gate run dump/gpu dump/npu"),
        (vec!["dump", "dump"], "precision-gate run dump/gpu dump/npu"),
    ] {
        for language in ["en", "zh"] {
            let words: Vec<&str> = [&["run"], given.as_slice(), &["--lang", language]].concat();
            let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
            let answer = gate(&words, folder.path());
            let comment = fs::read_to_string(folder.path().join("precision-gate-out/summary.md")).unwrap_or_default();
            let said = String::from_utf8_lossy(&answer.stderr).into_owned() + &comment;
            assert!(answer.status.code() != Some(0) && said.contains(part), "{given:?}: {said}");
        }
    }
}
