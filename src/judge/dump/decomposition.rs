//! Backward calls that recorded another node of the graph.
//!
//! A composite function runs several nodes of the graph backward, and the last of them is what is recorded. Which one that is
//! depends on the backend (`scaled_dot_product_attention` by its formula or by one kernel, pooling in another layout). The
//! gradient of a tensor has the tensor's shape, and autograd refuses any other: where a backward call has a result of a shape
//! that the other side does not have, while both were given the same, one of them recorded an inner node, and the two cannot be
//! compared.

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

/// Shapes of the tensors that an operation was given, or made.
fn shapes<'a>(operation: Operation<'a>, given: bool) -> Vec<&'a [u64]> {
    let of_kind = operation.leaves.iter().filter(|leaf| is_input(leaf.kind) == given);
    of_kind.filter_map(Leaf::record).map(|record| record.shape).collect()
}
