//! Single elements that are off while the rest agrees.
//!
//! One wrong element among a million vanishes in an L2 norm. Healthy errors of n elements are about normal, so the largest stays
//! within √(2·ln n) standard deviations, 6 for a hundred million elements; the tail is longer if rows have different scales. No
//! healthy error exceeds the noise that the type allows at the largest magnitude of the tensor. An element beyond both limits is
//! no rounding.

use super::item::Item;
use super::limits::ErrorBand;
use crate::read::dump::name::OpName;

/// Number of standard deviations of the other elements' errors that an outlier exceeds; a normal tail reaches 6.
const DEVIATIONS: f64 = 16.0;

/// Least number of elements for a meaningful standard deviation.
const FEWEST: u64 = 256;

/// Forward calls with a discontinuous result: a healthy error may move an element by a whole step.
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

/// Whether the largest error of a tensor belongs to single elements while the others agree; `false` where no data was read.
#[allow(clippy::cast_precision_loss, reason = "element counts are far below 2^53")]
pub(super) fn has_outlier(item: &Item<'_>, limits: ErrorBand) -> bool {
    let Some(stats) = item.stats().filter(|stats| stats.elements >= FEWEST) else { return false };
    let Some(magnitude) = item.magnitude() else { return false };
    let largest = stats.max_abs_diff;
    let others = (stats.sum_sq_diff - largest * largest).max(0.0) / (stats.elements - 1) as f64;
    largest > limits.noise * magnitude + DEVIATIONS * others.sqrt()
}

/// Whether the result of a call is discontinuous.
pub(super) fn result_may_jump(name: &OpName<'_>) -> bool {
    JUMPING.contains(&name.api())
}
