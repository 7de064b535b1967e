//! An argument of the call differs, or whether a gradient is required: the two programs call differently.

use super::super::context::Context;
use super::super::{Diagnosis, Statement, Sureness};
use super::Cause;

pub(super) const CAUSE: Cause = Cause { in_dump, is_last_resort: true, ..Cause::new("argument-differs") };

fn in_dump(context: &Context<'_>) -> Option<Diagnosis> {
    let suspect = context.suspect().filter(|suspect| suspect.is(&["argument-differs", "requires-grad-differs"]))?;
    let evidence = Statement::new("first-argument").with("op", suspect.culprit.op.as_str());
    Some(Diagnosis::new(&CAUSE, suspect.culprit.tensor.as_str(), Sureness::Certain).because(evidence))
}
