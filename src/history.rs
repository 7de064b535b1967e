//! What earlier runs of a suite measured.

pub mod series;
