//! Statistics of step times: medians, scatter, and the rank test of Mann and Whitney.

use crate::compare::evaluation::normal::upper_tail;

/// Number of values of both samples up to which the rank test counts every arrangement.
const EXACT: usize = 24;
/// Most values of which every pair is compared.
const MOST_ORDERED: usize = 64;
/// Ratio of a normal distribution's standard deviation to its median absolute deviation.
const OF_NORMAL: f64 = 1.4826;
/// Ratio of the standard error of a median to that of a mean, for a normal distribution.
const OF_MEDIAN: f64 = 1.253;

/// The median; the mean of the two middle values of an even number. `NaN` of none.
pub fn median(values: &[f64]) -> f64 {
    median_with_zeros(values, 0)
}

/// The median of `values` and of `zeros` further zeros, which are not stored: of a hundred thousand operators, each may
/// run in only one step.
pub(crate) fn median_with_zeros(values: &[f64], zeros: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let below = sorted.partition_point(|value| value.total_cmp(&0.0).is_lt());
    let (count, middle) = (sorted.len() + zeros, (sorted.len() + zeros) / 2);
    let at = |place: usize| match place {
        place if place < below => sorted.get(place).copied().unwrap_or(f64::NAN),
        place if place - below < zeros => 0.0,
        place => sorted.get(place - zeros).copied().unwrap_or(f64::NAN),
    };
    if count % 2 == 1 { at(middle) } else { (at(middle.wrapping_sub(1)) + at(middle)) / 2.0 }
}

/// The robust standard deviation: 1.4826 times the median distance from the median. `NaN` of no values.
pub(crate) fn robust_deviation(values: &[f64]) -> f64 {
    let middle = median(values);
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    OF_NORMAL * median(&distances)
}

/// The standard error of the median as a part of it: 1.253 * 1.4826 * MAD / median / sqrt(n). `NaN` of no values.
#[allow(clippy::cast_precision_loss, reason = "a number of steps")]
pub(crate) fn relative_error_of_median(values: &[f64]) -> f64 {
    OF_MEDIAN * robust_deviation(values) / median(values) / (values.len() as f64).sqrt()
}

/// Slope per value of a steady trend: the line through the medians of the first and the last third (Tukey). `None`
/// where chance alone orders values this much with probability `chance` or more, by the test of Mann and Kendall, or
/// where the line leaves more than half of the scatter.
#[allow(clippy::cast_precision_loss, reason = "a number of steps")]
pub fn trend(values: &[f64], chance: f64) -> Option<f64> {
    let third = values.len().div_ceil(3);
    let (first, last) = (values.get(..third)?, values.get(values.len() - third..)?);
    if values.len() <= third || order_by_chance(values) >= chance {
        return None;
    }
    let slope = (median(last) - median(first)) / (values.len() - third) as f64;
    let left = robust_deviation(&without_trend(values, slope));
    (left < robust_deviation(values) / 2.0).then_some(slope)
}

/// Probability that chance alone orders values, up or down, as much as these: the test of Mann and Kendall by its
/// normal distribution, over at most 64 evenly spaced values.
#[allow(clippy::cast_precision_loss, reason = "at most 64 values")]
fn order_by_chance(values: &[f64]) -> f64 {
    let every = values.len().div_ceil(MOST_ORDERED).max(1);
    let values: Vec<f64> = values.iter().copied().step_by(every).collect();
    let count = values.len() as f64;
    let later = |place: usize| values.iter().skip(place + 1);
    let signs = |(place, one): (usize, &f64)| -> i64 {
        later(place).map(|other| i64::from(other > one) - i64::from(other < one)).sum()
    };
    let sum = values.iter().enumerate().map(signs).sum::<i64>();
    let variance = count * (count - 1.0) * (2.0 * count + 5.0) / 18.0;
    let distance = (sum.unsigned_abs() as f64 - 1.0).max(0.0);
    if variance > 0.0 { upper_tail(distance / variance.sqrt()) } else { 1.0 }
}

/// Values after removing a trend of `slope` per value around the middle.
#[allow(clippy::cast_precision_loss, reason = "a number of steps")]
pub(crate) fn without_trend(values: &[f64], slope: f64) -> Vec<f64> {
    let middle = (values.len() as f64 - 1.0) / 2.0;
    values.iter().enumerate().map(|(place, value)| value - slope * (place as f64 - middle)).collect()
}

/// Probability that chance alone puts `longer` as high above `shorter` as it is, by the one-sided rank test of Mann and
/// Whitney with mean ranks for ties. Exact over all arrangements of the ranks up to 24 values, else by the normal
/// distribution with the correction for ties. 1 where a sample is empty.
pub(crate) fn rank_test(shorter: &[f64], longer: &[f64]) -> f64 {
    if shorter.is_empty() || longer.is_empty() {
        return 1.0;
    }
    let ranks = doubled_ranks(shorter, longer);
    let observed: u64 = ranks.iter().filter(|(_, is_longer)| *is_longer).map(|(rank, _)| rank).sum();
    if ranks.len() <= EXACT {
        return exact(&ranks, longer.len(), observed);
    }
    by_normal(&ranks, shorter.len(), longer.len(), observed)
}

/// Twice the rank of every value, with the mean rank for ties, and whether the value is of the second sample.
fn doubled_ranks(shorter: &[f64], longer: &[f64]) -> Vec<(u64, bool)> {
    let mut all: Vec<(f64, bool)> = shorter.iter().map(|value| (*value, false)).collect();
    all.extend(longer.iter().map(|value| (*value, true)));
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut ranks = Vec::with_capacity(all.len());
    for tied in all.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq()) {
        // The first of the group has the rank before + 1, the last before + length.
        let rank = 2 * ranks.len() as u64 + tied.len() as u64 + 1;
        ranks.extend(tied.iter().map(|(_, is_longer)| (rank, *is_longer)));
    }
    ranks
}

/// Share of the choices of `chosen` ranks whose sum is at least the observed one.
#[allow(clippy::cast_precision_loss, reason = "at most 24 over 12 arrangements")]
fn exact(ranks: &[(u64, bool)], chosen: usize, observed: u64) -> f64 {
    let most = usize::try_from(ranks.iter().map(|(rank, _)| rank).sum::<u64>()).unwrap_or_default();
    // ways[k][s]: choices of k ranks with the sum s.
    let mut ways = vec![vec![0_u64; most + 1]; chosen + 1];
    if let Some(first) = ways.first_mut().and_then(|row| row.first_mut()) {
        *first = 1;
    }
    for (rank, _) in ranks {
        let rank = usize::try_from(*rank).unwrap_or(most);
        for count in (1..=chosen).rev() {
            let (before, after) = ways.split_at_mut(count);
            let (Some(from), Some(to)) = (before.last(), after.first_mut()) else { continue };
            to.iter_mut().skip(rank).zip(from).for_each(|(to, from)| *to += from);
        }
    }
    let Some(last) = ways.last() else { return 1.0 };
    let above: u64 = last.iter().skip(usize::try_from(observed).unwrap_or(most)).sum();
    above as f64 / last.iter().sum::<u64>() as f64
}

#[allow(clippy::cast_precision_loss, reason = "numbers of steps and sums of their ranks")]
fn by_normal(ranks: &[(u64, bool)], shorter: usize, longer: usize, observed: u64) -> f64 {
    let (n, m, all) = (shorter as f64, longer as f64, ranks.len() as f64);
    let ties: f64 = ranks
        .chunk_by(|a, b| a.0 == b.0)
        .map(|tied| {
            let count = tied.len() as f64;
            count.powi(3) - count
        })
        .sum();
    let variance = n * m / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    let expected = m * (all + 1.0) / 2.0;
    let distance = observed as f64 / 2.0 - expected - 0.5;
    upper_tail(distance / variance.sqrt())
}

#[cfg(test)]
#[allow(clippy::float_cmp, clippy::cast_precision_loss, reason = "small whole numbers, compared exactly on purpose")]
mod tests {
    use std::cmp::Ordering;

    use super::*;

    /// The same test by trying every choice.
    fn naive(shorter: &[f64], longer: &[f64]) -> f64 {
        let all = [shorter, longer].concat();
        let above = |one: &[f64], other: &[f64]| -> f64 {
            let pairs = one.iter().flat_map(|a| other.iter().map(move |b| (a, b)));
            let won = |(a, b): (&f64, &f64)| match a.total_cmp(b) {
                Ordering::Greater => 1.0,
                Ordering::Equal => 0.5,
                Ordering::Less => 0.0,
            };
            pairs.map(won).sum()
        };
        let observed = above(longer, shorter);
        let (mut ways, mut extreme) = (0_u32, 0_u32);
        for choice in 0_u32..1 << all.len() {
            if choice.count_ones() as usize != longer.len() {
                continue;
            }
            let part = |is_chosen: u32| -> Vec<f64> {
                let chosen = all.iter().enumerate().filter(|(at, _)| choice >> at & 1 == is_chosen);
                chosen.map(|(_, value)| *value).collect()
            };
            ways += 1;
            extreme += u32::from(above(&part(1), &part(0)) >= observed);
        }
        f64::from(extreme) / f64::from(ways)
    }

    proptest::proptest! {
        #[test]
        fn zeros_need_not_be_written_out(values in proptest::collection::vec(-3.0_f64..3.0, 0..8), zeros in 0_usize..8) {
            let written: Vec<f64> = values.iter().copied().chain(vec![0.0; zeros]).collect();
            let mut sorted = written.clone();
            sorted.sort_by(f64::total_cmp);
            let middle = sorted.len() / 2;
            let expected = match sorted.len() {
                0 => f64::NAN,
                odd if odd % 2 == 1 => sorted[middle],
                _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
            };
            proptest::prop_assert_eq!(median_with_zeros(&values, zeros).to_bits(), expected.to_bits());
            proptest::prop_assert_eq!(median(&written).to_bits(), expected.to_bits());
        }
    }

    #[test]
    fn the_rank_test_counts_every_arrangement() {
        let four = [1.0, 2.0, 3.0, 4.0];
        assert!((rank_test(&four, &four.map(|value| value + 10.0)) - 1.0 / 70.0).abs() < 1e-12);
        let mut seed = 1_u64;
        for size in 2..9_usize {
            for other in 2..6_usize {
                let mut value = || {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    // Few distinct values make ties.
                    ((seed >> 33) % 6) as f64
                };
                let shorter: Vec<f64> = (0..size).map(|_| value()).collect();
                let longer: Vec<f64> = (0..other).map(|_| value()).collect();
                let (found, naive) = (rank_test(&shorter, &longer), naive(&shorter, &longer));
                assert!((found - naive).abs() < 1e-12, "{shorter:?} {longer:?}: {found} and {naive}");
            }
        }
    }

    #[test]
    fn many_values_go_on_where_the_exact_test_ends() {
        let shorter: Vec<f64> = (0..12).map(|place| f64::from(place * 2)).collect();
        let longer: Vec<f64> = (0..12).map(|place| f64::from(place * 2 + 5)).collect();
        let exact = rank_test(&shorter, &longer);
        let ranks = doubled_ranks(&shorter, &longer);
        let observed = ranks.iter().filter(|(_, is_longer)| *is_longer).map(|(rank, _)| rank).sum();
        assert!((by_normal(&ranks, 12, 12, observed) - exact).abs() < 0.01);
        let same: Vec<f64> = vec![1.0; 40];
        assert!((rank_test(&same, &same) - 1.0).abs() < 1e-12);
        assert!((upper_tail(0.0) - 0.5).abs() < 1e-6 && (upper_tail(1.96) - 0.025).abs() < 1e-4);
    }

    #[test]
    fn medians_and_scatter_are_those_of_the_definition() {
        assert!((median(&[3.0, 1.0, 2.0]) - 2.0).abs() < 1e-12 && (median(&[4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-12);
        assert!(median(&[]).is_nan());
        assert!((robust_deviation(&[1.0, 2.0, 3.0, 4.0, 100.0]) - 1.4826).abs() < 1e-9);
        assert!((relative_error_of_median(&[9.0, 10.0, 11.0, 10.0]) - 1.253 * 1.4826 * 0.5 / 10.0 / 2.0).abs() < 1e-9);
    }
}
