//! Chinese reports as people see them: nothing of them is English but names, codes and metrics.

use crate::wording::chinese as words;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use precision_gate::gate::{self, Quiet, Request};
use precision_gate::msprobe::dump::Matching;
use precision_gate::policy::Policy;
use precision_gate::policy::location::TrustedLocation;
use precision_gate::report::lines::OperationLines;
use precision_gate::report::messages::Language;
use precision_gate::report::summary::COMMENT_LIMIT;
use precision_gate::report::templates::Templates;
use precision_gate::report::{page, sentences, terminal};
use precision_gate::result::GateResult;
use rayon::prelude::*;
use serde_json::Value;

use crate::reports::cases::CASES;
use crate::reports::comment::comment;
use crate::reports::{evaluation, operators, performance};

/// Keys of a result whose texts are the gate's own sentences, not names of artifacts.
const SENTENCES: [&str; 9] = ["message", "help", "text", "formula", "reason", "note", "notes", "lines", "examples"];

/// Every word of an artifact that stands in the result, as facts, places and names.
fn names(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => {
            let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "_.=()[]-".contains(letter);
            let trimmed = |word: &str| word.trim_matches(|letter: char| !letter.is_ascii_alphanumeric()).to_owned();
            into.extend(text.split(|letter: char| !is_letter(letter)).map(trimmed));
        }
        Value::Array(items) => items.iter().for_each(|item| names(item, into)),
        Value::Object(fields) => {
            let quoted = fields.iter().filter(|(key, _)| !SENTENCES.contains(&key.as_str()));
            quoted.for_each(|(_, value)| names(value, into));
        }
        _ => {}
    }
}

/// The three documents that people read, by their names.
fn documents(result: &GateResult, lines: &OperationLines<'_>) -> [(&'static str, String); 3] {
    let templates = Templates::shipped();
    let shown = terminal::TerminalOptions {
        language: Language::Zh,
        colour: false,
        report: "precision-gate-out/report.html",
        detail: terminal::TerminalDetail::default(),
    };
    let whole = page::PageOptions { language: Language::Zh, templates: &templates };
    [
        ("summary.md", comment(result, Language::Zh, COMMENT_LIMIT)),
        ("terminal", terminal::render(result, &shown).expect("renders")),
        ("report.html", page::render(result, lines, &whole).expect("renders")),
    ]
}

#[test]
fn reports_in_chinese_hold_no_english_and_no_stray_space() {
    let mut found = String::new();
    for case in CASES {
        for labels in [None, Some(("GPU", "NPU"))] {
            let mut outcome = case.run();
            if let Some((baseline, candidate)) = labels {
                outcome.result.baseline.as_mut().expect("a baseline").label = baseline.into();
                outcome.result.candidate.label = candidate.into();
            }
            found += &english_in(case.name, &outcome.result, &OperationLines::from(outcome.operations.as_slice()));
        }
    }
    for (name, result) in evaluation::kinds().into_iter().chain(operators::kinds()).chain(performance::kinds()) {
        found += &english_in(name, &result, &OperationLines::from([].as_slice()));
    }
    assert!(found.is_empty(), "\n{found}");
}

/// Pieces of generated answers that are quoted.
const QUOTED: [&str; 2] = ["luz", "pa"];

/// English words and stray spaces in the Chinese documents of a result.
fn english_in(case: &str, result: &GateResult, lines: &OperationLines<'_>) -> String {
    let mut found = String::new();
    let mut known = BTreeSet::new();
    let artifacts = serde_json::to_value(result).expect("JSON");
    names(&artifacts, &mut known);
    let artifacts = artifacts.to_string().replace("\\n", " ");
    for (name, text) in documents(result, lines) {
        let mut left = words::english(&text, &known);
        left.retain(|word| !QUOTED.contains(&word.as_str()));
        let mut spaces = words::stray_spaces(&text);
        // Questions and answers are quoted with their own spaces.
        spaces.retain(|space| !artifacts.contains(space.as_str()));
        if !left.is_empty() || !spaces.is_empty() {
            writeln!(found, "{case} {name}: {left:?}, spaces at {spaces:?}").expect("a string takes it");
        }
    }
    found
}

/// Folders below the fixtures that hold both runs of a case.
fn pairs() -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")]);
    while let Some(folder) = folders.pop() {
        let inner = fs::read_dir(&folder).expect("a folder").flatten().map(|entry| entry.path());
        let inner: Vec<PathBuf> = inner.filter(|path| path.is_dir()).collect();
        let is_pair = ["gpu", "npu"].iter().all(|side| inner.contains(&folder.join(side)));
        if is_pair { found.push(folder) } else { folders.extend(inner) }
    }
    found.sort();
    found
}

/// Damage, reasons for not reading, and advice are in Chinese for every case that there is.
#[test]
fn every_case_is_told_in_chinese() {
    let pairs = pairs();
    assert!(pairs.len() > 200, "{}", pairs.len());
    let told = |pair: &PathBuf| {
        let side = |side: &str| pair.join(side).display().to_string();
        let request = Request {
            baseline: TrustedLocation::own(side("gpu")),
            several: Default::default(),
            candidate: side("npu"),
            checks: Request::ALL_CHECKS.to_vec(),
            policy: Policy::default(),
            matching: Matching::default(),
        };
        match gate::run(&request, &Quiet) {
            Ok(outcome) => {
                english_in(&pair.display().to_string(), &outcome.result, &OperationLines::from([].as_slice()))
            }
            Err(error) => {
                let said = sentences::in_language(&error.to_string(), Language::Zh).into_owned();
                let left = words::english(&said, &BTreeSet::new());
                if left.is_empty() { String::new() } else { format!("{}: {left:?}\n", pair.display()) }
            }
        }
    };
    let found: String = pairs.par_iter().map(told).collect();
    assert!(found.is_empty(), "\n{found}");
}
