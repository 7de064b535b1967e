//! The table of `docs/dump-cases.md`: each dump case with its truth, msprobe's answer and the gate's.
//!
//! ```sh
//! cargo run --example dump_cases > docs/dump-cases.md
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
use precision_gate::verdict::CheckId;
use serde_json::Value;

fn main() -> Result<()> {
    let folder = std::env::args().nth(1).map_or_else(|| data::fixture("dumps"), PathBuf::from);
    let mut cases: Vec<_> =
        fs::read_dir(&folder).expect("a folder of cases").flatten().map(|entry| entry.path()).collect();
    cases.sort();
    println!("# Dump cases: expected result, msprobe's answer, verdict\n");
    println!(
        "Made by `cargo run --example dump_cases`, of `tests/fixtures/dumps`. The defects were inserted on purpose; msprobe's answer counts"
    );
    println!("the rows of its tables by `Result` (its exit code is 0 if it wrote one).\n");
    println!("| case | truth | culprit | msprobe's rows | gate | gate's culprit |");
    println!("|---|---|---|---|---|---|");
    for case in cases.iter().filter(|case| case.join("case.json").exists()) {
        println!("{}", row(case)?);
    }
    Ok(())
}

fn row(case: &Path) -> Result<String> {
    let spec: Value = serde_json::from_slice(&fs::read(case.join("case.json")).expect("case.json")).expect("JSON");
    let truth = &spec["truth"];
    let request = Request {
        baseline: TrustedLocation::own(case.join("gpu").display().to_string()),
        several: Default::default(),
        candidate: case.join("npu").display().to_string(),
        checks: vec![CheckId::Dump],
        policy: Policy::default(),
        matching: Matching::default(),
    };
    let result = gate::run(&request, &Quiet)?.result;
    let culprit =
        result.culprit.as_ref().map_or(String::new(), |culprit| format!("`{}` ({})", culprit.tensor, culprit.code));
    Ok(format!(
        "| {} | {} | {} | {} | {} | {culprit} |",
        spec["case"].as_str().unwrap_or_default(),
        truth["verdict"].as_str().unwrap_or_default(),
        truth["culprit"]["op"].as_str().map_or(String::new(), |op| format!("`{op}`")),
        msprobe(case),
        result.verdict.as_str(),
    ))
}

/// Numbers of rows of the real tool's tables by their result.
fn msprobe(case: &Path) -> String {
    let mut counts = [("pass", 0), ("warning", 0), ("error", 0)];
    let files = fs::read_dir(case.join("expected")).into_iter().flatten().flatten().map(|entry| entry.path());
    let tables = files.filter(|path| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        name.starts_with("dir_") && name.contains("compare_result") && name.ends_with(".json")
    });
    for path in tables {
        let table: Value = serde_json::from_slice(&fs::read(path).expect("table")).expect("JSON");
        let columns = table["columns"].as_array().cloned().unwrap_or_default();
        let Some(column) = columns.iter().position(|name| name == "Result") else { continue };
        for row in table["rows"].as_array().into_iter().flatten() {
            if let Some((_, count)) = counts.iter_mut().find(|(word, _)| row[column] == *word) {
                *count += 1;
            }
        }
    }
    let told: Vec<String> =
        counts.iter().filter(|(_, count)| *count > 0).map(|(word, count)| format!("{count} {word}")).collect();
    if told.is_empty() { "none".to_owned() } else { told.join(", ") }
}
