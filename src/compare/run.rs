//! Measures of one run: what a step and rank hold, and how far copies of one value lie apart. No limit, no word.

pub mod copies;
pub mod modes;
pub mod snapshot;
pub mod sums;

pub use snapshot::Snapshot;
