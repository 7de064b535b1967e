//! The course of a curve: its end against its lowest stretch, its repeats, its digits.

use super::stretches::least_median;
use crate::median::upper_median;

/// Least number of points in the end of a curve.
const LEAST_END: usize = 3;

/// The end of a curve against its lowest stretch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CurveEnd {
    /// Points.
    pub len: usize,
    /// Median of the last tenth.
    pub end: f64,
    /// The lowest median of a stretch of that length.
    pub least: f64,
    /// Share of the curve before the middle of that stretch.
    pub least_at: f64,
    /// The first value, and the lowest of the second half.
    pub first: f64,
    /// The lowest value of the second half.
    pub least_of_half: f64,
    /// Median distance between neighbours.
    pub step: f64,
}

/// Measures the end of a curve of finite values; `None` for fewer than two tenths.
#[allow(clippy::cast_precision_loss, reason = "counts of points")]
pub(crate) fn curve_end(values: &[f64]) -> Option<CurveEnd> {
    let width = (values.len() / 10).max(LEAST_END);
    if values.len() < 2 * width {
        return None;
    }
    let (place, least) = least_median(values, width)?;
    let half = values.get(values.len() / 2..)?;
    Some(CurveEnd {
        len: values.len(),
        end: upper_median(values.get(values.len() - width..)?.to_vec())?,
        least,
        least_at: (place as f64 + width as f64 / 2.0) / values.len() as f64,
        first: *values.first()?,
        least_of_half: half.iter().copied().fold(f64::INFINITY, f64::min),
        step: median_change(values)?,
    })
}

/// Median distance between neighbours.
pub(crate) fn median_change(values: &[f64]) -> Option<f64> {
    upper_median(values.windows(2).filter_map(|pair| Some((pair.get(1)? - pair.first()?).abs())).collect())
}

/// The smallest period with which all values repeat exactly; `None` where they do not.
pub(crate) fn repeat_period(values: &[f64]) -> Option<usize> {
    let same =
        |a: usize, b: usize| matches!((values.get(a), values.get(b)), (Some(a), Some(b)) if a.to_bits() == b.to_bits());
    // Length of the longest prefix that ends at each place (the prefix function of Knuth, Morris and Pratt).
    let mut borders = vec![0_usize; values.len()];
    let mut known = 0;
    for place in 1..values.len() {
        while known > 0 && !same(place, known) {
            known = borders.get(known - 1).copied().unwrap_or_default();
        }
        known += usize::from(same(place, known));
        if let Some(border) = borders.get_mut(place) {
            *border = known;
        }
    }
    let period = values.len() - borders.last()?;
    (period < values.len()).then_some(period)
}

/// Number of significant digits, without leading and trailing zeros.
pub(crate) fn digit_count(value: f64) -> usize {
    let text = format!("{:e}", value.abs());
    let figures = text.split('e').next().unwrap_or_default();
    if value == 0.0 { 0 } else { figures.bytes().filter(u8::is_ascii_digit).count() }
}

/// Median of the last quarter over that of the first half.
pub(crate) fn last_quarter_ratio(values: &[f64]) -> Option<f64> {
    let first = upper_median(values.get(..values.len() / 2)?.to_vec())?;
    let last = upper_median(values.get(values.len() - values.len() / 4..)?.to_vec())?;
    Some(last / first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_measured_against_the_lowest_stretch() {
        let values: Vec<f64> = (0..100_u32).map(|t| 1.0 + (f64::from(t) - 30.0).abs() / 10.0).collect();
        let end = curve_end(&values).expect("a curve");
        assert!((end.end - 7.5).abs() < 0.11 && (end.least - 1.3).abs() < 0.11, "{end:?}");
        assert!((end.least_at - 0.3).abs() < 0.06 && (end.step - 0.1).abs() < 1e-9 && end.least_of_half > 2.9);
        assert_eq!(curve_end(&values[..5]), None);
    }

    #[test]
    fn the_smallest_period_is_found() {
        let repeated: Vec<f64> = [1.0, 2.0, 1.0, 3.0].into_iter().cycle().take(22).collect();
        assert_eq!(repeat_period(&repeated), Some(4));
        assert_eq!(repeat_period(&[1.0; 9]), Some(1));
        assert_eq!(repeat_period(&[1.0, 2.0, 3.0]), None);
        assert_eq!(repeat_period(&[]), None);
    }

    #[test]
    fn digits_are_those_that_were_printed() {
        assert_eq!([0.0001, 2.31, 4.128_05, 100.0, 0.0].map(digit_count), [1, 3, 6, 1, 0]);
    }

    #[test]
    fn a_collapse_shows_in_the_last_quarter() {
        let values: Vec<f64> = (0..40).map(|t| if t < 30 { 9.0 } else { 0.9 }).collect();
        assert!(last_quarter_ratio(&values).is_some_and(|share| (share - 0.1).abs() < 1e-9));
        assert_eq!(last_quarter_ratio(&[]), None);
    }
}
