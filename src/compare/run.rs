//! Measures of one run: what a step and rank hold, how far copies of one value lie apart, norms over layers, and how a curve goes on
//! and ends. No limit, no word.

pub mod copies;
pub mod course;
pub mod growth;
pub mod modes;
pub mod snapshot;
mod stretches;
pub mod sums;

pub use snapshot::Snapshot;
