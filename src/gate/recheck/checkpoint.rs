//! Does a checkpoint contradict itself? Its parameters' errors against their limits and findings.

use super::outcome::held;
use super::refusal::{Checked, claims, demand, shown};
use super::said::{Key, Said, number};
use crate::judge::checkpoint::rules;
use crate::judge::rule::{Rule, artifacts};
use crate::result::finding::{Finding, verdict_of};
use crate::result::number::Number;
use crate::result::outcome::RuleOutcome;
use crate::result::unit::CheckpointUnit;
use crate::verdict::{Profile, Verdict};

/// The one rule of a parameter.
const RULE: &str = "relative-l2";
/// Rules that a unit shows.
const SHOWN: usize = 20;

/// Refuses a checkpoint that contradicts itself.
pub(super) fn check(unit: &CheckpointUnit, key: &Key, said: &Said<'_>, profile: Profile, at: &str) -> Checked {
    let findings: Vec<&Finding> = said.all(key).collect();
    claims(unit.verdict, verdict_of(said.counting(key).iter().copied()), at)?;
    let count = |rule: &Rule| findings.iter().filter(|finding| finding.code == rule.code).count();
    let damaged = count(&artifacts::DAMAGED) + count(&artifacts::UNSUPPORTED) > 0;
    let nothing = damaged || count(&rules::NOTHING_COMPARED) > 0;
    demand((unit.compared == 0) == nothing, at, || {
        format!("compared {} parameters, which its findings deny", unit.compared)
    })?;
    let unmatched = unit.unmatched_candidate.saturating_add(unit.unmatched_baseline);
    let missing = count(&rules::MISSING) as u64 == unmatched || count(&rules::PREFIX_DIFFERS) > 0;
    demand(damaged || missing, at, || {
        format!("has {unmatched} parameters without a partner, and not as many findings")
    })?;
    for outcome in &unit.rules {
        parameter(outcome, &findings, profile, &format!("{at}, {}", shown(outcome.subject())))?;
    }
    listed(unit, &findings, at)?;
    let states = &unit.evidence;
    let counted = states.compared == unit.compared
        && states.alone() == unit.unmatched_candidate.saturating_add(unit.unmatched_baseline);
    demand(states.is_empty() || counted, at, || "its evidence does not add up to what it compared".into())
}

/// A parameter's error against its limits.
fn parameter(outcome: &RuleOutcome, findings: &[&Finding], profile: Profile, at: &str) -> Checked {
    let numbers = (outcome.value, outcome.warn, outcome.fail);
    let (Some(Number(error)), Some(Number(noise)), Some(Number(wrong))) = numbers else {
        return demand(false, at, || "has no value or no limits".into());
    };
    demand(outcome.rule == RULE && error >= 0.0 && noise <= wrong, at, || "is not an error with two limits".into())?;
    held(outcome, at)?;
    let (verdict, rule) = match () {
        () if error > wrong => (Verdict::Fail, Some(&rules::DIVERGES)),
        () if error > noise && profile == Profile::Strict => (Verdict::Fail, Some(&rules::DRIFTS)),
        () if error > noise => (Verdict::Warn, Some(&rules::DRIFTS)),
        () => (Verdict::Pass, None),
    };
    demand(outcome.verdict == verdict, at, || {
        format!("says {}, which does not follow from its value and limits", outcome.verdict.as_str())
    })?;
    let told = |finding: &&Finding| {
        let same = number(finding, "error").is_some_and(|value| value.to_bits() == error.to_bits());
        finding.place == outcome.subject() && same && rule.is_some_and(|rule| rule.code == finding.code)
    };
    demand(rule.is_none() || findings.iter().any(told), at, || "differs, and no finding says so".into())
}

/// The worst parameters are shown: none that is not shown is worse, and each has its finding.
fn listed(unit: &CheckpointUnit, findings: &[&Finding], at: &str) -> Checked {
    let of_error = |finding: &&&Finding| finding.code == rules::DIVERGES.code || finding.code == rules::DRIFTS.code;
    let told = findings.iter().filter(of_error).count();
    let shown = unit.rules.iter().filter(|outcome| outcome.verdict > Verdict::Pass).count();
    let fits = if unit.rules.len() < SHOWN { told == shown } else { told >= shown };
    demand(fits, at, || format!("shows {shown} parameters that differ, but has {told} findings about them"))
}
