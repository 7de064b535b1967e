//! Measures of two arrays: sums over all elements for tensors, the angle and length of every row for embeddings, the
//! mean square difference for pictures.

mod picture;
mod rows;

use super::measurements::{Measurements, PairName};
use super::tensor::{PairStats, compare_sample};
use crate::dtype::Dtype;
use crate::error::Result;
use crate::read::tensor::TensorData;

pub(crate) use picture::compare_pictures;
pub use picture::{ChannelOrder, PictureMeasure};
pub use rows::RowsMeasure;
pub(crate) use rows::compare_embeddings;

/// Measures of two tensors of the same shape.
#[derive(Clone, Debug)]
pub struct TensorMeasure {
    /// Element types of baseline and candidate.
    pub dtypes: [Dtype; 2],
    /// Sums and counts over the elements.
    pub stats: Box<PairStats>,
}

impl TensorMeasure {
    /// ‖c−b‖₂/‖b‖₂ over places that are finite on both sides; infinite where the baseline is zero there and the candidate is not.
    pub fn error(&self) -> f64 {
        if self.stats.sum_sq_diff == 0.0 { 0.0 } else { (self.stats.sum_sq_diff / self.stats.sum_sq_baseline).sqrt() }
    }

    /// Whether all elements of both sides are zero.
    pub fn is_zero(&self) -> bool {
        let PairStats {
            sum_sq_baseline,
            sum_sq_candidate,
            nan_baseline,
            nan_candidate,
            inf_baseline,
            inf_candidate,
            ..
        } = *self.stats;
        sum_sq_baseline == 0.0
            && sum_sq_candidate == 0.0
            && nan_baseline + nan_candidate + inf_baseline + inf_candidate == 0
    }

    /// Whether the tensors have no finite element, and NaN and infinity stand at the same places.
    pub(crate) fn has_no_number(&self) -> bool {
        let missing = |nan: u64, inf: u64| nan.saturating_add(inf) >= self.stats.elements;
        self.stats.elements == 0
            || self.stats.nonfinite_mismatches == 0
                && missing(self.stats.nan_baseline, self.stats.inf_baseline)
                && missing(self.stats.nan_candidate, self.stats.inf_candidate)
    }
}

/// Compares two tensors of the same shape; `None` where a quick look skips them.
///
/// # Errors
/// Where one cannot be read.
pub(crate) fn compare_tensors(
    name: &str,
    baseline: &TensorData,
    candidate: &TensorData,
    measurements: &Measurements,
) -> Option<Result<TensorMeasure>> {
    let question = PairName {
        question: "array",
        op: None,
        baseline: baseline.name(),
        candidate: candidate.name(),
        member: name,
        offset: baseline.offset(),
    };
    let measure =
        || compare_sample(baseline, candidate, measurements.sample()).map(Box::new).map_err(|error| error.to_string());
    let answer: Option<std::result::Result<Box<PairStats>, String>> = measurements.get_or_measure(&question, measure);
    let stats = answer?.map_err(|reason| crate::error::Error::corrupt(candidate.name(), reason));
    if let Ok(stats) = &stats {
        measurements.count_elements(stats.elements, baseline.elements());
    }
    Some(stats.map(|stats| TensorMeasure { dtypes: [baseline.dtype, candidate.dtype], stats }))
}
