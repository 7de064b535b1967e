//! Statistics that single outliers do not move.

/// Width of the rolling median.
const WINDOW: usize = 11;
/// Most values a median is taken of; longer series are thinned evenly, which moves a median of magnitudes by
/// far less than a limit could notice.
const SAMPLE: usize = 1 << 20;

/// The median of the magnitudes (the upper one of an even number); `None` for nothing.
pub(super) fn median_magnitude(values: &[f64]) -> Option<f64> {
    let stride = values.len().div_ceil(SAMPLE).max(1);
    median(values.iter().step_by(stride).map(|value| value.abs()).collect())
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    let middle = values.len() / 2;
    if values.is_empty() {
        return None;
    }
    Some(*values.select_nth_unstable_by(middle, f64::total_cmp).1)
}

/// The centred rolling median of 11; windows are cut at both ends.
pub fn rolling_median(values: &[f64]) -> Vec<f64> {
    let half = WINDOW / 2;
    let mut window = [0.0; WINDOW];
    (0..values.len())
        .map(|index| {
            let around =
                values.get(index.saturating_sub(half)..(index + half + 1).min(values.len())).unwrap_or_default();
            let sorted = window.get_mut(..around.len()).unwrap_or_default();
            sorted.copy_from_slice(around);
            sorted.sort_unstable_by(f64::total_cmp);
            sorted.get(sorted.len() / 2).copied().unwrap_or_default()
        })
        .collect()
}

/// How many single points stand out above their surroundings.
///
/// A spike lies above the rolling median by 5 % of it and by 6 standard deviations of the curve's own scatter
/// around it, the latter estimated from the median absolute deviation.
pub(super) fn spikes(values: &[f64]) -> usize {
    if values.len() < WINDOW {
        return 0;
    }
    let smooth = rolling_median(values);
    let above = || values.iter().zip(&smooth).map(|(value, median)| value - median);
    let stride = values.len().div_ceil(SAMPLE).max(1);
    let deviation = median(above().step_by(stride).map(f64::abs).collect()).unwrap_or_default();
    // 1.4826 turns a median absolute deviation into the standard deviation of a normal distribution.
    let scatter = 6.0 * 1.4826 * deviation;
    above().zip(&smooth).filter(|(above, median)| *above > scatter && *above > 0.05 * median.abs()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_outlier_leaves_the_rolling_median() {
        let mut values = vec![1.0; 50];
        values[20] = 9.0;
        assert!(rolling_median(&values).iter().all(|value| (value - 1.0).abs() < 1e-12));
        assert_eq!(spikes(&values), 1);
        assert_eq!(spikes(&vec![1.0; 50]), 0);
        assert_eq!(spikes(&[]), 0);
    }

    proptest::proptest! {
        #[test]
        fn medians_equal_sorting(values in proptest::collection::vec(-9.0_f64..9.0, 1..60)) {
            let mut sorted: Vec<f64> = values.iter().map(|value| value.abs()).collect();
            sorted.sort_by(f64::total_cmp);
            proptest::prop_assert_eq!(median_magnitude(&values), Some(sorted[sorted.len() / 2]));
            proptest::prop_assert_eq!(rolling_median(&values).len(), values.len());
        }
    }
}
