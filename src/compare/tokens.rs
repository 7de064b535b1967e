//! Log-probabilities of two engines over the same tokens, summed one answer at a time.
//!
//! a is the engine's, b the trainer's, in natural logarithms, over the tokens that are judged. Sums are kept per step and per
//! rank, one small record per answer, and one sum per position, so that memory grows with answers and not with tokens.

mod measure;
mod meter;
mod moments;
mod notes;
mod quantity;
mod sums;

pub use measure::{Across, Measured, across, own};
pub use meter::{About, FEWEST_TOKENS, Meter, NonFinite, PARTS, Sequence, TokenPlace};
pub use moments::{Moments, Scale};
pub use notes::{Noted, Notes, Part};
pub use quantity::Quantity;
pub use sums::{Measures, Sums};
