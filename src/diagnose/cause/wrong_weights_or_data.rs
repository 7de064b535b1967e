//! The runs start from other weights, or see other data or another order of it.

use super::super::context::{DumpContext, Suspect, is_weight};
use super::super::curves::RunCurves;
use super::super::entry::Cause;
use super::super::evidence::{diagnosis_from_findings, finding_as_evidence};
use super::super::faults::FAULTS;
use super::super::location::location;
use super::super::shard::{fills_shards, wrong_ranks};
use super::super::updates::Updates;
use super::super::values::count_of;
use super::missing_operations::explains;
use super::other_tensor;
use crate::judge::config::rules as config_rules;
use crate::judge::dump::rules as dump_rules;
use crate::judge::loss::code as curve_rules;
use crate::read::dump::TensorRecord;
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};
use crate::result::finding::Finding;
use crate::result::unit::ErrorLocation;
use crate::verdict::Side;

pub(super) const CAUSE: Cause = Cause {
    in_dump,
    in_curves,
    in_config,
    explained_by: &["randomness"],
    supported_by: &[
        &config_rules::WEIGHTS_NEARLY,
        &config_rules::WEIGHTS_PRECISION,
        &curve_rules::FIRST_STEP,
        &config_rules::DIGEST_DIFFERS,
        &config_rules::SEED_DIFFERS,
    ],
    ..Cause::new("wrong-weights-or-data")
};

/// Statement that a loss which differs is given integers of which only the ends were recorded, and advice about such labels.
pub(crate) const INDICES_UNSEEN: &str = "indices-unseen";

/// Two drawn or trained tensors differ by as much as themselves; a tensor built otherwise differs by its last digits.
const UNRELATED: f64 = 0.1;

fn in_dump(context: &DumpContext<'_>) -> Option<Diagnosis> {
    let suspect = context.suspect().filter(|suspect| !suspect.is_backward())?;
    if suspect.is_result() {
        return of_indices(context, &suspect);
    }
    let place = suspect.culprit.tensor.as_str();
    if suspect.has_finding_of(&[&dump_rules::INTEGER_DIFFERS, &dump_rules::NEAR_TIE])
        && !is_choice(context, &suspect)
        && !explains(context, &suspect)
    {
        let evidence = Statement::new("index-input-differs").with("op", suspect.culprit.op.as_str());
        let diagnosis = Diagnosis::new(&CAUSE, place, Sureness::Likely).because(evidence);
        return Some(match ignored_labels(&suspect).or_else(|| shifted_indices(context, &suspect)) {
            Some(ignored) => diagnosis.advise(ignored.clone()).because(ignored),
            None => diagnosis.advise(Statement::new("indices-differ")),
        });
    }
    if is_weight(&suspect)
        && let Some(evidence) = other_tensor::values_of_another(context, &suspect)
    {
        // A weight that was right at the step before was loaded right.
        let since = Updates::from_suspect(context, &suspect).map(|updates| updates.since);
        let overwritten = |since: u64| Statement::new("overwritten-since").with("since", since);
        let advice = since.map_or_else(|| advice_for_other(&evidence), overwritten);
        return Some(Diagnosis::new(&CAUSE, place, Sureness::Certain).because_all(evidence).advise(advice));
    }
    if !is_other_weight(&suspect) {
        return None;
    }
    let evidence =
        Statement::new("weight-differs").with("op", suspect.culprit.op.as_str()).with("error", suspect.error());
    let diagnosis = Diagnosis::new(&CAUSE, place, Sureness::Likely).because(evidence);
    let shards = context.folders.candidate.shards(&suspect.culprit.tensor);
    let is_whole = |found: &ErrorLocation| fills_shards(&shards, found);
    let holders = location(context).filter(is_whole).and_then(|found| wrong_ranks(&shards, &found));
    Some(match holders {
        Some(holders) => diagnosis
            .because(Statement::new("weight-of-ranks").with("holders", holders.as_str()).with("shards", shards.len()))
            .advise(Statement::new("weight-of-ranks").with("holders", holders)),
        None => diagnosis.advise(Statement::new("weight-differs")),
    })
}

/// States that only one side marks labels that a loss ignores.
fn ignored_labels(suspect: &Suspect<'_>) -> Option<Statement> {
    /// The label that PyTorch's losses ignore.
    const IGNORED: f64 = -100.0;
    let (baseline, candidate) = suspect.value.records()?;
    let is_marked = |record: &TensorRecord<'_>| record.min.as_f64().is_some_and(|least| (least - IGNORED).abs() < 0.5);
    let side = match [&baseline, &candidate].map(is_marked) {
        [true, false] => Side::Baseline,
        [false, true] => Side::Candidate,
        _ => return None,
    };
    is_loss_of_labels(suspect)
        .then(|| Statement::new("ignored-labels").with("op", suspect.culprit.op.as_str()).with("side", side.as_str()))
}

/// Whether an operation is a loss that is given labels as integers.
fn is_loss_of_labels(suspect: &Suspect<'_>) -> bool {
    let api = suspect.api().to_ascii_lowercase();
    ["cross_entropy", "crossentropy", "nll_loss", "nllloss"].iter().any(|loss| api.contains(loss))
}

/// States by how many places the indices of one side are moved against those of the other.
fn shifted_indices(context: &DumpContext<'_>, suspect: &Suspect<'_>) -> Option<Statement> {
    /// Most places that are tried, and fewest elements that tell.
    const MOST: usize = 4;
    const FEWEST: usize = 8;
    /// Least share that has to agree: ends of sequences are filled otherwise.
    const SHARE: f64 = 0.8;
    let data = context.data(&suspect.value).filter(|data| data.baseline.len() >= FEWEST)?;
    let agree = |one: &[f64], other: &[f64]| {
        let same = one.iter().zip(other).filter(|(one, other)| (*one - *other).abs() < 0.5).count();
        count_of(same) >= SHARE * count_of(data.baseline.len())
    };
    let (baseline, candidate) = (&data.baseline, &data.candidate);
    let found = (1..=MOST.min(baseline.len() / 2)).find_map(|by| {
        let ahead = agree(baseline.get(by..)?, candidate);
        let behind = agree(baseline, candidate.get(by..)?);
        (ahead != behind).then_some((by, if ahead { Side::Candidate } else { Side::Baseline }))
    });
    let (by, side) = found?;
    let statement = Statement::new("indices-shifted").with("op", suspect.culprit.op.as_str());
    Some(statement.with("by", by).with("side", side.as_str()))
}

/// Advice for a weight that is another one, by where the candidate's comes from.
fn advice_for_other(evidence: &[Statement]) -> Statement {
    let has = |code: &str| evidence.iter().any(|statement| statement.is_any(&[code]));
    let code = match (has("tensor-of-rank"), has("tensors-exchanged")) {
        (true, true) => "ranks-exchanged",
        (true, false) => "weight-of-other-rank",
        (false, _) => "weights-elsewhere",
    };
    let facts = evidence.iter().find(|statement| statement.is_any(&["tensor-of-rank"]));
    Statement { facts: facts.map(|statement| statement.facts.clone()).unwrap_or_default(), ..Statement::new(code) }
}

/// Labels of which only the ends were recorded, given to a loss that differs: their order, or some in the middle, may be
/// others, and nothing recorded tells that from another loss.
fn of_indices(context: &DumpContext<'_>, suspect: &Suspect<'_>) -> Option<Diagnosis> {
    let (loss, _) = suspect.value.records()?;
    if !suspect.has_finding_of(&[&dump_rules::OUTPUT_DIVERGES, &dump_rules::OTHER_PRECISION]) || loss.elements() != 1 {
        return None;
    }
    let labels = unseen_indices(context, suspect)?;
    let evidence = Statement::new(INDICES_UNSEEN).with("tensor", labels).with("op", suspect.culprit.op.as_str());
    let diagnosis =
        Diagnosis::new(&CAUSE, suspect.culprit.tensor.as_str(), Sureness::Possible).because(evidence.clone());
    Some(diagnosis.advise(is_loss_of_labels(suspect).then_some(evidence)))
}

/// An integer input of many elements that nothing dumped made and of which neither data nor a checksum was recorded.
pub(super) fn unseen_indices(context: &DumpContext<'_>, suspect: &Suspect<'_>) -> Option<String> {
    let mut inputs = suspect
        .inputs()
        .filter(|both| both.dtypes().is_some_and(|(dtype, _)| !dtype.is_float() && !dtype.is_complex()));
    let unseen = inputs.find(|both| {
        let records = both.records();
        let is_known = records.is_some_and(|(record, _)| record.elements() < 2 || record.checksum.is_some());
        !is_known && context.data(both).is_none()
    })?;
    Some(unseen.candidate.row.to_string())
}

/// Whether a dumped operation made the value, as it does where it chooses.
pub(super) fn is_choice(context: &DumpContext<'_>, suspect: &Suspect<'_>) -> bool {
    let Some((baseline, _)) = suspect.value.records() else { return false };
    let made = || context.trace().made_before(&baseline, suspect.order).is_some();
    suspect.is_result() || made()
}

/// A weight of other numbers, not of other digits.
pub(super) fn is_other_weight(suspect: &Suspect<'_>) -> bool {
    suspect.has_finding_of(&[&dump_rules::INPUT_DIFFERS]) && suspect.error() >= UNRELATED && is_weight(suspect)
}

fn in_curves(curves: &RunCurves<'_>) -> Option<Diagnosis> {
    let is_broken = curves.finding(&[&curve_rules::HIDDEN_FAILURE, &curve_rules::NON_FINITE]).is_some();
    if is_broken || curves.finding(&FAULTS).is_some() {
        return None;
    }
    if let Some(finding) = curves.finding(&[&curve_rules::ORDER]) {
        let onset = curves.finding(&[&curve_rules::ONSET]).map(finding_as_evidence);
        let diagnosis =
            Diagnosis::new(&CAUSE, finding.place.as_str(), Sureness::Likely).because(finding_as_evidence(finding));
        let code = if finding.facts.contains_key("ahead") { "batches-ahead" } else { "data-order" };
        let advice = Statement { facts: finding.facts.clone(), ..Statement::new(code) };
        return Some(diagnosis.because_all(onset).advise(advice));
    }
    let finding = curves.finding(&[&curve_rules::STEP_1])?;
    Some(Diagnosis::new(&CAUSE, finding.place.as_str(), Sureness::Possible).because(finding_as_evidence(finding)))
}

fn in_config(findings: &[&Finding]) -> Option<Diagnosis> {
    let rules = [
        &config_rules::WEIGHTS_DIFFER,
        &config_rules::WEIGHTS_ONE_SIDED,
        &config_rules::WEIGHTS_PRECISION,
        &config_rules::DATASET_DIFFERS,
        &config_rules::DATASET_ONE_SIDED,
        &config_rules::DATASET_KIND,
        &config_rules::DIGEST_DIFFERS,
    ];
    diagnosis_from_findings(&CAUSE, Sureness::Likely, findings, &rules)
}
