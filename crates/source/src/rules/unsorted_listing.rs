//! `unsorted-listing`: files of a dataset in the order of the file system.

use super::file::File;
use super::hit::Hit;
use super::order::{is_sorted_later, is_sorting};
use super::rule::{Family, SourceRule};
use crate::read::tree::Comparison;
use crate::read::words::has_word;
use crate::read::{Kind, NodeId};
use precision_gate_result::verdict::Severity;

pub(super) const RULE: SourceRule = SourceRule::new("unsorted-listing", Severity::Warn, Family::Comparability);

const LISTS: &[&str] = &["os.listdir", "os.scandir", "glob.glob", "glob.iglob"];
/// Methods of a path.
const METHODS: &[&str] = &["glob", "iterdir", "rglob"];
/// Functions whose answer does not depend on an order.
const ORDERLESS: &[&str] = &["set", "frozenset", "len", "any", "all", "sum", "max", "min", "Counter", "bool"];

pub(super) fn find(file: &File<'_>, hits: &mut Vec<Hit>) {
    for (id, function, _) in file.calls() {
        let is_method = || {
            file.method(id).is_some_and(|(_, name, _)| METHODS.contains(&name)) && file.full_name(function).is_none()
        };
        if !(file.is_any(function, LISTS) || is_method()) || !is_of_dataset(file, id) {
            continue;
        }
        if is_kept(file, id) {
            hits.push(Hit::new(&RULE, id).wrapped(file, id, "sorted(", ")"));
        }
    }
}

fn is_of_dataset(file: &File<'_>, id: NodeId) -> bool {
    let in_function = file.tree.enclosing(id).any(|(outer, _)| {
        matches!(file.tree.kind(outer), Kind::Function { name, .. } if has_word(name, &["dataset", "datasets"]))
    });
    in_function || file.class(id).is_some_and(|class| file.is_dataset(class))
}

/// Operations and calls around a listing that are looked at.
const MOST_STEPS: usize = 20;

/// Whether a listing is kept or looped over in its own order.
fn is_kept(file: &File<'_>, id: NodeId) -> bool {
    for (outer, inner) in file.tree.around(id).take(MOST_STEPS) {
        match file.tree.kind(outer) {
            Kind::Call { function, .. } if *function == inner => return false,
            Kind::Call { function, .. } => {
                let is_list = ["list", "tuple", "enumerate", "filter", "map", "reversed", "zip"];
                let name = file.tree.last_name(*function).unwrap_or_default();
                if is_sorting(file, *function) || ORDERLESS.contains(&name) || !is_list.contains(&name) {
                    return false;
                }
            }
            Kind::Comprehension { is_set: true, .. } => return false,
            Kind::Comprehension { .. } | Kind::Binary { .. } | Kind::List(_) | Kind::Tuple(_) | Kind::Other => {}
            Kind::Conditional { test, .. } if *test != inner => {}
            Kind::Compare { comparisons, .. } if comparisons.contains(&Comparison::In) => return false,
            Kind::Assign { .. } | Kind::Named { .. } => {
                let targets = file.assignments_of(outer);
                return !targets.iter().any(|(_, target, _)| is_sorted_later(file, *target));
            }
            Kind::AugmentedAssign { target, .. } => return !is_sorted_later(file, *target),
            Kind::For { iterable, body, .. } => return *iterable == inner && !is_gathered_sorted(file, body),
            _ => return false,
        }
    }
    false
}

/// Whether all that a loop adds to is sorted afterwards.
fn is_gathered_sorted(file: &File<'_>, body: &[NodeId]) -> bool {
    let nodes = body.iter().flat_map(|statement| file.tree.within(*statement));
    let added = nodes.filter_map(|id| match file.tree.kind(id) {
        Kind::AugmentedAssign { target, .. } => Some(*target),
        _ => match file.method(id) {
            Some((value, "append" | "extend" | "insert", _)) => Some(value),
            // What a set takes has no order.
            _ => None,
        },
    });
    added.into_iter().any(|target| is_sorted_later(file, target))
}

#[cfg(test)]
mod tests {
    use super::super::testing::lines;

    #[test]
    fn listings_of_datasets_are_found() {
        let code = "\
import glob, os
from pathlib import Path
class Folder(torch.utils.data.Dataset):
    def __init__(self, root):
        self.a = os.listdir(root)
        self.b = [f for f in os.scandir(root)]
        self.c = list(Path(root).rglob('*.png'))
        for f in glob.glob(root + '/*'):
            self.d.append(f)
        self.e = os.listdir(root) + os.listdir(root)
class Rows:
    def __getitem__(self, i): pass
    def load(self):
        files = glob.iglob('*')
def make_dataset(root):
    for f in Path(root).iterdir():
        yield f
";
        assert_eq!(lines("unsorted-listing", code), [5, 6, 7, 8, 10, 14, 16]);
    }

    #[test]
    fn sorted_counted_and_other_listings_are_silent() {
        let code = "\
import os
class Folder(Dataset):
    def __init__(self, root):
        self.a = sorted(os.listdir(root))
        self.b = sorted(f for f in os.listdir(root))
        self.c = len(os.listdir(root))
        self.d = [f for f in os.listdir(root)]
        self.d.sort()
        files = os.listdir(root)
        self.e = sorted(files)
        self.f = set(os.listdir(root))
        if 'x' in os.listdir(root): pass
        for f in os.listdir(root):
            self.g.append(f)
        self.g.sort()
        if any(f for f in os.listdir(root)): pass
def clean(root):
    files = os.listdir(root)
";
        assert!(lines("unsorted-listing", code).is_empty());
    }
}
