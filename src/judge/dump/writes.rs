//! Destinations of writes.
//!
//! The tensor that a call writes into holds what was there before: where nothing dumped made it, that is uninitialised
//! memory (`torch.empty`, a receive buffer), and its values say nothing.

use super::item::Item;
use crate::kind::TensorKind;
use crate::read::dump::name::{Direction, OpName};

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
pub(super) fn is_destination(item: &Item<'_>, name: &OpName) -> bool {
    if name.direction != Some(Direction::Forward) || item.kind != TensorKind::Input {
        return false;
    }
    let row = item.row_below_operation();
    let is_first = row.contains(".input.0") || row.ends_with(".self");
    let is_out = row.contains(".input.out") || row.contains(".kwargs.out");
    is_out || is_first && (WRITERS.contains(&name.api()) || RECEIVERS.contains(&name.api().trim_start_matches('_')))
}
