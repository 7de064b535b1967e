//! Pairs whose sides ran on other kernels: no healthy one is accused, and the true culprit is named.

use rayon::prelude::*;

use crate::changes::data::fixture;
use crate::real_case::{Case, folders};

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
