//! Shapes differ, and nothing before explains that: another batch, sequence length or parallel layout.

use super::super::context::DumpContext;
use super::super::entry::Cause;
use crate::judge::dump::rules as dump_rules;
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};

pub(super) const CAUSE: Cause = Cause { in_dump, is_last_resort: true, ..Cause::new("shape-differs") };

fn in_dump(context: &DumpContext<'_>) -> Option<Diagnosis> {
    let suspect = context.suspect().filter(|suspect| suspect.has_finding_of(&[&dump_rules::SHAPE_DIFFERS]))?;
    let evidence = Statement::new("first-shape").with("op", suspect.culprit.op.as_str());
    Some(Diagnosis::new(&CAUSE, suspect.culprit.tensor.as_str(), Sureness::Certain).because(evidence))
}
