//! Every code is named where a test shows it being given, so that `git grep -l CODE tests src crates` leads to that test.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use precision_gate::report::explain;
use serde_json::Value;

use super::root;

/// Tests and snapshots that name codes and show none being given, by the beginning of their paths.
const LEFT_OUT: [(&str, &str); 6] = [
    ("tests/contract", "checks promises of the project over all codes"),
    ("tests/explain.rs", "looks codes up, as the next one"),
    ("src/report", "words, orders and writes findings that are made for the layout"),
    ("src/policy", "reads policies that name codes"),
    ("tests/forge/recheck/mutations.rs", "writes codes into results to forge them"),
    ("tests/wording", "holds phrases"),
];

/// Expected results that a test holds its case to, code by code.
const EXPECTED: [&str; 2] = ["case.json", "gate.json"];

/// Files below a folder.
fn files(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for path in fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// The part of a file that shows findings: the whole of a test without its comments, the tests of a source file, a snapshot, the
/// codes of an expected result. Nothing else does: fixtures are data, pages and templates list every code.
fn shown(name: &str, text: &str) -> String {
    let lines = |text: &str| {
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        code.collect::<Vec<_>>().join("\n")
    };
    let is_of_tests = |name: &str| {
        let stem = name.rsplit('/').next().unwrap_or_default().trim_end_matches(".rs");
        ["tests", "unit_tests", "testing"].contains(&stem)
    };
    match name.rsplit('.').next() {
        Some("snap") => text.to_owned(),
        Some("rs") if name.starts_with("tests/") || is_of_tests(name) => lines(text),
        Some("rs") => lines(text.split_once("#[cfg(test)]").map_or("", |(_, tests)| tests)),
        Some("json") => expected_codes(text).iter().map(|code| format!("\"{code}\"\n")).collect(),
        _ => String::new(),
    }
}

fn expected_codes(text: &str) -> Vec<String> {
    let Ok(spec) = serde_json::from_str::<Value>(text) else { return Vec::new() };
    let truth = spec.get("truth").unwrap_or(&spec);
    let findings = truth["findings"].as_array().into_iter().flatten().map(|finding| &finding["code"]);
    let codes = truth["codes"].as_array().into_iter().flatten().chain(findings);
    codes.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Whether a text names a code. One that is a plain word has to stand in quotes: `coverage` is a word as others are.
fn names(text: &str, words: &BTreeSet<&str>, code: &str) -> bool {
    match code.strip_prefix("preset:") {
        Some(preset) => names(text, words, preset) || text.contains(&format!("preset: {preset}")),
        None if code.contains(['-', '_']) => words.contains(code),
        None => ['"', '`', '\''].iter().any(|quote| text.contains(&format!("{quote}{code}{quote}"))),
    }
}

#[test]
fn every_code_is_named_by_a_test_that_shows_it() {
    let (mut found, mut unnamed, mut read) = (Vec::new(), explain::codes().collect::<BTreeSet<_>>(), 0);
    assert!(unnamed.len() > 350, "{} codes", unnamed.len());
    ["tests", "src", "crates"].iter().for_each(|folder| files(&root().join(folder), &mut found));
    for path in found {
        let name = path.strip_prefix(root()).expect("below the root").to_string_lossy().replace('\\', "/");
        let is_expected = EXPECTED.iter().any(|file| name.ends_with(&format!("/{file}")));
        let is_left_out = LEFT_OUT.iter().any(|(place, _)| name.starts_with(place));
        if is_left_out || name.starts_with("tests/fixtures/") && !is_expected {
            continue;
        }
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let text = shown(&name, &text);
        let is_part = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
        let words: BTreeSet<&str> =
            text.split(|character| !is_part(character)).map(|word| word.trim_matches('.')).collect();
        unnamed.retain(|code| !names(&text, &words, code));
        read += usize::from(!text.is_empty());
    }
    assert!(read > 300, "{read} files name anything");
    let unnamed: Vec<&str> = unnamed.into_iter().collect();
    assert!(unnamed.is_empty(), "no test shows these being given, or names them: {}", unnamed.join(", "));
}

#[test]
fn the_places_that_are_left_out_are_there() {
    for (place, reason) in LEFT_OUT {
        assert!(root().join(place).exists() || root().join(format!("{place}.rs")).exists(), "{place}: {reason}");
    }
}

/// Ways to ask for a code by its text.
const ASKED: [&str; 6] =
    ["code == \"", "code != \"", "code == &\"", "matches!(finding.code", "match finding.code", "match culprit.code"];

/// Comparisons of a finding's code with a text, or with the code of a rule that is named there: `Finding::is` asks for the rule.
#[test]
fn findings_are_asked_for_their_rule() {
    let mut found = Vec::new();
    ["src", "crates"].iter().for_each(|folder| files(&root().join(folder), &mut found));
    let mut wrong = Vec::new();
    for path in found {
        let text = fs::read_to_string(&path).expect("a source");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let is_asked = |line: &&str| {
            let of_constant = |side: &str| {
                let asked = side.split([' ', ')', ',']).next().unwrap_or_default().strip_suffix(".code");
                asked.is_some_and(|name| name.ends_with(|letter: char| letter.is_ascii_uppercase()))
            };
            let is_by_rule = line.split_once("code == ").is_some_and(|(_, side)| of_constant(side));
            !line.trim_start().starts_with("//") && (is_by_rule || ASKED.iter().any(|way| line.contains(way)))
        };
        wrong.extend(code.lines().filter(is_asked).map(|line| format!("{}: {}", path.display(), line.trim())));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Messages have no condition on what a finding is called: each has a sentence of its own.
#[test]
fn sentences_have_no_condition_on_a_code() {
    let mut found = Vec::new();
    files(&root().join("templates/messages"), &mut found);
    for path in found {
        let text = fs::read_to_string(&path).expect("messages");
        for condition in ["if code", "code ==", "if cause", "cause ==", "finding_code"] {
            assert!(!text.contains(condition), "{}: {condition}", path.display());
        }
    }
}
