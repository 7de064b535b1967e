//! Uses of names, and whether what they hold is sorted.

use super::file::File;
use crate::read::{Kind, NodeId};

/// Uses that are looked at; code that people write has fewer of one name.
const MOST_USES: usize = 1_000;

/// Uses of the name or `self.x` that a target assigns, in the scope or class that holds it.
pub(super) fn uses(file: &File<'_>, target: NodeId) -> Vec<NodeId> {
    let Some(key) = file.key(target) else { return Vec::new() };
    file.uses(&key).iter().copied().filter(|used| *used != target).take(MOST_USES).collect()
}

/// Whether what a target holds is sorted where it is in scope: `x.sort()`, `sorted(x)`.
pub(super) fn is_sorted_later(file: &File<'_>, target: NodeId) -> bool {
    uses(file, target).into_iter().any(|used| {
        let parent = file.tree.node(used).parent;
        match file.tree.kind(parent) {
            Kind::Attribute { name, .. } => &**name == "sort",
            Kind::Call { function, .. } => *function != used && is_sorting(file, *function),
            _ => false,
        }
    })
}

/// Whether a function gives its argument an order of its own.
pub(super) fn is_sorting(file: &File<'_>, function: NodeId) -> bool {
    matches!(file.tree.last_name(function), Some("sorted" | "natsorted" | "os_sorted" | "humansorted"))
}
