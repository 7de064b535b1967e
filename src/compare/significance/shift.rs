//! The shift between two samples: by ranks where there are runs enough to reach the level, else by Student's distribution.

use super::quantile::normal;
use super::{rank_sum, signed_rank, student};

/// Least number of runs of each side for which each side's own spread is used.
const SPREAD: usize = 4;
/// Largest number of runs of a side that is tried in the search for the number needed.
const MOST_RUNS: usize = 10_000;

/// A test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShiftTest {
    /// Ranks of two samples.
    RankSum,
    /// Means of two samples, whose spreads may differ.
    WelchT,
    /// Means of two samples of one spread.
    PooledT,
    /// One run against the runs of the other side.
    Prediction,
    /// Ranks of pairs.
    SignedRank,
    /// Mean of pairs.
    PairedT,
}

impl ShiftTest {
    /// The name as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RankSum => "rank-sum",
            Self::WelchT => "welch-t",
            Self::PooledT => "pooled-t",
            Self::Prediction => "prediction",
            Self::SignedRank => "signed-rank",
            Self::PairedT => "paired-t",
        }
    }
}

/// Levels of a test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Levels {
    /// False alarms of all tests together.
    pub alpha: f64,
    /// Those of one test: `alpha` over the number of tests.
    pub corrected: f64,
    /// Share of shifts of the detectable size that are found.
    pub power: f64,
}

/// Outcome of a test, in the unit of the numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// The test.
    pub test: ShiftTest,
    /// Two-sided probability of such a difference by chance.
    pub p_value: f64,
    /// Estimated shift of the candidate against the baseline.
    pub estimate: f64,
    /// Interval that holds the shift with a probability of 1 - alpha.
    pub interval: [f64; 2],
    /// The smallest true shift that the corrected test finds with the power.
    pub detectable: f64,
    /// Spread of a single run, or of a pair's difference.
    pub spread: f64,
}

/// The shift between the numbers of two sides' runs; `None` where fewer than three or only equal sides of one run are there.
pub(crate) fn shift_of_sides(baseline: &[f64], candidate: &[f64], levels: Levels) -> Option<Shift> {
    let (n, m) = (baseline.len(), candidate.len());
    let means = Means::from_sides(baseline, candidate)?;
    if n > 1 && m > 1 && 2.0 / rank_sum::choice_count(n, m) <= levels.corrected {
        let (estimate, interval) = rank_sum::shift(baseline, candidate, levels.alpha)?;
        let (_, at_level) = rank_sum::shift(baseline, candidate, levels.corrected)?;
        let p_value = rank_sum::p_value(baseline, candidate);
        return Some(by_ranks(ShiftTest::RankSum, (p_value, estimate, interval), at_level, levels, means.spread));
    }
    let test = match n.min(m) {
        1 => ShiftTest::Prediction,
        few if few < SPREAD => ShiftTest::PooledT,
        _ => ShiftTest::WelchT,
    };
    Some(means.tested(test, levels))
}

/// The shift of pairs, by their differences; `None` for fewer than two.
pub(crate) fn shift_of_pairs(differences: &[f64], levels: Levels) -> Option<Shift> {
    let means = Means::from_pairs(differences)?;
    let pairs = i32::try_from(differences.len()).unwrap_or(i32::MAX);
    if 2.0 / 2.0_f64.powi(pairs) <= levels.corrected {
        let (estimate, interval) = signed_rank::shift(differences, levels.alpha)?;
        let (_, at_level) = signed_rank::shift(differences, levels.corrected)?;
        let p_value = signed_rank::p_value(differences);
        return Some(by_ranks(ShiftTest::SignedRank, (p_value, estimate, interval), at_level, levels, means.spread));
    }
    Some(means.tested(ShiftTest::PairedT, levels))
}

fn by_ranks(
    test: ShiftTest,
    (p_value, estimate, interval): (f64, f64, [f64; 2]),
    [low, high]: [f64; 2],
    levels: Levels,
    spread: f64,
) -> Shift {
    let factor = 1.0 + normal(levels.power) / normal(1.0 - levels.corrected / 2.0);
    Shift { test, p_value, estimate, interval, detectable: 0.5 * (high - low) * factor, spread }
}

/// Number of runs of each side, or of pairs, with which a shift of this size is found with the power of `levels`.
pub(crate) fn needed_runs(shift: f64, spread: f64, is_paired: bool, levels: Levels) -> Option<usize> {
    let is_enough = |runs: &usize| {
        let (error, freedom) = of_equal_sides(spread, *runs, is_paired);
        detectable(error, freedom, levels) <= shift.abs()
    };
    // More runs never find less, so the search can halve the range.
    let (mut low, mut high) = (2, MOST_RUNS);
    if !is_enough(&high) {
        return None;
    }
    while low < high {
        let middle = (low + high) / 2;
        if is_enough(&middle) { high = middle } else { low = middle + 1 }
    }
    Some(low)
}

#[allow(clippy::cast_precision_loss, reason = "counts of runs")]
fn of_equal_sides(spread: f64, runs: usize, is_paired: bool) -> (f64, f64) {
    let runs = runs as f64;
    if is_paired { (spread / runs.sqrt(), runs - 1.0) } else { (spread * (2.0 / runs).sqrt(), 2.0 * runs - 2.0) }
}

/// The smallest true shift that a test by Student's distribution finds with the power: the quantile of the noncentral
/// distribution, approximated as by N. L. Johnson and B. L. Welch (1940).
fn detectable(error: f64, freedom: f64, levels: Levels) -> f64 {
    let quantile = student::quantile(1.0 - levels.corrected / 2.0, freedom);
    detectable_by(quantile, normal(levels.power), freedom) * error
}

/// The same in standard errors, for the `quantile` of the test's level and the quantile of the normal distribution at
/// its power.
pub(super) fn detectable_by(quantile: f64, of_power: f64, freedom: f64) -> f64 {
    let small = 1.0 / (4.0 * freedom);
    let spread = (1.0 + quantile * quantile / (2.0 * freedom)).sqrt();
    (1.0 + small) * (quantile * (1.0 - small) + of_power * spread)
}

/// Difference of means, its standard error and its degrees of freedom.
struct Means {
    difference: f64,
    error: f64,
    freedom: f64,
    spread: f64,
}

#[allow(clippy::cast_precision_loss, reason = "counts of runs")]
impl Means {
    fn from_sides(baseline: &[f64], candidate: &[f64]) -> Option<Self> {
        let (n, m) = (baseline.len() as f64, candidate.len() as f64);
        if baseline.is_empty() || candidate.is_empty() || n + m < 3.0 {
            return None;
        }
        let (baseline_mean, candidate_mean) = (mean(baseline), mean(candidate));
        let baseline_squares = squares(baseline, baseline_mean);
        let candidate_squares = squares(candidate, candidate_mean);
        let freedom = n + m - 2.0;
        let spread = ((baseline_squares + candidate_squares) / freedom).sqrt();
        let pooled = (spread * (1.0 / n + 1.0 / m).sqrt(), freedom);
        let own = (n > 1.0 && m > 1.0).then(|| {
            let (a, b) = (baseline_squares / (n - 1.0) / n, candidate_squares / (m - 1.0) / m);
            let freedom = (a + b).powi(2) / (a * a / (n - 1.0) + b * b / (m - 1.0));
            ((a + b).sqrt(), if freedom.is_finite() { freedom } else { n + m - 2.0 })
        });
        let is_welch = baseline.len().min(candidate.len()) >= SPREAD;
        let (error, freedom) = match own.filter(|_| is_welch) {
            Some((error, freedom)) => (error.max(pooled.0), freedom.min(pooled.1)),
            None => pooled,
        };
        Some(Self { difference: candidate_mean - baseline_mean, error, freedom, spread })
    }

    fn from_pairs(differences: &[f64]) -> Option<Self> {
        let pairs = differences.len() as f64;
        let difference = (differences.len() > 1).then(|| mean(differences))?;
        let spread = (squares(differences, difference) / (pairs - 1.0)).sqrt();
        Some(Self { difference, error: spread / pairs.sqrt(), freedom: pairs - 1.0, spread })
    }

    fn tested(&self, test: ShiftTest, levels: Levels) -> Shift {
        let Self { difference, error, freedom, spread } = *self;
        let p_value = if error > 0.0 {
            2.0 * student::upper_tail(difference.abs() / error, freedom)
        } else if difference == 0.0 {
            1.0
        } else {
            0.0
        };
        let half = student::quantile(1.0 - levels.alpha / 2.0, freedom) * error;
        let interval = [difference - half, difference + half];
        Shift { test, p_value, estimate: difference, interval, detectable: detectable(error, freedom, levels), spread }
    }
}

/// The mean.
#[allow(clippy::cast_precision_loss, reason = "counts of runs")]
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn squares(values: &[f64], mean: f64) -> f64 {
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

/// The interval in which another run of the same kind lies with a probability of 1 - `alpha`; `None` for fewer than three.
#[allow(clippy::cast_precision_loss, reason = "a count of runs")]
pub(crate) fn prediction_interval(others: &[f64], alpha: f64) -> Option<[f64; 2]> {
    let n = others.len() as f64;
    let middle = (others.len() > 2).then(|| mean(others))?;
    let spread = (squares(others, middle) / (n - 1.0)).sqrt();
    let half = student::quantile(1.0 - alpha / 2.0, n - 1.0) * spread * (1.0 + 1.0 / n).sqrt();
    Some([middle - half, middle + half])
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEVELS: Levels = Levels { alpha: 0.01, corrected: 0.0025, power: 0.9 };

    #[test]
    fn the_test_follows_from_the_number_of_runs() {
        let up = |n: usize| (0..n).map(|k| k as f64 * 0.1).collect::<Vec<_>>();
        for (n, m, expected) in [
            (10, 10, ShiftTest::RankSum),
            (7, 7, ShiftTest::RankSum),
            (5, 5, ShiftTest::WelchT),
            (6, 3, ShiftTest::PooledT),
            (9, 1, ShiftTest::Prediction),
            (1, 6, ShiftTest::Prediction),
        ] {
            assert_eq!(shift_of_sides(&up(n), &up(m), LEVELS).expect("runs").test, expected, "{n} {m}");
        }
        assert_eq!(shift_of_sides(&up(1), &up(1), LEVELS), None);
        assert_eq!(shift_of_pairs(&up(10), LEVELS).expect("pairs").test, ShiftTest::SignedRank);
        assert_eq!(shift_of_pairs(&up(5), LEVELS).expect("pairs").test, ShiftTest::PairedT);
    }

    #[test]
    fn a_test_by_means_is_that_of_a_textbook() {
        // Student 1908, hours of sleep: differences of ten patients; t = 4.0621, p = 0.00283.
        let sleep = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];
        let means = Means::from_pairs(&sleep).expect("pairs").tested(ShiftTest::PairedT, LEVELS);
        assert!((means.p_value - 0.002_832_89).abs() < 1e-7, "{means:?}");
        assert!(means.interval[0] < means.estimate && means.estimate < means.interval[1]);
        let equal = shift_of_sides(&[1.0, 1.0, 1.0], &[1.0, 1.0], LEVELS).expect("runs");
        assert_eq!((equal.p_value, equal.detectable), (1.0, 0.0));
    }

    #[test]
    fn more_runs_find_smaller_shifts() {
        let few = needed_runs(2.0, 1.0, false, LEVELS).expect("some");
        let many = needed_runs(0.5, 1.0, false, LEVELS).expect("some");
        assert!(few < many && needed_runs(0.5, 1.0, true, LEVELS).expect("some") < many, "{few} {many}");
        assert_eq!(needed_runs(0.0, 1.0, false, LEVELS), None);
    }
}
