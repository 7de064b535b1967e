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
///
/// The window is kept sorted while it moves on by one value at a time, so that a curve of ten million points costs
/// no more than a pass over it.
pub fn rolling_median(values: &[f64]) -> impl Iterator<Item = f64> + '_ {
    let half = WINDOW / 2;
    let mut sorted: Vec<f64> = Vec::with_capacity(WINDOW + 1);
    values.iter().take(half).for_each(|value| insert(&mut sorted, *value));
    (0..values.len()).map(move |index| {
        if let Some(next) = values.get(index + half) {
            insert(&mut sorted, *next);
        }
        if let Some(gone) = index.checked_sub(half + 1).and_then(|index| values.get(index)) {
            remove(&mut sorted, *gone);
        }
        sorted.get(sorted.len() / 2).copied().unwrap_or_default()
    })
}

fn insert(sorted: &mut Vec<f64>, value: f64) {
    let place = sorted.iter().take_while(|known| known.total_cmp(&value).is_lt()).count();
    sorted.insert(place, value);
}

fn remove(sorted: &mut Vec<f64>, value: f64) {
    if let Some(place) = sorted.iter().position(|known| known.total_cmp(&value).is_eq()) {
        sorted.remove(place);
    }
}

/// How many single points stand out above their surroundings.
///
/// A spike lies above the rolling median by 5 % of it and by 6 standard deviations of the curve's own scatter
/// around it, the latter estimated from the median absolute deviation.
pub(super) fn spikes(values: &[f64]) -> usize {
    if values.len() < WINDOW {
        return 0;
    }
    let above = || values.iter().zip(rolling_median(values)).map(|(value, median)| (value - median, median));
    let stride = values.len().div_ceil(SAMPLE).max(1);
    let deviation = median(above().step_by(stride).map(|(above, _)| above.abs()).collect()).unwrap_or_default();
    // 1.4826 turns a median absolute deviation into the standard deviation of a normal distribution.
    let scatter = 6.0 * 1.4826 * deviation;
    above().filter(|(above, median)| *above > scatter && *above > 0.05 * median.abs()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_outlier_leaves_the_rolling_median() {
        let mut values = vec![1.0; 50];
        values[20] = 9.0;
        assert!(rolling_median(&values).all(|value| (value - 1.0).abs() < 1e-12));
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
            let naive = (0..values.len()).map(|index| {
                let mut around = values[index.saturating_sub(5)..(index + 6).min(values.len())].to_vec();
                around.sort_by(f64::total_cmp);
                around[around.len() / 2]
            });
            proptest::prop_assert_eq!(rolling_median(&values).collect::<Vec<_>>(), naive.collect::<Vec<_>>());
        }
    }
}
