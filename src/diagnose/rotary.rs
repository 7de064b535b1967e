//! The layout of a rotary embedding: which elements of a head it pairs, halves or neighbours.
//!
//! The rotated tensor of halves is `(-x[h..], x[..h])` for a head of `2 h` elements, that of neighbours
//! `(-x[1], x[0], -x[3], x[2], …)`. Both hold the same magnitudes, so that no statistic but the mean tells them apart.

use super::values::DataPair;
use crate::result::diagnosis::Statement;

/// Evidence that both sides rotate the same tensor in the two layouts.
pub(super) const ROTARY_LAYOUT: &str = "rotary-layout";

/// States which side pairs neighbours of `heads`, the tensor before it was rotated, where the other pairs halves.
pub(super) fn layouts(data: &DataPair, heads: &[f64], limit: f64) -> Option<Statement> {
    let is_even = data.width >= 4 && data.width.is_multiple_of(2);
    if !is_even || heads.is_empty() || heads.len() != data.baseline.len() {
        return None;
    }
    let is = |rotated: &[f64], rotate: fn(&[f64]) -> Vec<f64>| {
        let rows = heads.chunks_exact(data.width).zip(rotated.chunks_exact(data.width));
        rows.into_iter().all(|(head, rotated)| is_near(&rotate(head), rotated, limit))
    };
    let side = match [&data.baseline, &data.candidate].map(|side| (is(side, by_halves), is(side, by_neighbours))) {
        [(true, _), (_, true)] => "candidate",
        [(_, true), (true, _)] => "baseline",
        _ => return None,
    };
    Some(Statement::new(ROTARY_LAYOUT).with("side", side))
}

/// `(-x[h..], x[..h])`.
fn by_halves(head: &[f64]) -> Vec<f64> {
    let (lower, upper) = head.split_at(head.len() / 2);
    upper.iter().map(|value| -value).chain(lower.iter().copied()).collect()
}

/// `(-x[1], x[0], -x[3], x[2], …)`.
fn by_neighbours(head: &[f64]) -> Vec<f64> {
    let pairs = head.chunks_exact(2).filter_map(|pair| <[f64; 2]>::try_from(pair).ok());
    pairs.flat_map(|[even, odd]| [-odd, even]).collect()
}

/// Whether two heads agree. Rounding of what came before is relative to the head, not to each of its elements.
fn is_near(one: &[f64], other: &[f64], limit: f64) -> bool {
    let scale = one.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| (one - other).abs() <= limit * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_and_neighbours_are_told_apart() {
        let heads = [0.5, -1.0, 2.0, 3.0];
        let (halves, neighbours) = (vec![-2.0, -3.0, 0.5, -1.0], vec![1.0, 0.5, -3.0, 2.0]);
        let side = |baseline: &[f64], candidate: &[f64]| {
            let data = DataPair::new(baseline.to_vec(), candidate.to_vec(), 4);
            layouts(&data, &heads, 1e-6).map(|found| format!("{:?}", found.facts.get("side")))
        };
        assert!(side(&halves, &neighbours).is_some_and(|side| side.contains("candidate")));
        assert!(side(&neighbours, &halves).is_some_and(|side| side.contains("baseline")));
        assert_eq!(side(&halves, &halves), None);
        assert_eq!(side(&halves, &heads), None);
    }
}
