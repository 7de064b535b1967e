//! `device-type-compared`: a tensor's device is asked for `cuda`, and says `npu` under `transfer_to_npu`. Off by default:
//! most such tests have another branch that is right too.

use super::file::File;
use super::flags::Flags;
use super::guard::{asks, is_raising_test};
use super::hit::Hit;
use super::rule::{Family, SourceRule};
use super::words::{GPU, NPU};
use crate::read::tree::Comparison;
use crate::read::words::has_word;
use crate::read::{Kind, NodeId};
use precision_gate_result::verdict::Severity;

pub(super) const RULE: SourceRule = SourceRule::new("device-type-compared", Severity::Warn, Family::Portability).off();

pub(super) fn find(file: &File<'_>, hits: &mut Vec<Hit>) {
    for id in file.tree.ids() {
        let Kind::Compare { operands, comparisons } = file.tree.kind(id) else { continue };
        let ([left, right], [comparison]) = (operands.as_slice(), comparisons.as_slice()) else { continue };
        let is_cuda = |id: NodeId| file.text_of(id) == Some("cuda");
        let is_asked = match comparison {
            Comparison::Equal => is_cuda(*left) && is_device(file, *right) || is_cuda(*right) && is_device(file, *left),
            Comparison::In => is_cuda(*left) && is_device(file, *right),
            Comparison::Other => false,
        };
        let is_meant = || {
            asks(file, id, NPU) || is_raising_test(file, id) || file.enclosing_names(id).any(|name| has_word(name, GPU))
        };
        if is_asked && !is_meant() && !file.is_vendor_place(id) {
            hits.push(Hit::new(&RULE, id).needs(Flags::TRANSFER));
        }
    }
}

/// Whether a value is a device, its type, or its text.
fn is_device(file: &File<'_>, id: NodeId) -> bool {
    match file.tree.kind(id) {
        Kind::Attribute { name, .. } if &**name == "type" => true,
        Kind::Attribute { name, .. } | Kind::Name(name) => has_word(name, &["device"]),
        Kind::Call { function, arguments } if file.is_builtin(*function, "str") => {
            arguments.iter().any(|argument| is_device(file, argument.value))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::lines;

    #[test]
    fn devices_are_asked_in_three_ways() {
        let code = "\
from torch_npu.contrib import transfer_to_npu
if x.device.type == 'cuda': pass
if device == 'cuda': pass
if 'cuda' in str(x.device): pass
if x.device.type == 'npu' or x.device.type == 'cuda': pass
if x.device.type != 'cuda':
    raise ValueError
if kind == 'cuda': pass
";
        assert_eq!(lines("device-type-compared", code), [2, 3, 4]);
    }
}
