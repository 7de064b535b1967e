//! Checksums differ, and nothing says by how much: another order of summation, or anything else.
//!
//! An argument that the call writes in place may be summed while it is being written; identical runs show that too.

use super::super::context::DumpContext;
use super::super::entry::Cause;
use crate::judge::dump::rules as dump_rules;
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};

pub(super) const CAUSE: Cause = Cause { in_dump, is_last_resort: true, ..Cause::new("checksum-differs") };

fn in_dump(context: &DumpContext<'_>) -> Option<Diagnosis> {
    if let Some(suspect) = context.suspect().filter(|suspect| suspect.has_finding_of(&[&dump_rules::CHECKSUM_DIFFERS]))
    {
        let op = suspect.culprit.op.as_str();
        let code = if suspect.error().is_finite() { "checksum-beside-statistics" } else { "checksum-alone" };
        let evidence = Statement::new(code).with("op", op);
        return Some(Diagnosis::new(&CAUSE, suspect.culprit.tensor.as_str(), Sureness::Likely).because(evidence));
    }
    let finding =
        context.findings_of(&dump_rules::IN_PLACE_ARGUMENT).next().filter(|_| context.unit.culprit.is_none())?;
    let count = context.findings_of(&dump_rules::IN_PLACE_ARGUMENT).count();
    let evidence = Statement::new("checksum-in-place").with("count", count);
    let diagnosis = Diagnosis::new(&CAUSE, finding.place.as_str(), Sureness::Likely).because(evidence);
    Some(diagnosis.advise(Statement::new("checksum-in-place")))
}
