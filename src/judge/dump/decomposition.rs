//! Backward calls of which each side recorded a different node of the graph.
//!
//! A composite function runs several nodes of the graph backward, and only the last one is recorded. That node depends on the
//! backend (`scaled_dot_product_attention` by its formula or by one kernel, pooling in another layout). A gradient always has the
//! shape of its tensor. So if a backward call has a result of a shape that the other side lacks, while the input shapes are equal,
//! one side recorded an inner node, and the two results cannot be compared.

use crate::read::dump::{Leaf, Operation};

use super::item::is_input;

/// Whether the results of two backward calls are those of different nodes.
pub(super) fn is_other_node(baseline: Operation<'_>, candidate: Operation<'_>) -> bool {
    shapes(baseline, true) == shapes(candidate, true) && (has_own(baseline, candidate) || has_own(candidate, baseline))
}

/// Whether a result of `one` has a shape that no result of `other` has.
fn has_own(one: Operation<'_>, other: Operation<'_>) -> bool {
    let others = shapes(other, false);
    shapes(one, false).iter().any(|shape| !others.contains(shape)) && !others.is_empty()
}

/// Shapes of the tensors among an operation's inputs (`given`), or among its results.
fn shapes<'a>(operation: Operation<'a>, given: bool) -> Vec<&'a [u64]> {
    let of_kind = operation.leaves.iter().filter(|leaf| is_input(leaf.kind) == given);
    of_kind.filter_map(Leaf::record).map(|record| record.shape).collect()
}
