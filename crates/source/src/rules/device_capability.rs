//! `device-capability`: facts that an NPU does not have.

use super::file::File;
use super::guard::{is_guarded, is_raising_test};
use super::hit::Hit;
use super::rule::{Family, SourceRule};
use super::words::DEVICE;
use crate::read::{Kind, NodeId};
use precision_gate_result::verdict::Severity;

pub(super) const RULE: SourceRule = SourceRule::new("device-capability", Severity::Warn, Family::Portability);

pub(super) fn find(file: &File<'_>, hits: &mut Vec<Hit>) {
    for (id, function, _) in file.calls() {
        let parent = file.tree.node(id).parent;
        let is_used = if file.is_named(function, "torch.cuda.get_device_capability") {
            is_taken_apart(file, id, parent)
        } else if file.is_named(function, "torch.cuda.get_device_properties") {
            matches!(file.tree.kind(parent), Kind::Attribute { name, .. } if matches!(&**name, "major" | "minor"))
        } else {
            false
        };
        let words = [DEVICE, &["nvidia"]].concat();
        if is_used && !file.is_vendor_place(id) && !is_guarded(file, id, &words) && !is_raising_test(file, id) {
            hits.push(Hit::new(&RULE, id));
        }
    }
}

/// Whether a call's value is indexed, compared or unpacked.
fn is_taken_apart(file: &File<'_>, id: NodeId, parent: NodeId) -> bool {
    match file.tree.kind(parent) {
        Kind::Subscript { value, .. } => *value == id,
        Kind::Compare { .. } => true,
        Kind::Assign { targets, value } => {
            let is_tuple = |target: &NodeId| matches!(file.tree.kind(*target), Kind::Tuple(_) | Kind::List(_));
            *value == id && targets.iter().any(is_tuple)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::lines;

    #[test]
    fn the_answer_is_used_as_numbers() {
        let code = "\
import torch
a = torch.cuda.get_device_capability()[0] >= 8
b = torch.cuda.get_device_capability(0) >= (8, 0)
major, _ = torch.cuda.get_device_capability()
c = torch.cuda.get_device_properties(0).major
d = torch.cuda.get_device_capability()
e = torch.cuda.get_device_properties(0).total_memory
f = torch.cuda.is_available() and torch.cuda.get_device_capability()[0] >= 8
if torch.cuda.get_device_capability()[0] < 8:
    raise RuntimeError
assert torch.cuda.get_device_capability()[0] >= 8
if torch.cuda.get_device_capability()[0] >= 9:
    fast = True
";
        assert_eq!(lines("device-capability", code), [2, 3, 4, 5, 12]);
    }
}
