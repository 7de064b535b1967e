//! Bounds within which two devices record the same mean and norm of equal data.
//!
//! Max and Min are elements, and bit-equal where the data is. Mean and Norm are sums of n terms, which each device takes in
//! float32 and in an order of its own. Every partial sum is rounded by at most u of itself (u: the unit roundoff of
//! float32). Roundings are as often up as down, so n of them add up as a random walk of n steps:
//!
//! - Norm: the sum S of squares is off by √n·u·S, its root by half of that; the whole is allowed, for the terms of a sum
//!   that only grows are rounded ever more alike.
//! - Mean: partial sums of values around zero stay near √n·rms, those of a mean m near n·|m|; the sum is off by
//!   √n·u·(√n·rms + n·|m|), the mean by u·(rms + √n·|m|) for each side.
//!
//! Both hold for each side. A statistic of a 16-bit tensor is rounded to its type at last, and
//! that of another order of summation may fall on the neighbouring number.

use crate::dtype::Dtype;
use crate::read::dump::TensorRecord;

/// Both sides have an error, each from its own order of summation.
const BOTH_SIDES: f64 = 2.0;

/// Largest differences of max, min, mean and norm that equal data may show.
#[allow(clippy::cast_precision_loss, reason = "element counts are far below 2^53")]
pub fn bounds(baseline: &TensorRecord<'_>, candidate: &TensorRecord<'_>, elements: u64) -> [f64; 4] {
    let unit = Dtype::F32.unit_roundoff();
    let walk = (elements.max(1) as f64).sqrt();
    let magnitude = |of: fn(&TensorRecord<'_>) -> Option<f64>| {
        // For equal data both are nearly the same; a side that is far off must not widen its own bound.
        let sides = [of(baseline), of(candidate)].into_iter().flatten().map(f64::abs);
        sides.filter(|value| value.is_finite()).reduce(f64::min).unwrap_or(0.0)
    };
    let mean = magnitude(|record| record.mean.as_f64());
    let norm = magnitude(|record| record.norm.as_f64());
    let rms = norm / walk;
    // The last rounding: to float32, or to the tensor's own type where that is narrower.
    let own = baseline.element.map_or(unit, Dtype::unit_roundoff).max(unit);
    let summed = [unit * (rms + walk * mean), unit * walk * norm];
    let [of_mean, of_norm] = [summed[0] + own * mean, summed[1] + own * norm].map(|bound| BOTH_SIDES * bound);
    [0.0, 0.0, of_mean, of_norm]
}

/// Accumulators of the narrowest vector unit used for training; each of them sums one in this many terms.
const ACCUMULATORS: f64 = 8.0;
/// Share of a norm that is lost where the last partial sum has 2^24 terms; derived at the function below.
const LOST: f64 = 0.053;

/// Whether a norm is off by no more than its sum may have lost: the smaller a term is compared with the sum before it,
/// the more of it is rounded away, which is a bias and no random walk.
///
/// A square below half a unit in the last place of its partial sum of k terms is lost: below c = k/2^24 of the mean square. Of
/// squares of normally distributed numbers those below c hold 2/3·c^1.5/√(2π) = 0.266·c^1.5 of the sum. Partial sums grow
/// from 0 to n/8 terms: on average 1/2.5 of what the last one loses is lost, and the root of the sum loses half of that.
///
/// `metrics` holds the errors of the other statistics so far. Extremes bear witness: a factor moves them as much as the norm.
#[allow(clippy::cast_precision_loss, reason = "element counts are far below 2^53")]
pub(super) fn is_lost_to_rounding(error: f64, metrics: &[(&'static str, f64)], elements: u64) -> bool {
    let [(_, max), (_, min), _] = metrics else { return false };
    let share = (elements as f64 / ACCUMULATORS * Dtype::F32.unit_roundoff()).min(1.0);
    error <= LOST * share * share.sqrt() && 2.0 * max.max(*min) <= error
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::dump::Statistic;

    /// Mean and norm of values, taken in float32 in chunks of `width` that are added up at last, as vector units do.
    fn summed(values: &[f32], width: usize) -> (f64, f64) {
        let mut sums = vec![(0.0_f32, 0.0_f32); width];
        for chunk in values.chunks(width) {
            for (sum, value) in sums.iter_mut().zip(chunk) {
                *sum = (sum.0 + value, sum.1 + value * value);
            }
        }
        let total = sums.iter().fold((0.0_f32, 0.0_f32), |all, sum| (all.0 + sum.0, all.1 + sum.1));
        let mean = total.0 / values.len() as f32;
        (f64::from(mean), f64::from(total.1.sqrt()))
    }

    fn record<'a>(shape: &'a [u64], (mean, norm): (f64, f64)) -> TensorRecord<'a> {
        TensorRecord {
            dtype: "torch.float32",
            element: Some(Dtype::F32),
            shape,
            max: Statistic::Float(1.0),
            min: Statistic::Float(-1.0),
            mean: Statistic::Float(mean),
            norm: Statistic::Float(norm),
            requires_grad: None,
            checksum: None,
            extension: None,
            precision: crate::read::dump::Precision::Exact,
        }
    }

    #[test]
    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "a made wave")]
    fn equal_data_summed_in_other_orders_stays_within_the_bounds() {
        for elements in [1_usize, 7, 64, 1000, 204_800, 3_000_000] {
            for offset in [0.0, 0.01, 3.0] {
                let wave = |place: usize| ((place as f64 * 0.618_033).fract() - 0.5 + offset) as f32;
                let values: Vec<f32> = (0..elements).map(wave).collect();
                let sides = [4, 8, 16, 32, 64, 1024].map(|width| summed(&values, width));
                let shape = [elements as u64];
                for (left, right) in sides.iter().flat_map(|left| sides.iter().map(move |right| (*left, *right))) {
                    let [_, _, mean, norm] = bounds(&record(&shape, left), &record(&shape, right), elements as u64);
                    assert!((left.0 - right.0).abs() <= mean, "mean of {elements} around {offset}: {left:?} {right:?}");
                    assert!((left.1 - right.1).abs() <= norm, "norm of {elements} around {offset}: {left:?} {right:?}");
                }
            }
        }
    }

    #[test]
    fn a_side_that_is_far_off_widens_no_bound() {
        let shape = [800, 256];
        let bounds = bounds(&record(&shape, (1e-3, 450.0)), &record(&shape, (1e308, 1e308)), 204_800);
        assert!(bounds.iter().all(|bound| *bound < 0.1), "{bounds:?}");
    }

    #[test]
    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "made numbers of known count")]
    fn a_norm_that_lost_terms_is_told_from_one_that_changed() {
        const N: usize = 1 << 24;
        // Twelve terms of a low-discrepancy sequence make a number that is nearly normally distributed.
        let part = |place: usize, of: usize| ((place * 12 + of) as f64 * 0.618_033_988_75).fract() - 0.5;
        let normal = |place: usize| (0..12).map(|of| part(place, of) * ((of * 7 + place) % 5 + 1) as f64).sum::<f64>();
        let (mut exact, mut sums) = (0.0_f64, [0.0_f32; 8]);
        for place in 0..N {
            let square = normal(place).powi(2);
            exact += square;
            sums[place % 8] += square as f32;
        }
        let summed = f64::from(sums.iter().sum::<f32>());
        let lost = (summed.sqrt() - exact.sqrt()).abs() / exact.sqrt();
        let all = |max, min| [("max_difference", max), ("min_difference", min), ("mean_difference", 1e-5)];
        assert!(lost > 1e-5 && is_lost_to_rounding(lost, &all(0.0, 0.0), N as u64), "{lost}");
        assert!(!is_lost_to_rounding(lost, &all(lost, lost), N as u64), "a factor moves the extremes");
        assert!(!is_lost_to_rounding(1e-3, &all(0.0, 0.0), 1 << 20), "so few terms lose less");
        assert!(!is_lost_to_rounding(lost, &all(0.0, 0.0)[..2], N as u64), "without extremes nothing vouches");
    }

    #[test]
    fn a_difference_that_no_order_of_summation_makes_lies_beyond() {
        let shape = [800, 256];
        let sides = [(1e-3, 450.0), (1e-3, 450.1)];
        let [_, _, mean, norm] = bounds(&record(&shape, sides[0]), &record(&shape, sides[1]), 204_800);
        assert!(norm < 0.1 && mean < 1e-6, "{norm} {mean}");
    }
}
