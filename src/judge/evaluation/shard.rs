//! Finds a residue class of document numbers that nearly all worse samples share, as the documents of one data-parallel rank do.
//!
//! Harnesses deal documents to ranks in turn: rank r of k gets the documents whose number modulo k is r.

use crate::compare::evaluation::binomial;
use crate::kind::SampleId;
use crate::result::unit::Shard;

/// Numbers of ranks that are tried.
const RANKS: std::ops::RangeInclusive<u64> = 2..=16;
/// Number of classes that are tried: the sum of [`RANKS`].
const CLASSES: f64 = 135.0;
/// Fewest worse samples.
const LEAST_WORSE: u64 = 5;
/// Least share of the worse samples that lies in the class.
const LEAST_INSIDE: f64 = 0.9;
/// Largest p-value, corrected for the number of classes.
const MOST_CHANCE: f64 = 1e-3;
/// Factor by which the p-value of a larger number of ranks has to be smaller.
const CLEARLY: f64 = 0.1;

/// A residue class with the number of worse samples in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pattern {
    /// The class.
    pub(super) shard: Shard,
    /// Number of worse samples in the class.
    pub(super) inside: u64,
    /// Number of worse samples whose document has a number.
    pub(super) worse: u64,
}

/// Number of a sample's document; `None` for a name.
pub(super) fn number(id: &SampleId) -> Option<u64> {
    match id {
        SampleId::Number(number) => Some(*number),
        SampleId::Text(text) => text.split('/').next()?.parse().ok(),
    }
}

/// Finds the class of the worse samples. Each sample has its document's number and whether it got worse. `None` where chance explains
/// every class.
pub(super) fn find(samples: &[(u64, bool)]) -> Option<Pattern> {
    let worse = samples.iter().filter(|(_, worse)| *worse).count() as u64;
    if worse < LEAST_WORSE {
        return None;
    }
    let mut best: Option<(f64, Pattern)> = None;
    for modulus in RANKS {
        let Some((remainder, inside, share)) = fullest(samples, modulus) else { continue };
        if (inside as f64) < LEAST_INSIDE * worse as f64 {
            continue;
        }
        let chance = binomial::upper_tail(inside, worse, share);
        let is_better = best.as_ref().is_none_or(|(least, _)| chance < CLEARLY * least);
        if chance * CLASSES <= MOST_CHANCE && is_better {
            best = Some((chance, Pattern { shard: Shard { modulus, remainder }, inside, worse }));
        }
    }
    best.map(|(_, pattern)| pattern)
}

/// The class with most worse samples: its remainder, how many, and the class's share of all samples.
fn fullest(samples: &[(u64, bool)], modulus: u64) -> Option<(u64, u64, f64)> {
    let mut classes = vec![(0_u64, 0_u64); usize::try_from(modulus).ok()?];
    for (number, worse) in samples {
        let class = classes.get_mut(usize::try_from(number % modulus).ok()?)?;
        class.0 += u64::from(*worse);
        class.1 += 1;
    }
    let fullest = (0_u64..).zip(&classes).max_by_key(|(remainder, (worse, _))| (*worse, std::cmp::Reverse(*remainder)));
    fullest.map(|(remainder, (worse, all))| (remainder, *worse, *all as f64 / samples.len() as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard(worse: impl Fn(u64) -> bool, count: u64) -> Option<(u64, u64)> {
        let samples: Vec<(u64, bool)> = (0..count).map(|number| (number, worse(number))).collect();
        find(&samples).map(|found| (found.shard.modulus, found.shard.remainder))
    }

    #[test]
    fn the_rank_that_computes_wrongly_is_found() {
        for ranks in [2, 3, 4, 8, 16] {
            assert_eq!(shard(|number| number % ranks == 1 && number % 5 != 0, 400), Some((ranks, 1)), "{ranks}");
        }
        assert_eq!(shard(|number| number % 4 == 1 && number % 5 != 0 || number == 50, 200), Some((4, 1)), "one more");
    }

    #[test]
    fn few_losses_or_losses_everywhere_are_no_pattern() {
        assert_eq!(shard(|number| number % 4 == 1, 16), None, "four");
        assert_eq!(shard(|number| number % 7 < 3, 300), None);
        assert_eq!(shard(|_| true, 300), None, "all are worse");
        assert_eq!(find(&[]), None);
    }

    #[test]
    fn random_losses_show_none() {
        let mut state = 7_u64;
        let mut next = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut bits = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            bits ^ (bits >> 31)
        };
        let found = (0..1500).filter(|run| {
            let losses = 5 + run % 26;
            let mut samples: Vec<(u64, bool)> = (0..200).map(|number| (number, false)).collect();
            for _ in 0..losses {
                let place = usize::try_from(next() % 200).expect("small");
                samples[place].1 = true;
            }
            find(&samples).is_some()
        });
        assert!(found.count() <= 3);
    }

    #[test]
    fn documents_are_numbered_by_their_id() {
        assert_eq!(number(&SampleId::Number(3)), Some(3));
        assert_eq!(number(&SampleId::Text("12/1".into())), Some(12));
        assert_eq!(number(&SampleId::Text("name".into())), None);
    }
}
