//! Element types differ: a cast that is missing or extra on one side.

use super::super::context::DumpContext;
use super::super::entry::Cause;
use crate::judge::dump::rules as dump_rules;
use crate::read::dump::name::OpName;
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};
use crate::result::finding::{Fact, Finding};

pub(super) const CAUSE: Cause = Cause { in_dump, is_last_resort: true, ..Cause::new("dtype-differs") };

fn in_dump(context: &DumpContext<'_>) -> Option<Diagnosis> {
    let suspect = context.suspect().filter(|suspect| suspect.has_finding_of(&[&dump_rules::DTYPE_DIFFERS]))?;
    let evidence = Statement::new("first-dtype").with("op", suspect.culprit.op.as_str());
    let diagnosis = Diagnosis::new(&CAUSE, suspect.culprit.tensor.as_str(), Sureness::Certain).because(evidence);
    Some(diagnosis.because_all(context.findings_of(&dump_rules::OPERATIONS_MISSING).find_map(missing_cast)))
}

/// A cast that only one side made.
fn missing_cast(finding: &Finding) -> Option<Statement> {
    const CASTS: [&str; 9] =
        ["to", "type", "half", "float", "double", "bfloat16", "type_as", "npu_dtype_cast", "_npu_dtype_cast"];
    let (Some(Fact::List(operations)), Some(Fact::Text(side))) =
        (finding.facts.get("operations"), finding.facts.get("side"))
    else {
        return None;
    };
    let is_cast = |name: &&String| CASTS.contains(&OpName::parse(name).function());
    let cast = operations.iter().find(is_cast)?;
    Some(Statement::new("cast-missing").with("op", cast.as_str()).with("side", side.as_str()))
}
