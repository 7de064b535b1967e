//! `nccl-hard-coded`: a process group that only GPUs have.

use std::cell::OnceCell;

use super::defaults::given;
use super::file::File;
use super::flags::Flags;
use super::guard::is_guarded;
use super::hit::Hit;
use super::rule::{Family, SourceRule};
use super::words::{DEVICE, HCCL};
use crate::read::tree::Argument;
use crate::read::words::has_word;
use crate::read::{Kind, NodeId};
use precision_gate_result::verdict::Severity;

pub(super) const RULE: SourceRule = SourceRule::new("nccl-hard-coded", Severity::Warn, Family::Portability);

const GROUP: &[&str] = &[
    "torch.distributed.init_process_group",
    "torch.distributed.distributed_c10d.init_process_group",
    "deepspeed.init_distributed",
];
const NEW_GROUP: &[&str] = &["torch.distributed.new_group", "torch.distributed.distributed_c10d.new_group"];
const MESH: &[&str] = &[
    "torch.distributed.DeviceMesh",
    "torch.distributed.device_mesh.DeviceMesh",
    "torch.distributed._tensor.DeviceMesh",
    "torch.distributed.tensor.DeviceMesh",
    "torch.distributed.init_device_mesh",
    "torch.distributed.device_mesh.init_device_mesh",
];

pub(super) fn find(file: &File<'_>, hits: &mut Vec<Hit>) {
    let hccl = OnceCell::new();
    let names_hccl = || *hccl.get_or_init(|| file.tree.ids().any(|id| file.tree.says(id, HCCL)));
    let called = file.calls().filter_map(|(_, function, arguments)| backend(file, function, arguments));
    let is_backend = |name: &str| has_word(name, &["backend"]) || name.ends_with("backend");
    let is_named = |value: NodeId| matches!(file.text_of(value), Some(text) if has_word(text, &["nccl"]));
    let given = given(file)
        .into_iter()
        .filter(|given| is_backend(given.name))
        .map(|given| given.value)
        .filter(|value| is_named(*value));
    let constants = file.tree.ids().filter(|id| {
        matches!(file.tree.kind(*id), Kind::Attribute { name, .. } if &**name == "NCCL")
            && file.is_named(*id, "torch.distributed.Backend.NCCL")
    });
    for backend in called.chain(given).chain(constants) {
        if file.is_vendor_place(backend) || is_guarded(file, backend, DEVICE) || names_hccl() {
            continue;
        }
        hits.push(Hit::new(&RULE, backend).unless(Flags::TRANSFER));
    }
}

/// The text with `nccl` that a call takes as its backend.
fn backend(file: &File<'_>, function: NodeId, arguments: &[Argument]) -> Option<NodeId> {
    let names_nccl = |id: NodeId| file.text_of(id).is_some_and(|text| has_word(text, &["nccl"]));
    let by_name = || {
        let is_backend = |name: &str| name == "backend" || name.ends_with("_backend");
        let named = arguments.iter().filter(|argument| argument.name.as_deref().is_some_and(is_backend));
        named.map(|argument| argument.value).find(|value| names_nccl(*value))
    };
    let found = if file.is_any(function, GROUP) {
        file.argument(arguments, "backend", 0).or_else(by_name)
    } else if file.is_any(function, NEW_GROUP) {
        file.argument(arguments, "backend", 2)
    } else if file.is_any(function, MESH) {
        arguments.iter().map(|argument| argument.value).find(|value| names_nccl(*value))
    } else {
        by_name()
    };
    let found = resolved(file, found?);
    // A text inside another call or choice is that one's business.
    names_nccl(found).then_some(found)
}

/// The text that a name stands for, where it has only one.
fn resolved(file: &File<'_>, id: NodeId) -> NodeId {
    let value = file.only_value(id).filter(|value| matches!(file.tree.kind(*value), Kind::Text(_)));
    value.filter(|value| !is_given(file, *value)).unwrap_or(id)
}

/// Whether a value is the default of a parameter, which is a place by itself.
fn is_given(file: &File<'_>, value: NodeId) -> bool {
    matches!(file.tree.kind(file.tree.node(value).parent), Kind::Named { .. })
}

#[cfg(test)]
mod tests {
    use super::super::testing::lines;

    #[test]
    fn backends_are_found_by_place_and_name() {
        let code = "\
import torch.distributed as dist
from torch.distributed import *
dist.init_process_group('nccl')
dist.init_process_group(
    backend='cpu:gloo,cuda:nccl')
init_process_group('nccl')
dist.new_group([0], backend='nccl')
";
        assert_eq!(lines("nccl-hard-coded", code), [3, 5, 6, 7]);
    }

    #[test]
    fn defaults_attributes_and_names_of_one_value_are_found() {
        let code = "\
import torch.distributed as dist, deepspeed
parser.add_argument('--dist-backend', default='nccl')
class Config:
    backend: str = 'nccl'
args.dist_backend = 'nccl'
def setup(rank, backend='nccl'):
    dist.init_process_group(backend)
deepspeed.init_distributed(dist_backend='nccl')
dist.init_process_group(dist.Backend.NCCL)
choice = 'nccl'
dist.init_process_group(choice)
";
        assert_eq!(lines("nccl-hard-coded", code), [2, 4, 5, 6, 8, 9, 10]);
    }

    #[test]
    fn variables_choices_and_other_functions_are_silent() {
        for code in [
            "import torch.distributed as dist\ndist.init_process_group(backend)\n",
            "import torch.distributed as dist\ndist.init_process_group('hccl' if npu else 'nccl')\n",
            "import torch.distributed as dist\nif torch.cuda.is_available():\n    dist.init_process_group('nccl')\n",
            "import torch.distributed as dist\nimport mindspeed.megatron_adaptor\ndist.init_process_group('nccl')\n",
            "def init_process_group(x): pass\ninit_process_group('nccl')\n",
            "import torch.distributed as dist\ndist.init_process_group('gloo')\n",
        ] {
            assert!(lines("nccl-hard-coded", code).is_empty(), "{code}");
        }
    }
}
