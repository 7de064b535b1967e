//! `gpu-only-import`: a package that cannot be installed beside an NPU, imported without a way around it.

use std::collections::BTreeSet;

use super::file::File;
use super::flags::Flags;
use super::hit::Hit;
use super::rule::{Family, SourceRule};
use crate::read::source::{Kind, NodeId};
use crate::verdict::Severity;

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
    for id in file.tree.body(NodeId::ROOT) {
        let Kind::Import(names) = file.tree.kind(*id) else { continue };
        for name in names {
            let first = name.full.split('.').next().unwrap_or_default();
            let Some(package) = PACKAGES.iter().copied().find(|package| *package == first) else { continue };
            if file.is_vendor_place(*id) || !told.insert(package) {
                continue;
            }
            let hit = Hit::new(&RULE, *id).with("package", package).foreign(package);
            hits.push(if REPLACED.contains(&package) { hit.unless(Flags::MINDSPEED) } else { hit });
        }
    }
}

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
    fn guarded_imports_and_replaced_packages_are_silent() {
        let code = "\
try:
    import apex
except ImportError:
    apex = None
if x:
    import xformers
def f():
    import bitsandbytes
";
        assert!(lines("gpu-only-import", code).is_empty());
        assert!(lines("gpu-only-import", "import mindspeed.megatron_adaptor\nfrom apex import amp\n").is_empty());
    }
}
