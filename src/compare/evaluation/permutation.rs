//! One-sided sign-flip permutation test of losses per sample.
//!
//! Where nothing got worse, each loss is as likely to have the other sign. Signs are drawn from SplitMix64 (Steele, Lea,
//! Flood 2014) from state 0: one word per 64 losses, its lowest bit first, 1 for a sign that stays, a new word at the start of
//! each draw. A word of the stream is a function of its number, so that draws are independent of each other and of threads.

use rayon::prelude::*;

/// Least number of draws.
const LEAST_DRAWS: u64 = 9999;
/// Draws per test of a run. With fewer, no probability could pass the correction for the number of tests.
const DRAWS_PER_TEST: u64 = 200;
/// Most draws; only a run with more than 10 000 tests would need more.
const MOST_DRAWS: u64 = 2_000_000;
/// Share of the losses' total size by which two sums may differ from rounding alone.
const TOLERANCE: f64 = 1e-12;
/// Losses whose signs come from one word.
const WORD: usize = 64;
/// Losses whose 256 signed sums stand in one table.
const GROUP: usize = 8;
/// Draws that one thread takes at a time: enough that building tables costs little.
const CHUNK: usize = 2048;

/// Outcome of a test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Permutation {
    /// Probability of a sum at least as large; 1 where all losses are 0.
    pub worse: f64,
    /// Probability of a sum at most as large; 1 where all losses are 0.
    pub better: f64,
}

/// Number of draws in a run of `tests` tests.
pub fn draws(tests: u64) -> u64 {
    LEAST_DRAWS.max((DRAWS_PER_TEST.saturating_mul(tests)).saturating_sub(1)).min(MOST_DRAWS)
}

/// Tests the sum of finite `losses`, in order of id, by `draws` draws of signs. The same bits come out on any number of threads.
pub fn sign_flip_test(losses: &[f64], draws: u64) -> Permutation {
    let losses: Vec<f64> = losses.iter().copied().filter(|loss| loss.abs() > 0.0).collect();
    if losses.is_empty() {
        return Permutation { worse: 1.0, better: 1.0 };
    }
    let size: f64 = losses.iter().map(|loss| loss.abs()).sum();
    // Summed in the same order as every draw, so that a draw that keeps all signs gives the same number.
    let observed = sums(&losses, |_, _| u64::MAX, 0, 1).first().copied().unwrap_or(0.0);
    let words = losses.len().div_ceil(WORD) as u64;
    let signs = |draw: u64, word: u64| word_of(draw.wrapping_mul(words).wrapping_add(word));
    let total = usize::try_from(draws).unwrap_or(usize::MAX);
    let chunks = (0..total).step_by(CHUNK).collect::<Vec<usize>>();
    let count = |start: &usize| {
        let sums = sums(&losses, signs, *start as u64, CHUNK.min(total - start));
        let at_least = sums.iter().filter(|sum| **sum >= observed - TOLERANCE * size).count() as u64;
        let at_most = sums.iter().filter(|sum| **sum <= observed + TOLERANCE * size).count() as u64;
        (at_least, at_most)
    };
    let (at_least, at_most) =
        chunks.par_iter().map(count).reduce(|| (0, 0), |one, other| (one.0 + other.0, one.1 + other.1));
    let share = |hits: u64| (hits + 1) as f64 / (draws + 1) as f64;
    Permutation { worse: share(at_least), better: share(at_most) }
}

/// The word of SplitMix64 with this number, from 0.
fn word_of(number: u64) -> u64 {
    let mut bits = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Sums of `losses` under the signs of `count` draws from `first` on.
///
/// Eight losses have only 256 signed sums, so that one addition stands for eight. One word's tables are in use at a time,
/// which fit the fastest cache.
fn sums(losses: &[f64], signs: impl Fn(u64, u64) -> u64, first: u64, count: usize) -> Vec<f64> {
    let mut sums = vec![0.0; count];
    for (word, losses) in (0_u64..).zip(losses.chunks(WORD)) {
        let tables: Vec<[f64; 256]> = losses.chunks(GROUP).map(table).collect();
        for (draw, sum) in (first..).zip(&mut sums) {
            let bytes = signs(draw, word).to_le_bytes();
            let of_word: f64 = tables.iter().zip(bytes).filter_map(|(table, byte)| table.get(usize::from(byte))).sum();
            *sum += of_word;
        }
    }
    sums
}

/// Sums of at most eight losses under all combinations of signs: a set bit i of the index keeps the sign of loss i.
fn table(losses: &[f64]) -> [f64; 256] {
    let mut table = [0.0; 256];
    for (place, sum) in table.iter_mut().enumerate() {
        let signed = losses.iter().enumerate().map(|(bit, loss)| if place >> bit & 1 == 1 { *loss } else { -loss });
        *sum = signed.sum();
    }
    table
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop, proptest};

    use super::*;

    /// The test as it is described, one loss after the other from one stream.
    fn naive(losses: &[f64], draws: u64) -> Permutation {
        let losses: Vec<f64> = losses.iter().copied().filter(|loss| loss.abs() > 0.0).collect();
        let observed: f64 = losses.iter().sum();
        let size: f64 = losses.iter().map(|loss| loss.abs()).sum();
        let mut state = 0_u64;
        let mut next = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut bits = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            bits ^ (bits >> 31)
        };
        let (mut worse, mut better) = (1, 1);
        for _ in 0..draws {
            let mut sum = 0.0;
            for losses in losses.chunks(64) {
                let mut word = next();
                for loss in losses {
                    sum += if word & 1 == 1 { *loss } else { -loss };
                    word >>= 1;
                }
            }
            worse += u64::from(sum >= observed - 1e-12 * size);
            better += u64::from(sum <= observed + 1e-12 * size);
        }
        Permutation { worse: worse as f64 / (draws + 1) as f64, better: better as f64 / (draws + 1) as f64 }
    }

    proptest! {
        #![proptest_config(proptest::test_runner::Config::with_cases(40))]

        #[test]
        fn hits_are_those_of_the_description(losses in prop::collection::vec(-1.0_f64..1.0, 1..200), draws in 1_u64..4500) {
            assert_eq!(sign_flip_test(&losses, draws), naive(&losses, draws));
        }

        #[test]
        fn equal_sums_count_as_reached(thirds in prop::collection::vec(-3_i32..4, 1..100)) {
            let losses: Vec<f64> = thirds.iter().map(|third| f64::from(*third) / 3.0).collect();
            let whole: Vec<f64> = thirds.iter().map(|third| f64::from(*third)).collect();
            assert_eq!(sign_flip_test(&losses, 3000), sign_flip_test(&whole, 3000));
        }

        #[test]
        fn losses_of_zero_change_nothing(losses in prop::collection::vec(-1.0_f64..1.0, 1..100)) {
            let with: Vec<f64> = losses.iter().flat_map(|loss| [0.0, *loss]).collect();
            assert_eq!(sign_flip_test(&losses, 500), sign_flip_test(&with, 500));
        }
    }

    #[test]
    fn any_number_of_threads_gives_the_same() {
        let losses: Vec<f64> = (0..1000).map(|place| f64::from(place % 17 - 7) / 13.0).collect();
        let of = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            pool.install(|| sign_flip_test(&losses, 9999))
        };
        assert_eq!(of(1), of(7));
    }

    #[test]
    fn nothing_lost_is_no_evidence() {
        assert_eq!(sign_flip_test(&[], 9999), Permutation { worse: 1.0, better: 1.0 });
        assert_eq!(sign_flip_test(&[0.0, -0.0], 9999), Permutation { worse: 1.0, better: 1.0 });
    }

    #[test]
    fn draws_grow_with_the_number_of_tests() {
        assert_eq!([0, 1, 50, 100, u64::MAX].map(draws), [9999, 9999, 9999, 19_999, MOST_DRAWS]);
    }
}
