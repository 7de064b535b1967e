//! Merging of the diagnoses from dumps, curves and configuration: every cause once, the likeliest first.

use super::cause::{self, add_operator_evidence};
use super::context::DumpContext;
use super::curves::RunCurves;
use super::entry::Cause;
use super::evidence::finding_as_evidence;
use super::faults::step_of;
use super::rl::Rollouts;
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};
use crate::result::finding::Finding;
use crate::result::unit::{Check, dumps as dumps_of};
use crate::verdict::{CheckId, Severity, Verdict};

/// Result of a whole run, after every check has judged.
#[derive(Clone, Copy)]
pub struct RunOutcome<'a> {
    /// Its verdict.
    pub verdict: Verdict,
    /// The checks.
    pub checks: &'a [Check],
    /// Findings of all checks.
    pub findings: &'a [Finding],
}

/// Causes that a unit of a dump shows; empty where there is not enough evidence for any.
///
/// A cause that merely describes a difference is used only where no other one applies.
pub(crate) fn dump_diagnoses(context: &DumpContext<'_>) -> Vec<Diagnosis> {
    let mut found: Vec<Diagnosis> = Vec::new();
    for cause in cause::ALL {
        let is_explained = found.iter().any(|diagnosis| diagnosis.sureness > Sureness::Possible);
        if cause.is_last_resort() && is_explained {
            continue;
        }
        found.extend(cause.diagnose_dump(context));
    }
    let surest = found.iter().map(|diagnosis| diagnosis.sureness).max();
    // Next to a likelier cause, merely possible ones only distract.
    found.retain(|diagnosis| diagnosis.sureness > Sureness::Possible || surest == Some(Sureness::Possible));
    ordered(found)
}

/// Joins the diagnoses from units of dumps (`dumps`, in the order of their units) with those from curves and
/// configuration.
///
/// A run that passed has no cause to name.
pub fn story(dumps: Vec<Diagnosis>, run: &RunOutcome<'_>) -> Vec<Diagnosis> {
    if run.verdict <= Verdict::Pass {
        return Vec::new();
    }
    let mut told: Vec<Diagnosis> = Vec::new();
    for diagnosis in dumps {
        if !told.iter().any(|known| known.cause == diagnosis.cause) {
            told.push(diagnosis);
        }
    }
    let seen: Vec<Diagnosis> =
        cause::ALL.into_iter().filter_map(|cause| candidate_diagnosis(cause, run.findings)).collect();
    seen.into_iter().for_each(|diagnosis| join(&mut told, diagnosis, false));
    if let Some(curves) = RunCurves::from_checks(run.checks, run.findings) {
        let seen: Vec<Diagnosis> = cause::ALL.into_iter().filter_map(|cause| cause.diagnose_curves(&curves)).collect();
        seen.into_iter().for_each(|diagnosis| join(&mut told, diagnosis, true));
    }
    if let Some(rollouts) = Rollouts::from_checks(run.checks, run.findings) {
        let seen: Vec<Diagnosis> = cause::ALL.into_iter().filter_map(|cause| cause.diagnose_rl(&rollouts)).collect();
        seen.into_iter().for_each(|diagnosis| join(&mut told, diagnosis, true));
    }
    let counts = |finding: &&Finding| finding.check == CheckId::Config && finding.severity >= Severity::Warn;
    let config: Vec<&Finding> = run.findings.iter().filter(counts).collect();
    let seen: Vec<Diagnosis> = cause::ALL.into_iter().filter_map(|cause| cause.diagnose_config(&config)).collect();
    seen.into_iter().for_each(|diagnosis| join(&mut told, diagnosis, false));
    support(&mut told, run.findings);
    let culprits = dumps_of(run.checks).filter_map(|unit| unit.culprit.as_ref());
    if let Some(culprit) = culprits.min_by_key(|culprit| (culprit.step, culprit.order, culprit.rank)) {
        add_operator_evidence(&mut told, culprit, run.findings);
    }
    ordered(told)
}

/// The diagnosis from a finding about the candidate alone that shows the cause; from the earliest of several.
fn candidate_diagnosis(cause: &Cause, findings: &[Finding]) -> Option<Diagnosis> {
    let counts = |finding: &&Finding| cause.is_shown_by(finding) && finding.severity >= Severity::Warn;
    let finding = findings.iter().filter(counts).min_by_key(|finding| step_of(finding))?;
    let diagnosis = Diagnosis::new(cause, finding.place.as_str(), cause.run_sureness);
    let diagnosis = diagnosis.because(finding_as_evidence(finding));
    let advice = || Statement { facts: finding.facts.clone(), ..Statement::new(cause.run_advice) };
    Some(if cause.run_advice.is_empty() { diagnosis } else { diagnosis.advise(advice()) })
}

/// Adds a diagnosis, or adds its evidence to one of the same cause; a symptom in curves may also be explained by
/// another cause.
fn join(told: &mut Vec<Diagnosis>, diagnosis: Diagnosis, is_symptom: bool) {
    let explains = |known: &&mut Diagnosis| {
        let explained = || cause::find(&diagnosis.cause).is_some_and(|cause| cause.is_explained_by(&known.cause));
        known.cause == diagnosis.cause || is_symptom && explained()
    };
    match told.iter_mut().find(explains) {
        // What is merely possible is no evidence for what explains it.
        Some(known) if known.cause != diagnosis.cause && diagnosis.sureness == Sureness::Possible => {}
        Some(known) => {
            let new = diagnosis
                .evidence
                .into_iter()
                .filter(|evidence| !known.evidence.contains(evidence))
                .collect::<Vec<_>>();
            known.evidence.extend(new);
            known.sureness = known.sureness.max(diagnosis.sureness);
        }
        None => told.push(diagnosis),
    }
}

/// Adds findings that show no cause by themselves as further evidence for causes found otherwise.
fn support(told: &mut [Diagnosis], findings: &[Finding]) {
    for finding in findings {
        for diagnosis in told.iter_mut() {
            let evidence = finding_as_evidence(finding);
            let supports = cause::find(&diagnosis.cause).is_some_and(|cause: &Cause| cause.is_supported_by(finding));
            if supports && !diagnosis.evidence.contains(&evidence) {
                diagnosis.evidence.push(evidence);
            }
        }
    }
}

/// Sorts by certainty, the most certain first; equally certain ones stay in the order of the register.
fn ordered(mut diagnoses: Vec<Diagnosis>) -> Vec<Diagnosis> {
    let place = |diagnosis: &Diagnosis| cause::ALL.iter().position(|cause| cause.code == diagnosis.cause);
    diagnoses.sort_by_key(|diagnosis| (std::cmp::Reverse(diagnosis.sureness), place(diagnosis)));
    diagnoses
}
