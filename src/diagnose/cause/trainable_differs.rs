//! A parameter that one run trains and the other one does not.

use super::super::context::DumpContext;
use super::super::entry::Cause;
use crate::judge::dump::rules as dump_rules;
use crate::kind::TensorKind;
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};

pub(super) const CAUSE: Cause = Cause { in_dump, ..Cause::new("trainable-differs") };

fn in_dump(context: &DumpContext<'_>) -> Option<Diagnosis> {
    let suspect = context.suspect()?;
    if suspect.value.kind != TensorKind::Parameter || !suspect.has_finding_of(&[&dump_rules::REQUIRES_GRAD_DIFFERS]) {
        return None;
    }
    let trains = suspect.value.candidate.record().and_then(|record| record.requires_grad)?;
    let side = if trains { "candidate" } else { "baseline" };
    let place = suspect.culprit.tensor.as_str();
    let evidence = Statement::new("trainable-on").with("side", side).with("parameter", place);
    Some(Diagnosis::new(&CAUSE, place, Sureness::Certain).because(evidence))
}
