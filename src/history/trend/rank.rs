//! Rank tests: the probability of an order of values under pure chance.
//!
//! Only the order of values counts. So no distribution is assumed, an outlier has no more weight than any largest value, and values and their
//! logarithms give the same answer.

/// Two-sided significance of the Mann-Whitney test that `before` and `after` come from one distribution, 0 to 1.
///
/// Exact, ties included: the share, among all ways to choose `after.len()` of the pooled values, of those whose rank
/// sum lies at least as far from its mean (H. B. Mann, D. R. Whitney, Ann. Math. Statist. 18, 1947; with tied values
/// sharing the mean of their ranks, E. L. Lehmann, *Nonparametrics*, 1975, section 1.4). 1 where a side is empty or
/// all values are equal. Values are not NaN. Takes `n² m²` additions for `n` values, `m` of them on the smaller side.
pub(super) fn mann_whitney(before: &[f64], after: &[f64]) -> f64 {
    let (few, many) = if before.len() <= after.len() { (before, after) } else { (after, before) };
    let ranks = doubled_ranks(few.iter().chain(many));
    let chosen: usize = ranks.iter().take(few.len()).sum();
    // Twice the mean of the rank sum, like the ranks: whole numbers throughout.
    let mean = few.len() * (ranks.len() + 1);
    let ways = ways(&ranks, few.len());
    let total: f64 = ways.iter().sum();
    let as_far = ways.iter().enumerate().filter(|(sum, _)| sum.abs_diff(mean) >= chosen.abs_diff(mean));
    as_far.map(|(_, ways)| ways).sum::<f64>() / total
}

/// Ranks from 1, doubled, so that the mean of tied ranks is a whole number.
fn doubled_ranks<'a>(values: impl Iterator<Item = &'a f64>) -> Vec<usize> {
    let values: Vec<f64> = values.copied().collect();
    // Adding 0.0 turns -0.0 into 0.0.
    let mut order: Vec<(f64, usize)> = values.iter().map(|value| value + 0.0).zip(0..).collect();
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut ranks = vec![0; values.len()];
    let mut below = 0;
    for equal in order.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq()) {
        for (_, index) in equal {
            if let Some(rank) = ranks.get_mut(*index) {
                *rank = 2 * below + equal.len() + 1;
            }
        }
        below += equal.len();
    }
    ranks
}

/// For each sum from 0 on, the number of ways in which `count` of the ranks add up to it.
fn ways(ranks: &[usize], count: usize) -> Vec<f64> {
    let mut sorted = ranks.to_vec();
    sorted.sort_unstable();
    let largest: usize = sorted.iter().rev().take(count).sum();
    let mut ways = vec![vec![0.0; largest + 1]; count + 1];
    if let Some(empty) = ways.first_mut().and_then(|sums| sums.first_mut()) {
        *empty = 1.0;
    }
    for rank in sorted {
        // Larger choices first: each rank is chosen once.
        for size in (1..=count).rev() {
            let (smaller, larger) = ways.split_at_mut(size);
            let (Some(from), Some(into)) = (smaller.last(), larger.first_mut()) else { continue };
            into.iter_mut().skip(rank).zip(from).for_each(|(sum, ways)| *sum += ways);
        }
    }
    ways.pop().unwrap_or_default()
}

/// Two-sided significance of the Mann-Kendall test that `values` have no trend, 0 to 1.
///
/// The normal approximation with the variance of tied values and the correction for continuity (H. B. Mann,
/// Econometrica 13, 1945; M. G. Kendall, *Rank Correlation Methods*, 1975, chapter 4), good from ten values on. 1
/// for fewer than three values, and where all are equal. Values are not NaN.
#[allow(clippy::cast_precision_loss, reason = "pairs of a few dozen values")]
pub(super) fn mann_kendall(values: &[f64]) -> f64 {
    let later = |index: usize| values.iter().skip(index + 1);
    let pairs = values.iter().enumerate().flat_map(|(index, value)| later(index).map(move |later| (value, later)));
    let score: i64 = pairs.map(|(value, later)| i64::from(later > value) - i64::from(later < value)).sum();
    let mut sorted: Vec<f64> = values.iter().map(|value| value + 0.0).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let ties = sorted.chunk_by(|a, b| a.total_cmp(b).is_eq()).map(|equal| pair_variance(equal.len())).sum::<f64>();
    let variance = (pair_variance(values.len()) - ties) / 18.0;
    if score == 0 || variance <= 0.0 {
        return 1.0;
    }
    let z = (score.unsigned_abs() - 1) as f64 / variance.sqrt();
    (2.0 * normal_tail(z)).min(1.0)
}

/// `n (n - 1) (2n + 5)`, eighteen times the variance of the score of `n` values.
#[allow(clippy::cast_precision_loss, reason = "a few dozen values")]
fn pair_variance(count: usize) -> f64 {
    let n = count as f64;
    n * (n - 1.0) * (2.0 * n + 5.0)
}

/// The share of a normal distribution above `z` standard deviations, for `z >= 0`, to a relative error of 1.2e-7
/// (the Chebyshev fit of Press and others, *Numerical Recipes*, 2nd edition, section 6.2, `erfcc`).
fn normal_tail(z: f64) -> f64 {
    const FIT: [f64; 10] = [
        -1.265_512_23,
        1.000_023_68,
        0.374_091_96,
        0.096_784_18,
        -0.186_288_06,
        0.278_868_07,
        -1.135_203_98,
        1.488_515_87,
        -0.822_152_23,
        0.170_872_77,
    ];
    let x = z / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.5 * x);
    let exponent = FIT.iter().rev().fold(0.0, |sum, factor| sum * t + factor);
    0.5 * t * (exponent - x * x).exp()
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "equal ranks give equal bits")]
mod tests {
    use proptest::prelude::{Strategy, prop};

    use super::*;

    /// The test by trying every choice.
    fn naive_mann_whitney(before: &[f64], after: &[f64]) -> f64 {
        let pooled: Vec<f64> = before.iter().chain(after).copied().collect();
        let rank = |value: f64| {
            let below = pooled.iter().filter(|other| **other < value).count() as f64;
            let equal = pooled.iter().filter(|other| **other == value).count() as f64;
            below + (equal + 1.0) / 2.0
        };
        let mean = after.len() as f64 * (pooled.len() as f64 + 1.0) / 2.0;
        let distance = |sum: f64| (sum - mean).abs();
        let observed = distance(after.iter().map(|value| rank(*value)).sum());
        let (mut all, mut as_far) = (0.0, 0.0);
        for choice in 0_u32..1 << pooled.len() {
            if choice.count_ones() as usize == after.len() {
                let chosen = pooled.iter().enumerate().filter(|(index, _)| choice & (1 << index) != 0);
                all += 1.0;
                as_far += f64::from(distance(chosen.map(|(_, value)| rank(*value)).sum()) >= observed);
            }
        }
        as_far / all
    }

    /// Few different values, so that many are tied.
    fn values(most: usize) -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec((-4_i8..4).prop_map(f64::from), 1..most)
    }

    proptest::proptest! {
        #[test]
        fn mann_whitney_equals_trying_every_choice(before in values(6), after in values(6)) {
            let (found, expected) = (mann_whitney(&before, &after), naive_mann_whitney(&before, &after));
            proptest::prop_assert!((found - expected).abs() < 1e-12, "{} {}", found, expected);
            proptest::prop_assert!((found - mann_whitney(&after, &before)).abs() < 1e-12);
        }

        #[test]
        fn mann_kendall_does_not_care_for_the_scale(values in values(20)) {
            let grown: Vec<f64> = values.iter().map(|value| value.exp() * 3.0).collect();
            let backwards: Vec<f64> = values.iter().rev().copied().collect();
            let p = mann_kendall(&values);
            proptest::prop_assert!((0.0..=1.0).contains(&p));
            proptest::prop_assert_eq!(p, mann_kendall(&grown));
            proptest::prop_assert_eq!(p, mann_kendall(&backwards));
        }
    }

    #[test]
    fn numbers_of_textbooks() {
        // Perfectly apart: 2 of C(8, 4) = 70 choices.
        assert!((mann_whitney(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0]) - 2.0 / 70.0).abs() < 1e-12);
        // Ten rising values: score 45, variance 125, z = 44 / sqrt(125) = 3.9355.
        let rising: Vec<f64> = (0..10).map(f64::from).collect();
        assert!((mann_kendall(&rising) - 8.303e-5).abs() < 1e-7);
        for (z, tail) in [(0.0, 0.5), (1.959_964, 0.025), (3.290_527, 5e-4)] {
            assert!((normal_tail(z) / tail - 1.0).abs() < 1e-5);
        }
    }

    #[test]
    fn nothing_to_compare_is_no_surprise() {
        assert_eq!(mann_whitney(&[], &[1.0]), 1.0);
        assert_eq!(mann_whitney(&[0.0; 5], &[-0.0; 9]), 1.0);
        assert_eq!(mann_kendall(&[]), 1.0);
        assert_eq!(mann_kendall(&[2.0; 30]), 1.0);
    }

    #[test]
    fn sixty_values_are_counted_without_overflow() {
        let values: Vec<f64> = (0..60).map(f64::from).collect();
        let (before, after) = values.split_at(30);
        // Two of C(60, 30).
        assert!((mann_whitney(before, after) / (2.0 / 1.182_645_815_648_614e17) - 1.0).abs() < 1e-9);
    }
}
