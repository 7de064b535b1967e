//! Learning rate, batch or parallel layout differ: the runs start equal and are updated differently.

use super::super::curves::{EQUAL, RunCurves, relative_differences};
use super::super::entry::Cause;
use super::super::evidence::{diagnosis_from_findings, finding_as_evidence};
use super::super::rl::Rollouts;
use crate::judge::config::rules as config_rules;
use crate::judge::loss::code as curve_rules;
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};
use crate::result::finding::Finding;

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
        return None;
    }
    let evidence = Statement::new("first-update-differs").with("step", step).with("value", second);
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
