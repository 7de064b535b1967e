//! A config pack without a baseline: it is compared with itself, so that only findings about the pack itself remain.
//!
//! Randomness and determinism are judged; whether another run has the same configuration is not known.

use super::context::PackContext;
use super::rules::{
    COLLECTIVES, CUBLAS_WORKSPACE, DATASET_ORDER, DETERMINISM_OFF, DEVICE_DIFFERS, DROPOUT, HASH_SEED, SEED_ALL,
    SIDES_SWAPPED,
};
use super::{JudgedPacks, judge};
use crate::judge::rule::Rule;
use crate::pair::setting;
use crate::policy::config::ConfigPolicy;
use crate::read::json::Json;
use crate::read::pack::{Checker, Pack};
use crate::redact::Redactor;
use crate::result::finding::{Fact, Finding};
use crate::verdict::Side;

/// Rules about variables that a reproducible run sets.
const OFF: [&Rule; 3] = [&HASH_SEED, &COLLECTIVES, &CUBLAS_WORKSPACE];

/// Findings about one pack.
pub(crate) fn judge_pack(pack: &Pack, policy: &ConfigPolicy, redactor: &Redactor) -> JudgedPacks {
    let JudgedPacks { general, checkers } = judge(&PackContext { baseline: pack, candidate: pack, policy, redactor });
    let kept = |findings: Vec<Finding>| findings.into_iter().filter_map(own).collect::<Vec<_>>();
    let mut checkers: Vec<(Checker, Option<Vec<Finding>>)> =
        checkers.into_iter().map(|(checker, findings)| (checker, findings.map(kept))).collect();
    let settings = checkers.iter_mut().find(|(checker, _)| *checker == Checker::Hyperparameters);
    if let Some((_, Some(findings))) = settings {
        findings.extend(of_settings(pack));
    }
    JudgedPacks { general: kept(general), checkers }
}

/// A finding rewritten for a single pack; `None` for a finding about the other side, or about two packs.
fn own(finding: Finding) -> Option<Finding> {
    let of_two = finding.is_any(&[&DEVICE_DIFFERS, &SIDES_SWAPPED, &SEED_ALL, &DATASET_ORDER, &DROPOUT]);
    let is_said_of = |name: &str, side: Side| match finding.facts.get(name) {
        Some(Fact::Text(text)) => text.split(", ").any(|one| one == side.as_str()),
        _ => false,
    };
    let is_device = finding.is(&DEVICE_DIFFERS) && is_said_of("side", Side::Candidate);
    let of_other = finding.facts.contains_key("side") && !is_said_of("side", Side::Candidate)
        || finding.facts.contains_key("sides") && !is_said_of("sides", Side::Candidate);
    if of_other || of_two && !is_device {
        return None;
    }
    if finding.is_any(&OFF) {
        return Some(Finding::new(&DETERMINISM_OFF, &finding.place).with("what", "variable"));
    }
    let mut finding = finding;
    if finding.facts.contains_key("sides") {
        finding.facts.insert("sides".to_owned(), Side::Candidate.as_str().into());
    }
    Some(finding)
}

/// Findings about settings that switch determinism off, and about a run whose settings name no seed.
fn of_settings(pack: &Pack) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, value) in pack.settings() {
        let is_switch = setting::last_part(name).contains("deterministic");
        if is_switch && is_off(value) {
            findings.push(Finding::new(&DETERMINISM_OFF, name).with("what", "setting"));
        }
    }
    let is_seed = |name: &str| name.split(['_', '-', '.']).any(|word| word.eq_ignore_ascii_case("seed"));
    let settings = pack.settings().filter(|(_, value)| !matches!(value, Json::Null)).map(|(name, _)| name.as_str());
    let variables = pack.variables().map(|(name, _)| name).filter(|name| *name != "PYTHONHASHSEED");
    if !settings.chain(variables).any(is_seed) {
        findings.push(Finding::new(&DETERMINISM_OFF, "seed").with("what", "seed"));
    }
    findings
}

/// Whether the value of a setting switches it off.
fn is_off(value: &Json) -> bool {
    match value {
        Json::Bool(value) => !value,
        Json::Int(value) => *value == 0,
        Json::Text(text) => ["false", "off", "no", "0"].contains(&text.trim().to_ascii_lowercase().as_str()),
        _ => false,
    }
}
