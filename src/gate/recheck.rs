//! Rechecking a result that was read from a file: its identity, its limits, and whether it was edited. [`settle`] decides the
//! verdict again from the measurements; the verdict in the file is not used.
//!
//! The file may hold anything, so it is read with limits ([`read`]) first. Whether its numbers were really measured cannot be
//! checked here; that needs judging the artifacts again.

mod caps;
mod identity;
mod read;
mod refusal;

use serde_json::Value;

use crate::error::Result;
use crate::judge::register;
use crate::judge::rule::artifacts::CLAIMED;
use crate::judge::settle::settle;
use crate::policy::Policy;
use crate::result::GateResult;
use crate::result::finding::Finding;
use crate::result::identity::identify;
use crate::result::seal::seal;
use crate::result::unit::{Unit, monitors};
use crate::verdict::Verdict;
use refusal::{Checked, demand, quoted_start};

pub use read::{operations_digest, parse, read};

/// Facts that the result is compared with.
#[derive(Clone, Copy, Debug)]
pub struct Against<'a> {
    /// Name of the result in messages.
    pub name: &'a str,
    /// The target's policy.
    pub policy: &'a Policy,
    /// The repository that the result has to be of; empty where it is not known.
    pub repository: &'a str,
    /// Digest of the `operations.jsonl` that lies beside it, where one does.
    pub operations: Option<&'a str>,
}

/// A result whose verdicts follow from what was measured and from the target's policy.
#[derive(Clone, Debug)]
pub struct Rechecked {
    /// The result.
    pub result: GateResult,
    /// The verdict that it claimed.
    pub claimed: Verdict,
}

/// Decides `result` again under the policy that it carries; messages call it `name`, and `operations` is the digest of the
/// lines beside it. A result without those lines, or of an earlier version, cannot be decided again. Its verdict is then
/// marked as claimed, and is incomplete at best.
///
/// # Errors
/// `Usage` where it was edited, or beyond what is drawn; `Policy` where the policy that it carries cannot be read.
pub fn decide_again(result: &mut GateResult, name: &str, operations: Option<&str>) -> Result<()> {
    let help = "give the `result.json` as precision-gate wrote it, or judge the artifacts again";
    let checked = caps::check_drawn(result).and_then(|()| sealed(result)).and_then(|()| claims_no_less(result));
    checked.map_err(|contradiction| contradiction.into_error(name).with_help(help))?;
    if let Some(reason) = unproved(result, operations) {
        claim(result, reason);
        return Ok(());
    }
    let policy = carried(result, name)?;
    settle(result, &policy);
    Ok(())
}

/// Judges `result` again from what was measured, under the target's policy.
///
/// # Errors
/// `Usage` where it was edited, cannot be decided again, is larger than what the gate writes, or was measured by other limits.
pub fn recheck(mut result: GateResult, against: &Against<'_>) -> Result<Rechecked> {
    let checked = identity::refuse_health(&result)
        .and_then(|()| caps::check(&result))
        .and_then(|()| identity::check(&result, against.repository, unproved(&result, against.operations)))
        .and_then(|()| identity::refuse_inconsistent(&result))
        .and_then(|()| claims_no_less(&result))
        .and_then(|()| sealed(&result))
        .and_then(|()| same_limits(&result, against.policy));
    checked.map_err(|contradiction| contradiction.into_error(against.name))?;
    let claimed = result.verdict;
    let before = culprits(&result);
    settle(&mut result, against.policy);
    result.profile = against.policy.profile;
    result.today = against.policy.today.to_string();
    // Judging a rank stops at its culprit. If this policy lets the culprit pass, what follows it was never judged.
    let judged_on = demand(before == culprits(&result), "culprit", || {
        "is one that the target's policy lets through, and what comes behind it was not judged".into()
    });
    judged_on.map_err(|contradiction| contradiction.into_error(against.name))?;
    Ok(Rechecked { result, claimed })
}

/// Refuses a result whose measurements do not fit its seal, because it was edited after it was written.
fn sealed(result: &GateResult) -> Checked {
    let holds = result.claimed_version.is_some() || result.seal.as_deref() == Some(seal(result).as_str());
    demand(holds, "seal", || "does not fit what was measured: the result was edited after it was written".into())
}

/// Refuses a result whose verdict is milder than that of one of its checks.
fn claims_no_less(result: &GateResult) -> Checked {
    let worst = Verdict::of_all(result.checks.iter().map(|check| check.verdict));
    demand(result.verdict >= worst, "verdict", || {
        format!("says {}, and a check says {}", result.verdict.as_str(), worst.as_str())
    })
}

/// Reason why a result cannot be decided again; `None` where it can.
fn unproved(result: &GateResult, operations: Option<&str>) -> Option<&'static str> {
    let has_values = result.checks.iter().flat_map(|check| &check.units).any(|unit| match unit {
        Unit::Dump(unit) => unit.compared > 0,
        _ => false,
    });
    match result.claimed_version {
        Some(_) => Some("version"),
        None if has_values && operations.is_none() => Some("no-lines"),
        None if operations.is_some() && operations != result.operations_digest.as_deref() => Some("other-lines"),
        None => None,
    }
}

/// Adds a finding that the result's verdict is only claimed, and makes it incomplete at best.
fn claim(result: &mut GateResult, reason: &str) {
    let finding = Finding::new(&CLAIMED, "result.json").with("reason", reason);
    let finding = finding.with("verdict", result.verdict.as_str());
    result.findings.insert(0, finding.with("version", u64::from(result.claimed_version.unwrap_or_default())));
    result.findings.sort_by_key(|finding| (!finding.counts(), std::cmp::Reverse(finding.severity)));
    result.verdict = result.verdict.max(Verdict::Incomplete);
    identify(result);
}

/// The policy that a result carries, as of the result's date.
fn carried(result: &GateResult, name: &str) -> Result<Policy> {
    let codes: Vec<&str> = register::all_rules().map(|rule| rule.code).collect();
    let policy = Policy::from_canonical(name, result.policy.as_ref().unwrap_or(&Value::Null), &codes)?;
    let today = result.today.clone().try_into().unwrap_or(policy.today);
    Ok(Policy { today, profile: result.profile, report_only: result.report_only, ..policy })
}

/// Sections of a policy that apply to finished measurements; all others influence the measuring itself.
const APPLIED: [&str; 8] =
    ["severity", "waivers", "waiver-max-days", "required", "report-only", "health", "baseline", "candidate"];

/// Refuses a result that was measured under other limits than those of the target's policy.
fn same_limits(result: &GateResult, policy: &Policy) -> Checked {
    let limits = |policy: &Value| -> Vec<(String, Value)> {
        let fields = policy.as_object().cloned().unwrap_or_default();
        fields.into_iter().filter(|(name, _)| !APPLIED.contains(&name.as_str())).collect()
    };
    let policy_limits = limits(&policy.canonical());
    let result_limits = limits(result.policy.as_ref().unwrap_or(&Value::Null));
    let other = policy_limits
        .iter()
        .find(|entry| !result_limits.contains(entry))
        .or_else(|| result_limits.iter().find(|one| !policy_limits.contains(one)));
    demand(other.is_none(), "policy", || {
        let section = other.map_or("", |(name, _)| name);
        format!("has another section {} than the target branch's policy", quoted_start(section))
    })
}

/// Whether each monitor unit has a culprit, at which judging it stopped.
fn culprits(result: &GateResult) -> Vec<bool> {
    monitors(&result.checks).map(|unit| unit.culprit.is_some()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verdict_of_an_earlier_version_is_only_claimed() {
        let text = r#"{"schema_version": 2, "tool": {"name": "precision-gate", "version": "0.1.0"}, "today": "2026-11-24",
            "profile": "default", "verdict": "pass", "baseline": null, "culprit": null, "checks": [], "findings": [],
            "candidate": {"label": "910B", "location": "runs/910b", "digest": ""}, "diagnoses": [], "waived": [],
            "artifacts": []}"#;
        let mut result = parse("result.json", text).expect("the second version is read");
        decide_again(&mut result, "result.json", None).expect("it is told as claimed");
        assert_eq!((result.verdict, result.findings[0].code.as_str()), (Verdict::Incomplete, "result-claimed"));
    }
}
