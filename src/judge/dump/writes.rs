//! Destinations of writes.
//!
//! The record of a tensor that a call writes into shows its old content. If no dumped operation made that content, it is
//! uninitialised memory (`torch.empty`, a receive buffer), and its values mean nothing.

use rayon::prelude::*;

use super::item::{Item, is_input};
use super::limits::AMPLIFICATION;
use crate::compare::dump::{OperationComparison, UnitComparison};
use crate::hash::{Hashes, hash_of};
use crate::kind::TensorKind;
use crate::read::dump::name::{Direction, OpName};
use crate::read::dump::{Dump, Leaf, Operation};

/// Calls that write to their first argument and read nothing of it.
const WRITERS: [&str; 22] = [
    "__setitem__",
    "copy_",
    "fill_",
    "zero_",
    "uniform_",
    "normal_",
    "random_",
    "index_add_",
    "index_copy_",
    "index_fill_",
    "index_put_",
    "scatter_",
    "scatter_add_",
    "scatter_reduce_",
    "masked_scatter_",
    "empty_like",
    "zeros_like",
    "ones_like",
    "full_like",
    "rand_like",
    "randn_like",
    "recv",
];

/// Collectives whose first argument receives what other ranks send.
const RECEIVERS: [&str; 7] =
    ["irecv", "all_gather", "all_gather_into_tensor", "all_to_all", "all_to_all_single", "reduce_scatter", "gather"];

/// Whether an input is only written to.
pub(super) fn is_destination(item: &Item<'_>, name: &OpName<'_>) -> bool {
    is_written(item.row_below_operation(), item.kind, name)
}

fn is_written(row: &str, kind: TensorKind, name: &OpName<'_>) -> bool {
    is_filled(row, kind, name) || is_forward_input(kind, name) && is_first(row) && WRITERS.contains(&name.api())
}

/// Whether an input is written as a whole: by a collective, or as the `out` argument of a call.
fn is_filled(row: &str, kind: TensorKind, name: &OpName<'_>) -> bool {
    let is_out = || row.contains(".input.out") || row.contains(".kwargs.out");
    let is_received = || is_first(row) && RECEIVERS.contains(&name.api().trim_start_matches('_'));
    is_forward_input(kind, name) && (is_out() || is_received())
}

fn is_forward_input(kind: TensorKind, name: &OpName<'_>) -> bool {
    name.direction == Some(Direction::Forward) && kind == TensorKind::Input
}

fn is_first(row: &str) -> bool {
    row.contains(".input.0") || row.ends_with(".self")
}

/// Whether the input of a call that writes in place was recorded after the write on one side and before it on the other; recorders
/// of modules differ in that. On one side the input equals the output then, and the outputs agree better than the inputs.
pub(super) fn is_recorded_after(item: &Item<'_>, items: &[Item<'_>], name: &OpName<'_>) -> bool {
    let Some(given) = item.measurement().filter(|measured| !measured.is_equal) else { return false };
    // An output that is off as well is judged by itself.
    let is_nearer = |output: &Item<'_>| {
        output.measurement().is_some_and(|made| made.exact.is_none() && AMPLIFICATION * made.error <= given.error)
    };
    let is_one_sided = |output: &Item<'_>| {
        let [baseline, candidate] = item.is_same_as(output);
        baseline != candidate
    };
    name.direction == Some(Direction::Forward)
        && item.kind == TensorKind::Input
        && items.iter().any(|other| other.kind == TensorKind::Output && is_nearer(other) && is_one_sided(other))
}

/// Calls that show a part or another shape of a tensor, and compute nothing.
const VIEWS: [&str; 12] = [
    "narrow",
    "view",
    "view_as",
    "reshape",
    "chunk",
    "split",
    "split_with_sizes",
    "unbind",
    "select",
    "flatten",
    "as_strided",
    "__getitem__",
];

/// Most operations between a view of a buffer and the call that fills it: one for each part that a rank holds.
const FILLED_WITHIN: usize = 16;

/// Hashes of the names of calls that show a buffer before it is filled: views of unwritten memory that a later collective writes as
/// a whole.
pub(super) fn unfilled_views(unit: &UnitComparison, baseline: &Dump, candidate: &Dump) -> Hashes {
    let of_both = |one: &OperationComparison| match one.operations(baseline, candidate) {
        (Some(_), Some(candidate)) => Some(candidate),
        _ => None,
    };
    let is_filled_by = |later: &Operation<'_>, shape: &[u64]| {
        let name = OpName::parse(later.name);
        let is_whole = |leaf: &Leaf<'_>| leaf.record().is_some_and(|record| record.shape == shape);
        later.leaves.iter().any(|leaf| is_filled(leaf.row.below_operation(), leaf.kind, &name) && is_whole(&leaf))
    };
    let unfilled = |at: usize| {
        let view = of_both(unit.operations.get(at)?).filter(|one| VIEWS.contains(&OpName::parse(one.name).api()))?;
        let shown = view.leaves.iter().find(|leaf| is_input(leaf.kind)).and_then(Leaf::record)?;
        let mut later = unit.operations.iter().skip(at + 1).take(FILLED_WITHIN).filter_map(of_both);
        let is_unfilled = shown.requires_grad != Some(true) && later.any(|later| is_filled_by(&later, shown.shape));
        is_unfilled.then(|| hash_of(view.name))
    };
    let unfilled: Vec<u64> = (0..unit.operations.len()).into_par_iter().filter_map(unfilled).collect();
    unfilled.into_iter().collect()
}
