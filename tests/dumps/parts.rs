//! Runs in parts: joined, they are judged into the bytes of one run.

use std::fs;
use std::path::{Path, PathBuf};

use precision_gate::compare::measurements::Selection;
use precision_gate::compare::sample::Sample;
use precision_gate::error::{ErrorKind, Result};
use precision_gate::fetch::Fetcher;
use precision_gate::gate::parts::{self, Parts};
use precision_gate::gate::{self, Quiet, Request};
use precision_gate::msprobe::dump::Matching;
use precision_gate::policy::Policy;
use precision_gate::policy::location::TrustedLocation;
use precision_gate::report::RunOutcome;

use super::changes::data::fixture;
use super::support::{by_itself, fixtures};

fn request(baseline: &Path, candidate: &Path) -> Request {
    Request {
        baseline: TrustedLocation::own(baseline.display().to_string()),
        several: Default::default(),
        candidate: candidate.display().to_string(),
        checks: Request::ALL_CHECKS.to_vec(),
        policy: Policy::default(),
        matching: Matching::default(),
    }
}

/// Everything of an outcome that is written.
fn bytes(outcome: &RunOutcome) -> String {
    let json = serde_json::to_string_pretty(&outcome.result).expect("JSON");
    let mut lines = Vec::new();
    outcome.operations.iter().for_each(|line| line.write(&mut lines).expect("JSON"));
    format!("{json}\n{}\n{:?}", String::from_utf8(lines).expect("text"), outcome.tables)
}

fn part(request: &Request, selection: Selection, part: u64, parts: u64) -> (String, Vec<u8>) {
    let mut file = Vec::new();
    parts::measure_part(request, &Fetcher::default(), selection, (part, parts), &Quiet, &mut file)
        .expect("both sides are there");
    (format!("part-{part}-of-{parts}.jsonl"), file)
}

fn joined(files: &[(String, Vec<u8>)]) -> Result<Parts> {
    Parts::read(files.iter().map(|(name, file)| (name.clone(), file.as_slice())).collect())
}

fn merged(request: &Request, parts: u64, selection: impl Fn() -> Selection) -> RunOutcome {
    let files: Vec<(String, Vec<u8>)> = (1..=parts).rev().map(|k| part(request, selection(), k, parts)).collect();
    let joined = joined(&files).expect("all parts");
    let request = joined.to_request(request.policy.clone()).trust_own_files();
    by_itself(|from| joined.judge(&request, from, &Quiet)).expect("judged")
}

fn sides(root: &Path) -> Option<(PathBuf, PathBuf)> {
    [("gpu", "npu"), ("baseline", "candidate")]
        .map(|(b, c)| (root.join(b), root.join(c)))
        .into_iter()
        .find(|(b, c)| b.is_dir() && c.is_dir())
}

fn cases() -> Vec<(PathBuf, PathBuf)> {
    let checkpoints = fixture("checkpoints");
    let mut roots: Vec<PathBuf> = [fixtures(), checkpoints]
        .iter()
        .flat_map(|folder| fs::read_dir(folder).expect("fixtures").flatten().map(|entry| entry.path()))
        .collect();
    roots.sort();
    roots.iter().filter_map(|root| sides(root)).collect()
}

#[test]
fn parts_joined_give_the_bytes_of_one_run() {
    let cases = cases();
    assert!(cases.len() > 30, "{}", cases.len());
    for (baseline, candidate) in cases {
        let request = request(&baseline, &candidate);
        let whole = gate::run(&request, &Quiet).expect("both sides are there");
        let merged = merged(&request, 3, Selection::default);
        assert!(bytes(&whole) == bytes(&merged), "{}", baseline.display());
    }
}

#[test]
fn a_sample_in_parts_is_the_sample_of_one_run() {
    let root = fixtures().join("benign_llama_tensor_l1");
    let request = request(&root.join("gpu"), &root.join("npu"));
    let select = || Selection { sample: Sample::new(0.1, 5), ..Selection::default() };
    let whole =
        by_itself(|from| gate::run_by(&request, from, &gate_book(select()), &Quiet)).expect("both sides are there");
    assert_eq!(bytes(&whole), bytes(&merged(&request, 2, select)));
}

#[test]
fn checksums_in_parts_are_those_of_one_run() {
    let root = fixtures().join("tp2_bf16_tensor_rank1_bad_tile");
    let request = request(&root.join("gpu"), &root.join("npu"));
    let select = || Selection { checksum: true, ..Selection::default() };
    let whole =
        by_itself(|from| gate::run_by(&request, from, &gate_book(select()), &Quiet)).expect("both sides are there");
    assert_eq!(bytes(&whole), bytes(&merged(&request, 2, select)));
}

fn gate_book(selection: Selection) -> precision_gate::compare::measurements::Measurements {
    precision_gate::compare::measurements::Measurements::new(selection)
}

#[test]
fn parts_that_are_not_all_of_one_run_are_refused() {
    let root = fixtures().join("zoo_tensor_identical");
    let request = request(&root.join("gpu"), &root.join("npu"));
    let of = |k, n| part(&request, Selection::default(), k, n);
    let kind = |files: &[(String, Vec<u8>)]| joined(files).expect_err("refused").kind();
    assert_eq!(kind(&[]), ErrorKind::Usage);
    assert_eq!(kind(&[of(1, 2)]), ErrorKind::Usage);
    assert_eq!(kind(&[of(1, 2), of(1, 2)]), ErrorKind::Usage);
    assert_eq!(kind(&[of(1, 2), of(2, 3)]), ErrorKind::Usage);
    assert_eq!(kind(&[("cut".into(), b"{\"tool\": {".to_vec())]), ErrorKind::Corrupt);
    let mut out = Vec::new();
    assert!(
        parts::measure_part(&request, &Fetcher::default(), Selection::default(), (3, 2), &Quiet, &mut out).is_err()
    );
}

#[test]
fn a_side_that_changed_since_is_refused() {
    let root = fixtures().join("zoo_tensor_identical");
    let request = request(&root.join("gpu"), &root.join("npu"));
    let joined = joined(&[part(&request, Selection::default(), 1, 1)]).expect("the only part");
    let other = Request {
        candidate: fixtures().join("zoo_tensor_nan_inf/npu").display().to_string(),
        ..joined.to_request(Policy::default()).trust_own_files()
    };
    assert_eq!(by_itself(|from| joined.judge(&other, from, &Quiet)).expect_err("changed").kind(), ErrorKind::Corrupt);
}
