//! Measures of one run: the contents of a step and rank, the distance between copies of one value, norms over layers,
//! and the course and end of a curve. No limits and no texts here.

pub mod copies;
pub mod course;
pub mod growth;
pub mod modes;
pub mod snapshot;
mod stretches;
pub mod sums;

pub use snapshot::Snapshot;
