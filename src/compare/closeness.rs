//! Count of the elements within a tolerance, for rules that count elements; read only where such a rule is asked for.

use pulp::Arch;
use serde::{Deserialize, Serialize};

use super::values::{self, PIECE};
use crate::error::Result;
use crate::read::tensor::TensorData;

/// A tolerance per element: `|c − b| <= absolute + relative · |b|`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ElementTolerance {
    /// Relative to the baseline's element.
    pub relative: f64,
    /// Absolute.
    pub absolute: f64,
}

/// Counts of close elements, as `numpy.isclose` and `torch.testing.assert_close` count them, in `f64`: equal infinities are
/// close, NaN never is, and nothing finite is close to an infinity. Complex numbers are as far apart as the magnitude of
/// their difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Closeness {
    /// Elements of each side.
    pub elements: u64,
    /// Elements within the tolerance.
    pub within: u64,
    /// Elements that differ by more than the absolute and by more than the relative part of the tolerance, each taken
    /// alone.
    pub beyond_both: u64,
    /// Largest |c − b| / |b|; infinite where that is not a number, 0 where nothing differs.
    #[serde(with = "super::exact")]
    pub largest_relative: f64,
    #[serde(with = "super::exact")]
    sum_baseline: f64,
    #[serde(with = "super::exact")]
    sum_candidate: f64,
    #[serde(with = "super::exact")]
    sum_sq_baseline: f64,
    #[serde(with = "super::exact")]
    sum_sq_candidate: f64,
    #[serde(with = "super::exact")]
    sum_product: f64,
}

impl Closeness {
    /// Share of elements within the tolerance; 1 for empty tensors.
    #[allow(clippy::cast_precision_loss, reason = "element counts are far below 2^53")]
    pub fn share(&self) -> f64 {
        if self.elements == 0 { 1.0 } else { self.within as f64 / self.elements as f64 }
    }

    /// Share of elements outside the tolerance; 0 for empty tensors.
    #[allow(clippy::cast_precision_loss, reason = "element counts are far below 2^53")]
    pub(crate) fn share_outside(&self) -> f64 {
        if self.elements == 0 { 0.0 } else { (self.elements - self.within) as f64 / self.elements as f64 }
    }

    /// Pearson's correlation of both sides; `None` where a side is constant or not finite, for which it is undefined.
    #[allow(clippy::cast_precision_loss, reason = "element counts are far below 2^53")]
    pub(crate) fn pearson(&self) -> Option<f64> {
        let count = self.elements as f64;
        let covariance = self.sum_product - self.sum_baseline * self.sum_candidate / count;
        let spread = |squares: f64, sum: f64| squares - sum * sum / count;
        let product =
            spread(self.sum_sq_baseline, self.sum_baseline) * spread(self.sum_sq_candidate, self.sum_candidate);
        (product > 0.0 && product.is_finite()).then(|| covariance / product.sqrt())
    }

    fn take(&mut self, baseline: Element, candidate: Element, tolerance: ElementTolerance) {
        let difference = candidate.distance(baseline);
        let size = baseline.size();
        let equal = baseline == candidate;
        self.elements += 1;
        if equal || size.is_finite() && difference <= tolerance.absolute + tolerance.relative * size {
            self.within += 1;
        }
        let beyond = |limit: f64| difference.is_nan() || difference > limit;
        if !equal {
            let relative = difference / size;
            self.largest_relative = if relative.is_nan() { f64::INFINITY } else { self.largest_relative.max(relative) };
            if beyond(tolerance.absolute) && beyond(tolerance.relative * size) {
                self.beyond_both += 1;
            }
        }
        self.sum_baseline += baseline.real;
        self.sum_candidate += candidate.real;
        self.sum_sq_baseline += baseline.real * baseline.real;
        self.sum_sq_candidate += candidate.real * candidate.real;
        self.sum_product += baseline.real * candidate.real;
    }
}

/// One element; the imaginary part of a real number is 0.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Element {
    real: f64,
    imaginary: f64,
}

impl Element {
    fn size(self) -> f64 {
        if self.imaginary == 0.0 { self.real.abs() } else { self.real.hypot(self.imaginary) }
    }

    fn distance(self, other: Self) -> f64 {
        Self { real: self.real - other.real, imaginary: self.imaginary - other.imaginary }.size()
    }
}

/// Elements of a piece of a tensor, with room to read them into.
#[derive(Default)]
struct Piece {
    real: Vec<f64>,
    /// Empty for real numbers.
    imaginary: Vec<f64>,
    bytes: Vec<u8>,
}

impl Piece {
    fn read(&mut self, arch: Arch, tensor: &TensorData, start: u64, count: usize) -> Result<()> {
        self.real.resize(count, 0.0);
        values::read(arch, tensor, start, &mut self.bytes, &mut self.real)?;
        if tensor.dtype.is_complex() {
            self.imaginary.resize(count, 0.0);
            values::read_imaginary(arch, tensor, start, &mut self.bytes, &mut self.imaginary)?;
        }
        Ok(())
    }

    fn elements(&self) -> impl Iterator<Item = Element> {
        let imaginary = self.imaginary.iter().copied().chain(std::iter::repeat(0.0));
        self.real.iter().zip(imaginary).map(|(real, imaginary)| Element { real: *real, imaginary })
    }
}

/// Counts over two tensors of equal element count, in row-major order.
pub(crate) fn closeness(
    baseline: &TensorData,
    candidate: &TensorData,
    tolerance: ElementTolerance,
) -> Result<Closeness> {
    let arch = Arch::new();
    let mut found = Closeness::default();
    let (mut left, mut right) = (Piece::default(), Piece::default());
    let elements = baseline.elements().min(candidate.elements());
    for start in (0..elements).step_by(PIECE) {
        let count = usize::try_from(elements - start).unwrap_or(PIECE).min(PIECE);
        left.read(arch, baseline, start, count)?;
        right.read(arch, candidate, start, count)?;
        left.elements().zip(right.elements()).for_each(|(left, right)| found.take(left, right, tolerance));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within(baseline: f64, candidate: f64, relative: f64) -> bool {
        let mut found = Closeness::default();
        let [baseline, candidate] = [baseline, candidate].map(|real| Element { real, imaginary: 0.0 });
        found.take(baseline, candidate, ElementTolerance { relative, absolute: 0.1 });
        found.within == 1
    }

    #[test]
    fn nothing_finite_is_close_to_an_infinity() {
        for relative in [0.0, 1.0] {
            assert!(within(f64::INFINITY, f64::INFINITY, relative));
            assert!(!within(f64::INFINITY, 1.0, relative), "the tolerance of an infinity is infinite");
            assert!(!within(f64::INFINITY, f64::NEG_INFINITY, relative));
            assert!(!within(1.0, f64::INFINITY, relative));
            assert!(!within(f64::NAN, f64::NAN, relative));
            assert!(within(0.0, -0.0, relative));
        }
    }

    #[test]
    fn an_imaginary_part_counts() {
        let mut found = Closeness::default();
        let [baseline, candidate] = [0.0, 2.0].map(|imaginary| Element { real: 1.0, imaginary });
        found.take(baseline, candidate, ElementTolerance { relative: 0.0, absolute: 1.0 });
        assert_eq!((found.within, found.largest_relative.to_bits()), (0, 2f64.to_bits()));
    }
}
