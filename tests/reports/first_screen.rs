//! Rules of the first screen over the summaries of all fixtures, in both languages: everything before the first fold.

use std::fs;
use std::path::{Path, PathBuf};

use precision_gate::gate::{self, Quiet, Request};
use precision_gate::msprobe::dump::Matching;
use precision_gate::policy::Policy;
use precision_gate::policy::location::TrustedLocation;
use precision_gate::policy::value::Date;
use precision_gate::report::messages::Language;
use precision_gate::report::phrases;
use precision_gate::report::summary::COMMENT_LIMIT;
use precision_gate::result::GateResult;
use precision_gate::verdict::{CheckId, Verdict};

use crate::data::{beside, fixture};
use crate::reports::comment::comment;

/// Families of pairs; each case has its sides in `gpu` and `npu`, or as packs.
const FAMILIES: [&str; 16] = [
    "checkpoint-writers",
    "checkpoints",
    "config-check",
    "curve-steps",
    "dumps",
    "evaluation",
    "layouts",
    "loss",
    "loss-trained",
    "monitor",
    "onerun",
    "operators",
    "performance",
    "rl",
    "tokens",
    "tools",
];
/// Families beside the checkout.
const BESIDE: [&str; 2] = ["rl-curves", "performance"];

/// Characters of a headline.
const MOST_CHARS: usize = 120;

fn cases(root: &Path) -> Vec<PathBuf> {
    let mut cases: Vec<PathBuf> = fs::read_dir(root).expect("a family").flatten().map(|entry| entry.path()).collect();
    cases.retain(|case| case.is_dir());
    cases.sort();
    cases
}

fn side(case: &Path, name: &str) -> Option<String> {
    [name.to_owned(), format!("{name}.zip")]
        .iter()
        .map(|name| case.join(name))
        .find(|path| path.exists())
        .map(|path| path.display().to_string())
}

fn judged(case: &Path) -> Option<GateResult> {
    let request = Request {
        baseline: TrustedLocation::own(side(case, "gpu")?),
        several: Default::default(),
        candidate: side(case, "npu")?,
        checks: CheckId::CHECKS.to_vec(),
        policy: Policy { today: Date::try_from("2026-11-21".to_owned()).expect("a date"), ..Policy::default() },
        matching: Matching::default(),
    };
    gate::run(&request, &Quiet).ok().map(|outcome| outcome.result)
}

/// Text without what stands in backticks, which is as an artifact wrote it.
fn without_names(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('`') {
        kept.push_str(before);
        kept.push('n');
        let fence = 1 + after.len() - after.trim_start_matches('`').len();
        let inside = after.get(fence - 1..).unwrap_or_default();
        rest = inside.split_once(&"`".repeat(fence)).map_or("", |(_, rest)| rest);
    }
    kept + rest
}

/// Numbers before a percent sign.
fn percents(text: &str) -> Vec<String> {
    let is_digit = |c: &char| c.is_ascii_digit() || ".-−".contains(*c);
    let before = text.split('%').map(|part| part.trim_end().chars().rev().take_while(is_digit).collect::<String>());
    let count = text.matches('%').count();
    before
        .take(count)
        .map(|number| number.chars().rev().collect())
        .filter(|number: &String| !number.is_empty())
        .collect()
}

/// Rules that a first screen breaks, in words.
fn broken(result: &GateResult, language: Language) -> Vec<String> {
    let text = comment(result, language, COMMENT_LIMIT);
    let screen = text.split("<details>").next().expect("a text");
    let headline = screen.lines().next().expect("a headline");
    let mut wrong = Vec::new();
    let said = headline.trim_start_matches("## ").split_once(' ').map_or("", |(_, said)| said);
    let length = said.chars().filter(|c| *c != '`').count();
    if length > MOST_CHARS {
        wrong.push(format!("{length} characters: {said}"));
    }
    let plain = without_names(screen);
    for number in percents(&plain) {
        let value: f64 = number.replace('−', "-").parse().unwrap_or(0.0);
        if value.abs() > 1000.0 {
            wrong.push(format!("{number} %"));
        }
        if value == 0.0 && number.starts_with(['-', '−']) {
            wrong.push(format!("a zero with a sign: {number} %"));
        }
        if value > 100.0 && plain.contains(&format!("{number} % of the growth")) {
            wrong.push(format!("{number} % of the growth"));
        }
    }
    let mut in_chart = false;
    for line in plain.lines() {
        in_chart ^= line.starts_with("```");
        // Cells of a table may be empty.
        if !in_chart && !line.starts_with('|') && line.trim().contains("  ") {
            wrong.push(format!("a hole: {line}"));
        }
    }
    let leads = |check: CheckId| {
        let of_check = |finding: &&precision_gate::result::finding::Finding| finding.check == check;
        result.counting().find(of_check).is_none()
    };
    let failing: Vec<CheckId> =
        result.checks.iter().filter(|check| check.verdict == Verdict::Fail).map(|check| check.id).collect();
    for check in failing.iter().filter(|check| failing.len() > 1 && !leads(**check)) {
        let name = phrases::find(&format!("check_{}", check.as_str()), language).expect("a name");
        let is_culprit = result.culprit.as_ref().is_some_and(|culprit| culprit.check == *check);
        if !is_culprit && !screen.to_lowercase().contains(&name.to_lowercase()) {
            wrong.push(format!("{name} fails and is not named"));
        }
    }
    wrong
}

#[test]
fn the_first_screen_of_every_fixture_keeps_its_rules_in_both_languages() {
    let own = FAMILIES.into_iter().map(fixture);
    let roots: Vec<PathBuf> = own.chain(BESIDE.into_iter().filter_map(beside)).collect();
    let (mut read, mut wrong) = (0, Vec::new());
    for case in roots.iter().flat_map(|root| cases(root)) {
        let Some(result) = judged(&case) else { continue };
        for language in [Language::En, Language::Zh] {
            read += 1;
            let of_case = broken(&result, language);
            wrong.extend(of_case.into_iter().map(|what| format!("{} {language:?}: {what}", case.display())));
        }
    }
    println!("{read} first screens");
    assert!(read > 500, "{read} first screens");
    assert!(wrong.is_empty(), "{} of {read}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn several_failing_checks_are_all_named() {
    let folder = tempfile::tempdir().expect("a folder");
    for part in ["performance/fusion-lost", "loss/diverging_trend", "dumps/glm_stats_mix_zero_getitem_grad"] {
        for side in ["gpu", "npu"] {
            let to = folder.path().join(side).join(part.replace('/', "-"));
            copied(&fixture(part).join(side), &to);
        }
    }
    let result = judged(folder.path()).expect("judged");
    for (language, said) in [(Language::En, "2 more checks failed: "), (Language::Zh, "另有 2 项检查失败：")] {
        let text = comment(&result, language, COMMENT_LIMIT);
        let line = text.lines().find(|line| line.contains(said)).unwrap_or_else(|| panic!("{text}"));
        assert!(line.contains("+7.1 %") && line.contains("+22 %"), "{line}");
        assert!(broken(&result, language).is_empty(), "{text}");
    }
}

fn copied(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("created");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copied(&entry.path(), &target)
        } else {
            fs::copy(entry.path(), target).map(drop).expect("copied")
        }
    }
}
