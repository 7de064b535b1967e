//! A tensor that is the baseline's times one factor, and that nothing dumped made: a factor applied twice, left out, or
//! another one.
//!
//! Results that are scaled are told by the formula of the operation that made them (`other-algorithm`).

use super::super::context::{DumpContext, is_weight};
use super::super::entry::Cause;
use super::super::evidence::MADE_BY_UNDUMPED;
use super::super::factor;
use super::input_differs::{call_before, is_in_graph};
use super::missing_operations;
use crate::judge::dump::rules as dump_rules;
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};

pub(super) const CAUSE: Cause = Cause { in_dump, ..Cause::new("scaled") };

fn in_dump(context: &DumpContext<'_>) -> Option<Diagnosis> {
    let suspect = context
        .suspect()
        .filter(|suspect| !suspect.is_result() && suspect.has_finding_of(&[&dump_rules::INPUT_DIFFERS]))?;
    let tolerance = (4.0 * suspect.limit()).clamp(1e-4, 0.01);
    let factor = factor::factor_of_value(context, &suspect.value, tolerance)?;
    let (record, _) = suspect.value.records()?;
    let evidence = Statement::new("tensor-scaled")
        .with("tensor", suspect.culprit.tensor.as_str())
        .with("factor", factor)
        .with("elements", record.elements());
    let diagnosis = Diagnosis::new(&CAUSE, suspect.culprit.tensor.as_str(), Sureness::Certain)
        .because(evidence)
        .because_all(factor::factor_meaning(factor, context, &suspect));
    if let Some(maker) = missing_operations::maker_on_one_side(context, &suspect) {
        return Some(diagnosis.because(maker).advise(Statement::new("operations-behind-gap")));
    }
    let is_made = !suspect.is_backward() && !is_weight(&suspect) && is_in_graph(&suspect);
    let Some(before) = call_before(context, &suspect).filter(|_| is_made) else { return Some(diagnosis) };
    let made = Statement::new(MADE_BY_UNDUMPED).with("before", before).with("op", suspect.culprit.op.as_str());
    Some(diagnosis.because(made).advise(Statement::new("scaled-by-undumped")))
}
