//! `amp-cuda-only`: mixed precision of CUDA, which torch switches off without CUDA.

use super::file::File;
use super::flags::Flags;
use super::guard::is_guarded;
use super::hit::Hit;
use super::purpose::is_training;
use super::rule::{Family, SourceRule};
use super::words::DEVICE;
use crate::read::NodeId;
use crate::read::tree::Argument;
use precision_gate_result::verdict::Severity;

pub(super) const RULE: SourceRule = SourceRule::new("amp-cuda-only", Severity::Fail, Family::Numerics);

/// Names that are always of CUDA.
const OF_CUDA: &[&str] = &[
    "torch.cuda.amp.autocast",
    "torch.cuda.amp.GradScaler",
    "torch.cuda.amp.autocast_mode.autocast",
    "torch.cuda.amp.grad_scaler.GradScaler",
];
const AUTOCAST: &[&str] = &["torch.autocast", "torch.amp.autocast", "torch.amp.autocast_mode.autocast"];
/// Its device is `cuda` unless it is named.
const SCALER: &[&str] = &["torch.amp.GradScaler", "torch.amp.grad_scaler.GradScaler"];

pub(super) fn find(file: &File<'_>, hits: &mut Vec<Hit>) {
    let bare = file.decorators().filter(|(_, function)| file.is_any(*function, OF_CUDA));
    let called = file.calls().filter(|(_, function, arguments)| is_of_cuda(file, *function, arguments));
    let mut places: Vec<NodeId> = called.map(|(id, _, _)| id).collect();
    // A decorator with arguments is a call already.
    places.extend(bare.map(|(id, _)| id).filter(|id| !file.tree.within(*id).any(|inner| file.call(inner).is_some())));
    places.sort_unstable();
    for id in places {
        if !is_guarded(file, id, DEVICE) {
            // A scaler is of no use but in training; elsewhere another precision changes no weight.
            let trains = is_scaler(file, id) || is_training(file, id);
            hits.push(Hit::new(&RULE, id).needs(Flags::NPU_PROJECT).unless(Flags::TRANSFER).milder(!trains));
        }
    }
}

/// Whether a place makes a scaler of gradients.
fn is_scaler(file: &File<'_>, id: NodeId) -> bool {
    let function = file.call(id).map(|(function, _)| function);
    function.and_then(|function| file.full_name(function)).is_some_and(|name| name.ends_with("GradScaler"))
}

fn is_of_cuda(file: &File<'_>, function: NodeId, arguments: &[Argument]) -> bool {
    if file.keyword(arguments, "enabled").is_some_and(|enabled| file.is_false(enabled)) {
        return false;
    }
    if file.is_any(function, OF_CUDA) {
        return true;
    }
    let device = |name| file.argument(arguments, name, 0).map(|device| file.is_device(device, "cuda"));
    if file.is_any(function, AUTOCAST) {
        return device("device_type") == Some(true);
    }
    let is_unpacked = arguments.iter().any(|argument| argument.is_unpacked);
    file.is_any(function, SCALER) && device("device").unwrap_or(!is_unpacked)
}

#[cfg(test)]
mod tests {
    use super::super::testing::lines;

    #[test]
    fn mixed_precision_of_cuda_is_found() {
        let code = "\
import torch, torch_npu
from torch.cuda.amp import GradScaler as S, autocast
S()
with autocast(): pass
with torch.autocast(device_type='cuda', dtype=torch.float16): pass
torch.amp.GradScaler()
torch.amp.GradScaler('cuda')
@torch.cuda.amp.autocast()
def f(): pass
";
        assert_eq!(lines("amp-cuda-only", code), [3, 4, 5, 6, 7, 8]);
        assert!(lines("amp-cuda-only", &code.replace(", torch_npu", "")).is_empty());
        assert!(lines("amp-cuda-only", &code.replace("torch_npu", "torch_npu.contrib.transfer_to_npu")).is_empty());
    }

    #[test]
    fn disabled_guarded_and_variable_devices_are_silent() {
        let code = "\
import torch, torch_npu
torch.cuda.amp.autocast(enabled=False)
torch.autocast(device_type, dtype=torch.float16)
torch.amp.GradScaler('npu')
torch.amp.GradScaler(device=device)
scaler = torch.cuda.amp.GradScaler() if torch.cuda.is_available() else None
";
        assert!(lines("amp-cuda-only", code).is_empty());
    }
}
