//! One dropout mask on several ranks: each should draw for the heads that it alone holds.
//!
//! Attention over the heads of several ranks is wrong throughout the parts of some ranks, although all inputs agree
//! element by element; recorded calls may show the mask that these ranks share.

use super::super::context::{DumpContext, Suspect};
use super::super::entry::Cause;
use super::super::location::location;
use super::super::shard::{fills_shards, rank_list, wrong_ranks};
use super::missing_collective::module_of;
use crate::judge::dump::rules as dump_rules;
use crate::layout::placement::ModuleKind;
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};

pub(super) const CAUSE: Cause = Cause { in_dump, ..Cause::new("same-mask") };

fn in_dump(context: &DumpContext<'_>) -> Option<Diagnosis> {
    let suspect = context.suspect().filter(|suspect| Suspect::is_result(suspect) && !suspect.is_backward())?;
    let parts =
        context.input.candidate.parts.as_deref().filter(|_| suspect.has_finding_of(&[&dump_rules::OUTPUT_DIVERGES]))?;
    let (module, class) = module_of(&suspect)?;
    if !matches!(ModuleKind::from_path(module, class), ModuleKind::Attention | ModuleKind::Scores) {
        return None;
    }
    let shards = context.folders.candidate.shards(&suspect.culprit.tensor);
    let place = location(context)?;
    if !fills_shards(&shards, &place) {
        return None;
    }
    let ranks = wrong_ranks(&shards, &place)?;
    let part = Statement::new("rank-part-wrong").with("op", suspect.culprit.op.as_str()).with("holders", ranks);
    let shared = parts.shared_mask.as_ref().map(|mask| {
        let all = rank_list(mask.ranks.iter().copied());
        Statement::new("mask-shared").with("tensor", mask.row.as_str()).with("holders", all)
    });
    let sureness = if shared.is_some() { Sureness::Certain } else { Sureness::Possible };
    let diagnosis = Diagnosis::new(&CAUSE, suspect.culprit.tensor.as_str(), sureness);
    Some(diagnosis.because(part.with("module", module)).because_all(shared))
}
