//! Cases of reading, and what must hold of any text: a number beside a metric's name never turns into NaN without a word.

use std::fs;
use std::path::{Path, PathBuf};

use precision_gate::result::finding::Fact;
use precision_gate::verdict::{Severity, Verdict};
use regex::Regex;
use serde_json::Value;

use super::data::{beside, fixture};
use super::{codes, folders, json, judge, real_files, real_pairs, units};

/// Cases of this folder, and those beside the checkout.
fn cases() -> Vec<PathBuf> {
    let mut cases = folders(&fixture("reading"));
    match beside("reading") {
        Some(root) => cases.extend(folders(&root)),
        None => eprintln!("only the cases of the checkout are read"),
    }
    cases
}

fn policy(case: &Path) -> String {
    fs::read_to_string(case.join("policy.yml")).unwrap_or_default()
}

#[test]
fn every_variant_of_a_case_gets_its_verdict() {
    let mut judged = 0;
    for case in cases() {
        let spec = json(&case.join("case.json"));
        if spec["command"] != "loss" {
            continue;
        }
        for (side, truth) in spec["variants"].as_object().expect("variants") {
            let result = judge(&case.join("gpu"), &case.join(side), &policy(&case));
            let verdict = result.checks.first().map_or(Verdict::Incomplete, |check| check.verdict);
            let worst = result.findings.iter().map(|finding| finding.severity.verdict()).fold(verdict, Ord::max);
            let accepted = truth["verdicts"].as_array().expect("verdicts");
            let is_right = accepted.iter().any(|accepted| *accepted == worst.as_str());
            assert!(is_right, "{} {side}: {worst:?}, {:?}", case.display(), codes(&result));
            judged += 1;
        }
    }
    assert!(judged > 80, "{judged} variants");
}

/// Places of numbers beside a metric's name, found with none of the reader's own code.
fn numbers(text: &str) -> Vec<std::ops::Range<usize>> {
    let names =
        r#"(?i)\b(?:train_|val_|eval_|valid_|test_)?(?:loss|grad_norm|acc|accuracy|wer|dice|lr|learning_rate)\b"#;
    let pattern =
        Regex::new(&format!(r#"{names}['"]?\s?(?:[:=]|->)?\s{{0,2}}(\d+\.\d+(?:e[-+]?\d+)?)\b"#)).expect("sound");
    pattern.captures_iter(text).filter_map(|found| found.get(1)).map(|number| number.range()).collect()
}

/// Files of text in a case's candidate, which may be one itself.
fn texts(side: &Path) -> Vec<PathBuf> {
    if side.is_file() {
        return vec![side.to_owned()];
    }
    let entries = fs::read_dir(side).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_text = |path: &PathBuf| {
        path.is_file()
            && path
                .extension()
                .is_some_and(|end| ["log", "txt", "json", "jsonl", "csv"].iter().any(|known| end == *known))
    };
    entries.filter(is_text).collect()
}

/// Pairs of folders whose candidate is judged without a failure: of reading, of curves and of their formats.
fn pairs() -> Vec<(PathBuf, PathBuf, String)> {
    let mut pairs = Vec::new();
    for case in cases() {
        if json(&case.join("case.json"))["command"] == "loss" {
            pairs.push((case.join("gpu"), case.join("npu"), policy(&case)));
        }
    }
    for root in [Some(fixture("loss")), beside("curve-formats"), beside("loss")].into_iter().flatten() {
        pairs.extend(folders(&root).into_iter().map(|case| (case.join("gpu"), case.join("npu"), String::new())));
    }
    pairs.retain(|(gpu, npu, _)| gpu.is_dir() && npu.is_dir());
    for case in real_pairs() {
        let (baseline, candidate) = real_files(&case, &json(&case.join("pair.json")));
        pairs.push((baseline, candidate, String::new()));
    }
    pairs
}

fn copied(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    if from.is_file() {
        return fs::copy(from, to.join(from.file_name().expect("a name"))).map(drop).expect("copied");
    }
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() { copied(&path, &target) } else { fs::copy(&path, &target).map(drop).expect("copied") }
    }
}

#[test]
fn no_number_beside_a_metric_turns_into_nan_without_a_word() {
    let (mut mutations, mut silent) = (0, Vec::new());
    for (baseline, candidate, policy) in pairs() {
        for path in texts(&candidate) {
            let Ok(text) = fs::read_to_string(&path) else { continue };
            // Of a run that was resumed the later values count.
            let is_resumed = path.ends_with("resumed_run/npu/gpulog.json");
            let places = if is_resumed { Vec::new() } else { numbers(&text) };
            // The first, one in the middle and the last.
            for place in [places.first(), places.get(places.len() / 2), places.last()].into_iter().flatten() {
                let folder = tempfile::tempdir().expect("a folder");
                let changed = folder.path().join("npu");
                copied(&candidate, &changed);
                let is_json = path.extension().is_some_and(|end| end == "json" || end == "jsonl");
                let nan = if is_json { "NaN" } else { "nan" };
                let mutated = format!("{}{nan}{}", &text[..place.start], &text[place.end..]);
                fs::write(changed.join(path.file_name().expect("a name")), mutated).expect("written");
                let file = changed.join(path.file_name().expect("a name"));
                let result = judge(&baseline, if candidate.is_file() { &file } else { &changed }, &policy);
                let speaks = |code: &str| {
                    code.starts_with("curve-non-finite") || code == "unread-values" || code == "artifact-damaged"
                };
                let told = codes(&result).into_iter().any(speaks);
                let blocks = result.findings.iter().any(|finding| finding.severity >= Severity::Warn);
                mutations += 1;
                if !told && !blocks {
                    let around = &text[place.start.saturating_sub(60)..place.end];
                    silent.push(format!("{}: {around:?} {:?}", path.display(), codes(&result)));
                }
            }
        }
    }
    eprintln!("{mutations} mutations, {} without a word", silent.len());
    assert!(mutations > 100, "{mutations} mutations");
    assert!(silent.is_empty(), "{} of {mutations}: {}", silent.len(), silent.join("\n"));
}

/// Rank of a verdict: a failure and what could not be compared block alike.
fn rank(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Fail | Verdict::Incomplete => 2,
        Verdict::Warn => 1,
        Verdict::Pass | Verdict::Skipped => 0,
    }
}

/// A log whose lines hold their numbers in a form that no log has, where `is_changed` says so of a line's number.
fn reshaped(text: &str, is_changed: impl Fn(usize) -> bool) -> String {
    let beside = Regex::new(r"([A-Za-z_)\]%])['\x22]?\s*[:=|]?\s*([-+]?\d+\.\d+)").expect("sound");
    let line = |(nth, line): (usize, &str)| match is_changed(nth) {
        true => beside.replace_all(line, "$1 ~> $2 <~").into_owned(),
        false => line.to_owned(),
    };
    let lines: Vec<String> = text.split('\n').enumerate().map(line).collect();
    lines.join("\n")
}

#[test]
fn no_half_of_the_lines_in_another_form_gives_a_better_verdict() {
    let (mut changes, mut better) = (0, Vec::new());
    for (baseline, candidate, policy) in pairs() {
        for path in texts(&candidate) {
            let is_log = path.extension().is_some_and(|end| end == "log" || end == "txt");
            let Some(text) = fs::read_to_string(&path).ok().filter(|_| is_log) else { continue };
            let before = judge(&baseline, &candidate, &policy);
            let half = text.lines().count() / 2;
            let halves: [(&str, &dyn Fn(usize) -> bool); 2] =
                [("every second", &|nth| nth % 2 == 1), ("later", &|nth| nth >= half)];
            for (name, is_changed) in halves {
                let folder = tempfile::tempdir().expect("a folder");
                let changed = folder.path().join("npu");
                copied(&candidate, &changed);
                let file = changed.join(path.file_name().expect("a name"));
                fs::write(&file, reshaped(&text, is_changed)).expect("written");
                let after = judge(&baseline, if candidate.is_file() { &file } else { &changed }, &policy);
                changes += 1;
                if rank(after.verdict) < rank(before.verdict) {
                    let told = |codes: Vec<&str>| codes.join(", ");
                    better.push(format!(
                        "{} {name}: {:?} after {:?}: {} after {}",
                        path.display(),
                        after.verdict,
                        before.verdict,
                        told(codes(&after)),
                        told(codes(&before))
                    ));
                }
            }
        }
    }
    eprintln!("{changes} logs with half of their lines in another form, {} better verdicts", better.len());
    // The cases of the checkout alone hold 22 logs.
    let least = if beside("reading").is_some() { 60 } else { 40 };
    assert!(changes > least, "{changes} changes");
    assert!(better.is_empty(), "{} of {changes}: {}", better.len(), better.join("\n"));
}

/// A pair of logs in which a line of another form stands after each step.
fn with_lines(line: impl Fn(u64, bool) -> String) -> (tempfile::TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let [gpu, npu] = ["gpu", "npu"].map(|side| {
        let path = folder.path().join(side);
        fs::create_dir_all(&path).expect("made");
        let text: String = (1..=20)
            .map(|step| format!("step {step} | loss {:.4}\n{}\n", 5.0 / step as f64, line(step, side == "npu")))
            .collect();
        fs::write(path.join("train.log"), text).expect("written");
        path
    });
    (folder, gpu, npu)
}

#[test]
fn unread_numbers_are_told_with_their_shape_and_a_policy_leaves_them_out() {
    let (_folder, gpu, npu) = with_lines(|step, is_npu| format!("~ dice ~~ 0.{:02} ~", step + u64::from(is_npu) * 30));
    let result = judge(&gpu, &npu, "");
    let finding = result.findings.iter().find(|finding| finding.code == "unread-values").expect("told");
    assert_eq!((finding.severity, finding.place.as_str()), (Severity::Warn, "dice"));
    assert_eq!(finding.facts["shape"], Fact::from("~ dice ~~ # ~"));
    assert_eq!((&finding.facts["agrees"], &finding.facts["count"]), (&Fact::Flag(Some(false)), &Fact::Count(20)));
    assert_eq!(units(&result)[0].evidence.unread, 40);
    let quiet = judge(&gpu, &npu, "loss: {unread: [{shape: '~ dice', ignore: true}]}");
    assert!(!codes(&quiet).contains(&"unread-values") && !codes(&quiet).contains(&"selector-unused"));
    let evidence = &units(&quiet)[0].evidence;
    assert_eq!((evidence.unread, evidence.left_out), (0, 40));
    let slip = judge(&gpu, &npu, "loss: {unread: [{shape: '~ dyce', ignore: true}]}");
    let told = slip.findings.iter().find(|finding| finding.code == "selector-unused").expect("told");
    assert_eq!((told.place.as_str(), told.severity), ("~ dyce", Severity::Warn));
}

#[test]
fn of_a_log_that_is_cut_its_coverage_leads_and_not_the_lines_that_it_lacks() {
    let (_folder, gpu, npu) = with_lines(|step, _| format!("~ loss ~~ 0.{step:02} ~"));
    let text = fs::read_to_string(npu.join("train.log")).expect("readable");
    let half: Vec<&str> = text.lines().take(20).collect();
    fs::write(npu.join("train.log"), half.join("\n") + "\n").expect("written");
    let result = judge(&gpu, &npu, "");
    let blocks: Vec<&str> = result
        .findings
        .iter()
        .filter(|finding| finding.severity >= Severity::Incomplete)
        .map(|finding| finding.code.as_str())
        .collect();
    assert_eq!(blocks, ["curve-coverage", "unread-values"]);
}

#[test]
fn a_pattern_of_the_user_hides_no_other_line_and_no_other_name() {
    let (_folder, gpu, npu) = with_lines(|step, is_npu| {
        let value = if is_npu && step == 9 { "nan".to_owned() } else { format!("0.{step:02}") };
        format!("step {step} acc: {value}")
    });
    let result = judge(&gpu, &npu, "loss: {log-pattern: 'step {step} | loss {loss}'}");
    assert!(codes(&result).contains(&"curve-non-finite"), "{:?}", codes(&result));
}

#[test]
fn other_batches_are_told_by_the_held_out_loss() {
    let case = fixture("reading/evidence-other-batches-8");
    let result = judge(&case.join("gpu"), &case.join("npu"), "");
    assert!(codes(&result).contains(&"curve-other-batches"), "{:?}", codes(&result));
    let biased = judge(&case.join("gpu"), &case.join("bias"), "");
    assert!(!codes(&biased).contains(&"curve-other-batches") && biased.checks[0].verdict == Verdict::Fail);
}

#[test]
fn values_at_other_intervals_tell_whether_they_are_means() {
    for (case, by) in [("interval-means-10-5", "window"), ("interval-samples-500-200", "step")] {
        let case = fixture(format!("reading/{case}"));
        let result = judge(&case.join("gpu"), &case.join("npu"), "");
        let truth: Value = json(&case.join("case.json"));
        assert_eq!(units(&result)[0].paired_by, by, "{}", truth["note"]);
    }
}
