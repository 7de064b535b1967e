//! `cuda-hard-coded`: a device that only CUDA has, without `transfer_to_npu` to map it.

use super::defaults::given;
use super::file::File;
use super::flags::Flags;
use super::guard::is_guarded;
use super::hit::Hit;
use super::rule::{Family, SourceRule};
use super::words::{CUDA_TEST, DEVICE, GPU, NPU};
use crate::read::tree::Argument;
use crate::read::words::has_word;
use crate::read::{Kind, NodeId};
use precision_gate_result::verdict::Severity;

pub(super) const RULE: SourceRule = SourceRule::new("cuda-hard-coded", Severity::Warn, Family::Portability).per_file();

/// Calls that take a device by place.
const TAKES_DEVICE: &[&str] = &["torch.device", "torch.load", "torch.Generator", "torch.set_default_device"];
/// Keywords that name a device in any call.
const DEVICE_KEYWORDS: &[&str] = &["device", "device_type", "map_location"];
/// Functions of CUDA without a counterpart by another name.
const OF_CUDA: &[&str] = &[
    "torch.cuda.set_device",
    "torch.cuda.current_device",
    "torch.cuda.synchronize",
    "torch.cuda.Stream",
    "torch.cuda.Event",
    "torch.cuda.stream",
    "torch.cuda.current_stream",
    "torch.cuda.CUDAGraph",
    "torch.cuda.graph",
    "torch.cuda.device",
    "torch.cuda.cudart",
    "torch.cuda.device_count",
    "torch.cuda.get_device_name",
    "torch.cuda.get_device_properties",
    "torch.cuda.mem_get_info",
    "torch.cuda.get_rng_state",
    "torch.cuda.get_rng_state_all",
    "torch.cuda.set_rng_state",
    "torch.cuda.set_rng_state_all",
    "torch.cuda.nvtx.range",
    "torch.cuda.nvtx.range_push",
    "torch.cuda.nvtx.range_pop",
    "torch.cuda.nvtx.mark",
    "torch.cuda.profiler.start",
    "torch.cuda.profiler.stop",
    "torch.cuda.profiler.profile",
    "torch.autograd.profiler.emit_nvtx",
];
/// Functions whose call in a message decides nothing.
const TOLD: &[&str] = &["torch.cuda.device_count", "torch.cuda.get_device_name", "torch.cuda.get_device_properties"];
/// Tests after which the number of devices is asked for on purpose.
const COUNT_TEST: &[&str] = &["npu", "ascend", "cuda", "is_available", "nvidia"];
/// Names of functions that write messages.
const MESSAGES: &[&str] =
    &["print", "debug", "info", "warning", "error", "write", "log", "skipUnless", "skipIf", "print_rank_0", "format"];
/// Mixed precision, about which another rule speaks in a project for NPUs.
const MIXED: &[&str] = &[
    "torch.autocast",
    "torch.amp.autocast",
    "torch.amp.autocast_mode.autocast",
    "torch.amp.GradScaler",
    "torch.amp.grad_scaler.GradScaler",
    "torch.cuda.amp.autocast",
    "torch.cuda.amp.GradScaler",
    "torch.cuda.amp.autocast_mode.autocast",
    "torch.cuda.amp.grad_scaler.GradScaler",
];
/// Those of them that name CUDA without an argument.
const MIXED_OF_CUDA: &[&str] = &[
    "torch.cuda.amp.autocast",
    "torch.cuda.amp.GradScaler",
    "torch.cuda.amp.autocast_mode.autocast",
    "torch.cuda.amp.grad_scaler.GradScaler",
];

pub(super) fn find(file: &File<'_>, hits: &mut Vec<Hit>) {
    for (id, function, arguments) in file.calls() {
        let Some(place) = naming_cuda(file, id, function, arguments) else { continue };
        let is_count = file.is_any(function, TOLD);
        let is_meant = if is_count { is_guarded(file, id, COUNT_TEST) } else { is_meant(file, id) };
        if file.is_vendor_place(id) || is_meant {
            continue;
        }
        let mut hit = Hit::new(&RULE, place).unless(Flags::TRANSFER);
        if let Some(name) = arguments.iter().find(|argument| argument.value == place).and_then(|one| one.name.as_ref())
        {
            hit = hit.with("code", format!("{name}={}", file.source(place)));
        }
        if file.is_any(function, MIXED) {
            hit = hit.unless(Flags::NPU_PROJECT);
        }
        hits.push(hit);
    }
    for id in defaults(file).into_iter().chain(demands(file)) {
        if !file.is_vendor_place(id) && !is_meant(file, id) {
            hits.push(Hit::new(&RULE, id).unless(Flags::TRANSFER));
        }
    }
}

/// Values that name CUDA where nobody names another device: defaults of parameters and options, fields, attributes.
fn defaults(file: &File<'_>) -> Vec<NodeId> {
    let is_named = |name: &str| has_word(name, &["device", "devices"]) || name == "map_location";
    let values = given(file).into_iter().filter(|given| is_named(given.name)).map(|given| given.value);
    // Who tests for another device knows that there are several.
    let is_open = |value: &NodeId| {
        let function = file.tree.node(file.tree.node(*value).parent).parent;
        let is_parameter = matches!(file.tree.kind(function), Kind::Function { .. });
        let says_cpu = |id: NodeId| file.text_of(id).is_some_and(|text| text == "cpu");
        !is_parameter || !file.tree.within(function).any(says_cpu)
    };
    // A device that is made of a text is a place by itself.
    let is_cuda = |value: &NodeId| file.text_of(*value).is_some() && file.is_device(*value, "cuda");
    let mut found: Vec<NodeId> = values.filter(is_cuda).filter(is_open).collect();
    found
        .extend(file.assignments().filter(|(_, target, value)| is_last_choice(file, *target, *value)).map(|one| one.2));
    found
}

/// Whether a device is CUDA where it is no other accelerator: `"xpu" if has_xpu() else "cuda"`.
fn is_last_choice(file: &File<'_>, target: NodeId, value: NodeId) -> bool {
    let is_named = file.tree.last_name(target).is_some_and(|name| has_word(name, &["device"]));
    let Kind::Conditional { test, body, otherwise } = file.tree.kind(value) else { return false };
    let is_other = matches!(file.text_of(*body), Some("xpu" | "mps" | "mlu" | "hpu" | "musa" | "xla"));
    is_named && is_other && file.is_device(*otherwise, "cuda") && !file.tree.mentions(*test, NPU)
}

/// Statements that end the program without CUDA: assertions, and branches that raise.
fn demands(file: &File<'_>) -> Vec<NodeId> {
    let asks =
        |id: NodeId| file.call(id).is_some_and(|(function, _)| file.is_named(function, "torch.cuda.is_available"));
    // Behind another test it is a demand of that choice alone.
    let is_outer =
        |id: &NodeId| matches!(file.tree.kind(file.tree.node(*id).parent), Kind::Module { .. } | Kind::Function { .. });
    let is_demand = |id: &NodeId| match file.tree.kind(*id) {
        Kind::Assert => file.tree.within(*id).any(asks) && !file.tree.mentions(*id, NPU),
        Kind::If(branches) => branches.first().is_some_and(|first| {
            let raises = first.body.last().is_some_and(|last| matches!(file.tree.kind(*last), Kind::Raise));
            let test = first.test.filter(|test| matches!(file.tree.kind(*test), Kind::Unary(_)));
            raises && test.is_some_and(|test| file.tree.within(test).any(asks) && !file.tree.mentions(test, NPU))
        }),
        _ => false,
    };
    file.tree.ids().filter(is_demand).filter(is_outer).collect()
}

/// Whether a call stands in a message.
fn is_told(file: &File<'_>, id: NodeId) -> bool {
    file.tree.enclosing(id).any(|(outer, _)| match file.tree.kind(outer) {
        Kind::Call { function, .. } => file.tree.last_name(*function).is_some_and(|name| MESSAGES.contains(&name)),
        Kind::Format(_) => true,
        _ => false,
    })
}

/// The call that names CUDA, or the value of its keyword that does.
fn naming_cuda(file: &File<'_>, id: NodeId, function: NodeId, arguments: &[Argument]) -> Option<NodeId> {
    let is_cuda = |argument: &Argument| file.is_device(argument.value, "cuda");
    let is_keyword = |argument: &&Argument| {
        argument.name.as_deref().is_some_and(|name| DEVICE_KEYWORDS.contains(&name)) && is_cuda(argument)
    };
    if let Some(keyword) = arguments.iter().find(is_keyword) {
        return Some(keyword.value);
    }
    let by_method = match file.method(id) {
        Some((_, "cuda", _)) => file.full_name(function).is_none_or(|name| name != "torch.cuda"),
        Some((_, "to", arguments)) => arguments.iter().any(is_cuda),
        _ => false,
    };
    if file.is_any(function, TOLD) {
        return (!is_told(file, id)).then_some(id);
    }
    if file.is_any(function, MIXED_OF_CUDA) {
        let is_off = file.keyword(arguments, "enabled").is_some_and(|enabled| file.is_false(enabled));
        return (!is_off).then_some(id);
    }
    if let Some(accelerator) = file.keyword(arguments, "accelerator")
        && matches!(file.text_of(accelerator), Some("gpu" | "cuda"))
    {
        return Some(accelerator);
    }
    let takes_device = || file.is_any(function, TAKES_DEVICE);
    let is_named = by_method
        || file.is_any(function, OF_CUDA)
        || arguments.iter().any(is_cuda) && (takes_device() || file.is_any(function, MIXED));
    is_named.then_some(id)
}

/// Whether a test knows that there are other devices.
fn is_meant(file: &File<'_>, id: NodeId) -> bool {
    let is_for_gpu = || file.enclosing_names(id).any(|name| has_word(name, GPU));
    is_guarded(file, id, CUDA_TEST) || file.is_of_npu() && (is_guarded(file, id, DEVICE) || is_for_gpu())
}

#[cfg(test)]
mod tests {
    use super::super::testing::lines;

    #[test]
    fn devices_are_found_by_every_spelling() {
        let code = "\
import torch as th
from torch import device as dev
x.cuda()
x.to('cuda')
x.to(f'cuda:{rank}')
dev('cuda:1')
th.load('a.pt', 'cuda')
th.load('a.pt', map_location='cuda:0')
th.zeros(3, device='cuda')
th.cuda.set_device(0)
with th.cuda.stream(th.cuda.Stream()): pass
x.to('cuda:' + str(rank))
y = th.zeros(
    3,
    device='cuda')
z = (y
     .detach()
     .cuda())
";
        assert_eq!(lines("cuda-hard-coded", code), [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15, 18]);
    }

    #[test]
    fn defaults_demands_and_functions_of_cuda_are_found() {
        let code = "\
import torch, argparse
from dataclasses import dataclass, field
parser.add_argument('--device', default='cuda')
parser.add_argument('--device', type=str, default='cpu')
def f(x, device='cuda'): pass
@dataclass
class Config:
    device: str = 'cuda:0'
    other_device: str = field(default='cuda')
    name: str = 'cuda'
args.device = 'cuda'
assert torch.cuda.is_available(), 'no GPU'
if not torch.cuda.is_available():
    raise RuntimeError
rank = index % torch.cuda.device_count()
print(torch.cuda.device_count())
torch.cuda.nvtx.range_push('step')
torch.cuda.cudart().cudaProfilerStart()
state = {'cuda': torch.cuda.get_rng_state_all()}
scaler = torch.cuda.amp.GradScaler()
trainer = pl.Trainer(accelerator='gpu')
with torch.amp.autocast('cuda'): pass
device_type = 'xpu' if has_xpu() else 'cuda'
";
        assert_eq!(lines("cuda-hard-coded", code), [3, 5, 8, 9, 11, 12, 13, 15, 17, 18, 19, 20, 21, 22, 23]);
    }

    #[test]
    fn guards_other_objects_and_transfer_are_silent() {
        let code = "\
import torch
device = 'cuda'
print('model.cuda()')
x.to('cpu')
x.to(device)
torch.cuda.manual_seed(1)
if torch.cuda.is_available():
    x.cuda()
y = x.cuda() if use_cuda else x
settings = dict(backend='cuda')
def load_cuda(x):
    return x.cuda()
try:
    x.cuda()
except RuntimeError:
    pass
def f(x):
    if x.device.type == 'cpu':
        return x
    return x.cuda()
";
        assert!(lines("cuda-hard-coded", code).is_empty());
        let transfer = "import torch\nfrom torch_npu.contrib import transfer_to_npu\nx.cuda()\n";
        assert!(lines("cuda-hard-coded", transfer).is_empty());
    }
}
