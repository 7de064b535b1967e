//! The part of a tensor that is wrong while the rest agrees: rows, columns, channels, heads, tiles, the last part.

use std::fmt;

use ndarray::{ArrayD, Axis, IxDyn};

use super::values::{DataPair, count_of};

/// Largest share of the tensor that counts as a part: a fault of a device affects a part, another formula affects
/// everything.
const LARGEST: usize = 4;

/// Least error inside a part, in root mean squares of the tensor; rounding, and other formulas that show in some rows
/// only, are smaller.
const LEAST_ERROR: f64 = 0.05;

/// Number of elements below which no part is searched in a tensor.
const FEWEST: usize = 64;

/// An element with the largest error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Outlier {
    /// Its place in row-major order.
    pub(super) place: usize,
    /// Elements of the tensor.
    pub(super) of: usize,
    pub(super) baseline: f64,
    pub(super) candidate: f64,
}

/// A part of a tensor.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WrongPart {
    /// Number of elements that are wrong.
    pub(super) places: usize,
    /// Elements of the tensor.
    pub(super) of: usize,
    /// Axes along which only some indices are wrong; a single entry for the flat order where the last elements are
    /// wrong.
    pub(super) axes: Vec<WrongIndices>,
}

/// Wrong indices along an axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WrongIndices {
    axis: Option<usize>,
    indices: Vec<usize>,
    of: usize,
}

impl fmt::Display for WrongIndices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Most indices that are written out.
        const MOST_INDICES: usize = 4;
        let (first, last) = (self.indices.first().copied().unwrap_or(0), self.indices.last().copied().unwrap_or(0));
        let name = self.axis.map_or_else(|| "[..]".to_owned(), |axis| format!("[axis {axis}]"));
        if last - first + 1 == self.indices.len() && first != last {
            return write!(f, "{name} {first}–{last} / {}", self.of);
        }
        let told: Vec<String> = self.indices.iter().take(MOST_INDICES).map(ToString::to_string).collect();
        let rest = if self.indices.len() > MOST_INDICES { ", …" } else { "" };
        write!(f, "{name} {}{rest} / {}", told.join(", "), self.of)
    }
}

impl DataPair {
    /// The element with the largest error.
    pub(super) fn largest_error(&self) -> Option<Outlier> {
        let errors = self.baseline.iter().zip(&self.candidate).map(|(b, c)| (c - b).abs()).enumerate();
        let (place, _) = errors.max_by(|a, b| a.1.total_cmp(&b.1))?;
        let (baseline, candidate) = (*self.baseline.get(place)?, *self.candidate.get(place)?);
        Some(Outlier { place, of: self.baseline.len(), baseline, candidate })
    }

    /// The part that is clearly wrong, where everything else agrees within `limit` of scale and the part is made of
    /// whole indices of the axes.
    pub(super) fn wrong_part(&self, shape: &[u64], limit: f64) -> Option<WrongPart> {
        let count = self.baseline.len();
        let lens: Vec<usize> = shape.iter().map(|len| usize::try_from(*len).unwrap_or(usize::MAX)).collect();
        let pairs = self.baseline.iter().zip(&self.candidate);
        let is_wrong = |(b, c): (&f64, &f64)| (c - b).abs() > limit * b.abs().max(self.rms()) || (c - b).is_nan();
        // Data whose number of elements does not match the shape has no axes.
        let marks = ArrayD::from_shape_vec(IxDyn(&lens), pairs.map(is_wrong).collect()).ok()?;
        let wrong: Vec<usize> = marks.iter().enumerate().filter(|(_, mark)| **mark).map(|(place, _)| place).collect();
        if count < FEWEST || wrong.is_empty() || wrong.len() * LARGEST > count || !self.is_large(&wrong, limit) {
            return None;
        }
        let axes = whole_indices(&marks, &wrong).or_else(|| last_part(&wrong, count))?;
        Some(WrongPart { places: wrong.len(), of: count, axes })
    }

    /// Whether the errors at these places are too large for rounding.
    fn is_large(&self, places: &[usize], limit: f64) -> bool {
        let error = |place: &usize| Some(self.candidate.get(*place)? - self.baseline.get(*place)?);
        let squares: f64 = places.iter().filter_map(error).map(|error| error * error).sum();
        let size = (squares / count_of(places.len())).sqrt();
        size.is_finite() && size > LEAST_ERROR.max(50.0 * limit) * self.rms()
    }
}

/// The wrong indices of each axis, where most of the elements that they span are wrong.
fn whole_indices(marks: &ArrayD<bool>, wrong: &[usize]) -> Option<Vec<WrongIndices>> {
    let mut spanned = 1_usize;
    let mut axes = Vec::new();
    for (axis, len) in marks.shape().iter().enumerate() {
        let slices = marks.axis_iter(Axis(axis)).enumerate();
        let indices: Vec<usize> =
            slices.filter(|(_, slice)| slice.iter().any(|mark| *mark)).map(|(index, _)| index).collect();
        spanned = spanned.saturating_mul(indices.len());
        if indices.len() < *len {
            axes.push(WrongIndices { axis: Some(axis), indices, of: *len });
        }
    }
    // The last elements are named instead where they fit more closely.
    let from_first = marks.len() - wrong.first()?;
    (!axes.is_empty() && spanned <= from_first && spanned * 3 <= wrong.len() * 5).then_some(axes)
}

/// The last elements, where most of them are wrong.
fn last_part(wrong: &[usize], count: usize) -> Option<Vec<WrongIndices>> {
    let first = *wrong.first()?;
    let is_most = (count - first) * 3 <= wrong.len() * 5;
    is_most.then(|| vec![WrongIndices { axis: None, indices: (first..count).collect(), of: count }])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(change: impl Fn(usize, f64) -> f64) -> DataPair {
        let wave = |place: u32| (f64::from(place) * 0.7).sin() + 0.01;
        let baseline: Vec<f64> = (0..480).map(wave).collect();
        let candidate = baseline.iter().enumerate().map(|(place, value)| change(place, *value)).collect();
        DataPair::new(baseline, candidate, 10)
    }

    fn axes(data: &DataPair) -> Option<Vec<String>> {
        data.wrong_part(&[4, 12, 10], 1e-4).map(|part| part.axes.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn channels_and_the_last_part_are_parts() {
        let channel = data(|place, value| if [3, 7].contains(&(place / 10 % 12)) { 0.0 } else { value });
        assert_eq!(axes(&channel), Some(vec!["[axis 1] 3, 7 / 12".to_owned()]));
        let tail = data(|place, value| if place >= 455 { value + 3.0 } else { value });
        assert_eq!(axes(&tail), Some(vec!["[..] 455–479 / 480".to_owned()]));
    }

    #[test]
    fn masks_formulas_and_roundings_are_not() {
        assert_eq!(axes(&data(|place, value| if place * 7919 % 13 < 2 { 0.0 } else { value })), None, "a mask");
        assert_eq!(axes(&data(|_, value| value * 1.1)), None, "a formula");
        let rounding = data(|place, value| if place / 10 % 12 == 3 { value * 1.001 } else { value });
        assert_eq!(axes(&rounding), None, "rounding of a row");
    }

    #[test]
    fn the_largest_error_is_found() {
        let one = data(|place, value| if place == 77 { -value } else { value });
        assert_eq!(one.largest_error().map(|outlier| (outlier.place, outlier.of)), Some((77, 480)));
    }
}
