//! The signed ranks of pairs (F. Wilcoxon 1945).

use super::counts::{doubled_ranks, places_of_tail, ways_to_sum};
use super::quantile::normal;
use crate::compare::evaluation::normal::upper_tail;
use crate::median::midpoint_median;

/// Most pairs for which all combinations of signs are counted.
const EXACT: usize = 40;

/// Two-sided probability of differences as one-sided as these, where both signs are equally likely. Equal pairs count
/// for neither side.
#[allow(clippy::cast_precision_loss, reason = "counts of pairs")]
pub fn p_value(differences: &[f64]) -> f64 {
    let magnitudes: Vec<f64> = differences.iter().map(|difference| difference.abs()).collect();
    let ranks = doubled_ranks(&magnitudes);
    let signed: Vec<(usize, f64)> =
        ranks.into_iter().zip(differences.iter().copied()).filter(|(_, difference)| *difference != 0.0).collect();
    let ranks: Vec<usize> = signed.iter().map(|(rank, _)| *rank).collect();
    let total: usize = ranks.iter().sum();
    let upwards: usize = signed.iter().filter(|(_, difference)| *difference > 0.0).map(|(rank, _)| rank).sum();
    let away = |sum: usize| (2 * sum).abs_diff(total);
    if ranks.len() > EXACT {
        let deviation = (ranks.iter().map(|rank| (*rank as f64).powi(2)).sum::<f64>() / 4.0).sqrt();
        let distance = (away(upwards) as f64 / 2.0 - 1.0).max(0.0);
        return (2.0 * upper_tail(distance / deviation)).min(1.0);
    }
    let ways = ways_to_sum(&ranks);
    let far: f64 = ways.iter().enumerate().filter(|(sum, _)| away(*sum) >= away(upwards)).map(|(_, ways)| ways).sum();
    (far / ways.iter().sum::<f64>()).min(1.0)
}

/// The median of the means of any two differences (Walsh averages), and the interval that holds the shift with a probability
/// of 1 - `alpha`.
pub fn shift(differences: &[f64], alpha: f64) -> Option<(f64, [f64; 2])> {
    let later = |place: usize| differences.iter().skip(place);
    let mut means: Vec<f64> = differences
        .iter()
        .enumerate()
        .flat_map(|(place, one)| later(place).map(move |two| 0.5 * (one + two)))
        .collect();
    means.sort_by(f64::total_cmp);
    let left_off = left_off(differences.len(), alpha / 2.0);
    let low = means.get(left_off.saturating_sub(1)).copied()?;
    let high = means.get(means.len() - left_off.max(1)).copied()?;
    Some((midpoint_median(means)?, [low, high]))
}

#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts of pairs, never negative"
)]
fn left_off(pairs: usize, tail: f64) -> usize {
    if pairs > EXACT {
        let (mean, n) = ((pairs * (pairs + 1)) as f64 / 4.0, pairs as f64);
        let deviation = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
        return (mean + normal(tail) * deviation).max(0.0) as usize;
    }
    places_of_tail(&ways_to_sum(&(1..=pairs).collect::<Vec<_>>()), tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_and_intervals_are_those_of_tables() {
        let all_up: Vec<f64> = (1..=8_u32).map(f64::from).collect();
        assert!((p_value(&all_up) - 2.0 / 256.0).abs() < 1e-12);
        // The smallest difference has the other sign: two of 256 sums are as extreme, on each side.
        let mut one_down = all_up.clone();
        one_down[0] = -1.0;
        assert!((p_value(&one_down) - 4.0 / 256.0).abs() < 1e-12);
        assert!((p_value(&[0.0, 0.0]) - 1.0).abs() < 1e-12);
        let (estimate, [low, high]) = shift(&all_up, 0.05).expect("numbers");
        // The critical value of 8 pairs at 0.05 is 3: the interval begins at the fourth mean.
        assert!(
            (estimate - 4.5).abs() < 1e-12 && (low - 2.0).abs() < 1e-12 && (high - 7.0).abs() < 1e-12,
            "{low} {high}"
        );
    }
}
