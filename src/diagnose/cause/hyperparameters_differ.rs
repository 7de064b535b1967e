//! Learning rate, batch or parallel layout differ: the runs start equal and are updated differently.

use super::super::curves::{EQUAL, RunCurves, relative_differences};
use super::super::entry::Cause;
use super::super::evidence::{diagnosis_from_findings, finding_as_evidence};
use super::super::rl::Rollouts;
use crate::judge::config::rules as config_rules;
use crate::judge::loss::code as curve_rules;
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};
use crate::result::finding::Finding;
use crate::verdict::Severity;

pub(super) const CAUSE: Cause = Cause {
    in_curves,
    in_rl,
    in_config,
    explained_by: &[
        "gradient-only",
        "zero-gradient",
        "wrong-weights-or-data",
        "silent-corruption",
        "overflow",
        "reduced-precision",
        "other-algorithm",
    ],
    supported_by: &[&config_rules::HYPER_ONE_SIDED],
    ..Cause::new("hyperparameters-differ")
};

/// Difference of the second step that shows a different update; rounding of one update stays below it (`docs/loss.md`,
/// the limit of the first five steps).
const UPDATED_OTHERWISE: f64 = 2e-4;

/// Fewest steps over which a difference is seen to grow.
const FEWEST_GROWING: usize = 4;

/// A difference that begins in this part of a run, a tenth, begins at its start.
const START_OF_RUN: usize = 10;

fn in_curves(curves: &RunCurves<'_>) -> Option<Diagnosis> {
    if let Some(finding) = curves.finding(&[&curve_rules::LEARNING_RATE]) {
        return Some(of_rate(finding));
    }
    let mut steps = relative_differences(curves.loss);
    let (_, first) = steps.next()?;
    let (step, second) = steps.next()?;
    let same_gradient =
        curves.gradients.and_then(|unit| relative_differences(unit).next()).is_none_or(|(_, rel)| rel <= EQUAL);
    if first > EQUAL || second < UPDATED_OTHERWISE || !same_gradient {
        return grows_from_start(curves);
    }
    let evidence = Statement::new("first-update-differs").with("step", step).with("value", second);
    Some(Diagnosis::new(&CAUSE, curves.loss.metric.as_str(), Sureness::Possible).because(evidence))
}

/// The first loss and gradient norm agree, and the losses part little by little from the first steps on: forward and backward are right
/// where they begin, so that the updates differ.
fn grows_from_start(curves: &RunCurves<'_>) -> Option<Diagnosis> {
    let failed = curves.finding(&[&curve_rules::MEAN, &curve_rules::TAIL, &curve_rules::SPREAD])?;
    let norms = curves.gradients.and_then(|unit| relative_differences(unit).next());
    if failed.severity < Severity::Fail || !curves.starts_equal() || norms.is_some_and(|(_, rel)| rel > EQUAL) {
        return None;
    }
    let all: Vec<(u64, f64)> = relative_differences(curves.loss).collect();
    let begins = all.iter().position(|(_, rel)| *rel > EQUAL)?;
    let leaves = curves.loss.first_diverging_step?;
    let leaves = all.iter().position(|(step, _)| *step >= leaves)?;
    let growing = all.get(begins..=leaves).filter(|growing| growing.len() >= FEWEST_GROWING)?;
    let halves = growing.split_at_checked(growing.len() / 2)?;
    let largest = |half: &[(u64, f64)]| half.iter().map(|(_, rel)| *rel).fold(0.0, f64::max);
    if begins * START_OF_RUN > all.len() || largest(halves.0) >= largest(halves.1) {
        return None;
    }
    let ((step, value), (late_step, late_value)) = (growing.first()?, growing.last()?);
    let evidence = Statement::new("grows-from-start")
        .with("step", *step)
        .with("value", *value)
        .with("late_step", *late_step)
        .with("late_value", *late_value)
        .with("norms", u64::from(norms.is_some()));
    Some(Diagnosis::new(&CAUSE, curves.loss.metric.as_str(), Sureness::Possible).because(evidence))
}

/// The schedules differ, or a coefficient that is logged at every step.
fn in_rl(rollouts: &Rollouts<'_>) -> Option<Diagnosis> {
    let of_constant = |finding: &Finding| {
        let advice = Statement::new("constant-differs").with("metric", finding.place.as_str());
        let diagnosis = Diagnosis::new(&CAUSE, finding.place.as_str(), Sureness::Certain);
        diagnosis.because(finding_as_evidence(finding)).advise(advice)
    };
    let rate = rollouts.finding(&curve_rules::LEARNING_RATE).map(of_rate);
    rate.or_else(|| rollouts.finding(&curve_rules::RL_CONSTANT).map(of_constant))
}

fn of_rate(finding: &Finding) -> Diagnosis {
    let diagnosis = Diagnosis::new(&CAUSE, finding.place.as_str(), Sureness::Certain);
    diagnosis.because(finding_as_evidence(finding)).advise(Statement::new("learning-rate-differs"))
}

fn in_config(findings: &[&Finding]) -> Option<Diagnosis> {
    diagnosis_from_findings(
        &CAUSE,
        Sureness::Likely,
        findings,
        &[&config_rules::HYPER_DIFFERS, &config_rules::HYPER_CONTRADICTS, &config_rules::ENV_DEVICE_COUNT],
    )
}
