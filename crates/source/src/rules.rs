//! Rules over the files of a tree.
//!
//! A file is looked at by itself ([`look_at_module`]), which gives places that break a rule if the rest of the tree is as the rule
//! demands. [`broken`] keeps those that hold and takes out what a comment accepts. One rule has one file here; docs/source.md
//! has the rules with examples.

mod amp_cuda_only;
mod attention_dropout;
mod channels_last;
mod collect;
mod context;
mod cuda_double_tensor;
mod cuda_extension;
mod cuda_hard_coded;
mod cuda_or_cpu;
mod cuda_tensor_type;
mod cudnn_benchmark;
mod data_parallel;
mod defaults;
mod deterministic_one_sided;
mod device_capability;
mod device_rng;
mod device_type_compared;
mod dtype;
mod env_too_late;
mod environment;
mod file;
mod flags;
mod fp16_eps;
mod fp16_optimizer_eps;
mod gpu_only_import;
mod guard;
mod half_sensitive;
mod hit;
mod inv_freq_on_host;
mod jit_script;
mod nccl_compared;
mod nccl_hard_coded;
mod no_seed;
mod order;
mod other;
mod partial_seed;
mod platform;
mod platform_constant;
mod platform_dtype;
mod purpose;
mod python_hash;
mod random;
mod reading;
mod rule;
mod set_order;
#[cfg(test)]
mod testing;
mod tf32_one_sided;
mod time_seed;
mod transfer_too_late;
mod triton_kernel;
mod unsorted_listing;
mod visible_devices;
mod words;

pub use collect::{Breach, Broken, Looked, broken};
pub use context::Context;
pub use flags::Flags;
pub use rule::{Family, SourceRule};

use precision_gate_result::rule::Rule;

use crate::read::files::Kind as FileKind;
use crate::read::{Module, Unread};
use collect::Finder;

/// Looks at a file that was read, or not; of one that is not judged, only its facts for the tree count.
pub fn look_at_module(read: &Result<Module, Unread>, is_judged: bool) -> Looked {
    collect::run_finders(read, is_judged, FINDERS)
}

/// Looks at a file that is not Python.
pub fn look_other(path: &str, kind: FileKind, text: &str) -> Looked {
    other::look_at_file(path, kind, text)
}

/// The rule about source with this code.
pub fn find(code: &str) -> Option<&'static SourceRule> {
    SOURCE_RULES.iter().copied().find(|rule| rule.rule.code == code)
}

/// All rules about source, in the order of docs/source.md.
pub const SOURCE_RULES: &[&SourceRule] = &[
    &cuda_hard_coded::RULE,
    &cuda_or_cpu::RULE,
    &nccl_hard_coded::RULE,
    &nccl_compared::RULE,
    &device_type_compared::RULE,
    &cuda_extension::RULE,
    &triton_kernel::RULE,
    &gpu_only_import::RULE,
    &transfer_too_late::RULE,
    &channels_last::RULE,
    &cuda_tensor_type::RULE,
    &visible_devices::RULE,
    &data_parallel::RULE,
    &device_capability::RULE,
    &no_seed::RULE,
    &partial_seed::RULE,
    &time_seed::RULE,
    &env_too_late::RULE,
    &cudnn_benchmark::RULE,
    &deterministic_one_sided::RULE,
    &device_rng::RULE,
    &set_order::RULE,
    &python_hash::RULE,
    &unsorted_listing::RULE,
    &attention_dropout::RULE,
    &jit_script::RULE,
    &platform_dtype::RULE,
    &platform_constant::RULE,
    &cuda_double_tensor::RULE,
    &amp_cuda_only::RULE,
    &tf32_one_sided::RULE,
    &half_sensitive::RULE,
    &fp16_optimizer_eps::RULE,
    &fp16_eps::RULE,
    &inv_freq_on_host::RULE,
    &reading::NOT_READ,
    &reading::WITHOUT_REASON,
];

/// Finders of the places that break a rule, in the same order; reading finds the last two.
const FINDERS: &[Finder] = &[
    cuda_hard_coded::find,
    cuda_or_cpu::find,
    nccl_hard_coded::find,
    nccl_compared::find,
    device_type_compared::find,
    cuda_extension::find,
    triton_kernel::find,
    gpu_only_import::find,
    transfer_too_late::find,
    channels_last::find,
    cuda_tensor_type::find,
    visible_devices::find,
    data_parallel::find,
    device_capability::find,
    no_seed::find,
    partial_seed::find,
    time_seed::find,
    env_too_late::find,
    cudnn_benchmark::find,
    deterministic_one_sided::find,
    device_rng::find,
    set_order::find,
    python_hash::find,
    unsorted_listing::find,
    attention_dropout::find,
    jit_script::find,
    platform_dtype::find,
    platform_constant::find,
    cuda_double_tensor::find,
    amp_cuda_only::find,
    tf32_one_sided::find,
    half_sensitive::find,
    fp16_optimizer_eps::find,
    fp16_eps::find,
    inv_freq_on_host::find,
];

/// The same with what findings carry of them.
pub const RULES: &[&Rule] = &[
    &cuda_hard_coded::RULE.rule,
    &cuda_or_cpu::RULE.rule,
    &nccl_hard_coded::RULE.rule,
    &nccl_compared::RULE.rule,
    &device_type_compared::RULE.rule,
    &cuda_extension::RULE.rule,
    &triton_kernel::RULE.rule,
    &gpu_only_import::RULE.rule,
    &transfer_too_late::RULE.rule,
    &channels_last::RULE.rule,
    &cuda_tensor_type::RULE.rule,
    &visible_devices::RULE.rule,
    &data_parallel::RULE.rule,
    &device_capability::RULE.rule,
    &no_seed::RULE.rule,
    &partial_seed::RULE.rule,
    &time_seed::RULE.rule,
    &env_too_late::RULE.rule,
    &cudnn_benchmark::RULE.rule,
    &deterministic_one_sided::RULE.rule,
    &device_rng::RULE.rule,
    &set_order::RULE.rule,
    &python_hash::RULE.rule,
    &unsorted_listing::RULE.rule,
    &attention_dropout::RULE.rule,
    &jit_script::RULE.rule,
    &platform_dtype::RULE.rule,
    &platform_constant::RULE.rule,
    &cuda_double_tensor::RULE.rule,
    &amp_cuda_only::RULE.rule,
    &tf32_one_sided::RULE.rule,
    &half_sensitive::RULE.rule,
    &fp16_optimizer_eps::RULE.rule,
    &fp16_eps::RULE.rule,
    &inv_freq_on_host::RULE.rule,
    &reading::NOT_READ.rule,
    &reading::WITHOUT_REASON.rule,
];
