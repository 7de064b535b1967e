//! Measures of one run by itself: norms over layers, and how a curve goes on and ends.

pub mod course;
pub mod growth;
