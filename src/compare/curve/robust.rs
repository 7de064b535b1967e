//! Statistics that single outliers do not move.

use pulp::Arch;

use crate::median::upper_median;

/// Width of the rolling median.
pub(super) const WINDOW: usize = 11;
/// Most values a median is taken of; longer series are thinned evenly, which moves a median of magnitudes by
/// far less than a limit could notice.
const SAMPLE: usize = 1 << 20;

/// The median of the magnitudes (the upper one of an even number); `None` for nothing.
pub(super) fn median_magnitude(values: &[f64]) -> Option<f64> {
    let stride = values.len().div_ceil(SAMPLE).max(1);
    upper_median(values.iter().step_by(stride).map(|value| value.abs()).collect())
}

/// Whether the centred rolling median of 11 lies above `band`, at each place; windows are cut at both ends.
///
/// A median lies above a band exactly where at least half of its window does, so counting is enough.
pub(super) fn medians_above(values: &[f64], band: f64) -> impl Iterator<Item = bool> + '_ {
    let above = move |index: usize| usize::from(values.get(index).is_some_and(|value| *value > band));
    let mut within: usize = (0..WINDOW / 2).map(above).sum();
    (0..values.len()).map(move |index| {
        within += above(index + WINDOW / 2);
        if let Some(gone) = index.checked_sub(WINDOW / 2 + 1) {
            within -= above(gone);
        }
        let len = window(values, index).len();
        within >= len - len / 2
    })
}

/// The longest run of places at which `holds` is true: its first place and its length; the first of equally long runs.
pub(super) fn longest_run(holds: impl Iterator<Item = bool>) -> Option<(usize, usize)> {
    let mut longest: Option<(usize, usize)> = None;
    let mut length = 0;
    for (index, held) in holds.enumerate() {
        length = if held { length + 1 } else { 0 };
        if length > longest.map_or(0, |(_, length)| length) {
            longest = Some((index + 1 - length, length));
        }
    }
    longest
}

/// The values around `index`.
fn window(values: &[f64], index: usize) -> &[f64] {
    let end = (index + WINDOW / 2 + 1).min(values.len());
    values.get(index.saturating_sub(WINDOW / 2)..end).unwrap_or_default()
}

/// The rolling median at `index` (the upper one of a window of even length).
fn median_at(values: &[f64], index: usize) -> f64 {
    let around = window(values, index);
    let mut sorted = [f64::INFINITY; WINDOW];
    sorted.iter_mut().zip(around).for_each(|(slot, value)| *slot = *value);
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(around.len() / 2).copied().unwrap_or_default()
}

/// Number of windows whose medians are computed side by side.
const LANES: usize = 8;
/// Sorting network for eleven numbers, where each exchange puts the smaller number first: 35 exchanges in eight layers,
/// the fewest known (B. Dobbelaere, "Smallest and fastest sorting networks for a given number of inputs").
const SORTED: [(usize, usize); 35] = [
    (0, 9),
    (1, 6),
    (2, 4),
    (3, 7),
    (5, 8),
    (0, 1),
    (3, 5),
    (4, 10),
    (6, 9),
    (7, 8),
    (1, 3),
    (2, 5),
    (4, 7),
    (8, 10),
    (0, 4),
    (1, 2),
    (3, 7),
    (5, 9),
    (6, 8),
    (0, 1),
    (2, 6),
    (4, 5),
    (7, 8),
    (9, 10),
    (2, 4),
    (3, 6),
    (5, 7),
    (8, 9),
    (1, 2),
    (3, 4),
    (5, 6),
    (7, 8),
    (2, 3),
    (4, 5),
    (6, 7),
];

/// Passes each value with the rolling median at its place to `take`. Medians of neighbouring whole windows are computed
/// side by side, in exchanges without a branch.
#[inline(always)]
fn with_medians(values: &[f64], mut take: impl FnMut(f64, f64)) {
    let mut next = 0;
    while next < values.len() {
        let whole = next.checked_sub(WINDOW / 2).and_then(|start| values.get(start..start + WINDOW + LANES - 1));
        let own = values.get(next..).unwrap_or_default();
        let Some(around) = whole else {
            own.iter().take(1).for_each(|value| take(*value, median_at(values, next)));
            next += 1;
            continue;
        };
        own.iter().zip(medians(around)).for_each(|(value, median)| take(*value, median));
        next += LANES;
    }
}

/// The medians of [`LANES`] windows, each shifted by one value against the window before it.
#[inline(always)]
fn medians(values: &[f64]) -> [f64; LANES] {
    let mut columns = [[0.0; LANES]; WINDOW];
    for (start, column) in columns.iter_mut().enumerate() {
        column.iter_mut().zip(values.iter().skip(start)).for_each(|(slot, value)| *slot = *value);
    }
    for (low, high) in SORTED {
        let Ok([low, high]) = columns.get_disjoint_mut([low, high]) else { continue };
        for (low, high) in low.iter_mut().zip(high) {
            (*low, *high) = if *high < *low { (*high, *low) } else { (*low, *high) };
        }
    }
    columns[WINDOW / 2]
}

/// Number of single points that stand out above their surroundings by 5 % and 6 standard deviations.
pub(super) fn count_spikes(values: &[f64]) -> usize {
    spike_places(values, 6.0, 0.05).len()
}

/// Places of single points that stand out above their surroundings, in rising order; none where there are fewer values
/// than a window has.
///
/// A spike lies above the rolling median by `part` of it and by so many standard deviations of the curve's own scatter
/// around it, the latter estimated from the median absolute deviation.
pub(super) fn spike_places(values: &[f64], deviations: f64, part: f64) -> Vec<usize> {
    if values.len() < WINDOW {
        return Vec::new();
    }
    let stride = values.len().div_ceil(SAMPLE).max(1);
    let arch = Arch::new();
    let mut distances = Vec::with_capacity(values.len().div_ceil(stride));
    let mut until_next = 0;
    let mut take = |value: f64, median: f64| {
        if until_next == 0 {
            distances.push((value - median).abs());
            until_next = stride;
        }
        until_next -= 1;
    };
    arch.dispatch(
        #[inline(always)]
        || with_medians(values, &mut take),
    );
    // 1.4826 turns a median absolute deviation into the standard deviation of a normal distribution.
    let scatter = deviations * 1.4826 * upper_median(distances).unwrap_or_default();
    let stands_out = |place: &usize| {
        let median = median_at(values, *place);
        values.get(*place).is_some_and(|value| value - median > scatter && value - median > part * median.abs())
    };
    let places = arch.dispatch(
        #[inline(always)]
        || places_above(values, scatter),
    );
    places.into_iter().filter(stands_out).collect()
}

/// Places of values that lie above their rolling median by more than `scatter`, and of all values near both ends.
///
/// A value lies as far above a median exactly where it does so above the smaller half of the window, so counting is enough.
#[inline(always)]
fn places_above(values: &[f64], scatter: f64) -> Vec<usize> {
    let mut places = Vec::new();
    let mut next = 0;
    while next < values.len() {
        let whole = next.checked_sub(WINDOW / 2).and_then(|start| values.get(start..start + WINDOW + LANES - 1));
        let (Some(around), Some(own)) = (whole, values.get(next..next + LANES)) else {
            places.push(next);
            next += 1;
            continue;
        };
        let mut counts = [0_u64; LANES];
        for shifted in around.windows(LANES) {
            for ((count, value), other) in counts.iter_mut().zip(own).zip(shifted) {
                *count += u64::from(value - other > scatter);
            }
        }
        places.extend((next..).zip(counts).filter(|(_, count)| *count > WINDOW as u64 / 2).map(|(place, _)| place));
        next += LANES;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exchanges_sort_eleven_numbers() {
        // What sorts every sequence of zeros and ones sorts every sequence (Knuth, The Art of Computer Programming, 5.3.4).
        for bits in 0_u32..1 << WINDOW {
            let mut values: Vec<u32> = (0..WINDOW).map(|place| bits >> place & 1).collect();
            for (low, high) in SORTED {
                if values[high] < values[low] {
                    values.swap(low, high);
                }
            }
            assert!(values.is_sorted(), "{bits:b}");
        }
    }

    #[test]
    fn a_single_outlier_leaves_the_rolling_median() {
        let mut values = vec![1.0; 50];
        values[20] = 9.0;
        assert_eq!(medians_above(&values, 1.5).filter(|above| *above).count(), 0);
        assert_eq!(count_spikes(&values), 1);
        assert_eq!(count_spikes(&vec![1.0; 50]), 0);
        assert_eq!(count_spikes(&[]), 0);
    }

    #[test]
    fn a_lasting_difference_is_as_long_as_it_lasts_behind_the_median() {
        for length in [0_usize, 5, 6, 20, 300] {
            let values: Vec<f64> =
                (0..1000).map(|t| if (400..400 + length).contains(&t) { 1.0 } else { 0.0 }).collect();
            let expected = (length > WINDOW / 2).then_some((400, length));
            assert_eq!(longest_run(medians_above(&values, 0.5)), expected, "{length} steps");
        }
        assert_eq!(longest_run([true, false, true, true, false, true, true].into_iter()), Some((2, 2)));
    }

    proptest::proptest! {
        #[test]
        fn medians_equal_sorting(values in proptest::collection::vec(-9.0_f64..9.0, 1..60), band in -9.0_f64..9.0) {
            let mut sorted: Vec<f64> = values.iter().map(|value| value.abs()).collect();
            sorted.sort_by(f64::total_cmp);
            proptest::prop_assert_eq!(median_magnitude(&values), Some(sorted[sorted.len() / 2]));
            let naive = |index: usize| {
                let mut around = values[index.saturating_sub(5)..(index + 6).min(values.len())].to_vec();
                around.sort_by(f64::total_cmp);
                around[around.len() / 2]
            };
            let medians: Vec<f64> = (0..values.len()).map(naive).collect();
            for (index, median) in medians.iter().enumerate() {
                proptest::prop_assert_eq!(median_at(&values, index).to_bits(), median.to_bits());
            }
            let mut with = Vec::new();
            with_medians(&values, |value, median| with.push((value, median)));
            proptest::prop_assert_eq!(with, values.iter().copied().zip(medians.iter().copied()).collect::<Vec<_>>());
            let expected = medians.iter().filter(|median| **median > band).count();
            proptest::prop_assert_eq!(medians_above(&values, band).filter(|above| *above).count(), expected);
        }
    }

    proptest::proptest! {
        #[test]
        fn spikes_are_counted_as_neighbours_are(values in proptest::collection::vec(-9.0_f64..9.0, 11..200), factor in 1.0_f64..40.0) {
            let mut values = values;
            values.iter_mut().step_by(17).for_each(|value| *value *= factor);
            let mut deviations: Vec<f64> =
                (0..values.len()).map(|index| (values[index] - median_at(&values, index)).abs()).collect();
            deviations.sort_by(f64::total_cmp);
            let scatter = 6.0 * 1.4826 * deviations[deviations.len() / 2];
            let stands_out = |index: &usize| {
                let (value, around, median) = (values[*index], window(&values, *index), median_at(&values, *index));
                around.iter().filter(|other| value - **other > scatter).count() > around.len() / 2
                    && value - median > 0.05 * median.abs()
            };
            proptest::prop_assert_eq!(count_spikes(&values), (0..values.len()).filter(stands_out).count());
        }
    }
}
