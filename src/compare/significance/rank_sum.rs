//! The rank sum of two samples (F. Wilcoxon 1945; H. B. Mann and D. R. Whitney 1947), exact where it can be.

use super::counts::{doubled_ranks, places_of_tail, ways_to_choose};
use super::quantile::normal;
use crate::compare::evaluation::normal::upper_tail;
use crate::median::midpoint_median;

/// Most runs of both sides together for which all divisions into two samples are counted.
const EXACT: usize = 40;

/// Number of ways to choose `n` of `n + m`.
#[allow(clippy::cast_precision_loss, reason = "counts of runs")]
pub(crate) fn choice_count(n: usize, m: usize) -> f64 {
    (1..=n).map(|k| (m + k) as f64 / k as f64).product()
}

/// Two-sided probability of rank sums as far apart as these: over all divisions of the numbers into two samples, with
/// the mean rank for equal ones; from 41 runs on by the normal distribution, corrected for ties and continuity.
#[allow(clippy::cast_precision_loss, reason = "counts of runs")]
pub fn p_value(baseline: &[f64], candidate: &[f64]) -> f64 {
    let all = [baseline, candidate].concat();
    let ranks = doubled_ranks(&all);
    let (n, m, both) = (baseline.len(), candidate.len(), all.len());
    let total: usize = ranks.iter().sum();
    let own: usize = ranks.iter().skip(n).sum();
    let away = |sum: usize| (both * sum).abs_diff(m * total);
    if both > EXACT {
        let mean = (m * total) as f64 / both as f64;
        let squares: f64 = ranks.iter().map(|rank| (*rank as f64 - total as f64 / both as f64).powi(2)).sum();
        let deviation = (squares * (n * m) as f64 / (both * (both - 1)) as f64).sqrt();
        let distance = ((own as f64 - mean).abs() - 1.0).max(0.0);
        return if deviation > 0.0 { (2.0 * upper_tail(distance / deviation)).min(1.0) } else { 1.0 };
    }
    let ways = ways_to_choose(&ranks, m);
    let far: f64 = ways.iter().enumerate().filter(|(sum, _)| away(*sum) >= away(own)).map(|(_, ways)| ways).sum();
    (far / ways.iter().sum::<f64>()).min(1.0)
}

/// The median of all differences of a candidate's number and a baseline's (J. L. Hodges and E. L. Lehmann 1963), and the
/// interval that holds the shift with a probability of 1 - `alpha`.
pub fn shift(baseline: &[f64], candidate: &[f64], alpha: f64) -> Option<(f64, [f64; 2])> {
    let mut differences: Vec<f64> = candidate.iter().flat_map(|c| baseline.iter().map(move |b| c - b)).collect();
    differences.sort_by(f64::total_cmp);
    let left_off = left_off(baseline.len(), candidate.len(), alpha / 2.0);
    let low = differences.get(left_off.saturating_sub(1)).copied()?;
    let high = differences.get(differences.len() - left_off.max(1)).copied()?;
    Some((midpoint_median(differences)?, [low, high]))
}

/// Place from either end of the ordered differences where the interval begins, counted from 1.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts of runs, never negative"
)]
fn left_off(n: usize, m: usize, tail: f64) -> usize {
    if n + m > EXACT {
        let deviation = ((n * m * (n + m + 1)) as f64 / 12.0).sqrt();
        return ((n * m) as f64 / 2.0 + normal(tail) * deviation).max(0.0) as usize;
    }
    let ranks: Vec<usize> = (1..=n + m).collect();
    let ways = ways_to_choose(&ranks, m);
    // The smallest rank sum means that the candidate's number is the higher one in no pair.
    places_of_tail(ways.get(m * (m + 1) / 2..).unwrap_or_default(), tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_those_of_tables() {
        assert!((choice_count(10, 10) - 184_756.0).abs() < 1e-6);
        let up = |n: u32| (1..=n).map(f64::from).collect::<Vec<_>>();
        let high = |n: u32, m: u32| (n + 1..=n + m).map(f64::from).collect::<Vec<_>>();
        assert!((p_value(&up(5), &high(5, 5)) - 2.0 / 252.0).abs() < 1e-12);
        // Counted by hand: four of the twenty cuts are as far apart.
        assert!((p_value(&[1.0, 2.0, 4.0], &[3.0, 5.0, 6.0]) - 0.2).abs() < 1e-12);
        assert!((p_value(&[1.0, 1.0], &[1.0, 1.0]) - 1.0).abs() < 1e-12);
        let (baseline, candidate): (Vec<f64>, Vec<f64>) = (up(30), (1..=30).map(|n| f64::from(n) + 10.5).collect());
        assert!(p_value(&baseline, &candidate) < 1e-3, "by the normal distribution");
    }

    #[test]
    fn the_interval_holds_the_shift_and_grows_with_certainty() {
        let baseline = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0];
        let candidate = baseline.map(|value| value + 3.25);
        let (estimate, [low, high]) = shift(&baseline, &candidate, 0.05).expect("numbers");
        assert!((estimate - 3.25).abs() < 1e-12);
        // Of 100 differences those from the 24th on, as tables of U say: the critical value for 10 and 10 is 23.
        let mut differences: Vec<f64> = candidate.iter().flat_map(|a| baseline.iter().map(move |b| a - b)).collect();
        differences.sort_by(f64::total_cmp);
        assert!((low - differences[23]).abs() < 1e-12 && (high - differences[76]).abs() < 1e-12);
        let wider = shift(&baseline, &candidate, 0.01).expect("numbers").1;
        assert!(wider[0] < low && wider[1] > high);
    }
}
