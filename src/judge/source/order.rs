//! Uses of names, and whether what they hold is sorted.

use super::file::File;
use crate::read::source::{Kind, NodeId};

/// Uses of the name or `self.x` that a target assigns, in the scope or class that holds it.
pub(super) fn uses(file: &File<'_>, target: NodeId) -> Vec<NodeId> {
    let Some(key) = file.key(target) else { return Vec::new() };
    let (scope, name) = &key;
    let is_same = |id: &NodeId| {
        let used = match file.tree.kind(*id) {
            Kind::Name(found) => **found == **name && reaches(file, *id, *scope, name),
            Kind::Attribute { .. } => file.key(*id).as_ref() == Some(&key),
            _ => false,
        };
        used && *id != target
    };
    file.tree.within(*scope).filter(is_same).collect()
}

/// Whether a name at a place is the one that `scope` binds.
fn reaches(file: &File<'_>, id: NodeId, scope: NodeId, name: &str) -> bool {
    let mut inner = file.scope(id);
    while inner != scope {
        let outer = file.scope(inner);
        if file.binds(inner, name) || outer == inner || inner == NodeId::ROOT {
            return false;
        }
        inner = outer;
    }
    true
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
