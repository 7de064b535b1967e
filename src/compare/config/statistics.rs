//! Distance of the statistics of two tensors.
//!
//! Differences are relative to the tensor's scale, never to the statistic itself: a mean near zero moves by 150 %
//! of itself in a healthy run. Max and min pick one element, so that equal data gives equal values on any device;
//! mean and norm are sums, and carry the noise of their order.

use half::{bf16, f16};

use crate::read::pack::{PackStatistics, STATISTICS};

/// The distance of two tensors by their statistics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct StatisticDistance {
    /// Differences relative to scale, in the order of [`STATISTICS`]; 0 where a statistic is not finite on
    /// either side, infinite where the scale is 0.
    pub relative: [f64; 4],
    /// The same differences, absolute.
    pub absolute: [f64; 4],
    /// Whether every statistic is equal to the last bit, NaN included.
    pub exact: bool,
    /// Whether a statistic is NaN or infinite on both sides alike.
    pub non_finite_on_both: bool,
    /// Whether a statistic is NaN or infinite on one side only, or differently on each side.
    pub non_finite_on_one: bool,
    /// Whether max and min are whole numbers on both sides, as those of integers and booleans are.
    pub integral: bool,
}

impl StatisticDistance {
    /// Compares two tensors.
    pub(crate) fn between(baseline: &PackStatistics, candidate: &PackStatistics) -> Self {
        let (a, b) = (baseline.0, candidate.0);
        let [scale, norm_scale] = scales(&a, &b);
        let mut distance = Self {
            relative: [0.0; 4],
            absolute: [0.0; 4],
            exact: true,
            non_finite_on_both: false,
            non_finite_on_one: false,
            integral: [a, b].iter().all(|side| side.iter().take(2).all(|value| value.fract() == 0.0)),
        };
        let places = distance.relative.iter_mut().zip(&mut distance.absolute);
        for (((relative, absolute), (a, b)), name) in places.zip(a.into_iter().zip(b)).zip(STATISTICS) {
            let same = a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()) || (a - b).abs() == 0.0;
            distance.exact &= same;
            if !a.is_finite() || !b.is_finite() {
                distance.non_finite_on_both |= same;
                distance.non_finite_on_one |= !same;
            } else if !same {
                *absolute = (a - b).abs();
                *relative = *absolute / if name == "norm" { norm_scale } else { scale };
            }
        }
        distance
    }

    /// The statistic with the largest difference relative to scale, and that difference.
    pub(crate) fn worst(&self) -> (&'static str, f64) {
        let all = STATISTICS.into_iter().zip(self.relative);
        all.fold(("max", 0.0), |worst, next| if next.1 > worst.1 { next } else { worst })
    }
}

/// Scale of max, min and mean (the largest magnitude), and of the norm.
fn scales(a: &[f64; 4], b: &[f64; 4]) -> [f64; 2] {
    let largest = |from: usize, len: usize| {
        let values = a.iter().skip(from).take(len).chain(b.iter().skip(from).take(len));
        values.filter(|value| value.is_finite()).fold(0.0_f64, |largest, value| largest.max(value.abs()))
    };
    [largest(0, 3), largest(3, 1)]
}

/// Resolution of the 16-bit type that holds all statistics of both sides exactly, since tensors of such a type are
/// reduced in it; 0 where no such type does.
pub(crate) fn sixteen_bit_resolution(baseline: &PackStatistics, candidate: &PackStatistics) -> f64 {
    let all = |fits: fn(f64) -> bool| baseline.0.iter().chain(&candidate.0).all(|value| fits(*value));
    if all(is_f16) {
        2f64.powi(-10)
    } else if all(is_bf16) {
        2f64.powi(-7)
    } else {
        0.0
    }
}

/// Whether max and min of one side are those of the other after rounding to a 16-bit type.
pub(crate) fn is_rounding_of(rounded: &PackStatistics, exact: &PackStatistics) -> bool {
    let same = |round: fn(f64) -> f64| {
        rounded.0.iter().zip(exact.0).take(2).all(|(rounded, exact)| (rounded - round(exact)).abs() == 0.0)
    };
    same(|value| bf16::from_f64(value).to_f64()) || same(|value| f16::from_f64(value).to_f64())
}

fn is_f16(value: f64) -> bool {
    value.is_nan() || (f16::from_f64(value).to_f64() - value).abs() == 0.0 || value.is_infinite()
}

fn is_bf16(value: f64) -> bool {
    value.is_nan() || (bf16::from_f64(value).to_f64() - value).abs() == 0.0 || value.is_infinite()
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "the values are exact")]
mod tests {
    use super::*;

    #[test]
    fn differences_are_relative_to_scale_and_unsigned() {
        let distance = StatisticDistance::between(
            &PackStatistics([-1.0, -4.0, 1e-9, 4.0]),
            &PackStatistics([-1.0, -3.0, -1e-9, 4.0]),
        );
        assert_eq!(distance.relative, [0.0, 0.25, 5e-10, 0.0]);
        assert_eq!(distance.worst(), ("min", 0.25));
        assert!(!distance.exact && distance.integral);
    }

    #[test]
    fn non_finite_values_are_told_apart() {
        let nan = PackStatistics([f64::NAN; 4]);
        let both = StatisticDistance::between(&nan, &nan);
        assert!(both.exact && both.non_finite_on_both && !both.non_finite_on_one);
        let one = StatisticDistance::between(&nan, &PackStatistics([1.0; 4]));
        assert!(!one.exact && one.non_finite_on_one);
        let signs =
            StatisticDistance::between(&PackStatistics([f64::INFINITY; 4]), &PackStatistics([f64::NEG_INFINITY; 4]));
        assert!(signs.non_finite_on_one);
        let zero = StatisticDistance::between(&PackStatistics([0.0; 4]), &PackStatistics([-0.0, 0.0, 0.0, 0.0]));
        assert!(zero.exact);
    }

    #[test]
    fn sixteen_bit_types_are_seen() {
        let half = PackStatistics([1.5, 0.25, 0.75, 3.0]);
        assert_eq!(sixteen_bit_resolution(&half, &half), 2f64.powi(-10));
        assert_eq!(sixteen_bit_resolution(&half, &PackStatistics([1e30_f32.into(), 0.0, 0.1, 0.3])), 0.0);
        assert!(is_rounding_of(
            &PackStatistics([0.1001, 0.0, 0.0, 0.0].map(|v| bf16::from_f64(v).to_f64())),
            &PackStatistics([0.1001, 0.0, 9.0, 9.0])
        ));
    }
}
