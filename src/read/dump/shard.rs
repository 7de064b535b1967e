//! The part of a value that one rank holds.

use std::ops::Range;

/// The part of a value that one rank holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shard {
    /// The rank.
    pub rank: u64,
    /// The axis that the value is cut along.
    pub axis: usize,
    /// Place among the parts, and their number.
    pub index: usize,
    /// Number of parts.
    pub of: usize,
    /// Its indices along the axis, one range for each tensor that it is fused of.
    pub ranges: Vec<Range<u64>>,
}
