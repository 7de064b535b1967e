//! Pairs whose sides ran on other kernels: no healthy one is accused, and the true culprit is named.

use std::fs;
use std::path::Path;

use rayon::prelude::*;
use regex::Regex;
use tempfile::TempDir;

use crate::changes::data::fixture;
use crate::dumps::real_case::{Case, folders};

/// Culprits and verdicts that recorded statistics do not show.
const UNSEEN: [(&str, &str); 2] = [
    ("d_position_shift", "the extra call lies before another one that agrees; the first value that differs is named"),
    ("k_ftz_fp16_grads", "gradients part by less than four times from one operation to the next"),
];

#[test]
fn pairs_of_other_kernels_are_judged_right() {
    let cases = folders(&fixture("dumps-real"));
    assert!(cases.len() >= 80, "{}", cases.len());
    let wrong: Vec<String> = cases.par_iter().filter_map(|folder| complaint(&Case::open(folder))).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Pairs that are judged otherwise by their tensors, with the reason.
const BY_DATA: [(&str, &str); 5] = [
    ("tp2_bf16_tensor_rank1_bad_tile", "a tile of 64 elements moves no statistic beyond bf16"),
    ("k_one_element_big_tensor", "one element of a million moves no statistic"),
    ("d_head_order", "values in another order have the same statistics"),
    ("k_transposed_out", "values in another order have the same statistics"),
    ("zoo_tensor_identical", "one NaN makes every statistic NaN, so that the rest of a tensor was not seen"),
];

/// The same pair without the data of its tensors, whose statistics stand in the records; `None` where it has no data.
fn without_data(case: &Case, folder: &Path) -> Option<(TempDir, Case)> {
    let target = tempfile::tempdir().expect("a folder");
    fs::copy(folder.join("case.json"), target.path().join("case.json")).expect("copied");
    let name = Regex::new(r#",\s*"data_name":\s*"[^"]*""#).expect("a pattern");
    let mut copied =
        ["gpu", "npu"].iter().map(|side| copy(&case.folder().join(side), &target.path().join(side), &name));
    let has_data = copied.all(|has_data| has_data);
    let without = has_data.then(|| Case::open(target.path()))?;
    Some((target, without))
}

/// Copies a side without tensor files; whether all of its dumps were made for tensors.
fn copy(from: &Path, to: &Path, name: &Regex) -> bool {
    fs::create_dir_all(to).expect("a folder");
    let mut has_data = true;
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        match entry.file_name().to_str() {
            Some("dump_tensor_data") => {}
            Some("dump.json") => {
                let text = fs::read_to_string(&path).expect("text");
                has_data &= text.contains(r#""task": "tensor""#);
                let text = name.replace_all(&text, "").replace(r#""task": "tensor""#, r#""task": "statistics""#);
                fs::write(target, text).expect("written");
            }
            _ if path.is_dir() => has_data &= copy(&path, &target, name),
            _ => drop(fs::copy(path, target).expect("copied")),
        }
    }
    has_data
}

/// The same two runs, recorded as tensors and as statistics, get the same verdict, and the same culprit or its neighbour.
#[test]
fn a_pair_is_judged_by_its_tensors_as_by_their_statistics() {
    let cases = [folders(&fixture("dumps")), folders(&fixture("dumps-real"))].concat();
    let judged = |folder: &std::path::PathBuf| {
        let case = Case::open(folder);
        let is_left_out = case.name.starts_with("broken") || BY_DATA.iter().any(|(name, _)| *name == case.name);
        let (_folder, statistics) = if is_left_out { None } else { without_data(&case, folder) }?;
        let [by_data, by_statistics] = [&case, &statistics].map(|case| {
            let result = case.judge(precision_gate::policy::Policy::default()).expect("judged");
            (result.verdict, result.culprit.map(|culprit| (culprit.step, culprit.rank, culprit.order)))
        });
        let place = |(_, culprit): &(_, Option<(u64, Option<u64>, u64)>)| *culprit;
        let is_near = match (place(&by_data), place(&by_statistics)) {
            (Some(one), Some(other)) => (one.0, one.1) == (other.0, other.1) && one.2.abs_diff(other.2) <= 1,
            (one, other) => one == other,
        };
        let is_same = by_data.0 == by_statistics.0 && is_near;
        Some((!is_same).then(|| format!("{}: {by_data:?} {by_statistics:?}", case.name)))
    };
    let known: Vec<Option<String>> = cases.par_iter().filter_map(judged).collect();
    let wrong: Vec<&String> = known.iter().flatten().collect();
    assert!(known.len() >= 8 && wrong.is_empty(), "{} pairs: {wrong:#?}", known.len());
}

/// First causes that are right, of a hundred.
const FEWEST_CAUSES: usize = 85;

#[test]
fn most_first_causes_of_pairs_of_other_kernels_are_right() {
    let cases = folders(&fixture("dumps-real"));
    let judged = |folder: &std::path::PathBuf| {
        let case = Case::open(folder);
        let result = case.judge(precision_gate::policy::Policy::default()).expect("judged");
        case.has_right_cause(&result)
    };
    let known: Vec<bool> = cases.par_iter().filter_map(judged).collect();
    let right = known.iter().filter(|is_right| **is_right).count();
    assert!(right * 100 >= known.len() * FEWEST_CAUSES, "{right} of {}", known.len());
}

fn complaint(case: &Case) -> Option<String> {
    if UNSEEN.iter().any(|(name, _)| *name == case.name) {
        return None;
    }
    let result = case.judge(precision_gate::policy::Policy::default()).expect("judged");
    let is_right = case.has_right_verdict(&result) && case.has_right_culprit(&result) != Some(false);
    let culprit = result.culprit.as_ref().map(|culprit| culprit.tensor.as_str());
    (!is_right).then(|| format!("{}: {:?}, {culprit:?}", case.name, result.verdict))
}
