//! `gpu-only-import`: a package that cannot be installed beside an NPU, imported without a way around it.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use super::defaults::given;
use super::file::File;
use super::flags::Flags;
use super::guard::{is_guarded, is_tested};
use super::hit::Hit;
use super::rule::{Family, SourceRule};
use super::words::CUDA_TEST;
use crate::read::{Kind, NodeId};
use precision_gate_result::verdict::Severity;

pub(super) const RULE: SourceRule = SourceRule::new("gpu-only-import", Severity::Warn, Family::Portability);

/// Packages that need CUDA to be imported or to run.
const PACKAGES: &[&str] = &[
    "flash_attn",
    "flash_attn_interface",
    "flash_attn_2_cuda",
    "flash_attn_3",
    "flash_attn_3_cuda",
    "flashinfer",
    "flash_mla",
    "xformers",
    "bitsandbytes",
    "apex",
    "amp_C",
    "apex_C",
    "transformer_engine",
    "transformer_engine_torch",
    "causal_conv1d",
    "causal_conv1d_cuda",
    "mamba_ssm",
    "selective_scan_cuda",
    "deep_ep",
    "deep_gemm",
    "grouped_gemm",
    "megablocks",
    "fused_adam_cuda",
    "pynvml",
    "fused_layer_norm_cuda",
    "cupy",
    "cupyx",
    "cudf",
    "cuml",
    "tensorrt",
    "tensorrt_llm",
    "torch_tensorrt",
    "pycuda",
];
/// Packages that MindSpeed stands in for.
const REPLACED: &[&str] = &["apex", "amp_C", "transformer_engine"];

pub(super) fn find(file: &File<'_>, hits: &mut Vec<Hit>) {
    let mut told: BTreeSet<&str> = BTreeSet::new();
    let called: OnceCell<BTreeSet<&str>> = OnceCell::new();
    let is_called = |name: &str| {
        let names = || file.calls().filter_map(|(_, function, _)| file.tree.last_name(function)).collect();
        called.get_or_init(names).contains(name)
    };
    for id in file.tree.ids() {
        let Kind::Import(names) = file.tree.kind(id) else { continue };
        for name in names {
            let first = name.full.split('.').next().unwrap_or_default();
            let Some(package) = PACKAGES.iter().copied().find(|package| *package == first) else { continue };
            // A function that the file never calls may be of a tool that nobody runs on an NPU.
            let runs = file
                .enclosing_names(id)
                .all(|name| ALWAYS.contains(&name) || is_called(name) || is_class(file, id, name));
            if !runs || file.is_vendor_place(id) || is_optional(file, id) || !told.insert(package) {
                continue;
            }
            hits.push(hit(id, package));
        }
    }
    for (id, package) in by_text(file) {
        if !file.is_vendor_place(id) && !is_guarded(file, id, CUDA_TEST) && told.insert(package) {
            hits.push(hit(id, package));
        }
    }
}

fn hit(id: NodeId, package: &str) -> Hit {
    let hit = Hit::new(&RULE, id).with("package", package).foreign(package);
    if REPLACED.contains(&package) { hit.unless(Flags::MINDSPEED) } else { hit }
}

/// Functions that are called by who makes or runs an object or a program.
const ALWAYS: &[&str] = &["__init__", "__call__", "forward", "main", "setup", "training_step", "configure_optimizers"];

/// Whether `name` is that of a class around a place.
fn is_class(file: &File<'_>, id: NodeId, name: &str) -> bool {
    file.tree
        .enclosing(id)
        .any(|(outer, _)| matches!(file.tree.kind(outer), Kind::Class { name: own, .. } if &**own == name))
}

/// Whether the code goes on without the package: its failure is handled, or something is asked before.
fn is_optional(file: &File<'_>, id: NodeId) -> bool {
    file.tree.enclosing(id).any(|(outer, _)| match file.tree.kind(outer) {
        // A handler that raises again is no way around it.
        Kind::Try { has_handlers, body } => {
            *has_handlers && !body.iter().any(|statement| matches!(file.tree.kind(*statement), Kind::Raise))
        }
        Kind::If(_) | Kind::Conditional { .. } | Kind::Match { .. } => true,
        _ => false,
    }) || is_tested(file, id, OPTIONAL)
}

/// Values that ask a library for such a package: an implementation of attention, an optimizer by name.
fn by_text<'a>(file: &'a File<'_>) -> impl Iterator<Item = (NodeId, &'static str)> + 'a {
    let called = file.calls().flat_map(|(_, _, arguments)| arguments.iter());
    let named = called.filter_map(|argument| Some((argument.name.as_deref()?, argument.value)));
    let given = given(file).into_iter().map(|given| (given.name, given.value));
    named.chain(given).filter_map(|(name, value)| Some((value, package_of(name, file.text_of(value)?)?)))
}

/// The package that a setting asks for.
pub(super) fn package_of(name: &str, text: &str) -> Option<&'static str> {
    let is_named = |names: &[&str]| names.contains(&name.trim_start_matches('_'));
    let known =
        |table: &[(&str, &'static str)]| table.iter().find(|(known, _)| *known == text).map(|(_, package)| *package);
    if is_named(&["attn_implementation", "attn-implementation", "attn_impl", "flash_attn"]) {
        known(ATTENTION)
    } else if is_named(&["optim", "optimizer", "optimizer_type"]) {
        known(OPTIMIZERS)
    } else {
        None
    }
}

/// Implementations of attention that need a package.
const ATTENTION: &[(&str, &str)] = &[
    ("flash_attention_2", "flash_attn"),
    ("flash_attention_3", "flash_attn_3"),
    ("flash_attn", "flash_attn"),
    ("xformers", "xformers"),
];
/// Optimizers by the names that trainers know them by.
const OPTIMIZERS: &[(&str, &str)] = &[
    ("adamw_apex_fused", "apex"),
    ("adamw_bnb_8bit", "bitsandbytes"),
    ("adamw_8bit", "bitsandbytes"),
    ("paged_adamw_8bit", "bitsandbytes"),
    ("paged_adamw_32bit", "bitsandbytes"),
    ("paged_adamw", "bitsandbytes"),
    ("lion_8bit", "bitsandbytes"),
    ("paged_lion_8bit", "bitsandbytes"),
];
/// Words of tests after which a package is asked for on purpose.
const OPTIONAL: &[&str] = &[
    "npu",
    "ascend",
    "cuda",
    "device",
    "is_available",
    "available",
    "flash",
    "apex",
    "xformers",
    "installed",
    "use",
    "has",
    "enable",
];

#[cfg(test)]
mod tests {
    use super::super::testing::lines;

    #[test]
    fn the_first_import_of_a_package_counts() {
        let code = "\
import flash_attn.bert_padding
from flash_attn import flash_attn_func
import xformers.ops as xops
import torch, bitsandbytes as bnb
from .apex import x
from apexes import y
";
        assert_eq!(lines("gpu-only-import", code), [1, 3, 4]);
    }

    #[test]
    fn imports_in_functions_and_packages_by_name_are_found() {
        let code = "\
def f():
    import bitsandbytes as bnb
    from apex.optimizers import FusedAdam
f()
def unused():
    import deep_ep
try:
    import mamba_ssm
except ImportError as error:
    raise ImportError('install mamba') from error
model = Model.from_pretrained(name, attn_implementation='flash_attention_2')
arguments = TrainingArguments(optim='paged_adamw_8bit')
model = Model.from_pretrained(name, attn_implementation='sdpa')
parser.add_argument('--optim', default='adamw_apex_fused')
";
        assert_eq!(lines("gpu-only-import", code), [2, 3, 8, 11]);
    }

    #[test]
    fn guarded_imports_and_replaced_packages_are_silent() {
        let code = "\
try:
    import apex
except ImportError:
    apex = None
if x:
    import xformers
def f():
    if use_8bit:
        import bitsandbytes
def g():
    if not has_mamba:
        raise ImportError
    import mamba_ssm
";
        assert!(lines("gpu-only-import", code).is_empty());
        assert!(lines("gpu-only-import", "import mindspeed.megatron_adaptor\nfrom apex import amp\n").is_empty());
    }
}
