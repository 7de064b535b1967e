//! The only place that decides verdicts: of units, checks and the run, from observations, accounts of evidence and the policy.
//!
//! Findings and verdicts in a result are never read. They are made here, when a run is judged and whenever its result is read
//! again. The exit code follows from them (`exit.rs`).

mod apply;
mod confirm;
mod evidence;
mod reruns;

use std::collections::HashSet;

pub use apply::{AppliedPolicy, apply};

use super::apply_policy::decide;
use super::defect;
use super::rule::artifacts;
use crate::policy::Policy;
use crate::policy::waiver::Waiver;
use crate::result::GateResult;
use crate::result::finding::{Finding, verdict_of};
use crate::result::identity::identify;
use crate::result::observation::Observation;
use crate::result::unit::{Check, Culprit, Evidence, Unit};
use crate::verdict::{CheckId, Verdict};
use apply::{is_absence, waived_finding, waiver_findings};

/// Decides `result` anew under `policy`: findings, what waivers cover, and the verdicts of units, checks and the run.
pub fn settle(result: &mut GateResult, policy: &Policy) {
    let is_judged = |id: CheckId, checks: &[Check]| checks.iter().any(|check| check.id == id);
    let general = result.measured.iter().filter(|observation| !is_judged(observation.of, &result.checks));
    let mut applied = apply(general.map(|observation| observation.finding.clone()), policy);
    let mut verdict = verdict_above_pass(&applied.findings).unwrap_or(Verdict::Skipped);
    for check in &mut result.checks {
        let own: Vec<&Observation> = result.measured.iter().filter(|one| one.of == check.id).collect();
        let settled = settle_check(check, &own, policy);
        verdict = verdict.max(check.verdict);
        applied.join(settled);
    }
    let rest = [evidence::run_findings(&result.checks), waiver_findings(policy, &applied)].concat();
    let rest = apply(rest, policy);
    verdict = verdict.max(verdict_above_pass(&rest.findings).unwrap_or(Verdict::Skipped));
    applied.join(rest);
    result.verdict = if verdict == Verdict::Skipped { Verdict::Incomplete } else { verdict };
    (result.findings, result.waived) = (applied.findings, applied.waived);
    // Findings that do not count come last, however severe they are.
    result.findings.sort_by_key(|finding| (!finding.counts(), std::cmp::Reverse(finding.severity)));
    identify(result);
    drop_accepted_culprits(result, policy);
    result.checks.iter_mut().for_each(super::culprit::name_performance_culprit);
    result.culprit = super::culprit::first_culprit(&result.checks);
    confirm::confirm(result);
    reruns::decide_by_reruns(result);
    identify(result);
}

/// Decides `check` by its own observations: its findings, and the verdicts of its units, of its items and of the check itself.
pub(crate) fn settle_check(check: &mut Check, observations: &[&Observation], policy: &Policy) -> AppliedPolicy {
    let mut applied = AppliedPolicy::default();
    let mut sum = Sum::new(check);
    let (ignored, observations): (Vec<&Observation>, Vec<&Observation>) =
        observations.iter().copied().partition(|one| is_ignored(&one.finding, policy));
    check.units.iter_mut().filter_map(|unit| unit.evidence_mut()).for_each(|evidence| evidence.behind_waived = 0);
    let accepted: Vec<(&Observation, &Waiver)> =
        observations.iter().filter_map(|one| Some((*one, accepting_waiver(one, policy)?))).collect();
    let defects = defect::AcceptedDefects::from_observations(accepted.iter().map(|(root, _)| *root), check);
    for (root, _) in &accepted {
        let values = defect::values_behind(&root.finding);
        if let Some(evidence) = evidence_of(root, check) {
            evidence.behind_waived = evidence.behind_waived.max(values);
        }
    }
    for observation in &observations {
        let one = waived_consequence(observation, (&defects, &accepted), check, policy);
        let one = one.unwrap_or_else(|| {
            let one = apply([observation.finding.clone()], policy);
            let accepted = one.waived.iter().map(|waived| defect::places_without_numbers(&waived.finding)).sum();
            count_not_judged(observation, check, accepted);
            one
        });
        sum.add(observation, &one.findings);
        applied.join(one);
    }
    sum.settle(check);
    for observation in evidence::check_observations(check) {
        let one = apply([observation.finding.clone()], policy);
        sum.add(&observation, &one.findings);
        applied.join(one);
    }
    sum.settle(check);
    applied.join(apply(evidence::ignored_codes_finding(check.id, &ignored), policy));
    let required = missing_required(check, policy);
    if !required.is_empty() {
        check.verdict = Verdict::Incomplete;
        applied.findings.extend(required);
    }
    applied
}

/// Whether the policy leaves findings of this code out. Findings about data that was not read or not compared cannot be left out.
fn is_ignored(finding: &Finding, policy: &Policy) -> bool {
    policy.health.leaves_out(&finding.code) && !is_absence(&finding.code, finding.severity)
}

/// The waiver whose pattern covers an observation; `None` for observations that do not count or are absences.
fn accepting_waiver<'p>(observation: &Observation, policy: &'p Policy) -> Option<&'p Waiver> {
    let finding = &observation.finding;
    let counts = finding.counts() && !is_absence(&finding.code, finding.severity);
    decide(&finding.code, &finding.place, finding.severity, policy).waiver.filter(|_| counts)
}

/// The waived finding of an observation that is a consequence of an accepted defect, and therefore not judged; `None` for any other.
/// Counts its values in its unit.
fn waived_consequence(
    observation: &Observation,
    (defects, accepted): (&defect::AcceptedDefects<'_>, &[(&Observation, &Waiver)]),
    check: &mut Check,
    policy: &Policy,
) -> Option<AppliedPolicy> {
    let finding = &observation.finding;
    let decision = decide(&finding.code, &finding.place, finding.severity, policy);
    if !decision.counts() || !finding.counts() {
        return None;
    }
    let (root, waiver) = accepted.get(defects.first_cause(observation, check)?)?;
    count_not_judged(observation, check, defect::places_behind(&root.finding, finding));
    let finding = Finding { severity: decision.severity, ..finding.clone() };
    Some(AppliedPolicy { waived: vec![waived_finding(finding, waiver, true)], ..AppliedPolicy::default() })
}

/// Counts places of an observation's unit as not judged.
fn count_not_judged(observation: &Observation, check: &mut Check, places: u64) {
    if let Some(evidence) = evidence_of(observation, check) {
        evidence.behind_waived = evidence.behind_waived.saturating_add(places);
    }
}

/// The account of the unit that an observation is about.
fn evidence_of<'c>(observation: &Observation, check: &'c mut Check) -> Option<&'c mut Evidence> {
    observation.units.first().and_then(|place| check.units.get_mut(*place))?.evidence_mut()
}

/// The finding about a required check of which nothing could be read: it is incomplete, whatever the policy says about its findings.
fn missing_required(check: &Check, policy: &Policy) -> Vec<Finding> {
    let is_unread = check.items.iter().all(|item| matches!(item.verdict, Verdict::Incomplete | Verdict::Skipped))
        && check.units.iter().all(|unit| unit.is_unread());
    if !is_unread || check.verdict.blocks() || !policy.required.contains(&check.id) {
        return Vec::new();
    }
    vec![Finding::new(&artifacts::REQUIRED_MISSING, check.id.as_str()).with("check", check.id.as_str())]
}

/// Verdicts of a check's parts while its observations are counted.
struct Sum {
    units: Vec<Counted>,
    items: Vec<Counted>,
    rest: Verdict,
}

/// Verdict that follows from findings, and their number.
#[derive(Clone, Copy)]
struct Counted {
    verdict: Verdict,
    findings: usize,
}

impl Sum {
    fn new(check: &Check) -> Self {
        const NONE: Counted = Counted { verdict: Verdict::Pass, findings: 0 };
        Self { units: vec![NONE; check.units.len()], items: vec![NONE; check.items.len()], rest: Verdict::Skipped }
    }

    /// Counts the `findings` that an observation leads to: one, or none where a waiver covers it.
    fn add(&mut self, observation: &Observation, findings: &[Finding]) {
        let Some(finding) = findings.first() else { return };
        let verdict = verdict_of([finding]);
        for place in &observation.units {
            if let Some(unit) = self.units.get_mut(*place) {
                unit.count(verdict);
            }
        }
        if let Some(item) = observation.item.and_then(|place| self.items.get_mut(place)) {
            item.count(verdict);
        }
        if observation.units.is_empty() && observation.item.is_none() && verdict > Verdict::Pass {
            self.rest = self.rest.max(verdict);
        }
    }

    /// Gives the check and its parts the verdicts that follow.
    fn settle(&self, check: &mut Check) {
        for (unit, counted) in check.units.iter_mut().zip(&self.units) {
            let verdict = unit.settled(counted.verdict);
            unit.set_verdict(verdict);
            if let Unit::Source(file) = unit {
                file.findings = counted.findings as u64;
            }
        }
        for (item, counted) in check.items.iter_mut().zip(&self.items) {
            item.verdict = item.state.settled(counted.verdict);
            item.findings = counted.findings;
        }
        let units = check.units.iter().map(|unit| unit.verdict());
        let items = check.items.iter().map(|item| item.verdict);
        check.verdict = Verdict::of_all(units.chain(items).chain([self.rest]));
        if check.id == CheckId::Loss && !check.units.is_empty() && check.verdict == Verdict::Skipped {
            // A check with curves, none of which was judged, is incomplete rather than skipped.
            check.verdict = Verdict::Incomplete;
        }
    }
}

impl Counted {
    fn count(&mut self, verdict: Verdict) {
        self.verdict = self.verdict.max(verdict);
        self.findings += 1;
    }
}

/// The verdict of findings, if it is worse than a pass; `None` otherwise.
fn verdict_above_pass(findings: &[Finding]) -> Option<Verdict> {
    Some(verdict_of(findings)).filter(|verdict| *verdict > Verdict::Pass)
}

/// Removes culprits that a waiver covers, or whose code the policy leaves out.
fn drop_accepted_culprits(result: &mut GateResult, policy: &Policy) {
    let GateResult { checks, waived, .. } = result;
    let ids: HashSet<&str> = waived.iter().map(|waived| waived.finding.id.as_str()).collect();
    for unit in checks.iter_mut().flat_map(|check| &mut check.units) {
        let is_accepted =
            |culprit: &Culprit| ids.contains(&*culprit.finding) || policy.health.leaves_out(&culprit.code);
        if unit.culprit().is_some_and(is_accepted) {
            unit.forget_culprit();
        }
    }
}
