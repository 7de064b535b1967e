//! Limit for a test's score, from the scores of past healthy runs.

use serde::Serialize;

use super::quantile::normal;
use super::shift::{detectable_by, mean};
use super::student;

/// Least number of past runs from which a limit is made.
pub const LEAST: usize = 8;

/// The limit that follows from past runs, and the position of a gate among them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Calibration {
    /// Number of past runs.
    pub n: usize,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation.
    pub sd: f64,
    /// Limit beyond which a healthy run falls with probability alpha.
    pub limit: f64,
    /// Smallest true change of one run that the limit finds with the power.
    pub detectable: f64,
    /// The gate that was asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<f64>,
    /// Share of past runs beyond the gate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate_observed: Option<f64>,
    /// Probability that a healthy run falls beyond the gate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate_expected: Option<f64>,
    /// Whether healthy runs fall beyond the gate more often than alpha.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inside: Option<bool>,
}

/// Calibrates a limit at the level `alpha`; `None` for fewer than [`LEAST`] numbers. A lower value is worse unless
/// `is_higher_worse`.
#[allow(clippy::cast_precision_loss, reason = "a count of runs")]
pub fn calibrate(
    values: &[f64],
    [alpha, power]: [f64; 2],
    gate: Option<f64>,
    is_higher_worse: bool,
) -> Option<Calibration> {
    if values.len() < LEAST {
        return None;
    }
    let (n, middle) = (values.len() as f64, mean(values));
    let sd = (values.iter().map(|value| (value - middle).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
    let of_next = sd * (1.0 + 1.0 / n).sqrt();
    let quantile = student::quantile(1.0 - alpha, n - 1.0);
    let sign = if is_higher_worse { 1.0 } else { -1.0 };
    let is_beyond = |value: f64, gate: f64| sign * (value - gate) > 0.0;
    let expected = gate.map(|gate| student::upper_tail(sign * (gate - middle) / of_next, n - 1.0));
    let beyond = |gate: f64| values.iter().filter(|value| is_beyond(**value, gate)).count() as f64 / n;
    Some(Calibration {
        n: values.len(),
        mean: middle,
        sd,
        limit: middle + sign * quantile * of_next,
        detectable: detectable_by(quantile, normal(power), n - 1.0) * of_next,
        gate,
        gate_observed: gate.map(beyond),
        gate_expected: expected,
        inside: expected.map(|expected| expected > alpha),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_inside_the_scatter_is_seen() {
        let values: Vec<f64> = (0..20_u32).map(|night| 0.9 + 0.01 * f64::from(night * 7 % 5)).collect();
        let found = calibrate(&values, [0.01, 0.9], Some(0.915), false).expect("enough");
        assert!((found.mean - 0.92).abs() < 1e-12 && found.limit < 0.89, "{found:?}");
        assert_eq!((found.gate_observed, found.inside), (Some(0.4), Some(true)));
        let wide = calibrate(&values, [0.01, 0.9], Some(0.8), false).expect("enough");
        assert_eq!((wide.gate_observed, wide.inside), (Some(0.0), Some(false)));
        let losses = calibrate(&values, [0.01, 0.9], Some(1.0), true).expect("enough");
        assert!((losses.limit - 0.92 - (0.92 - found.limit)).abs() < 1e-12 && losses.inside == Some(false));
        assert_eq!(calibrate(&values[..7], [0.01, 0.9], None, false), None);
    }
}
