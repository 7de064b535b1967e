//! The course of a curve: its end against its lowest stretch, its repeats, its digits.

use super::stretches::least_median;
use crate::median::median;

/// Least number of points in the end of a curve.
const LEAST_END: usize = 3;

/// The end of a curve against its lowest stretch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct End {
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
pub fn end_of(values: &[f64]) -> Option<End> {
    let width = (values.len() / 10).max(LEAST_END);
    if values.len() < 2 * width {
        return None;
    }
    let (place, least) = least_median(values, width)?;
    let half = values.get(values.len() / 2..)?;
    Some(End {
        len: values.len(),
        end: median(values.get(values.len() - width..)?.to_vec())?,
        least,
        least_at: (place as f64 + width as f64 / 2.0) / values.len() as f64,
        first: *values.first()?,
        least_of_half: half.iter().copied().fold(f64::INFINITY, f64::min),
        step: step_of(values)?,
    })
}

/// Median distance between neighbours.
pub fn step_of(values: &[f64]) -> Option<f64> {
    median(values.windows(2).filter_map(|pair| Some((pair.get(1)? - pair.first()?).abs())).collect())
}

/// The smallest period with which all values repeat exactly; `None` where they do not.
pub fn period_of(values: &[f64]) -> Option<usize> {
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
pub fn digits_of(value: f64) -> usize {
    let text = format!("{:e}", value.abs());
    let figures = text.split('e').next().unwrap_or_default();
    if value == 0.0 { 0 } else { figures.bytes().filter(u8::is_ascii_digit).count() }
}

/// Median of the last quarter over that of the first half.
pub fn last_quarter(values: &[f64]) -> Option<f64> {
    let first = median(values.get(..values.len() / 2)?.to_vec())?;
    let last = median(values.get(values.len() - values.len() / 4..)?.to_vec())?;
    Some(last / first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_measured_against_the_lowest_stretch() {
        let values: Vec<f64> = (0..100_u32).map(|t| 1.0 + (f64::from(t) - 30.0).abs() / 10.0).collect();
        let end = end_of(&values).expect("a curve");
        assert!((end.end - 7.5).abs() < 0.11 && (end.least - 1.3).abs() < 0.11, "{end:?}");
        assert!((end.least_at - 0.3).abs() < 0.06 && (end.step - 0.1).abs() < 1e-9 && end.least_of_half > 2.9);
        assert_eq!(end_of(&values[..5]), None);
    }

    #[test]
    fn the_smallest_period_is_found() {
        let repeated: Vec<f64> = [1.0, 2.0, 1.0, 3.0].into_iter().cycle().take(22).collect();
        assert_eq!(period_of(&repeated), Some(4));
        assert_eq!(period_of(&[1.0; 9]), Some(1));
        assert_eq!(period_of(&[1.0, 2.0, 3.0]), None);
        assert_eq!(period_of(&[]), None);
    }

    #[test]
    fn digits_are_those_that_were_printed() {
        assert_eq!([0.0001, 2.31, 4.128_05, 100.0, 0.0].map(digits_of), [1, 3, 6, 1, 0]);
    }

    #[test]
    fn a_collapse_shows_in_the_last_quarter() {
        let values: Vec<f64> = (0..40).map(|t| if t < 30 { 9.0 } else { 0.9 }).collect();
        assert!(last_quarter(&values).is_some_and(|share| (share - 0.1).abs() < 1e-9));
        assert_eq!(last_quarter(&[]), None);
    }
}
