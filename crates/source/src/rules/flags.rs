//! Facts about a tree that one file can state.

use super::words::{HCCL, NPU};
use crate::read::Kind;
use crate::read::tree::Tree;
use crate::read::words::has_word;

/// A set of facts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flags(u16);

impl Flags {
    /// Some file imports `transfer_to_npu`, or what imports it: it patches the process.
    pub const TRANSFER: Self = Self(1);
    /// Some file imports `torch_npu` or `mindspeed`.
    pub const NPU_PROJECT: Self = Self(1 << 1);
    /// Some file names NPU, Ascend or HCCL.
    pub const NPU_FILE: Self = Self(1 << 2);
    /// Some file imports `mindspeed`, which stands in for packages of GPUs.
    pub const MINDSPEED: Self = Self(1 << 3);
    /// Some file sets HF32 of matrix multiplications.
    pub const MATMUL_HF32: Self = Self(1 << 4);
    /// Some file sets HF32 of convolutions.
    pub const CONV_HF32: Self = Self(1 << 5);
    /// Some file makes the NPU deterministic.
    pub const DETERMINISTIC: Self = Self(1 << 6);
    /// Some file is run as a script.
    pub const SCRIPT: Self = Self(1 << 7);
    /// Some file seeds, or hands a seed on.
    pub const SEEDED: Self = Self(1 << 8);

    /// These facts and those of `other`.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of `other` hold.
    pub const fn has_all(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any of `other` holds.
    pub const fn has_any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// Longest text that makes a file an NPU file: a name of a device, not a paragraph about one.
const SHORT: usize = 40;

/// Whether a file names NPU, Ascend or HCCL in an identifier, an import or a short text.
pub(super) fn npu_flags(tree: &Tree) -> Flags {
    let is_named = |text: &str| has_word(text, NPU) || has_word(text, HCCL);
    let is_there = tree.ids().any(|id| match tree.kind(id) {
        Kind::Name(name) | Kind::Attribute { name, .. } => is_named(name),
        Kind::Text(text) | Kind::Format(text) => text.len() <= SHORT && is_named(text),
        Kind::Import(names) => names.iter().any(|name| is_named(&name.full) || is_named(&name.bound)),
        Kind::Function { name, parameters, .. } => is_named(name) || parameters.iter().any(|name| is_named(name)),
        Kind::Class { name, .. } => is_named(name),
        Kind::Call { arguments, .. } => arguments.iter().filter_map(|argument| argument.name.as_deref()).any(is_named),
        _ => false,
    });
    if is_there { Flags::NPU_FILE } else { Flags::default() }
}
