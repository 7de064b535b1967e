//! Gradients of functions with a kink.
//!
//! The gradient of `relu` jumps at zero, that of max-pooling where another element becomes the largest. An element within the error
//! of the jump may fall on either side, so that one run has its gradient and the other has 0 there: a tie, for which no operation
//! is to blame. Of n elements about n·e lie within a relative error e of the jump. One such element of size g moves the mean by
//! g/n and the norm by g²/(2·n·rms²) of itself; k of them are k/n of all elements, an error of √(k/n) that the statistics of
//! values computed from them may not show.

use super::item::Item;
use super::limits::AMPLIFICATION;
use crate::read::dump::name::{Direction, OpName};

/// Calls with such a gradient.
const KINKED: [&str; 16] = [
    "relu",
    "relu_",
    "relu6",
    "ReLU",
    "ReLU6",
    "leaky_relu",
    "LeakyReLU",
    "hardtanh",
    "clamp",
    "clamp_",
    "abs",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "MaxPool2d",
    "adaptive_max_pool2d",
];

/// Error of a gradient whose elements flipped at a jump.
pub(super) struct Flips {
    /// The error of mean and norm beyond the expected flips.
    pub(super) beyond: f64,
    /// The error of elements that flips pass on to later values.
    pub(super) carried: f64,
}

pub(super) fn has_kink(name: &OpName<'_>) -> bool {
    name.direction == Some(Direction::Backward) && KINKED.contains(&name.api())
}

/// Flips that explain an error `of_all` of mean and norm, if the inputs have an error of `received`; `None` where the scale of the
/// tensor is unknown.
#[allow(clippy::cast_precision_loss, reason = "element counts are far below 2^53")]
pub(super) fn flips(item: &Item<'_>, of_all: f64, received: f64) -> Option<Flips> {
    let details = item.details()?;
    let rms = details.rms.filter(|rms| *rms > 0.0)?;
    let elements = details.elements as f64;
    let largest = item.magnitude()? / rms;
    let ties = 1.0 + AMPLIFICATION * elements * received.min(1.0);
    let expected = ties * largest.max(largest * largest / 2.0) / elements;
    Some(Flips { beyond: (of_all - expected).max(0.0), carried: of_all.sqrt() })
}
