//! `nccl-hard-coded`: a process group that only GPUs have.

use std::cell::OnceCell;

use super::file::File;
use super::flags::Flags;
use super::guard::is_guarded;
use super::hit::Hit;
use super::rule::{Family, SourceRule};
use super::words::{DEVICE, HCCL};
use crate::read::source::NodeId;
use crate::read::source::tree::Argument;
use crate::read::source::words::has_word;
use crate::verdict::Severity;

pub(super) const RULE: SourceRule = SourceRule::new("nccl-hard-coded", Severity::Warn, Family::Portability);

const GROUP: &[&str] =
    &["torch.distributed.init_process_group", "torch.distributed.distributed_c10d.init_process_group"];
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
    for (_, function, arguments) in file.calls() {
        let Some(backend) = backend(file, function, arguments) else { continue };
        if file.is_vendor_place(backend) || is_guarded(file, backend, DEVICE) || names_hccl() {
            continue;
        }
        hits.push(Hit::new(&RULE, backend).unless(Flags::TRANSFER));
    }
}

/// The text with `nccl` that a call takes as its backend.
fn backend(file: &File<'_>, function: NodeId, arguments: &[Argument]) -> Option<NodeId> {
    let names_nccl = |id: NodeId| file.text_of(id).is_some_and(|text| has_word(text, &["nccl"]));
    let found = if file.is_any(function, GROUP) {
        file.argument(arguments, "backend", 0)
    } else if file.is_any(function, NEW_GROUP) {
        file.argument(arguments, "backend", 2)
    } else if file.is_any(function, MESH) {
        arguments.iter().map(|argument| argument.value).find(|value| names_nccl(*value))
    } else {
        None
    };
    let found = found?;
    // A text inside another call or choice is that one's business.
    names_nccl(found).then_some(found)
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
