//! Waivers that the program offers: to be filled in before they hold, and still in force on the day they are pasted.

use std::fs;

use assert_cmd::Command;
use precision_gate::judge::register;
use precision_gate::policy::Policy;
use precision_gate::policy::value::Date;
use precision_gate::policy::waiver::{OFFERED_OWNERS, OFFERED_REASONS};

use super::{cases, run};

const TODAY: &str = "2026-11-22";

/// Text that `precision-gate` writes to standard output.
fn said(arguments: &[&str]) -> String {
    let mut command = Command::cargo_bin("precision-gate").expect("built");
    let output = command.current_dir(cases()).args(arguments).args(["--today", TODAY]).output().expect("runs");
    String::from_utf8(output.stdout).expect("text")
}

/// Lines from `waivers:` up to the one with `expires:`, without `mark` before them.
fn waivers(text: &str, mark: &str) -> String {
    let lines = text.lines().filter_map(|line| line.trim_end().strip_prefix(mark));
    let lines: Vec<&str> = lines.skip_while(|line| line.trim() != "waivers:").collect();
    let end = lines.iter().position(|line| line.trim_start().starts_with("expires:")).expect("an end");
    let indent = lines[0].len() - lines[0].trim_start().len();
    lines[..=end].iter().map(|line| format!("{}\n", &line[indent..])).collect()
}

fn filled(text: &str) -> String {
    let text = OFFERED_REASONS.iter().fold(text.to_owned(), |text, words| text.replace(words, "评审同意"));
    OFFERED_OWNERS.iter().fold(text, |text, words| text.replace(words, "数值组"))
}

/// The policies that are offered, by who offers them.
fn offers() -> Vec<(String, String)> {
    let case = "waived-failure-loss-mean";
    let sides = [format!("{case}/gpu.csv"), format!("{case}/npu.csv")];
    let mut offers = vec![("init".to_owned(), waivers(&said(&["init", &sides[0], &sides[1]]), "# "))];
    for language in ["en", "zh"] {
        let explained = said(&["explain", "output-diverges", "--lang", language]);
        offers.push((format!("explain in {language}"), waivers(&explained, "")));
        let out = tempfile::tempdir().expect("a folder");
        let arguments = ["loss", "gpu.csv", "npu.csv", "--today", TODAY, "--lang", language];
        run(&cases().join(case), &arguments, out.path());
        let comment = fs::read_to_string(out.path().join("summary.md")).expect("a comment");
        offers.push((format!("the comment in {language}"), waivers(&comment, "")));
    }
    offers
}

#[test]
fn an_offered_waiver_is_refused_as_it_stands_and_holds_for_two_weeks_once_it_is_filled_in() {
    let codes: Vec<&str> = register::all_rules().map(|rule| rule.code).collect();
    let today = Date::try_from(TODAY.to_owned()).expect("a date");
    for (offer, text) in offers() {
        let error = Policy::parse("p.yml", &text, &codes).expect_err(&offer).to_string();
        assert!(error.contains("`waivers[0].reason:` still holds the placeholder"), "{offer}: {error}\n{text}");
        let text = filled(&text);
        let policy = Policy::parse("p.yml", &text, &codes).unwrap_or_else(|error| panic!("{offer}: {error}\n{text}"));
        let days: Vec<i32> = policy.waivers.iter().map(|waiver| waiver.expires.days_since(today)).collect();
        assert_eq!(days, [14], "{offer}");
    }
}

#[test]
fn a_run_with_a_waiver_that_nobody_filled_in_ends_with_exit_code_2() {
    let (case, out) = (cases().join("waived-failure-loss-mean"), tempfile::tempdir().expect("a folder"));
    let policy = out.path().join("p.yml");
    let config = policy.display().to_string();
    let arguments = ["loss", "gpu.csv", "npu.csv", "--today", TODAY, "--config", &config];
    for (offer, text) in offers() {
        fs::write(&policy, &text).expect("written");
        let ran = run(&case, &arguments, out.path());
        assert_eq!(ran.code, 2, "{offer}: {}", ran.text);
        let line = text.lines().position(|line| line.contains("reason:")).expect("a reason") + 1;
        assert!(ran.text.contains(&format!("p.yml:{line}:5: `waivers[0].reason:`")), "{offer}: {}", ran.text);
        fs::write(&policy, filled(&text)).expect("written");
        assert_ne!(run(&case, &arguments, out.path()).code, 2, "{offer}");
    }
}
