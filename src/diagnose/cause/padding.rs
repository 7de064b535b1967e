//! Padding that counts: the numbers beyond the vocabulary take part in the loss.
//!
//! The vocabulary is padded to a multiple of the ranks that share it, so different layouts pad it differently. The
//! logits that both sides have agree, but the gradient that comes back to them does not.

use super::super::context::DumpContext;
use super::super::entry::Cause;
use super::super::evidence::names_cause;
use crate::judge::tokens::rules::DIVERGE;
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};

pub(super) const CAUSE: Cause = Cause {
    in_dump,
    shown_by: &[&DIVERGE],
    in_run: |finding| names_cause(finding, "padding"),
    run_advice: "padding-in-tokens",
    ..Cause::new("padding")
};

fn in_dump(context: &DumpContext<'_>) -> Option<Diagnosis> {
    let suspect = context.suspect().filter(|suspect| suspect.is_backward())?;
    let parts = context.input.candidate.parts.as_deref().filter(|parts| parts.plan.is_padded)?;
    // The first operation of the backward pass that can be compared.
    let operations = context.input.candidate.operations.iter();
    let backward = operations.map(|operation| operation.name).find(|name| name.contains(".backward."))?;
    let is_first = suspect.culprit.op == backward || suspect.culprit.op.contains(".output_layer.");
    let evidence = Statement::new("vocabulary-padded")
        .with("op", suspect.culprit.op.as_str())
        .with("tp", u64::from(parts.layout.tp));
    is_first.then(|| Diagnosis::new(&CAUSE, suspect.culprit.tensor.as_str(), Sureness::Likely).because(evidence))
}
