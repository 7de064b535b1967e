//! Median and spread, which a minority of outliers does not change.

/// Turns a median absolute deviation into the standard deviation of a normal distribution.
const NORMAL: f64 = 1.4826;

/// The median; for an even number of values the mean of the two in the middle, `None` for no values. Values are finite.
pub(super) fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    let lower = *sorted.get((sorted.len() - 1) / 2)?;
    // Halved before they are added: the sum of two large values may be infinite.
    Some(lower / 2.0 + upper / 2.0)
}

/// The standard deviation of a normal distribution with the median magnitude of `residuals`; 0 for no residuals.
pub(super) fn spread(residuals: impl IntoIterator<Item = f64>) -> f64 {
    NORMAL * median(residuals.into_iter().map(f64::abs)).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_an_even_number_lies_between_two() {
        assert_eq!(median([3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median([f64::MAX, f64::MAX]), Some(f64::MAX));
        assert_eq!(median([]), None);
    }

    #[test]
    fn one_wild_value_does_not_widen_the_spread() {
        let residuals = [1.0, -1.0, 1.0, -1.0, 1e9];
        assert!((spread(residuals) - NORMAL).abs() < 1e-12);
        assert!(spread([]).abs() < 1e-300);
    }
}
