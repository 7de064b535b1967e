//! A missing collective: a value that should be a sum over ranks is only one part of it.
//!
//! Ranks of a group hold the same values after an all-reduce. Where they do not, or where such a value is far off
//! although all inputs agree, the sum did not take place.

use super::super::context::{DumpContext, Suspect};
use super::super::entry::Cause;
use super::super::fingerprint::is_same_data;
use super::super::shard::rank_list;
use crate::judge::monitor::copies::is_behind_sum;
use crate::judge::run::rules;
use crate::kind::TensorKind;
use crate::layout::placement::{ModuleKind, Placement, ValueRole};
use crate::read::dump::AssembledParts;
use crate::read::dump::name::Direction;
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};

pub(super) const CAUSE: Cause =
    Cause { in_dump, shown_by: &[&rules::REPLICAS_DIFFER], in_run: is_behind_sum, ..Cause::new("missing-collective") };

/// Error that no kernel makes with inputs that agree; a part of a sum is this far from the sum.
const FAR: f64 = 0.05;

fn in_dump(context: &DumpContext<'_>) -> Option<Diagnosis> {
    let suspect = context.suspect()?;
    let place = suspect.culprit.tensor.as_str();
    let parts = context.input.candidate.parts.as_deref();
    let (evidence, sureness) = parts
        .and_then(|parts| {
            of_copies(parts, &suspect).or_else(|| of_loss(parts, &suspect)).or_else(|| of_sum(parts, &suspect))
        })
        .or_else(|| of_peers(context, &suspect))?;
    Some(Diagnosis::new(&CAUSE, place, sureness).because(evidence))
}

type Found = (Statement, Sureness);

/// Ranks of one group hold different values where each should hold the sum.
fn of_copies(parts: &AssembledParts, suspect: &Suspect<'_>) -> Option<Found> {
    let is_it = |row: &str| suspect.culprit.tensor == row && suspect.is_result();
    let differing = parts.differing.iter().find(|differing| is_it(&differing.row))?;
    is_summed(suspect).then(|| (rank_statement("copies-behind-sum", suspect, &differing.ranks), Sureness::Certain))
}

/// The loss, which all ranks of a group compute, is another on each; its first gradient differs.
fn of_loss(parts: &AssembledParts, suspect: &Suspect<'_>) -> Option<Found> {
    let ranks = parts.differing_loss.as_ref().filter(|_| suspect.is_backward() && !suspect.is_result())?;
    Some((rank_statement("loss-differs-between-ranks", suspect, ranks), Sureness::Certain))
}

/// A value after a sum over the ranks of one group is far off, although its inputs agree.
fn of_sum(parts: &AssembledParts, suspect: &Suspect<'_>) -> Option<Found> {
    let is_far = suspect.is_result() && suspect.error() >= FAR && is_summed(suspect) && parts.layout.tp > 1;
    let ranks = parts.ranks.get(suspect.culprit.op.as_str()).filter(|_| is_far)?;
    Some((rank_statement("far-behind-sum", suspect, ranks), Sureness::Likely))
}

/// The other ranks hold the same value on the baseline, and others on the candidate.
fn of_peers(context: &DumpContext<'_>, suspect: &Suspect<'_>) -> Option<Found> {
    let (baseline, candidate) = suspect.value.records().filter(|_| suspect.is_result() && is_summed(suspect))?;
    let mut ranks: Vec<u64> = suspect.culprit.rank.into_iter().collect();
    let mut is_other = false;
    for peer in context.peers {
        let value = peer.values()?.find(|both| both.candidate.row == *suspect.culprit.tensor)?;
        let (peer_baseline, peer_candidate) = value.records()?;
        if !is_same_data(&peer_baseline, &baseline) {
            return None;
        }
        is_other |= !is_same_data(&peer_candidate, &candidate);
        ranks.extend(peer.rank);
    }
    ranks.sort_unstable();
    is_other.then(|| (rank_statement("copies-behind-sum", suspect, &ranks), Sureness::Certain))
}

fn rank_statement(code: &'static str, suspect: &Suspect<'_>, ranks: &[u64]) -> Statement {
    let module = module_of(suspect).map_or(suspect.culprit.op.as_str(), |(path, _)| path);
    let statement =
        Statement::new(code).with("op", suspect.culprit.op.as_str()).with("holders", rank_list(ranks.iter().copied()));
    statement.with("module", module).with("backward", u64::from(suspect.is_backward()))
}

/// Whether a module's value follows a sum over the ranks of a group: the output of a layer whose inputs are split, or
/// the input gradient of a layer whose outputs are split.
fn is_summed(suspect: &Suspect<'_>) -> bool {
    let Some((path, class)) = module_of(suspect) else { return false };
    let kind = ModuleKind::from_path(path, class);
    let role = match (suspect.value.kind, suspect.name.direction) {
        (TensorKind::Output, Some(Direction::Forward)) => ValueRole::Output,
        (TensorKind::Output, Some(Direction::Backward)) => ValueRole::Input,
        _ => return false,
    };
    let is_reduced = matches!(
        (kind, role),
        (ModuleKind::Row | ModuleKind::Embedding, ValueRole::Output) | (ModuleKind::Column, ValueRole::Input)
    );
    is_reduced && kind.place(role, false) == Placement::Whole
}

/// Path and class of the module that the suspect is an operation of.
pub(super) fn module_of<'a>(suspect: &'a Suspect<'_>) -> Option<(&'a str, &'a str)> {
    suspect.is_module().then(|| suspect.name.base.split_once('.')).flatten()?.1.rsplit_once('.')
}
