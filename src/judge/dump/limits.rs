//! The two limits of a tensor's error: noise, and wrong.

use crate::dtype::Dtype;

/// Limits of an error relative to scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorBand {
    /// Largest error of a healthy device, from another order of summation.
    pub noise: f64,
    /// Error above which a number is wrong; between the two, another precision or algorithm was used.
    pub wrong: f64,
}

/// Factor by which an operation may amplify the error of its inputs without being suspected. The largest factor of a single
/// operation in healthy runs is 4 (softmax backward); errors made by defects are 10 times larger.
pub(crate) const AMPLIFICATION: f64 = 4.0;

/// Number of roundings of a narrow type that add up in one operation: of partial sums stored in that type and of the result.
const NARROW_ROUNDINGS: f64 = 8.0;

/// Number of roundings from which on a result in a narrow type is wrong: rounding to the three bits of fp8 makes 13.6 roundings of
/// bfloat16, and 16-bit types are the narrowest that training is meant to compute in.
const WRONG_NARROW_ROUNDINGS: f64 = 10.0;

/// Growth of rounding error over a sum of 2^16 terms in the type itself: a random walk, sqrt(2^16).
const WIDE_SUM_GROWTH: f64 = 256.0;

/// Relative error from which on an fp32 result is wrong rather than less precise: fp16, HF32 and TF32 operands stay below
/// (2^-11 = 4.9e-4).
const WRONG_F32: f64 = 1e-3;

/// Relative error from which on an fp64 result is wrong: one computed in fp32 stays below.
const WRONG_F64: f64 = 1e-6;

/// The band of a tensor whose loosest upstream type is `dtype`. Integers and unknown types get the band of fp32.
pub(crate) fn band_of_dtype(dtype: Option<Dtype>) -> ErrorBand {
    let dtype = dtype.filter(|dtype| dtype.unit_roundoff() > 0.0).unwrap_or(Dtype::F32);
    let unit = dtype.unit_roundoff();
    match dtype {
        Dtype::F64 | Dtype::C128 => ErrorBand { noise: WIDE_SUM_GROWTH * unit, wrong: WRONG_F64 },
        Dtype::F32 | Dtype::C64 => ErrorBand { noise: WIDE_SUM_GROWTH * unit, wrong: WRONG_F32 },
        _ => ErrorBand { noise: NARROW_ROUNDINGS * unit, wrong: WRONG_NARROW_ROUNDINGS * unit },
    }
}

/// The error from which mean and norm of `elements` values of an 8-bit type are wrong; `None` for other types, whose sums are
/// recorded with hardly more digits than a value has.
///
/// A value of such a type has three or four bits, and a sum of many has more. Roundings of a relative size u point in any direction,
/// so a sum of n values has a relative error of u/√n, and a norm has another u² from the squares.
#[allow(clippy::cast_precision_loss, reason = "element counts are far below 2^53")]
pub(crate) fn wrong_sums(dtype: Option<Dtype>, elements: u64) -> Option<f64> {
    let unit = dtype.filter(|dtype| matches!(dtype, Dtype::F8E4M3 | Dtype::F8E5M2))?.unit_roundoff();
    Some(AMPLIFICATION * (NARROW_ROUNDINGS * unit / (elements.max(1) as f64).sqrt() + unit * unit))
}

/// The looser of two types: the one with the larger unit roundoff.
pub(crate) fn looser_dtype(a: Option<Dtype>, b: Option<Dtype>) -> Option<Dtype> {
    match (a, b) {
        (Some(left), Some(right)) => Some(if left.unit_roundoff() >= right.unit_roundoff() { left } else { right }),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_eight_bit_values_are_held_tighter_than_the_values() {
        let limit = wrong_sums(Some(Dtype::F8E4M3), 2048).expect("a limit");
        assert!(limit < 0.1 && limit < band_of_dtype(Some(Dtype::F8E4M3)).noise, "{limit}");
        assert!(wrong_sums(Some(Dtype::F8E5M2), 4).expect("a limit") > 1.0, "few values have no such sum");
        assert_eq!(wrong_sums(Some(Dtype::BF16), 2048), None);
    }

    #[test]
    fn a_bfloat16_result_with_the_mantissa_of_fp8_is_wrong() {
        // Four significant bits: the leading one and three of mantissa.
        let rounded = |value: f32| {
            let step = (value.abs().log2().floor() - 3.0).exp2();
            (value / step).round() * step
        };
        let values: Vec<f32> = (1..=4000_u16).map(|index| f32::from(index) / 997.0).collect();
        let sum = |of: &dyn Fn(f32) -> f32| values.iter().map(|value| f64::from(of(*value)).powi(2)).sum::<f64>();
        let error = (sum(&|value| rounded(value) - value) / sum(&|value| value)).sqrt();
        assert!(error > band_of_dtype(Some(Dtype::BF16)).wrong, "{error}");
    }
}
