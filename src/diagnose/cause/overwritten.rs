//! A tensor that was overwritten: it was right where it was made or first used, and holds other values where it is used
//! again, without a dumped write in between.

use super::super::context::DumpContext;
use super::super::entry::Cause;
use super::super::fingerprint::{is_distinctive, is_same_data};
use super::super::value_pair::{operations_of, values_of};
use crate::judge::dump::rules as dump_rules;
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};

pub(super) const CAUSE: Cause = Cause { in_dump, ..Cause::new("overwritten") };

fn in_dump(context: &DumpContext<'_>) -> Option<Diagnosis> {
    let suspect = context
        .suspect()
        .filter(|suspect| !suspect.is_result() && suspect.has_finding_of(&[&dump_rules::INPUT_DIFFERS]))?;
    let (baseline, candidate) = suspect.value.records()?;
    if suspect.is_backward() || !is_distinctive(&baseline) || is_same_data(&baseline, &candidate) {
        return None;
    }
    let trace = context.trace();
    let earlier = trace.last_before(&baseline, suspect.order)?;
    let comparison = context.input.comparison.operations.get(earlier.order)?;
    let (baseline_operation, candidate_operation) = operations_of(context.input, comparison)?;
    let same = values_of(comparison, baseline_operation, candidate_operation)
        .find(|both| both.baseline.row.to_string() == earlier.leaf.row.to_string())?;
    let agreed = same.measured().is_some_and(|measured| measured.is_equal);
    if !agreed {
        return None;
    }
    let evidence = Statement::new("changed-since")
        .with("tensor", suspect.culprit.tensor.as_str())
        .with("earlier", same.candidate.row.to_string())
        .with("error", suspect.error());
    Some(Diagnosis::new(&CAUSE, suspect.culprit.tensor.as_str(), Sureness::Likely).because(evidence))
}
