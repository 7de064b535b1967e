//! A lost update: on one side a parameter is unchanged since the previous step, while the other side moved it.

use super::super::context::DumpContext;
use super::super::entry::Cause;
use super::super::updates::{Update, Updates};
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};

pub(super) const CAUSE: Cause = Cause { in_dump, ..Cause::new("lost-update") };

fn in_dump(context: &DumpContext<'_>) -> Option<Diagnosis> {
    let suspect = context.suspect()?;
    let updates = Updates::from_suspect(context, &suspect)?;
    let side = updates.suspect_update()?.lost_side()?;
    let is_lost = |update: &Update| update.lost_side() == Some(side);
    let count = updates.all.iter().filter(|update| is_lost(update)).count();
    let moved =
        updates.all.iter().filter(|update| update.lost_side().is_none() && update.is_different().is_some()).count();
    let evidence = Statement::new("parameter-stayed")
        .with("side", side)
        .with("step", updates.since)
        .with("parameter", suspect.culprit.tensor.as_str());
    let all = Statement::new("parameters-stayed")
        .with("count", count)
        .with("moved", moved)
        .with("parameters", updates.names(is_lost));
    let diagnosis = Diagnosis::new(&CAUSE, suspect.culprit.tensor.as_str(), Sureness::Certain);
    let diagnosis = diagnosis.because(evidence).because(all);
    // Where every parameter stayed, the whole step was skipped.
    let gradients = context.before.map_or(0, |before| before.gradients.compared_values());
    let skipped = Statement::new("step-skipped").with("since", updates.since);
    let skipped = if gradients > 0 { skipped.with("compared", gradients) } else { skipped };
    Some(if moved == 0 { diagnosis.advise(skipped) } else { diagnosis })
}
