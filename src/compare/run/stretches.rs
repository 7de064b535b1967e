//! Medians of neighbours along a curve.

/// The lowest median of `width` neighbours, with the place of its first; `None` where there are fewer.
///
/// Places of values in their order are counted in a tree of sums (P. M. Fenwick, "A New Data Structure for Cumulative Frequency
/// Tables", 1994), so that a step takes the logarithm of the curve's length however wide a stretch is.
pub(super) fn least_median(values: &[f64], width: usize) -> Option<(usize, f64)> {
    // Half as wide as a place in memory can be: a curve has ten million points at most.
    let mut order: Vec<u32> = (0..u32::try_from(values.len()).ok()?).collect();
    let value = |place: u32| values.get(place as usize).copied().unwrap_or(f64::NAN);
    order.sort_unstable_by(|a, b| value(*a).total_cmp(&value(*b)).then(a.cmp(b)));
    let mut ranks: Vec<u32> = vec![0; values.len()];
    for (rank, place) in (0..).zip(&order) {
        *ranks.get_mut(*place as usize)? = rank;
    }
    let mut within = Counts::of(values.len());
    ranks.get(..width)?.iter().for_each(|rank| within.add(*rank as usize, 1));
    let median = |within: &Counts| order.get(within.nth(width / 2)).map(|place| value(*place));
    let mut least = (0, median(&within)?);
    for (place, (gone, new)) in (1..).zip(ranks.iter().zip(ranks.get(width..)?)) {
        within.add(*gone as usize, -1);
        within.add(*new as usize, 1);
        let middle = median(&within)?;
        if middle < least.1 {
            least = (place, middle);
        }
    }
    Some(least)
}

/// Counts of places, as sums over ranges.
struct Counts {
    sums: Vec<i32>,
}

impl Counts {
    /// None of any of `len` places.
    fn of(len: usize) -> Self {
        Self { sums: vec![0; len + 1] }
    }

    fn add(&mut self, place: usize, count: i32) {
        let mut at = place + 1;
        while let Some(sum) = self.sums.get_mut(at) {
            *sum += count;
            at += at & at.wrapping_neg();
        }
    }

    /// Place of the one that `nth` others come before.
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
        at
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::median::median;

    proptest! {
        #[test]
        fn the_lowest_stretch_is_that_of_a_search_over_all(
            values in proptest::collection::vec(prop_oneof![-9.0_f64..9.0, Just(1.0)], 1..60),
            width in 1_usize..12,
        ) {
            let medians = values.windows(width).map(|stretch| median(stretch.to_vec()).expect("values"));
            let expected = medians.enumerate().reduce(|least, one| if one.1 < least.1 { one } else { least });
            prop_assert_eq!(least_median(&values, width), expected);
        }
    }
}
