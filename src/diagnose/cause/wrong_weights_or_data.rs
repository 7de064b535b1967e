//! The runs start from other weights, or see other data or another order of it.

use super::super::context::{Context, Suspect};
use super::super::curves::Curves;
use super::super::{Diagnosis, Statement, Sureness};
use super::{Cause, finding_as_evidence, from_findings};
use crate::judge::finding::Finding;
use crate::read::dump::TensorKind;

pub(super) const CAUSE: Cause = Cause {
    in_dump,
    in_curves,
    in_config,
    explained_by: &["randomness"],
    supported_by: &[
        "weights-nearly-equal",
        "weights-precision-differs",
        "first-step-differs",
        "digest-differs",
        "seed-differs",
    ],
    ..Cause::new("wrong-weights-or-data")
};

/// Two drawn or trained tensors differ by as much as themselves; a tensor built otherwise differs by its last digits.
const UNRELATED: f64 = 0.1;

fn in_dump(context: &Context<'_>) -> Option<Diagnosis> {
    let suspect = context.suspect().filter(|suspect| !suspect.is_made() && !suspect.is_backward())?;
    let place = suspect.culprit.tensor.as_str();
    if suspect.is(&["integer-differs"]) {
        let evidence = Statement::new("index-input-differs").with("op", suspect.culprit.op.as_str());
        return Some(Diagnosis::new(&CAUSE, place, Sureness::Likely).because(evidence));
    }
    let evidence =
        Statement::new("weight-differs").with("op", suspect.culprit.op.as_str()).with("error", suspect.error());
    is_other_weight(&suspect).then(|| Diagnosis::new(&CAUSE, place, Sureness::Likely).because(evidence))
}

/// A weight of other numbers, not of other digits.
pub(super) fn is_other_weight(suspect: &Suspect<'_>) -> bool {
    suspect.is(&["input-differs"]) && suspect.error() >= UNRELATED && is_weight(suspect)
}

/// A module's parameter, or an argument after the first that is trained.
pub(super) fn is_weight(suspect: &Suspect<'_>) -> bool {
    let trained = suspect.value.candidate.record().is_some_and(|record| record.requires_grad == Some(true));
    let row = suspect.value.candidate.row.to_string();
    let is_first = row.ends_with(".input.0") || row.ends_with("_input.0") || row.ends_with("_input");
    suspect.value.kind == TensorKind::Parameter || trained && !is_first
}

fn in_curves(curves: &Curves<'_>) -> Option<Diagnosis> {
    if curves.finding(&["curve-hidden-failure", "curve-non-finite"]).is_some() {
        return None;
    }
    if let Some(finding) = curves.finding(&["curve-data-order"]) {
        let onset = curves.finding(&["curve-abrupt-onset"]).map(finding_as_evidence);
        let diagnosis =
            Diagnosis::new(&CAUSE, finding.place.as_str(), Sureness::Likely).because(finding_as_evidence(finding));
        return Some(diagnosis.because_all(onset).advise(Statement::new("data-order")));
    }
    let finding = curves.finding(&["curve-step-1"])?;
    Some(Diagnosis::new(&CAUSE, finding.place.as_str(), Sureness::Possible).because(finding_as_evidence(finding)))
}

fn in_config(findings: &[&Finding]) -> Option<Diagnosis> {
    let codes = [
        "weights-differ",
        "weights-one-sided",
        "weights-precision-differs",
        "dataset-differs",
        "dataset-one-sided",
        "dataset-kind-differs",
        "digest-differs",
    ];
    from_findings(&CAUSE, Sureness::Likely, findings, &codes)
}
