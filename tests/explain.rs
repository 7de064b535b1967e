//! `precision-gate explain`: what people see of it.

use assert_cmd::Command;
use predicates::str::contains;

fn explain(arguments: &[&str]) -> assert_cmd::assert::Assert {
    let mut command = Command::cargo_bin("precision-gate").expect("built");
    command.env_remove("INPUT_LANG").arg("explain").args(arguments).assert()
}

#[test]
fn a_code_is_explained_in_both_languages_with_a_waiver_that_ends() {
    let english = [
        "What it means",
        "Rule",
        "Why it may be harmless",
        "What to do",
        "severity: {near-tie: info}",
        "docs/dump.md#the-first-wrong-operation",
    ];
    let shown = explain(&["near-tie", "--today", "2026-11-23"]).success();
    let shown = english.iter().fold(shown, |shown, part| shown.stdout(contains(*part)));
    shown.stdout(contains("    expires: 2026-12-07\n"));
    let chinese = ["含义", "判据", "为何可能无害", "处理办法", "    owner: \"由谁负责\""];
    let shown = explain(&["near-tie", "--lang", "zh"]).success();
    chinese.iter().fold(shown, |shown, part| shown.stdout(contains(*part)));
}

#[test]
fn without_a_code_all_are_listed_and_a_check_lists_its_own() {
    explain(&[])
        .success()
        .stdout(contains("output-diverges"))
        .stdout(contains("mean_rel"))
        .stdout(contains("saturation"));
    let loss = explain(&["loss"]).success().stdout(contains("curve-mean"));
    assert!(!String::from_utf8_lossy(&loss.get_output().stdout).contains("output-diverges"));
}

#[test]
fn an_unknown_code_is_bad_usage_and_names_those_that_were_meant() {
    explain(&["curve-men"])
        .code(2)
        .stderr(contains("curve-men: is no code of a finding, a cause or a rule; did you mean `curve-mean`"))
        .stderr(contains("`precision-gate explain` lists all codes"));
    explain(&["\u{1b}[31mred"]).code(2).stderr(predicates::prelude::PredicateBooleanExt::not(contains("\u{1b}")));
    explain(&["near-tie", "--today", "tomorrow"]).code(2).stderr(contains("--today"));
}
