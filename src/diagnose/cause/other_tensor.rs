//! Another tensor: an input or result of the candidate has the values of another tensor of the same shape.
//!
//! An input is searched among the baseline's tensors of this rank and the same input of other ranks; a result is
//! searched among the candidate's own earlier values, as in a buffer that was not written.

use super::super::context::is_weight;
use super::super::context::{DumpContext, Suspect};
use super::super::entry::Cause;
use super::super::fingerprint::{is_distinctive, is_same_data};
use super::super::value_pair::operations_of;
use crate::judge::dump::rules as dump_rules;
use crate::kind::TensorKind;
use crate::read::dump::name::OpName;
use crate::read::dump::{Leaf, TensorRecord};
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};

pub(super) const CAUSE: Cause = Cause { in_dump, ..Cause::new("other-tensor") };

fn in_dump(context: &DumpContext<'_>) -> Option<Diagnosis> {
    let suspect = context.suspect()?;
    // Weights have their own cause for this.
    if !suspect.is_result() && is_weight(&suspect) {
        return None;
    }
    let evidence = values_of_another(context, &suspect)?;
    let diagnosis = Diagnosis::new(&CAUSE, suspect.culprit.tensor.as_str(), Sureness::Certain).because_all(evidence);
    Some(if suspect.is_result() { diagnosis.advise(Statement::new("stale-result")) } else { diagnosis })
}

/// Evidence that the candidate's value is another tensor's.
pub(super) fn values_of_another(context: &DumpContext<'_>, suspect: &Suspect<'_>) -> Option<Vec<Statement>> {
    let rules = [
        &dump_rules::INPUT_DIFFERS,
        &dump_rules::OUTPUT_DIVERGES,
        &dump_rules::OTHER_PRECISION,
        &dump_rules::CHECKSUM_DIFFERS,
    ];
    let (baseline, candidate) = suspect.value.records().filter(|_| suspect.has_finding_of(&rules))?;
    if !is_distinctive(&candidate) || is_same_data(&baseline, &candidate) {
        return None;
    }
    if suspect.is_result() {
        // A module's result was made by a call inside it.
        if suspect.is_module() {
            return None;
        }
        return earlier_result(context, suspect, &candidate).map(|statement| vec![statement]);
    }
    of_other_rank(context, suspect, &candidate).or_else(|| in_baseline(context, suspect, &candidate))
}

/// The same input of another rank, on the baseline.
fn of_other_rank(
    context: &DumpContext<'_>,
    suspect: &Suspect<'_>,
    candidate: &TensorRecord<'_>,
) -> Option<Vec<Statement>> {
    let (baseline, _) = suspect.value.records()?;
    context.peers.iter().find_map(|peer| {
        let value = peer.values()?.find(|both| both.candidate.row == *suspect.culprit.tensor)?;
        let (peer_baseline, peer_candidate) = value.records()?;
        is_same_data(&peer_baseline, candidate).then(|| {
            let found = Statement::new("tensor-of-rank")
                .with("tensor", suspect.culprit.tensor.as_str())
                .with("rank", peer.rank.unwrap_or_default())
                .with("own", context.input.rank.unwrap_or_default());
            let is_exchanged = is_same_data(&peer_candidate, &baseline);
            std::iter::once(found).chain(is_exchanged.then(|| Statement::new("tensors-exchanged"))).collect()
        })
    })
}

/// Another tensor of the baseline's dump.
fn in_baseline(
    context: &DumpContext<'_>,
    suspect: &Suspect<'_>,
    candidate: &TensorRecord<'_>,
) -> Option<Vec<Statement>> {
    let is_it = |leaf: &Leaf<'_>| {
        leaf.row != *suspect.culprit.tensor && leaf.record().is_some_and(|record| is_same_data(&record, candidate))
    };
    // A module's parameter names its layer, which a call of `linear` does not.
    let rank = |leaf: &Leaf<'_>| match leaf.kind {
        TensorKind::Parameter => 0,
        TensorKind::Input => 1,
        _ => 2,
    };
    let row = context.input.baseline.operations.leaves().filter(is_it).min_by_key(rank)?.row.to_string();
    let found =
        Statement::new("tensor-elsewhere").with("tensor", suspect.culprit.tensor.as_str()).with("other", row.as_str());
    let found = match module_of_parameter(&row) {
        Some(module) => found.with("other_module", module),
        None => found,
    };
    let exchanged = is_exchanged(context, suspect, &row).then(|| Statement::new("tensors-exchanged"));
    Some(std::iter::once(found).chain(exchanged).collect())
}

/// The path of the module whose parameter a row is, such as `layers.1.mlp.down_proj`.
fn module_of_parameter(row: &str) -> Option<String> {
    let (module, _) = row.split_once(".parameters.")?;
    OpName::parse(module).module_path().map(str::to_owned)
}

/// Whether the candidate has at `row` what the baseline has here.
fn is_exchanged(context: &DumpContext<'_>, suspect: &Suspect<'_>, row: &str) -> bool {
    let there =
        context.input.candidate.operations.leaves().find(|leaf| leaf.row == *row).and_then(|leaf| leaf.record());
    there.zip(suspect.value.baseline.record()).is_some_and(|(there, baseline)| is_same_data(&there, &baseline))
}

/// A tensor that the candidate had before the call, where the baseline's results differ.
fn earlier_result(context: &DumpContext<'_>, suspect: &Suspect<'_>, candidate: &TensorRecord<'_>) -> Option<Statement> {
    let baseline = suspect.value.baseline.record()?;
    // An input that comes back unchanged means that the operation was skipped, not that this is another tensor.
    let is_own_input =
        suspect.inputs().filter_map(|both| both.candidate.record()).any(|record| is_same_data(&record, candidate));
    let earlier = context.input.comparison.operations.iter().take(suspect.order).rev().filter(|_| !is_own_input);
    let pairs = earlier.filter_map(|comparison| operations_of(context.input, comparison));
    let row = pairs.flat_map(|(b, c)| b.leaves.iter().zip(c.leaves.iter())).find_map(|(b, c)| {
        let is_it = c.kind == TensorKind::Output && c.record().is_some_and(|record| is_same_data(&record, candidate));
        let is_new = is_it && b.record().is_some_and(|record| !is_same_data(&record, &baseline));
        is_new.then(|| c.row.to_string()).filter(|row| b.row == **row)
    })?;
    Some(Statement::new("result-of-earlier").with("tensor", suspect.culprit.tensor.as_str()).with("other", row))
}
