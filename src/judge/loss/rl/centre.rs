//! Values around 0: how far their centre moved, and how their spread changed.

use super::trend::{Trend, mean_deviation, robust_deviation};
use crate::median::upper_median;

/// Spreads below this are rounding: advantages that are normalised in `float32` have a mean of about 1e-8.
const LEAST: f64 = 1e-6;

/// Distance of both medians in robust standard deviations of the baseline.
pub(super) fn shift(trend: &Trend) -> f64 {
    let of = |values: &[f64]| upper_median(values.to_vec()).unwrap_or(f64::NAN);
    (of(&trend.candidate) - of(&trend.baseline)).abs() / spreads(trend).0
}

/// Ratio of both robust standard deviations, either way; at least 1.
pub(super) fn spread_ratio(trend: &Trend) -> f64 {
    let (baseline, candidate) = spreads(trend);
    (baseline / candidate).max(candidate / baseline)
}

/// Spread of both sides. Where more than half of a side is one value, as once all answers are right, a median says nothing
/// and both sides are measured by means.
fn spreads(trend: &Trend) -> (f64, f64) {
    let (baseline, candidate) = (robust_deviation(&trend.baseline), robust_deviation(&trend.candidate));
    if baseline > 0.0 && candidate > 0.0 {
        return (baseline.max(LEAST), candidate.max(LEAST));
    }
    (mean_deviation(&trend.baseline).max(LEAST), mean_deviation(&trend.candidate).max(LEAST))
}
