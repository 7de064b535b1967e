//! The part of a value that one rank holds.

use std::ops::Range;

/// The part of a value that one rank holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Rank that holds the part.
    pub rank: u64,
    /// Axis along which the value is cut.
    pub axis: usize,
    /// Index of the part along the axis, from 0.
    pub index: usize,
    /// Number of parts.
    pub count: usize,
    /// Index ranges of the part along the axis, one for each tensor that it is fused of.
    pub ranges: Vec<Range<u64>>,
}
