//! Random changes of real pairs of every format: no panic, no endless run, no unexplained pass.
//!
//! A pass after a change is explained where the pair passed before and either every count of evidence is at least what it
//! was, so that all is still compared and agrees within the limits, or the changed file, its loss or what it lacks is told:
//! in a finding, among the files that were not used, or as evidence that was not seen. A pair that failed
//! before has no explained pass; one that was incomplete or had a warning has it where a finding of a new kind tells of the
//! change, such as a member of a pack under a name that means nothing.

#![allow(clippy::indexing_slicing, clippy::print_stdout, reason = "a test may panic, and figures are for people")]

use crate::changes;
mod not_finite;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use changes::folder::{Change, Copied};
use changes::layouts::{self, LayoutPair};
use changes::pairs::{Pair, by_format};
use changes::places::places;
use changes::removal::{CHOICE, remove};
use changes::tree::{copy, files};
use changes::{Random, codes, evidence, judge};
use precision_gate::exit;
use precision_gate::result::GateResult;
use precision_gate::verdict::{Severity, Verdict};
use rayon::prelude::*;

/// Mutations and truncations that the sampled test makes of a pair.
const SAMPLE: (usize, usize) = (3, 1);

/// Longest that the gate may take over a changed pair.
const LONGEST: Duration = Duration::from_secs(20);

/// Texts that take the place of numbers.
const ODD: [&str; 12] = [
    "NaN",
    "Infinity",
    "-Infinity",
    "1e308",
    "-1e308",
    "-1",
    "0",
    "1e400",
    "18446744073709551616",
    "\"text\"",
    "null",
    "[]",
];

fn pairs() -> Vec<Pair> {
    by_format().into_iter().flatten().collect()
}

/// Bytes with one to four of them changed, doubled or gone.
fn of_bytes(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut changed = bytes.to_vec();
    for _ in 0..=random.below(4) {
        let start = random.below(changed.len());
        let end = (start + 1 + random.below(16)).min(changed.len());
        match random.below(3) {
            0 => changed.iter_mut().skip(start).take(1).for_each(|byte| *byte ^= 1 << random.below(8)),
            1 => drop(changed.drain(start.min(end)..end)),
            _ => {
                let doubled = changed[start.min(end)..end].to_vec();
                changed.splice(start.min(end)..start.min(end), doubled);
            }
        }
    }
    changed
}

/// Bytes of JSON with a value replaced, doubled or gone; other bytes where there is no JSON.
fn of_values(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let is_text = matches!(bytes.first(), Some(b'{' | b'[')) && std::str::from_utf8(bytes).is_ok();
    let found = if is_text { places(bytes) } else { Vec::new() };
    let Some(place) = random.pick(&found) else { return of_bytes(bytes, random) };
    let odd = random.pick(&ODD).copied().unwrap_or_default();
    match random.below(4) {
        0 => changes::places::replaced(bytes, &place.cut(bytes), b""),
        1 => {
            let own = &bytes[place.whole.clone()];
            changes::places::replaced(bytes, &place.whole, &[own, b",", own].concat())
        }
        _ => changes::places::replaced(bytes, &place.value, odd.as_bytes()),
    }
}

/// Outcome of a changed pair.
struct Seen {
    exit: u8,
    took: Duration,
    complaint: Option<String>,
}

/// Explanation of a pass after a change of `file`; `None` where there is none.
fn explanation(untouched: &GateResult, result: &GateResult, file: &str) -> Option<&'static str> {
    if untouched.verdict > Verdict::Pass {
        let is_new = |code: &&str| !codes(untouched).contains(code);
        return codes(result).iter().any(is_new).then_some("told").filter(|_| untouched.verdict < Verdict::Fail);
    }
    let (before, after) = (evidence(untouched), evidence(result));
    if after.compared + after.shown_only >= before.compared + before.shown_only && after.unseen() <= before.unseen() {
        return Some("all is still compared");
    }
    if after.unseen() > before.unseen() {
        return Some("counted as not seen");
    }
    let is_told = result.findings.iter().any(|finding| finding.severity >= Severity::Info);
    let is_listed = result.artifacts.iter().any(|row| file.ends_with(&row.path) && !row.note.is_empty());
    (is_told || is_listed).then_some("told")
}

/// Whether the crate of results reads from `result.json` the result that was written there.
fn is_read_as_written(result: &GateResult) -> bool {
    let text = serde_json::to_string(result).expect("a result is JSON");
    let read = precision_gate_result::load::parse("result.json", &text);
    read.is_ok_and(|read| read == *result && serde_json::to_string(&read).is_ok_and(|again| again == text))
}

/// Judges a pair of which `side` was changed.
fn look(pair: &Pair, side: usize, changed: &Path, untouched: &GateResult, file: &str) -> Seen {
    let [baseline, candidate] =
        [0, 1].map(|number| if number == side { changed } else { pair.sides[number].as_path() });
    let began = Instant::now();
    let outcome = catch_unwind(AssertUnwindSafe(|| judge(baseline, candidate, "")));
    let took = began.elapsed();
    let (exit, complaint) = match outcome {
        Err(_) => (exit::INTERNAL, Some("panics".to_owned())),
        Ok(Err(error)) => {
            let code = exit::of_error(&error);
            (code, (code == exit::INTERNAL).then(|| format!("ends with {error}")))
        }
        Ok(Ok(result)) if !is_read_as_written(&result) => {
            (exit::INTERNAL, Some("is not read as it was written".into()))
        }
        Ok(Ok(result)) => {
            let is_unexplained = result.verdict <= Verdict::Pass && explanation(untouched, &result, file).is_none();
            let told = || format!("passes without a reason: {:?} after {:?}", codes(&result), codes(untouched));
            (exit::of_verdict(result.verdict, exit::PASS, false), is_unexplained.then(told))
        }
    };
    let complaint = complaint.or_else(|| (took > LONGEST).then(|| format!("takes {took:?}")));
    Seen { exit, took, complaint }
}

/// A folder with one side of a pair in it, to copy from.
fn folder_of(side: &Path) -> (PathBuf, Vec<PathBuf>) {
    if side.is_dir() {
        let all = files(side).iter().map(|file| file.strip_prefix(side).expect("below").to_owned()).collect();
        return (side.to_owned(), all);
    }
    let name = PathBuf::from(side.file_name().expect("a name"));
    (side.parent().expect("a folder").to_owned(), vec![name])
}

/// Makes mutations and truncations of a pair.
fn all_of(pair: &Pair, seed: u64, (mutations, truncations): (usize, usize)) -> Vec<(String, Seen)> {
    let Ok(untouched) = judge(&pair.sides[0], &pair.sides[1], "") else { return Vec::new() };
    assert!(is_read_as_written(&untouched), "{}", pair.name);
    let mut random = Random(seed);
    let sides = [0, 1].map(|side| folder_of(&pair.sides[side]));
    let copies = [0, 1].map(|side: usize| Copied::of(&sides[side].0));
    let mut seen = Vec::new();
    for number in 0..mutations + truncations {
        let side = random.below(2);
        let Some(file) = random.pick(&sides[side].1) else { continue };
        let bytes = fs::read(sides[side].0.join(file)).expect("readable");
        let change = match number {
            number if number >= mutations => Change::Cut(file.clone(), random.below(bytes.len())),
            number if number % 3 == 0 => Change::Rewritten(file.clone(), of_bytes(&bytes, &mut random)),
            _ => Change::Rewritten(file.clone(), of_values(&bytes, &mut random)),
        };
        let outcome = copies[side].with(&change, |folder| {
            let changed = if pair.sides[side].is_dir() { folder.to_owned() } else { folder.join(file) };
            look(pair, side, &changed, &untouched, &file.display().to_string())
        });
        let kept = if outcome.complaint.is_some() { kept(&change, &bytes) } else { String::new() };
        seen.push((format!("{} side {side} {} change {number}: {kept}", pair.name, file.display()), outcome));
    }
    seen
}

/// The part of a file that differs, for people.
fn kept(change: &Change, bytes: &[u8]) -> String {
    let Change::Rewritten(_, changed) = change else { return format!("{change:?}") };
    let start = bytes.iter().zip(changed).take_while(|(own, other)| own == other).count();
    let part = |bytes: &[u8]| {
        let part = &bytes[start.saturating_sub(40).min(bytes.len())..(start + 60).min(bytes.len())];
        String::from_utf8_lossy(part).into_owned()
    };
    format!("at {start}: {:?} became {:?}", part(bytes), part(changed))
}

fn all_pairs(most: impl Fn(usize) -> (usize, usize)) -> usize {
    let pairs = pairs();
    let most = most(pairs.len());
    let all = pairs.par_iter().enumerate().flat_map_iter(|(seed, pair)| all_of(pair, seed as u64, most));
    let all: Vec<(String, Seen)> = all.collect();
    let count = |code: u8| all.iter().filter(|(_, seen)| seen.exit == code).count();
    let slowest = all.iter().max_by_key(|(_, seen)| seen.took).map(|(what, seen)| format!("{what} {:?}", seen.took));
    println!(
        "{} changes of {} pairs; exit codes {:?}; slowest {slowest:?}",
        all.len(),
        pairs.len(),
        [0, 1, 2, 3, 4].map(count)
    );
    let told = |(what, seen): &(String, Seen)| Some(format!("{what} {}", seen.complaint.as_ref()?));
    let wrong: Vec<String> = all.iter().filter_map(told).collect();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    all.len()
}

#[test]
fn changed_files_never_panic_and_never_pass_unexplained() {
    assert!(all_pairs(|_| SAMPLE) > 200);
}

/// `MUTATIONS` limits how much of it is done.
#[test]
#[ignore = "8 000 mutations and 2 000 truncations: many minutes"]
fn many_changed_files_never_panic_and_never_pass_unexplained() {
    let most: usize = std::env::var("MUTATIONS").ok().and_then(|most| most.parse().ok()).unwrap_or(8000);
    assert!(all_pairs(|pairs| (most.div_ceil(pairs), (most / 4).div_ceil(pairs))) > 0);
}

/// Takes up to four things from the candidate of every pair that fails, `times` times.
fn all_removals(times: u64) -> usize {
    let failing = |pair: &Pair| {
        let untouched = judge(&pair.sides[0], &pair.sides[1], "");
        untouched.is_ok_and(|result| result.verdict == Verdict::Fail)
    };
    let failing: Vec<Pair> = pairs().into_par_iter().filter(failing).collect();
    let tasks: Vec<(&Pair, u64)> = failing.iter().flat_map(|pair| (0..times).map(move |seed| (pair, seed))).collect();
    let wrong: Vec<String> = tasks.par_iter().filter_map(|(pair, seed)| removal(pair, *seed)).collect();
    println!("{} removals from {} failing pairs", tasks.len(), failing.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    tasks.len()
}

/// Names a removal after which the pair passes.
fn removal(pair: &Pair, seed: u64) -> Option<String> {
    let mut random = Random(seed);
    let count = CHOICE * (1 + random.below(4));
    let choices: Vec<u8> = (0..count).map(|_| u8::try_from(random.below(256)).expect("a byte")).collect();
    let copied = tempfile::tempdir().expect("a folder");
    copy(&pair.sides[1], copied.path());
    remove(copied.path(), &choices);
    let result = judge(&pair.sides[0], copied.path(), "").ok()?;
    (result.verdict <= Verdict::Pass).then(|| format!("{}: passes after {choices:?}", pair.name))
}

#[test]
fn removals_never_make_a_failing_pair_pass() {
    assert!(all_removals(2) > 50);
}

#[test]
#[ignore = "some minutes"]
fn many_removals_never_make_a_failing_pair_pass() {
    assert!(all_removals(50) > 1000);
}

/// Takes pieces from every pair of two layouts that agree, `times` times.
fn all_pieces(times: u64) -> usize {
    let pairs = layouts::pairs();
    let tasks: Vec<(&LayoutPair, u64)> =
        pairs.iter().flat_map(|pair| (0..times).map(move |seed| (pair, seed))).collect();
    let outcomes: Vec<(usize, Option<String>)> =
        tasks.par_iter().map(|(pair, seed)| without_pieces(pair, *seed)).collect();
    let taken = outcomes.iter().map(|(taken, _)| taken).sum();
    println!("{taken} pieces of {} pairs of two layouts", pairs.len());
    let wrong: Vec<String> = outcomes.into_iter().filter_map(|(_, wrong)| wrong).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    taken
}

/// The number of pieces that were taken from a pair, and what they were where it passes without them.
fn without_pieces(pair: &LayoutPair, seed: u64) -> (usize, Option<String>) {
    let mut random = Random(seed);
    let count = CHOICE * (1 + random.below(2));
    let choices: Vec<u8> = (0..count).map(|_| u8::try_from(random.below(256)).expect("a byte")).collect();
    let folder = pair.copied();
    let taken = layouts::take(folder.path(), &choices);
    let judged = judge(&folder.path().join("gpu"), &folder.path().join("npu"), &pair.policy);
    let is_pass = !taken.is_empty() && judged.is_ok_and(|result| result.verdict <= Verdict::Pass);
    (taken.len(), is_pass.then(|| format!("{}: passes without {taken:?}", pair.name)))
}

#[test]
fn two_layouts_never_pass_with_a_piece_less() {
    assert!(all_pieces(4) > 40);
}

#[test]
#[ignore = "some minutes"]
fn two_layouts_never_pass_with_any_of_many_pieces_less() {
    assert!(all_pieces(200) > 2000);
}
