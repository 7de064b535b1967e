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

/// Counts of close elements. Equal infinities are close, NaN never is, as in `torch.testing.assert_close`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Closeness {
    /// Elements of each side.
    pub elements: u64,
    /// Elements within the tolerance.
    pub within: u64,
    /// Elements beyond the absolute part and beyond the relative part alone.
    pub beyond_both: u64,
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

    /// Pearson's correlation of both sides; `None` where a side is constant or not finite, for which it is undefined.
    #[allow(clippy::cast_precision_loss, reason = "element counts are far below 2^53")]
    pub fn pearson(&self) -> Option<f64> {
        let count = self.elements as f64;
        let covariance = self.sum_product - self.sum_baseline * self.sum_candidate / count;
        let spread = |squares: f64, sum: f64| squares - sum * sum / count;
        let product =
            spread(self.sum_sq_baseline, self.sum_baseline) * spread(self.sum_sq_candidate, self.sum_candidate);
        (product > 0.0 && product.is_finite()).then(|| covariance / product.sqrt())
    }

    fn take(&mut self, baseline: f64, candidate: f64, tolerance: ElementTolerance) {
        let difference = (candidate - baseline).abs();
        let equal = baseline.to_bits() == candidate.to_bits();
        self.elements += 1;
        if equal && !baseline.is_nan() || difference <= tolerance.absolute + tolerance.relative * baseline.abs() {
            self.within += 1;
        }
        let beyond = |limit: f64| difference.is_nan() || difference > limit;
        if !equal && beyond(tolerance.absolute) && beyond(tolerance.relative * baseline.abs()) {
            self.beyond_both += 1;
        }
        self.sum_baseline += baseline;
        self.sum_candidate += candidate;
        self.sum_sq_baseline += baseline * baseline;
        self.sum_sq_candidate += candidate * candidate;
        self.sum_product += baseline * candidate;
    }
}

/// Counts over two tensors of equal element count, in row-major order; complex numbers count with their real parts.
pub fn closeness(baseline: &TensorData, candidate: &TensorData, tolerance: ElementTolerance) -> Result<Closeness> {
    let arch = Arch::new();
    let mut found = Closeness::default();
    let (mut left, mut right, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
    let elements = baseline.elements().min(candidate.elements());
    for start in (0..elements).step_by(PIECE) {
        let count = usize::try_from(elements - start).unwrap_or(PIECE).min(PIECE);
        for (tensor, values) in [(baseline, &mut left), (candidate, &mut right)] {
            values.resize(count, 0.0);
            values::read(arch, tensor, start, &mut bytes, values)?;
        }
        left.iter().zip(&right).for_each(|(baseline, candidate)| found.take(*baseline, *candidate, tolerance));
    }
    Ok(found)
}
