//! A number beside a metric's name turns into NaN, in monitors and in evaluations: there is no pass without a word.
//!
//! The place of a number is found with none of the readers' own code.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use precision_gate::result::GateResult;
use precision_gate::verdict::{Severity, Verdict};
use rayon::prelude::*;

use super::changes::data::{beside, fixture};
use super::changes::folder::{Change, Copied};
use super::changes::judge;
use super::changes::places::places;
use super::changes::tree::files;

/// Columns of a monitor's table that hold statistics of a tensor.
const STATISTICS: [&str; 5] = ["norm", "min", "max", "mean", "nans"];
/// Parts of the names of scores, and of the log-probabilities of answers.
const SCORES: [&str; 10] =
    ["acc", "exact_match", "perplexity", "bits_per_byte", "f1", "bleu", "chrf", "pass@", "score", "logprob"];

/// Mutations of a pair; more are many minutes.
const MOST: usize = 12;

/// A number of a file, with the name that stands beside it.
type Number = (String, Range<usize>);

/// Cases of a family, of this checkout and beside it.
fn cases(family: &str) -> Vec<PathBuf> {
    let all = |root: PathBuf| fs::read_dir(root).expect("cases").flatten().map(|entry| entry.path());
    let mut cases: Vec<PathBuf> = all(fixture(family)).chain(beside(family).into_iter().flat_map(all)).collect();
    cases.retain(|case| case.join("gpu").is_dir() && case.join("npu").is_dir());
    cases.sort();
    // A case of both places is one.
    let mut known = BTreeSet::new();
    cases.retain(|case| known.insert(case.file_name().map(ToOwned::to_owned)));
    cases
}

/// Ranges of the cells of a line of a table, quotation marks minded.
fn cells(line: Range<usize>, text: &[u8]) -> Vec<Range<usize>> {
    let (mut cells, mut start, mut is_quoted) = (Vec::new(), line.start, false);
    for at in line.clone() {
        match text[at] {
            b'"' => is_quoted = !is_quoted,
            b',' if !is_quoted => cells.push(std::mem::replace(&mut start, at + 1)..at),
            _ => {}
        }
    }
    cells.push(start..line.end);
    cells
}

/// Ranges of the lines of a text, without their ends.
fn lines(text: &[u8]) -> Vec<Range<usize>> {
    let ends = (0..text.len()).filter(|at| text[*at] == b'\n').chain([text.len()]);
    let lines = ends.scan(0, |start, end| Some(std::mem::replace(start, end + 1)..end));
    lines.map(|line| line.start..line.end - usize::from(text[line.clone()].ends_with(b"\r"))).collect()
}

fn is_number(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// Numbers of a table in the columns that `is_told` names.
fn of_table(text: &[u8], is_told: impl Fn(&str) -> bool) -> Vec<Number> {
    let lines = lines(text);
    let Some(header) = lines.first() else { return Vec::new() };
    let names = cells(header.clone(), text).into_iter().map(|cell| String::from_utf8_lossy(&text[cell]).into_owned());
    let names: Vec<String> = names.collect();
    let mut found = Vec::new();
    for line in lines.into_iter().skip(1) {
        let told = cells(line, text)
            .into_iter()
            .zip(&names)
            .filter(|(cell, name)| is_told(name) && is_number(&text[cell.clone()]));
        found.extend(told.map(|(cell, name)| (name.clone(), cell)));
    }
    found
}

/// Numbers below the names of scores in documents and lines of JSON.
fn of_documents(text: &[u8]) -> Vec<Number> {
    let is_name = |key: &&String| key.parse::<u64>().is_err();
    let numbers = places(text)
        .into_iter()
        .filter(|place| place.is_plain(text) && text.get(place.value.clone()).is_some_and(is_number));
    let named = numbers.filter_map(|place| Some((place.path.iter().rev().find(is_name)?.clone(), place.value)));
    named.filter(|(name, _)| SCORES.iter().any(|score| name.contains(score))).collect()
}

fn numbers(path: &Path, text: &[u8]) -> Vec<Number> {
    let is = |ending: &str| path.extension().is_some_and(|own| own == ending);
    match () {
        () if is("csv") && path.to_string_lossy().contains("summary") => {
            // The last column is named after the model.
            let first = ["dataset", "version", "metric", "mode"];
            of_table(text, |name| !first.contains(&name))
        }
        () if is("csv") => of_table(text, |name| STATISTICS.contains(&name)),
        () if is("json") || is("jsonl") => of_documents(text),
        () => Vec::new(),
    }
}

/// A number to change: its file, the name beside it, its place, and the text that takes its place.
struct Mutation {
    file: PathBuf,
    name: String,
    range: Range<usize>,
    with: &'static str,
}

/// Whether a file is of a run that a later one in the same folder takes the place of, which is told of every such pair.
fn is_replaced(path: &Path) -> bool {
    let path = path.to_string_lossy();
    // The later of two starts counts, and the newest of two results.
    path.contains("gan-two-monitors") || path.contains("two_results_in_folder") && path.contains("12-39-25")
}

/// Mutations of a candidate: of each name in each file the first number, one in the middle or the last, in turn, and where there
/// are more than [`MOST`] of these, some of them.
fn mutations(candidate: &Path) -> Vec<Mutation> {
    let mut all = Vec::new();
    for path in files(candidate).into_iter().filter(|path| !is_replaced(path)) {
        let text = fs::read(&path).expect("readable");
        let mut by_name: BTreeMap<String, Vec<Range<usize>>> = BTreeMap::new();
        for (name, place) in numbers(&path, &text) {
            by_name.entry(name).or_default().push(place);
        }
        let is_table = path.extension().is_some_and(|end| end == "csv");
        for (name, places) in by_name {
            let nth = all.len();
            let place = [0, places.len() / 2, places.len() - 1][nth % 3];
            let with = if is_table { "nan" } else { ["NaN", "\"nan\""][nth / 3 % 2] };
            let file = path.strip_prefix(candidate).expect("below").to_owned();
            all.push(Mutation { file, name, range: places[place].clone(), with });
        }
    }
    let stride = all.len().div_ceil(MOST).max(1);
    all.into_iter().step_by(stride).collect()
}

/// Whatever a result says, so that a word more can be told.
fn said(result: &GateResult) -> BTreeSet<(String, String, Severity)> {
    let findings = result.findings.iter();
    findings.map(|finding| (finding.code.clone(), finding.place.clone(), finding.severity)).collect()
}

/// Mutations of a candidate, and those after which the gate passes without a word.
fn of_pair(baseline: &Path, candidate: &Path) -> (usize, Vec<String>) {
    let untouched = judge(baseline, candidate, "").expect("judged");
    let copied = Copied::of(candidate);
    let all = mutations(candidate);
    let mut silent = Vec::new();
    for Mutation { file, name, range, with } in &all {
        let change = Change::Edit { file: file.clone(), range: range.clone(), with: with.as_bytes().to_vec() };
        let result = copied.with(&change, |folder| judge(baseline, folder, "").expect("judged"));
        let is_told = said(&result).difference(&said(&untouched)).next().is_some();
        if result.verdict <= Verdict::Warn && !is_told {
            let place = candidate.join(file);
            let text = fs::read(&place).expect("readable");
            let around = String::from_utf8_lossy(&text[range.start.saturating_sub(60)..range.end]);
            silent.push(format!("{}: {name} {with}: {around:?} {:?}", place.display(), said(&result)));
        }
    }
    (all.len(), silent)
}

/// Mutations of all cases of a family: of their candidates, and of their baselines beside themselves, which pass untouched.
fn all_of(family: &str) -> usize {
    let pairs = cases(family).into_iter().flat_map(|case| {
        let [gpu, npu] = ["gpu", "npu"].map(|side| case.join(side));
        [(gpu.clone(), npu), (gpu.clone(), gpu)]
    });
    let pairs: Vec<(PathBuf, PathBuf)> = pairs.collect();
    let all: Vec<(usize, Vec<String>)> = pairs.par_iter().map(|(gpu, npu)| of_pair(gpu, npu)).collect();
    let mutations = all.iter().map(|(mutations, _)| mutations).sum();
    let silent: Vec<&String> = all.iter().flat_map(|(_, silent)| silent).collect();
    println!("{mutations} mutations of {} pairs of {family}, {} of them without a word", pairs.len(), silent.len());
    assert!(silent.is_empty(), "{} of {mutations}: {silent:#?}", silent.len());
    mutations
}

#[test]
fn no_statistic_of_a_monitor_turns_into_nan_without_a_word() {
    assert!(all_of("monitor") >= 100);
}

#[test]
fn no_score_of_an_evaluation_turns_into_nan_without_a_word() {
    assert!(all_of("evaluation") >= 100);
}
