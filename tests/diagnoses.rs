//! Likely causes: every case with a known fault, each cause switched off by taking its evidence away, and the story
//! that several checks tell together.
#![allow(
    clippy::indexing_slicing,
    clippy::float_cmp,
    clippy::print_stdout,
    reason = "a test that indexes beyond what is there fails, as it should; it compares exactly where that is meant, and says what it counted"
)]

mod cases;
use crate::data;
mod made;
mod next_dump;
mod patterns;
mod story;
mod switched_off;
mod tensors;
use crate::changes::tree;

use std::path::Path;

use data::fixture;
use precision_gate::gate::{self, Quiet, Request};
use precision_gate::msprobe::dump::Matching;
use precision_gate::policy::Policy;
use precision_gate::policy::location::TrustedLocation;
use precision_gate::policy::value::Date;
use precision_gate::report::RunOutcome;
use precision_gate::result::GateResult;

/// The outcome of a run over everything in two folders.
fn run(baseline: &Path, candidate: &Path) -> RunOutcome {
    let request = Request {
        several: Default::default(),
        baseline: TrustedLocation::own(baseline.display().to_string()),
        candidate: candidate.display().to_string(),
        checks: Request::ALL_CHECKS.to_vec(),
        policy: Policy { today: Date::try_from("2026-11-21".to_owned()).expect("a date"), ..Policy::default() },
        matching: Matching::default(),
    };
    gate::run(&request, &Quiet).expect("both sides are there")
}

fn result(baseline: &Path, candidate: &Path) -> GateResult {
    run(baseline, candidate).result
}

/// The result of a case of the fixtures, such as `dumps/md5_identical`.
fn case(name: &str) -> GateResult {
    let folder = fixture(name);
    let side =
        |plain: &str, packed: &str| if folder.join(plain).exists() { plain.to_owned() } else { packed.to_owned() };
    result(&folder.join(side("gpu", "gpu.zip")), &folder.join(side("npu", "npu.zip")))
}

/// Codes of the causes a result names, the likeliest first.
fn causes(result: &GateResult) -> Vec<&str> {
    result.diagnoses.iter().map(|diagnosis| diagnosis.cause.as_str()).collect()
}

/// Codes of the evidence of a result's first diagnosis.
fn evidence(result: &GateResult) -> Vec<&str> {
    let first = result.diagnoses.first();
    first.into_iter().flat_map(|diagnosis| &diagnosis.evidence).map(|evidence| evidence.code.as_str()).collect()
}

/// The code of the first diagnosis' advice.
fn advice(result: &GateResult) -> &str {
    result.diagnoses.first().map_or("", |diagnosis| diagnosis.advice.code.as_str())
}
