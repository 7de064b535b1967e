//! Medians of sliding windows along a curve.

/// Places (bits) per word.
const BITS: usize = u64::BITS as usize;

/// The lowest median of `width` neighbouring values, with the place of the first of them; `None` where there are fewer
/// values.
///
/// The values of a window are counted by their ranks, 64 at a time, in a tree of sums (P. M. Fenwick, "A New Data
/// Structure for Cumulative Frequency Tables", 1994), so a step takes time logarithmic in the curve's length, however
/// wide the window is.
pub(super) fn least_median(values: &[f64], width: usize) -> Option<(usize, f64)> {
    // Half as wide as a place in memory can be: a curve has ten million points at most.
    let mut order: Vec<u32> = (0..u32::try_from(values.len()).ok()?).collect();
    let value = |place: u32| values.get(place as usize).copied().unwrap_or(f64::NAN);
    order.sort_unstable_by(|a, b| value(*a).total_cmp(&value(*b)).then(a.cmp(b)));
    let mut ranks: Vec<u32> = vec![0; values.len()];
    for (rank, place) in (0..).zip(&order) {
        *ranks.get_mut(*place as usize)? = rank;
    }
    let mut within = Places::none_of(values.len());
    ranks.get(..width)?.iter().for_each(|rank| within.toggle(*rank));
    let median = |within: &Places| order.get(within.nth(width / 2)).map(|place| value(*place));
    let mut least = (0, median(&within)?);
    for (place, (gone, new)) in (1..).zip(ranks.iter().zip(ranks.get(width..)?)) {
        within.toggle(*gone);
        within.toggle(*new);
        let middle = median(&within)?;
        if middle < least.1 {
            least = (place, middle);
        }
    }
    Some(least)
}

/// A set of places: a bit for each, and how many of them each word holds, as sums over ranges.
struct Places {
    words: Vec<u64>,
    sums: Vec<i32>,
}

impl Places {
    /// The empty set over `len` places.
    fn none_of(len: usize) -> Self {
        let words = len.div_ceil(BITS);
        Self { words: vec![0; words], sums: vec![0; words + 1] }
    }

    /// Adds a place, or removes it if it is in the set.
    fn toggle(&mut self, place: u32) {
        let place = place as usize;
        let Some(word) = self.words.get_mut(place / BITS) else { return };
        let bit = 1 << (place % BITS);
        *word ^= bit;
        let count = if *word & bit == 0 { -1 } else { 1 };
        let mut at = place / BITS + 1;
        while let Some(sum) = self.sums.get_mut(at) {
            *sum += count;
            at += at & at.wrapping_neg();
        }
    }

    /// The place with `nth` smaller ones in the set.
    fn nth(&self, nth: usize) -> usize {
        let mut rest = i32::try_from(nth).unwrap_or(i32::MAX);
        let mut at = 0;
        let mut half = self.sums.len().next_power_of_two();
        while half > 0 {
            if let Some(sum) = self.sums.get(at + half).filter(|sum| **sum <= rest) {
                rest -= sum;
                at += half;
            }
            half /= 2;
        }
        let mut word = self.words.get(at).copied().unwrap_or_default();
        for _ in 0..rest {
            word &= word.wrapping_sub(1);
        }
        at * BITS + word.trailing_zeros() as usize
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::median::upper_median;

    proptest! {
        #[test]
        fn the_lowest_stretch_is_that_of_a_search_over_all(
            values in proptest::collection::vec(prop_oneof![-9.0_f64..9.0, Just(1.0)], 1..300),
            width in 1_usize..90,
        ) {
            let medians = values.windows(width).map(|stretch| upper_median(stretch.to_vec()).expect("values"));
            let expected = medians.enumerate().reduce(|least, one| if one.1 < least.1 { one } else { least });
            prop_assert_eq!(least_median(&values, width), expected);
        }
    }
}
