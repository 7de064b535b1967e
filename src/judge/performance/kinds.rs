//! Kinds of operators, by the names of their types.

/// Parts of the names of fused operators.
const FUSED: [&str; 10] = [
    "attention",
    "rmsnorm",
    "swiglu",
    "geglu",
    "rotary",
    "fused",
    "groupedmatmul",
    "addlayernorm",
    "moegating",
    "interleaverope",
];
/// Types that convert the format, the element type or the layout of a tensor.
const CONVERSIONS: [&str; 8] =
    ["TransData", "Cast", "Transpose", "TensorMove", "ViewCopy", "Identity", "AsStrided", "TransposeD"];
/// Core types of operators that run on the device's own CPU.
pub(super) const AICPU: [&str; 2] = ["AI_CPU", "AICPU"];

/// Whether a type is a fused operator.
pub(super) fn is_fused(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    FUSED.iter().any(|part| name.contains(part))
}

/// Whether a type converts a tensor.
pub(super) fn is_conversion(name: &str) -> bool {
    CONVERSIONS.contains(&name)
}
