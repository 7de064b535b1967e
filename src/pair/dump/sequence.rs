//! Alignment of two sequences of keys, in time that grows little faster than their length.
//!
//! A diff takes time proportional to the length times the number of differing keys, which is quadratic where two runs have
//! nothing in common. It is used while few keys differ. Otherwise the keys that only one side has are removed first. Where
//! even the rest differs too much, the n-th occurrence of a key is paired with the n-th on the other side.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Most keys of both sides together that a diff may leave without a partner; its time grows with the square of it.
const MOST_EDITS: usize = 4000;

/// A stretch of both sequences.
pub(super) struct Stretch {
    /// Whether its keys are the same on both sides.
    pub(super) is_equal: bool,
    /// Its places on the left.
    pub(super) left: Range<usize>,
    /// Its places on the right.
    pub(super) right: Range<usize>,
}

/// Cuts two sequences into stretches of equal and of different keys, in order and without gap.
pub(super) fn align(left: &[u64], right: &[u64]) -> Vec<Stretch> {
    if differs_little(left, right) {
        return diff(left, right);
    }
    let (common_left, common_right) = (common(left, right), common(right, left));
    let keys = |all: &[u64], places: &[usize]| -> Vec<u64> {
        places.iter().filter_map(|place| all.get(*place).copied()).collect()
    };
    let (keys_left, keys_right) = (keys(left, &common_left), keys(right, &common_right));
    let pairs = if differs_little(&keys_left, &keys_right) {
        matches(&diff(&keys_left, &keys_right))
    } else {
        by_occurrence(&keys_left, &keys_right)
    };
    let place = |places: &[usize], index: usize| places.get(index).copied();
    let in_full = |(a, b): (usize, usize)| Some((place(&common_left, a)?, place(&common_right, b)?));
    stretches(pairs.into_iter().filter_map(in_full), left.len(), right.len())
}

fn diff(left: &[u64], right: &[u64]) -> Vec<Stretch> {
    let steps = capture_diff_slices(Algorithm::Patience, left, right).into_iter();
    let stretch = |step: DiffOp| Stretch {
        is_equal: matches!(step, DiffOp::Equal { .. }),
        left: step.old_range(),
        right: step.new_range(),
    };
    steps.map(stretch).collect()
}

/// Whether a diff leaves at most [`MOST_EDITS`] keys without a partner. It computes the furthest place on every diagonal, edit
/// by edit (Myers 1986).
fn differs_little(left: &[u64], right: &[u64]) -> bool {
    if left.len() + right.len() <= MOST_EDITS {
        return true;
    }
    if left.len().abs_diff(right.len()) > MOST_EDITS || unmatched(left, right) > MOST_EDITS {
        return false;
    }
    // Diagonal k stands at index k + MOST_EDITS + 1; each holds the place on the left that was reached.
    let mut reached = vec![0_usize; 2 * MOST_EDITS + 3];
    for edits in 0..=MOST_EDITS {
        for index in (MOST_EDITS + 1 - edits..=MOST_EDITS + 1 + edits).step_by(2) {
            let Some(place) = furthest(left, right, &reached, index, edits) else { continue };
            if let Some(slot) = reached.get_mut(index) {
                *slot = place;
            }
            if place >= left.len() && place + MOST_EDITS + 1 >= right.len() + index {
                return true;
            }
        }
    }
    false
}

/// The furthest place on the left that diagonal `index` reaches with one more edit; `None` where it lies outside.
fn furthest(left: &[u64], right: &[u64], reached: &[usize], index: usize, edits: usize) -> Option<usize> {
    let at = |index: usize| reached.get(index).copied().unwrap_or(0);
    let (below, above) = (at(index - 1), at(index + 1));
    let (first, last) = (index + edits == MOST_EDITS + 1, index == MOST_EDITS + 1 + edits);
    let mut place = if edits == 0 {
        0
    } else if first || (!last && below < above) {
        above
    } else {
        below + 1
    };
    let mut other = (place + MOST_EDITS + 1).checked_sub(index)?;
    while place < left.len() && left.get(place) == right.get(other) {
        place += 1;
        other += 1;
    }
    Some(place)
}

/// Keys that only one side has, counted as often as they occur: the fewest that any alignment leaves without partner.
fn unmatched(left: &[u64], right: &[u64]) -> usize {
    let mut counts: HashMap<u64, isize> = HashMap::new();
    left.iter().for_each(|key| *counts.entry(*key).or_default() += 1);
    right.iter().for_each(|key| *counts.entry(*key).or_default() -= 1);
    counts.into_values().map(isize::unsigned_abs).sum()
}

/// Places of the keys that the other side has as well.
fn common(keys: &[u64], others: &[u64]) -> Vec<usize> {
    let others: HashSet<u64> = others.iter().copied().collect();
    keys.iter().enumerate().filter(|(_, key)| others.contains(key)).map(|(place, _)| place).collect()
}

/// Pairs of places of equal keys.
fn matches(stretches: &[Stretch]) -> Vec<(usize, usize)> {
    let equal = stretches.iter().filter(|stretch| stretch.is_equal);
    equal.flat_map(|stretch| stretch.left.clone().zip(stretch.right.clone())).collect()
}

/// The longest chain, rising on both sides, of pairs of the n-th occurrence of a key with the n-th on the other side.
fn by_occurrence(left: &[u64], right: &[u64]) -> Vec<(usize, usize)> {
    let of_left: HashMap<(u64, usize), usize> = numbered(left).into_iter().zip(0..).collect();
    let pairs: Vec<(usize, usize)> =
        numbered(right).iter().zip(0..).filter_map(|(key, place)| Some((*of_left.get(key)?, place))).collect();
    // The pair that ends the best chain of each length, and the pair before each pair in its chain.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    let place_of = |pair: usize| pairs.get(pair).map_or(0, |(place, _)| *place);
    for (index, (place, _)) in pairs.iter().enumerate() {
        let len = ends.partition_point(|end| place_of(*end) < *place);
        before.push(len.checked_sub(1).and_then(|shorter| ends.get(shorter).copied()));
        match ends.get_mut(len) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let step = |pair: &usize| before.get(*pair).copied().flatten();
    let mut chain: Vec<(usize, usize)> =
        std::iter::successors(ends.last().copied(), step).filter_map(|pair| pairs.get(pair).copied()).collect();
    chain.reverse();
    chain
}

/// Every key with the number of its earlier occurrences.
fn numbered(keys: &[u64]) -> Vec<(u64, usize)> {
    let mut seen: HashMap<u64, usize> = HashMap::new();
    let number = |key: &u64| {
        let count = seen.entry(*key).or_default();
        *count += 1;
        (*key, *count - 1)
    };
    keys.iter().map(number).collect()
}

/// The stretches that rising pairs cut two sequences of these lengths into.
fn stretches(pairs: impl Iterator<Item = (usize, usize)>, left: usize, right: usize) -> Vec<Stretch> {
    let mut made: Vec<Stretch> = Vec::new();
    let mut at = (0, 0);
    let gap = |made: &mut Vec<Stretch>, from: (usize, usize), to: (usize, usize)| {
        if from != to {
            made.push(Stretch { is_equal: false, left: from.0..to.0, right: from.1..to.1 });
        }
    };
    for (a, b) in pairs {
        gap(&mut made, at, (a, b));
        at = (a + 1, b + 1);
        match made.last_mut().filter(|last| last.is_equal) {
            Some(last) => (last.left.end, last.right.end) = at,
            None => made.push(Stretch { is_equal: true, left: a..at.0, right: b..at.1 }),
        }
    }
    gap(&mut made, at, (left, right));
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paired(left: &[u64], right: &[u64]) -> Vec<(usize, usize)> {
        let stretches = align(left, right);
        let mut at = (0, 0);
        for stretch in &stretches {
            assert_eq!((stretch.left.start, stretch.right.start), at, "in order and without gap");
            at = (stretch.left.end, stretch.right.end);
        }
        assert_eq!(at, (left.len(), right.len()));
        let pairs = matches(&stretches);
        assert!(pairs.iter().all(|(a, b)| left[*a] == right[*b]));
        pairs
    }

    #[test]
    fn long_sequences_without_a_common_key_have_no_pairs() {
        let (left, right): (Vec<u64>, Vec<u64>) = ((0..100_000).collect(), (100_000..200_000).collect());
        assert!(paired(&left, &right).is_empty());
    }

    #[test]
    fn what_is_common_is_paired_though_every_other_key_differs() {
        let left: Vec<u64> = (0..40_000).collect();
        let right: Vec<u64> = left.iter().map(|key| if key % 2 == 0 { *key } else { key + 1_000_000 }).collect();
        assert_eq!(paired(&left, &right), (0..40_000).step_by(2).map(|at| (at, at)).collect::<Vec<_>>());
    }

    #[test]
    fn a_reversed_sequence_of_repeated_keys_ends_in_time() {
        let left: Vec<u64> = (0..60_000).map(|at| at % 7000).collect();
        let right: Vec<u64> = left.iter().rev().copied().collect();
        assert!(!paired(&left, &right).is_empty());
    }

    #[test]
    fn little_that_differs_in_a_long_sequence_is_found_exactly() {
        let left: Vec<u64> = (0..20_000).map(|at| at % 3).collect();
        let right = [&[9], &left[..10_000], &[9, 9], &left[10_000..]].concat();
        assert!(differs_little(&left, &right));
        assert_eq!(paired(&left, &right).len(), left.len());
    }

    #[test]
    fn the_number_of_edits_is_known_exactly() {
        let same = vec![1_u64; 10_000];
        let tail = |key: u64, count: usize| [same.clone(), vec![key; count]].concat();
        assert!(differs_little(&tail(2, MOST_EDITS / 2), &tail(3, MOST_EDITS / 2)));
        assert!(!differs_little(&tail(2, MOST_EDITS / 2 + 1), &tail(3, MOST_EDITS / 2)));
        let swapped = |first: u64, second: u64| [vec![first; 3000], vec![second; 3000]].concat();
        assert!(!differs_little(&swapped(1, 2), &swapped(2, 1)), "3000 + 3000 edits");
    }
}
