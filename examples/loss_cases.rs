//! Writes the table of `docs/loss-cases.md`: every case of one or more folders, the gate's own verdict and what the
//! published rules say of it.
//!
//! ```text
//! cargo run --example loss_cases -- FOLDER...
//! ```
//!
//! A case is a folder with `case.json` and the sides `gpu` and `npu`, or with `pair.json`, which names both files.
#![allow(clippy::print_stdout, reason = "an example that prints a table")]

use std::path::{Path, PathBuf};

use precision_gate::error::{Error, ErrorKind, Result};
use precision_gate::gate::{Quiet, Request, run};
use precision_gate::msprobe::dump::Matching;
use precision_gate::policy::Policy;
use precision_gate::policy::location::TrustedLocation;
use precision_gate::policy::loss::preset::Preset;
use precision_gate::report::messages::short_number;
use precision_gate::result::GateResult;
use precision_gate::result::unit::{CurveUnit, Unit};
use precision_gate::verdict::{CheckId, Verdict};
use serde_json::Value;

struct Case {
    name: String,
    truth: String,
    baseline: PathBuf,
    candidate: PathBuf,
}

fn main() -> Result<()> {
    let cases: Vec<Case> = std::env::args().skip(1).flat_map(|folder| cases(Path::new(&folder))).collect();
    let presets: Vec<&str> = Preset::ALL.iter().map(|preset| preset.as_str()).collect();
    println!("| case | truth | mode | step 1 | head | mean | tail | ours | {} |", presets.join(" | "));
    println!("|---|---|---|---|---|---|---|---|{}", "---|".repeat(presets.len()));
    for case in cases {
        let ours = judge(&case, Policy::default())?;
        let Some(unit) = loss(&ours) else { continue };
        let mut row = vec![case.name.clone(), case.truth.clone(), unit.mode.clone()];
        for rule in ["step_1_rel", "head_max_rel", "mean_rel", "tail_signed_rel"] {
            let found = unit.rules.iter().find(|outcome| outcome.rule == rule).and_then(|outcome| outcome.value);
            row.push(found.map_or_else(|| "-".into(), |value| short_number(value.0)));
        }
        row.push(format!("**{}**", ours.verdict.as_str()));
        for preset in Preset::ALL {
            row.push(of_preset(&case, preset)?.to_owned());
        }
        println!("| {} |", row.join(" | "));
    }
    Ok(())
}

fn cases(folder: &Path) -> Vec<Case> {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    entries.iter().filter_map(|path| case(path)).collect()
}

fn case(path: &Path) -> Option<Case> {
    let read = |name: &str| -> Option<Value> { serde_json::from_slice(&std::fs::read(path.join(name)).ok()?).ok() };
    let name = path.file_name()?.to_string_lossy().into_owned();
    if let Some(made) = read("case.json") {
        let truth = made.get("truth")?.get("verdict")?.as_str()?.to_owned();
        return Some(Case { name, truth, baseline: path.join("gpu"), candidate: path.join("npu") });
    }
    let pair = read("pair.json")?;
    let file = |side: &str| Some(path.join(pair.get(side)?.get("file")?.as_str()?));
    let truth = pair.get("class")?.as_str()?.to_owned();
    Some(Case { name, truth, baseline: file("baseline")?, candidate: file("candidate")? })
}

fn judge(case: &Case, policy: Policy) -> Result<GateResult> {
    let request = Request {
        baseline: TrustedLocation::own(case.baseline.display().to_string()),
        several: Default::default(),
        candidate: case.candidate.display().to_string(),
        checks: vec![CheckId::Loss],
        policy,
        matching: Matching::default(),
    };
    run(&request, &Quiet).map(|outcome| outcome.result)
}

fn loss(result: &GateResult) -> Option<&CurveUnit> {
    result.checks.iter().flat_map(|check| &check.units).find_map(|unit| match unit {
        Unit::Curve(unit) if unit.metric == "loss" => Some(unit.as_ref()),
        _ => None,
    })
}

/// Verdict of the rule itself, whatever else the gate has found.
fn of_preset(case: &Case, preset: Preset) -> Result<&'static str> {
    let mut policy = Policy::default();
    policy.loss.preset = Some(preset);
    let result = judge(case, policy)?;
    let unit = loss(&result).ok_or_else(|| Error::new(ErrorKind::Internal, &case.name, "has no loss"))?;
    let outcome = unit.rules.iter().find(|rule| rule.rule.starts_with("preset:"));
    Ok(match outcome.map(|outcome| outcome.verdict) {
        Some(Verdict::Incomplete) | None => "n/a",
        Some(verdict) => verdict.as_str(),
    })
}
