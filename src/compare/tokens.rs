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

pub use measure::{SideMeasure, TokenMeasure};
pub(crate) use measure::{measure_across_sides, measure_side};
pub(crate) use meter::FEWEST_TOKENS;
pub use meter::{AnswerFacts, MeasuredAnswer, Meter, NonFinite, TokenPlace};
pub use moments::{Moments, ScaleFit};
pub use notes::{NoteCount, Notes, StepRank};
pub use quantity::Quantity;
pub use sums::{Measures, Sums};
