//! The table of `docs/diagnosis-cases.md`: each case with its kind of fault and the causes the gate names.
//!
//! ```sh
//! cargo run --example diagnosis_cases > docs/diagnosis-cases.md
//! ```
#![allow(
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a table on standard output, from files of a known shape"
)]

#[path = "../tests/data.rs"]
#[allow(dead_code, reason = "shared with the tests")]
mod data;

use std::fs;
use std::path::{Path, PathBuf};

use precision_gate::error::Result;
use precision_gate::gate::{self, Quiet, Request};
use precision_gate::msprobe::dump::Matching;
use precision_gate::policy::Policy;
use precision_gate::policy::location::TrustedLocation;
use precision_gate::report::causes;
use precision_gate::report::escape::TextTarget;
use precision_gate::report::messages::Language;
use precision_gate::report::writer::Writer;
use serde_json::Value;

fn main() -> Result<()> {
    println!("# Likely causes, case by case\n");
    println!(
        "Made by `cargo run --example diagnosis_cases`, of `tests/fixtures`. The fault of each case was inserted on purpose; its kind is in"
    );
    println!(
        "`case.json`. Causes are in the order of the report; [diagnoses.md](diagnoses.md) lists which fit which kind.\n"
    );
    println!("| case | kind of fault | likely causes | evidence of the first | where |");
    println!("|---|---|---|---|---|");
    for group in ["dumps", "loss"] {
        for case in cases(&data::fixture(group)) {
            println!("{}", row(&case)?);
        }
    }
    Ok(())
}

fn cases(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder of cases").flatten().map(|entry| entry.path());
    let mut cases: Vec<PathBuf> = entries.filter(|path| path.join("case.json").exists()).collect();
    cases.sort();
    cases
}

fn row(case: &Path) -> Result<String> {
    let spec: Value = serde_json::from_slice(&fs::read(case.join("case.json")).expect("case.json")).expect("JSON");
    let request = Request {
        baseline: TrustedLocation::own(case.join("gpu").display().to_string()),
        several: Default::default(),
        candidate: case.join("npu").display().to_string(),
        checks: Request::ALL_CHECKS.to_vec(),
        policy: Policy::default(),
        matching: Matching::default(),
    };
    let result = gate::run(&request, &Quiet)?.result;
    let writer = Writer::from_result(&result, Language::En, TextTarget::Plain);
    let mut diagnoses = result.diagnoses;
    causes::write_diagnosis_texts(&mut diagnoses, &writer)?;
    let named: Vec<String> =
        diagnoses.iter().map(|diagnosis| format!("`{}` ({})", diagnosis.cause, diagnosis.sureness.as_str())).collect();
    let first = diagnoses.first();
    let evidence: Vec<&str> =
        first.map_or(Vec::new(), |diagnosis| diagnosis.evidence.iter().map(|one| one.text.as_str()).collect());
    Ok(format!(
        "| {} | {} | {} | {} | {} |",
        spec["case"].as_str().unwrap_or_default(),
        spec["truth"]["kind"].as_str().unwrap_or_default(),
        named.join(", "),
        evidence.join("; ").replace('|', "\\|"),
        first.map_or(String::new(), |diagnosis| format!("`{}`", diagnosis.place)),
    ))
}
