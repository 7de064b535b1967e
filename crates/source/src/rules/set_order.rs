//! `set-order`: the order of a set counts, and differs from process to process where it holds texts.

use super::file::File;
use super::hit::Hit;
use super::order::{is_sorted_later, uses};
use super::rule::{Family, SourceRule};
use crate::read::{Kind, NodeId};
use precision_gate_result::verdict::Severity;

pub(super) const RULE: SourceRule = SourceRule::new("set-order", Severity::Warn, Family::Comparability);

/// Functions that use the order of what they are given.
const ORDERED: &[&str] =
    &["enumerate", "zip", "shuffle", "sample", "choice", "choices", "permutation", "tensor", "array"];

pub(super) fn find(file: &File<'_>, hits: &mut Vec<Hit>) {
    for (id, function, arguments) in file.calls() {
        let Some(first) = file.positional(arguments, 0) else { continue };
        if !is_set(file, first, MOST_STEPS) {
            continue;
        }
        let is_ordered = if file.is_builtin(function, "enumerate") {
            !ignores_index(file, id)
        } else {
            let is_list = file.is_builtin(function, "list") || file.is_builtin(function, "tuple");
            is_list && (order_counts(file, id) || is_kept_in_order(file, id))
        };
        if is_ordered {
            hits.push(Hit::new(&RULE, id).wrapped(file, first, "sorted(", ")"));
        }
    }
}

/// Names and operations that are followed to a set.
const MOST_STEPS: usize = 8;
/// Values of one name that are looked at.
const MOST_VALUES: usize = 20;

/// Whether a value is a set whose order can differ: not one of numbers written out.
fn is_set(file: &File<'_>, id: NodeId, steps: usize) -> bool {
    let Some(steps) = steps.checked_sub(1) else { return false };
    match file.tree.kind(id) {
        Kind::Set(parts) => parts.iter().any(|part| file.number(*part).is_none()),
        Kind::Comprehension { is_set, .. } => *is_set,
        Kind::Call { function, arguments } => {
            let is_empty = arguments.is_empty();
            let is_made = file.is_builtin(*function, "set") || file.is_builtin(*function, "frozenset");
            let of_range = arguments.first().is_some_and(|argument| {
                file.call(argument.value).is_some_and(|(function, _)| file.is_builtin(function, "range"))
            });
            is_made && !is_empty && !of_range
        }
        Kind::Binary { left, right, .. } => is_set(file, *left, steps) || is_set(file, *right, steps),
        Kind::Name(_) => {
            let values = file.values(id);
            !values.is_empty()
                && values.len() <= MOST_VALUES
                && values.iter().all(|(_, value)| is_set(file, *value, steps))
        }
        _ => false,
    }
}

/// Whether a loop over `enumerate` passes its index over: `for _, x in enumerate(…)`.
fn ignores_index(file: &File<'_>, id: NodeId) -> bool {
    let parent = file.tree.node(id).parent;
    let target = match file.tree.kind(parent) {
        Kind::For { target, iterable, .. } if *iterable == id => Some(*target),
        Kind::Comprehension { loops, .. } => {
            loops.iter().find(|(_, iterable)| *iterable == id).map(|(target, _)| *target)
        }
        _ => None,
    };
    let Some(Kind::Tuple(parts)) = target.map(|target| file.tree.kind(target)) else { return false };
    matches!(parts.first().map(|first| file.tree.kind(*first)), Some(Kind::Name(name)) if &**name == "_")
}

/// Whether a use of a list is one of its order.
fn order_counts(file: &File<'_>, id: NodeId) -> bool {
    let parent = file.tree.node(id).parent;
    match file.tree.kind(parent) {
        Kind::Call { function, .. } if *function != id => {
            let is_ordered = file.tree.last_name(*function).is_some_and(|name| ORDERED.contains(&name));
            is_ordered && !(file.is_builtin(*function, "enumerate") && ignores_index(file, parent))
        }
        Kind::Subscript { value, index } => *value == id && matches!(file.tree.kind(*index), Kind::Slice),
        Kind::Attribute { name, .. } => &**name == "index",
        _ => false,
    }
}

/// Whether a list is kept under a name whose order is used, or as part of a dataset.
fn is_kept_in_order(file: &File<'_>, id: NodeId) -> bool {
    let parent = file.tree.node(id).parent;
    let Some((_, target, _)) = file.assignments_of(parent).into_iter().find(|(_, _, value)| *value == id) else {
        return false;
    };
    if is_sorted_later(file, target) {
        return false;
    }
    match file.tree.kind(target) {
        Kind::Name(_) => uses(file, target).into_iter().any(|used| order_counts(file, used)),
        Kind::Attribute { .. } => {
            let is_self = file.key(target).is_some();
            is_self && file.class(target).is_some_and(|class| file.is_dataset(class))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::lines;

    #[test]
    fn uses_of_the_order_are_found() {
        let code = "\
import random, torch
a = {c: i for i, c in enumerate(set(text))}
b = list(set(text))
for i, c in enumerate(b): pass
random.shuffle(list(set(text)))
c = list(set(text))[:10]
d = torch.tensor(list({f(x) for x in y}))
e = tuple(set(a) - set(b)).index(x)
s = set(text)
f = list(enumerate(s))
class D(Dataset):
    def __init__(self):
        self.x = list(set(rows))
";
        assert_eq!(lines("set-order", code), [2, 3, 5, 6, 7, 8, 10, 13]);
    }

    #[test]
    fn sorted_counted_and_searched_sets_are_silent() {
        let code = "\
a = {c: i for i, c in enumerate(sorted(set(text)))}
b = list(set(text))
for c in b: pass
n = len(list(set(text)))
c = list(set(text))
c.sort()
for i, x in enumerate(c): pass
for _, x in enumerate(set(text)): pass
d = list(set(text))[0]
e = x in list(set(text))
f = list(enumerate({1, 2, 3}))
class M:
    def __init__(self):
        self.x = list(set(rows))
";
        assert!(lines("set-order", code).is_empty());
    }
}
