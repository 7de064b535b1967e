//! One factor between two curves, from the first step to the last.

use crate::median::upper_median;

/// Least number of steps that show that a factor is constant.
const FROM: usize = 10;
/// Least size of a factor, or of its inverse; a smaller one is an ordinary difference of levels.
const LEAST: f64 = 1.05;
/// Most steps that medians are taken of; longer curves are thinned evenly.
const SAMPLE: usize = 1 << 16;

/// A factor and what it leaves unexplained.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factor {
    /// Candidate over baseline.
    pub value: f64,
    /// Standard error of the factor, relative.
    pub error: f64,
    /// Mean relative difference of the curves once the candidate is divided by the factor.
    pub rest: f64,
}

/// Origin of a factor that is known by its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactorOrigin {
    /// This power of two, or its inverse.
    PowerOfTwo(u32),
    /// Another whole number, or its inverse.
    Whole(u32),
    /// 1 / ln 2 or ln 2: one side counts in bits, the other in nats.
    Bits,
}

/// The factor between two curves of equal length; `None` where none explains their difference, or a constant
/// difference explains it as well.
pub fn factor(baseline: &[f64], candidate: &[f64]) -> Option<Factor> {
    if baseline.len() < FROM || baseline.iter().chain(candidate).any(|value| *value <= 0.0) {
        return None;
    }
    let stride = baseline.len().div_ceil(SAMPLE);
    let pairs = || baseline.iter().zip(candidate).step_by(stride);
    let value = upper_median(pairs().map(|(b, c)| c / b).collect())?;
    let offset = upper_median(pairs().map(|(b, c)| c - b).collect())?;
    let scatter = upper_median(pairs().map(|(b, c)| (c / b - value).abs()).collect())?;
    #[allow(clippy::cast_precision_loss, reason = "at most a few ten thousand steps")]
    let count = pairs().count() as f64;
    let rest = pairs().map(|(b, c)| (c / value - b).abs() / b).sum::<f64>() / count;
    let beside_offset = pairs().map(|(b, c)| (c - offset - b).abs() / b).sum::<f64>() / count;
    // The error of a median of normal values, whose deviation is 1.4826 times the median absolute one.
    let error = 1.2533 * 1.4826 * scatter / value / count.sqrt();
    let is_constant = value.is_finite() && value.ln().abs() >= LEAST.ln() && rest <= 0.1 * (value - 1.0).abs().min(0.1);
    (is_constant && rest * 2.0 < beside_offset).then_some(Factor { value, error, rest })
}

impl Factor {
    /// Origin of the factor, where it matches a known one to within three standard errors and one part in ten thousand.
    pub fn origin(&self) -> Option<FactorOrigin> {
        let near = (3.0 * self.error).max(1e-4);
        let is = |expected: f64| (self.value / expected - 1.0).abs() <= near;
        if is(std::f64::consts::LN_2) || is(std::f64::consts::LN_2.recip()) {
            return Some(FactorOrigin::Bits);
        }
        let size = self.value.max(self.value.recip());
        let whole = size.round();
        // Where the factor is less precise than the distance of whole numbers, any of them would fit.
        if whole > 65_536.0 || near * whole > 0.1 || (size / whole - 1.0).abs() > near {
            return None;
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "2 to 65536")]
        let whole = whole as u32;
        Some(if whole.is_power_of_two() { FactorOrigin::PowerOfTwo(whole) } else { FactorOrigin::Whole(whole) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve() -> Vec<f64> {
        (0..100).map(|t| 2.0 + 3.0 * (-f64::from(t) / 20.0).exp() + f64::from(t * 37 % 11) * 0.01).collect()
    }

    #[test]
    fn a_factor_is_found_and_named() {
        let wobble = |t: usize| 1.0 + 1e-3 * (t as f64).sin();
        for (by, known) in [
            (8.0, Some(FactorOrigin::PowerOfTwo(8))),
            (1.0 / 16.0, Some(FactorOrigin::PowerOfTwo(16))),
            (6.0, Some(FactorOrigin::Whole(6))),
            (std::f64::consts::LOG2_E, Some(FactorOrigin::Bits)),
            (1.37, None),
        ] {
            let scaled: Vec<f64> = curve().iter().enumerate().map(|(t, value)| value * by * wobble(t)).collect();
            let found = factor(&curve(), &scaled).expect("a factor");
            assert!((found.value / by - 1.0).abs() < 1e-3 && found.rest < 1e-3, "{found:?}");
            assert_eq!(found.origin(), known, "{by}");
        }
    }

    #[test]
    fn an_offset_a_small_step_and_a_late_factor_are_none() {
        let changed =
            |change: fn((usize, f64)) -> f64| -> Vec<f64> { curve().into_iter().enumerate().map(change).collect() };
        assert_eq!(factor(&curve(), &changed(|(_, value)| value + 3.0)), None);
        assert_eq!(factor(&curve(), &changed(|(_, value)| value * 1.03)), None);
        assert_eq!(factor(&curve(), &changed(|(t, value)| if t < 50 { value } else { value * 8.0 })), None);
        assert_eq!(factor(&curve(), &changed(|(_, value)| -value)), None);
        assert_eq!(factor(&[2.0; 30], &[16.0; 30]), None, "a level that does not move shows no factor");
    }
}
