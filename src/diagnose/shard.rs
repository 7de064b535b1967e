//! Ranks whose parts of a value hold its error.

use crate::read::dump::Shard;
use crate::result::unit::{ErrorAxis, ErrorLocation};

/// The parts that hold the error of a value; empty where its location does not show them.
pub(crate) fn wrong_shards<'s>(shards: &'s [Shard], location: &ErrorLocation) -> Vec<&'s Shard> {
    let Some(axis) = axis_of(shards, location) else { return Vec::new() };
    let is_hit = |shard: &&Shard| {
        let overlaps =
            |(first, last): &(u64, u64)| shard.ranges.iter().any(|range| *first < range.end && *last >= range.start);
        axis.runs.iter().any(overlaps)
    };
    let hit: Vec<&Shard> = shards.iter().filter(is_hit).collect();
    if hit.len() == shards.len() { Vec::new() } else { hit }
}

/// Ranks as text.
pub(super) fn rank_list(ranks: impl IntoIterator<Item = u64>) -> String {
    ranks.into_iter().map(|rank| rank.to_string()).collect::<Vec<_>>().join(", ")
}

/// The ranks that hold wrong parts, as text; `None` where the location does not show them.
pub(super) fn wrong_ranks(shards: &[Shard], location: &ErrorLocation) -> Option<String> {
    let wrong = wrong_shards(shards, location);
    (!wrong.is_empty()).then(|| rank_list(wrong.into_iter().map(|shard| shard.rank)))
}

/// Whether the error covers whole parts: it begins and ends where they do.
pub(super) fn fills_shards(shards: &[Shard], location: &ErrorLocation) -> bool {
    let Some(axis) = axis_of(shards, location) else { return false };
    let mut bounds: Vec<(u64, u64)> = Vec::new();
    let ranges = wrong_shards(shards, location).into_iter().flat_map(|shard| shard.ranges.iter());
    let mut ranges: Vec<(u64, u64)> = ranges.map(|range| (range.start, range.end.saturating_sub(1))).collect();
    ranges.sort_unstable();
    for (first, last) in ranges {
        match bounds.last_mut() {
            Some((_, end)) if *end + 1 == first => *end = last,
            _ => bounds.push((first, last)),
        }
    }
    !bounds.is_empty() && bounds == axis.runs
}

/// The error along the axis that the value is cut along.
fn axis_of<'l>(shards: &[Shard], location: &'l ErrorLocation) -> Option<&'l ErrorAxis> {
    let cut = shards.first()?.axis as u64;
    location.axes.iter().find(|axis| axis.axis == cut && axis.rolled.is_none() && axis.every == 0)
}
