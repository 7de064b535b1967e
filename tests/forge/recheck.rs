//! `publish` of a result that another job left behind, and of the artifacts that it uploaded.

mod fixtures;
mod forgery;
mod mutations;
mod pasted;
mod reproductions;
mod uploads;

use std::path::PathBuf;

use precision_gate::fetch::Digest;
use precision_gate::gate::recheck::{Against, Rechecked, recheck};
use precision_gate::gate::{self, Quiet, Request};
use precision_gate::judge::register;
use precision_gate::msprobe::dump::Matching;
use precision_gate::policy::Policy;
use precision_gate::policy::location::TrustedLocation;
use precision_gate::policy::value::Date;
use precision_gate::report::messages::Language;
use precision_gate::report::rewrite::rewrite;
use precision_gate::result::seal::seal;
use precision_gate::result::{GateResult, Source};
use precision_gate::verdict::CheckId;

use crate::forge::fake::Fake;
use crate::forge::fake::github::{GitHub, HEAD, Rights, TOKEN};
use crate::forge::gate::{Gate, finished_workflow};

fn fixture(name: &str) -> [PathBuf; 2] {
    let folder = crate::data::fixture(name);
    if folder.join("gpu.zip").exists() {
        return ["gpu.zip", "npu.zip"].map(|side| folder.join(side));
    }
    ["gpu", "npu"].map(|side| folder.join(side))
}

fn policy_of(text: &str) -> Policy {
    let codes: Vec<&str> = register::all_rules().map(|rule| rule.code).collect();
    let today = Date::try_from("2026-11-21".to_owned()).expect("a date");
    Policy { today, ..Policy::parse("policy.yml", text, &codes).expect("a sound policy") }
}

/// The result of two folders, as `result.json` holds it.
fn judged(sides: &[PathBuf; 2], policy: &Policy, checks: &[CheckId]) -> GateResult {
    let [baseline, candidate] = sides.each_ref().map(|side| side.display().to_string());
    let (checks, policy) = (checks.to_vec(), policy.clone());
    let request = Request {
        several: Default::default(),
        baseline: TrustedLocation::own(baseline),
        candidate,
        checks,
        policy,
        matching: Matching::default(),
    };
    let mut result = gate::run(&request, &Quiet).expect("both sides are there").result;
    rewrite(&mut result, "result.json", Language::En).expect("texts");
    // As if written, with an empty file of lines beside it.
    result.operations_digest = Some(Digest::of(b"").to_string());
    result.seal = Some(seal(&result));
    result
}

fn checked(result: GateResult, policy: &Policy) -> Result<Rechecked, String> {
    let lines = Digest::of(b"").to_string();
    let against = Against { name: "result.json", policy, repository: "org/model", operations: Some(&lines) };
    recheck(result, &against).map_err(|error| error.to_string())
}

/// The job that publishes what a fork's job left behind.
fn second_half(fake: &Fake<GitHub>) -> Gate {
    let mut gate = Gate::on_github(&fake.base);
    gate.write("event.json", &finished_workflow().to_string());
    gate.set(&[("GITHUB_EVENT_NAME", "workflow_run"), ("GITHUB_RUN_ID", "80")]);
    fake.state().tokens.insert(TOKEN.into(), Rights::workflow());
    gate
}

/// A result as a fork's job writes it.
fn of_head(result: &GateResult) -> serde_json::Value {
    let source = Source { commit: HEAD.to_owned(), repository: "org/model".to_owned(), target: None };
    let mut result = GateResult { source: Some(source), ..result.clone() };
    result.seal = Some(seal(&result));
    serde_json::to_value(&result).expect("JSON")
}
