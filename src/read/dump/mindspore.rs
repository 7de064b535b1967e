//! MindSpore's differences from PyTorch in a dump (`docs/formats/msprobe-dump.md`, MindSpore).
//!
//! The layout is msprobe's own; names, types and dtypes follow MindSpore, and `requires_grad` is not written.

/// The framework of a dump that does not say so, from the names of its operations.
pub(super) fn guess_framework<'a>(mut operations: impl Iterator<Item = &'a str>) -> &'static str {
    const PREFIXES: [&str; 6] = ["Cell.", "Mint.", "MintFunctional.", "MintDistributed.", "Primitive.", "Jit."];
    let mindspore = operations.any(|name| PREFIXES.iter().any(|prefix| name.starts_with(prefix)));
    if mindspore { "mindspore" } else { "pytorch" }
}
