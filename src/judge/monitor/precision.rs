//! Precision of recorded values, and the limits on errors that follow from it.

use crate::dtype::Dtype;
use crate::kind::Statistic;
use crate::read::monitor::MonitorRow;

/// The coarsest element type that values were rounded to, ordered from fine to coarse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Precision {
    /// Float32 and wider.
    #[default]
    Fp32,
    /// Float16.
    Fp16,
    /// Bfloat16.
    Bf16,
    /// Eight-bit floating point.
    Fp8,
}

impl Precision {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Fp32, Self::Fp16, Self::Bf16, Self::Fp8];

    /// The name in results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fp32 => "fp32",
            Self::Fp16 => "fp16",
            Self::Bf16 => "bf16",
            Self::Fp8 => "fp8",
        }
    }

    /// Relative distance of neighbouring numbers.
    pub fn epsilon(self) -> f64 {
        match self {
            Self::Fp32 => f64::from(f32::EPSILON),
            Self::Fp16 => 1.0 / 1024.0,
            Self::Bf16 => 1.0 / 256.0,
            Self::Fp8 => 1.0 / 8.0,
        }
    }

    /// Relative error above which a sudden rise is suspicious.
    pub fn limit(self) -> f64 {
        match self {
            Self::Fp32 => 5e-5,
            Self::Fp16 => 1e-2,
            Self::Bf16 => 2e-2,
            Self::Fp8 => 0.25,
        }
    }

    /// Relative error above which a sudden rise is wrong, with 1 % of slack for the rounding of the numbers themselves.
    pub(crate) fn wrong_limit(self) -> f64 {
        if self == Self::Fp32 { 1.01e-3 } else { self.limit() }
    }

    /// Growing error up to which a sudden rise can be distinguished from growth.
    pub fn horizon(self) -> f64 {
        if self == Self::Fp32 { 1e-2 } else { 5.0 * self.limit() }
    }

    /// Noise of a gradient that is mathematically zero, relative to the terms that it is summed from.
    pub fn noise(self) -> f64 {
        if self == Self::Fp32 { 4.0 * self.epsilon() } else { self.epsilon() }
    }

    /// Share of its movement by which a parameter may differ: Adam turns the noise of a gradient near zero into full updates.
    pub(crate) fn share_of_movement(self) -> f64 {
        if self == Self::Fp32 { 0.02 } else { 0.1 }
    }

    /// Precision of the values of a row: from its recorded type, else from the digits of an activation. `None` for integers and where it is
    /// unknown.
    pub(crate) fn from_row(row: &MonitorRow, decimals: Option<u32>) -> Option<Self> {
        match row.dtype.as_deref() {
            Some(name) => of_dtype(Dtype::parse(name)?),
            None if row.kind.is_activation() => of_digits(row, decimals),
            None => None,
        }
    }
}

impl Precision {
    /// Precision in which a parameter is stored: from its recorded type, else from its digits.
    pub(crate) fn from_parameter(row: &MonitorRow, decimals: Option<u32>) -> Self {
        let named = row.dtype.as_deref().and_then(Dtype::parse).and_then(of_dtype);
        named.or_else(|| of_digits(row, decimals)).unwrap_or_default()
    }
}

fn of_dtype(dtype: Dtype) -> Option<Precision> {
    Some(match dtype {
        Dtype::F8E4M3 | Dtype::F8E5M2 => Precision::Fp8,
        Dtype::BF16 => Precision::Bf16,
        Dtype::F16 => Precision::Fp16,
        Dtype::F32 | Dtype::F64 | Dtype::C64 | Dtype::C128 => Precision::Fp32,
        _ => return None,
    })
}

/// The coarsest type that can represent both max and min. Integers give no answer, nor do numbers of at most three bits, which may be the
/// limits of a clamp.
fn of_digits(row: &MonitorRow, decimals: Option<u32>) -> Option<Precision> {
    let ends = [row.statistics.get(Statistic::Min)?, row.statistics.get(Statistic::Max)?];
    let tells = |value: f64| value.is_finite() && value.fract().abs() > 0.0;
    if !ends.into_iter().all(tells) || ends.into_iter().all(|value| has_bits(value, 3, decimals)) {
        return None;
    }
    [(Precision::Bf16, 8, 5), (Precision::Fp16, 11, 7)].into_iter().find_map(|(precision, bits, digits)| {
        let fits = |value: f64| significant_digits(value, decimals) >= digits && has_bits(value, bits, decimals);
        ends.into_iter().all(fits).then_some(precision)
    })
}

/// Whether `value` has at most `bits` significant bits, within the rounding of its decimals.
fn has_bits(value: f64, bits: i32, decimals: Option<u32>) -> bool {
    let exponent = value.abs().log2().floor();
    let unit = (exponent + 1.0 - f64::from(bits)).exp2();
    let nearest = (value / unit).round() * unit;
    match decimals {
        None => (nearest - value).abs() <= value.abs() * f64::EPSILON,
        Some(decimals) => (nearest - value).abs() <= 0.500_001 * rounding(Some(decimals)),
    }
}

/// Significant decimal digits with which a number was written.
fn significant_digits(value: f64, decimals: Option<u32>) -> u32 {
    const FULL: u32 = 17;
    let Some(decimals) = decimals else { return FULL };
    let before = value.abs().log10().floor() + 1.0 + f64::from(decimals);
    (0..=FULL).rev().find(|digits| f64::from(*digits) <= before).unwrap_or(0)
}

/// One unit of the last decimal; 0 for numbers written in full.
pub fn rounding(decimals: Option<u32>) -> f64 {
    decimals.map_or(0.0, |decimals| 10_f64.powi(-i32::try_from(decimals).unwrap_or(i32::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_tell_the_type_of_a_number_and_integers_do_not() {
        assert!(has_bits(0.154_296_875, 8, None) && !has_bits(0.154_296_9, 8, None));
        assert!(has_bits(0.154_297, 8, Some(6)) && !has_bits(0.154_5, 8, Some(6)));
        assert_eq!(significant_digits(0.001_234, Some(6)), 4);
        assert_eq!(significant_digits(12.5, None), 17);
        for half in [0.5_f64, -1.75, 3.015_625] {
            assert!(has_bits(half, 11, None), "{half}");
        }
    }

    #[test]
    fn looser_types_have_wider_limits() {
        let all = Precision::ALL;
        assert!(all.windows(2).all(|two| two[0].limit() < two[1].limit() && two[0].epsilon() < two[1].epsilon()));
        assert!(all.into_iter().all(|one| one.wrong_limit() >= one.limit() && one.horizon() > one.limit()));
    }
}
