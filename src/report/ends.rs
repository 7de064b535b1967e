//! Ends of axes, so that pictures and the page draw a measurement on the same axis.
//!
//! A value beyond an end is drawn at the end: on an axis that reaches up to a single 1e300, all other values would coincide.

use serde::Serialize;

use crate::result::unit::ProfilePoint;

/// The largest number that is drawn unchanged: axes compute sums and multiples of their ends, which must stay finite.
const LARGEST: f64 = 1e300;

/// `value`, clamped to the numbers that axes can compute with.
pub(super) fn within_axes(value: f64) -> f64 {
    value.clamp(-LARGEST, LARGEST)
}

/// Multiple of the usual size beyond which a value is drawn at the edge.
const UNUSUAL: f64 = 1e4;

/// Ends of an axis on which the usual values can be told apart: the smallest and the largest value whose size is at most 10 000
/// times the median size of the values other than 0. `None` without a finite value.
pub(super) fn usual_range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let finite: Vec<f64> = values.filter(|value| value.is_finite()).map(within_axes).collect();
    let mut sizes: Vec<f64> = finite.iter().map(|value| value.abs()).filter(|size| *size > 0.0).collect();
    sizes.sort_by(f64::total_cmp);
    let most = sizes.get(sizes.len() / 2).map_or(f64::INFINITY, |median| UNUSUAL * median);
    let ends = |(low, high): (f64, f64), value: &f64| (low.min(*value), high.max(*value));
    let (low, high) = finite.iter().filter(|value| value.abs() <= most).fold((f64::INFINITY, f64::NEG_INFINITY), ends);
    (low <= high).then_some((low, high))
}

/// Relative differences beyond this are drawn at the edge: the candidate is then unrelated to the baseline.
const WORST_DIFFERENCE: f64 = 10.0;

/// The largest absolute difference that an axis shows. Differences of values with the range `of` are bounded by twice the usual
/// size, relative differences (`of` is `None`) by 1000 %, and by the smallest difference if all lie beyond that bound.
pub(super) fn largest_difference(differences: impl Iterator<Item = f64>, of: Option<(f64, f64)>) -> Option<f64> {
    let bound = of.map_or(WORST_DIFFERENCE, |(low, high)| 2.0 * low.abs().max(high.abs()));
    let sizes: Vec<f64> = differences.filter(|apart| apart.is_finite()).map(|apart| within_axes(apart.abs())).collect();
    let within = sizes.iter().copied().filter(|size| *size <= bound).reduce(f64::max);
    within.or_else(|| sizes.iter().copied().reduce(f64::min))
}

/// Lowest error that is drawn apart from 0 if no limit is lower, as a power of ten.
const LOWEST: f64 = -12.0;
/// Number of decades that the axis reaches below the least limit; smaller errors do not matter for any limit.
const BELOW_LIMIT: f64 = 4.0;
/// Largest error that is drawn unchanged, as a power of ten: a hundred times the size of the tensor.
const HIGHEST: f64 = 2.0;

/// The logarithmic axis of a profile's errors, in whole decades. Equal results lie on its floor; NaN and infinity at its top.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Decades {
    /// The lowest place.
    pub(super) floor: f64,
    /// The highest place.
    pub(super) top: f64,
    /// Whether errors below the floor, other than 0, are drawn on it.
    pub(super) is_cut_below: bool,
    /// Whether finite errors above the top are drawn at it.
    pub(super) is_cut_above: bool,
    /// Whether there is an error that is NaN or infinite.
    pub(super) has_infinite: bool,
}

impl Decades {
    /// Decades around errors and limits.
    pub(super) fn from_profile(profile: &[ProfilePoint]) -> Self {
        let errors = || profile.iter().map(|point| point.error.0);
        let limits = || profile.iter().map(|point| point.limit.0).filter(|limit| limit.is_finite() && *limit > 0.0);
        let sizes = || errors().chain(limits()).filter(|size| size.is_finite() && *size > 0.0);
        let highest = sizes().fold(0.0, f64::max);
        let top = if highest > 0.0 { (highest * 1.3).log10().ceil().clamp(-6.0, HIGHEST) } else { -6.0 };
        let least = sizes().reduce(f64::min).map_or(top, |least| least.log10().floor() - 1.0);
        let below_limit = limits().reduce(f64::min).map_or(LOWEST, |limit| limit.log10().floor() - BELOW_LIMIT);
        let bottom = least.max(below_limit).min(top - 2.0);
        let (floor, top) = (10_f64.powf(bottom), 10_f64.powf(top));
        Self {
            floor,
            top,
            is_cut_below: errors().any(|error| error > 0.0 && error < floor),
            is_cut_above: errors().any(|error| error.is_finite() && error > top),
            has_infinite: errors().any(|error| !error.is_finite()),
        }
    }

    /// Place of an error on the axis.
    pub(super) fn axis_position(&self, size: f64) -> f64 {
        if size.is_finite() { size.clamp(self.floor, self.top) } else { self.top }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::number::Number;

    #[test]
    fn one_huge_value_presses_no_other_into_a_line() {
        let usual = |values: &[f64]| usual_range(values.iter().copied());
        assert_eq!(usual(&[1.0, 2.0, 1e300, f64::INFINITY]), Some((1.0, 2.0)));
        assert_eq!(usual(&[0.0, 0.0, 0.0, 0.5, 1.0, 1e300]), Some((0.0, 1.0)));
        assert_eq!(usual(&[0.0, 0.0]), Some((0.0, 0.0)));
        assert_eq!(usual(&[f64::NAN, f64::INFINITY]), None);
        let largest = |values: &[f64]| largest_difference(values.iter().copied(), None);
        assert_eq!(largest(&[1e-9, -0.05, 1e300]), Some(0.05));
        assert_eq!(largest(&[1e9, 1e300]), Some(1e9));
        let apart = largest_difference([0.5, 1e300].into_iter(), Some((-1.0, 0.5)));
        assert_eq!(apart, Some(0.5));
    }

    #[test]
    fn decades_stay_few_whatever_the_errors() {
        for error in [f64::MAX, 1e308, f64::INFINITY, f64::NAN, 5e-324, 0.0] {
            let point =
                ProfilePoint { order: 0, op: String::new(), error: Number(error), limit: Number(0.01), suspect: false };
            let axis = Decades::from_profile(&[point]);
            let count = axis.top.log10() - axis.floor.log10();
            assert!((2.0..=16.0).contains(&count), "{error:e}: {axis:?}");
            assert_eq!(axis.is_cut_above, error.is_finite() && error > 100.0, "{error:e}");
            assert!((axis.floor..=axis.top).contains(&axis.axis_position(error)), "{error:e}");
        }
    }
}
