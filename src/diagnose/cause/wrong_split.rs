//! A fused projection that is split wrongly: it agrees, but the queries, keys or values cut from it do not.

use super::super::context::{DumpContext, Suspect};
use super::super::entry::Cause;
use super::super::location::location;
use super::super::shard::{rank_list, wrong_ranks};
use super::missing_collective::module_of;
use crate::judge::dump::rules as dump_rules;
use crate::layout::placement::ModuleKind;
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};

pub(super) const CAUSE: Cause = Cause { in_dump, ..Cause::new("wrong-split") };

/// Projections that are fused of queries, keys and values.
const FUSED: [&str; 3] = ["linear_qkv", "query_key_value", "qkv_proj"];

fn in_dump(context: &DumpContext<'_>) -> Option<Diagnosis> {
    let suspect = context.suspect()?;
    let parts = context.input.candidate.parts.as_deref()?;
    let (fused, block) = fused_before(context, &suspect)?;
    let shards = context.folders.candidate.shards(&suspect.culprit.tensor);
    let wrong = location(context).and_then(|place| wrong_ranks(&shards, &place));
    let sureness = if wrong.is_some() { Sureness::Certain } else { Sureness::Likely };
    let all = || parts.ranks.get(&suspect.culprit.op).map(|ranks| rank_list(ranks.iter().copied()));
    let evidence = Statement::new("split-wrongly")
        .with("op", suspect.culprit.op.as_str())
        .with("fused", fused)
        .with("module", block)
        .with("holders", wrong.or_else(all).unwrap_or_default());
    Some(Diagnosis::new(&CAUSE, suspect.culprit.tensor.as_str(), sureness).because(evidence))
}

/// The fused projection of an attention whose input is the first value that differs, and the block that holds both.
pub(super) fn fused_before<'a>(context: &DumpContext<'a>, suspect: &Suspect<'_>) -> Option<(&'a str, String)> {
    let is_input = !suspect.is_result() && !suspect.is_backward();
    if !is_input || !suspect.has_finding_of(&[&dump_rules::INPUT_DIFFERS]) {
        return None;
    }
    let (module, class) = module_of(suspect)?;
    if ModuleKind::from_path(module, class) != ModuleKind::Attention {
        return None;
    }
    let (block, _) = module.rsplit_once('.')?;
    let is_fused = |name: &str| FUSED.iter().any(|fused| name.contains(&format!(".{block}.{fused}.")));
    // Everything before the first difference agrees.
    let before = context.input.comparison.operations.iter().take(suspect.order);
    let fused = before.filter_map(|operation| operation.pair.candidate()).find_map(|index| {
        context.input.candidate.operations.get(index).map(|operation| operation.name).filter(|name| is_fused(name))
    })?;
    Some((fused, block.to_owned()))
}
