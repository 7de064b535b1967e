//! Single elements that are off while the rest agrees.
//!
//! One wrong element among a million vanishes in an L2 norm. Healthy errors of n elements are about normal, so the largest stays
//! within √(2·ln n) standard deviations, 6 for a hundred million of them; where rows have scales of their own, the tail is longer.
//! And none lies beyond the noise that its type allows at the largest magnitude of the tensor. An element that is beyond both
//! is not rounding.

use super::item::Item;
use super::limits::Band;
use crate::read::dump::name::OpName;

/// Standard deviations of the other elements' errors, beyond the six of a normal tail.
const DEVIATIONS: f64 = 16.0;

/// Fewer elements have no tail to speak of.
const FEWEST: u64 = 256;

/// Forward calls that jump, so that a healthy error may move one of their elements by a whole step.
const JUMPING: [&str; 12] = [
    "round",
    "round_",
    "floor",
    "floor_",
    "ceil",
    "ceil_",
    "trunc",
    "sign",
    "__floordiv__",
    "__mod__",
    "remainder",
    "to",
];

/// Whether the largest error of a tensor is one of a single element; needs its data.
#[allow(clippy::cast_precision_loss, reason = "element counts are far below 2^53")]
pub(super) fn has_outlier(item: &Item<'_>, limits: Band) -> bool {
    let Some(stats) = item.stats().filter(|stats| stats.elements >= FEWEST) else { return false };
    let Some(magnitude) = item.magnitude() else { return false };
    let largest = stats.max_abs_diff;
    let others = (stats.sum_sq_diff - largest * largest).max(0.0) / (stats.elements - 1) as f64;
    largest > limits.noise * magnitude + DEVIATIONS * others.sqrt()
}

/// Whether a call's result may jump.
pub(super) fn jumps(name: &OpName) -> bool {
    JUMPING.contains(&name.api())
}
