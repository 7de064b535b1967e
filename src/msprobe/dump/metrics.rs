//! The six cells of tensor mode (`docs/formats/msprobe-tables.md`, Metrics of tensors).

use serde::{Deserialize, Serialize};

use super::cells::repeated_cell;
use crate::compare::tensor::{self, MsprobeStats, PairStats, ScalarPair};
use crate::error::Result;
use crate::msprobe::table::Cell;
use crate::read::tensor::TensorData;

/// Outcome of measuring a pair of tensor files, in the order msprobe tests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum MeasuredPair {
    /// A file is missing or cannot be read.
    Unreadable,
    /// The candidate has no elements.
    Empty,
    /// Shapes differ after axes of length 1 were dropped.
    ShapesDiffer,
    /// One element on each side.
    Scalar(ScalarPair),
    /// More elements.
    Elements {
        /// Elements of each side.
        count: u64,
        /// Sums and counts over all elements, from which the cells are made.
        stats: MsprobeStats,
    },
}

impl MeasuredPair {
    /// Measures two open tensors.
    ///
    /// # Errors
    /// Errors of reading either side.
    pub(crate) fn from_tensors(candidate: &TensorData, baseline: &TensorData) -> Result<Self> {
        if candidate.elements() == 0 {
            return Ok(Self::Empty);
        }
        if squeezed(&candidate.shape) != squeezed(&baseline.shape) {
            return Ok(Self::ShapesDiffer);
        }
        if candidate.elements() == 1 {
            return Ok(tensor::scalar_pair(baseline, candidate)?.map_or(Self::Empty, Self::Scalar));
        }
        Ok(Self::from_stats(&tensor::compare(baseline, candidate)?).unwrap_or(Self::Empty))
    }

    /// Takes the numbers from a comparison of two tensors of one shape; `None` for a single element, which msprobe
    /// measures in another way, and for no elements.
    pub(crate) fn from_stats(stats: &PairStats) -> Option<Self> {
        (stats.elements > 1).then(|| Self::Elements { count: stats.elements, stats: stats.msprobe.clone() })
    }

    /// Cosine, EucDist, MaxAbsErr, MaxRelativeErr, One Thousandth Err Ratio, Five Thousandths Err Ratio.
    pub(super) fn cells(&self) -> [Cell<'static>; 6] {
        match self {
            Self::Unreadable | Self::Empty => repeated_cell("unsupported"),
            Self::ShapesDiffer => repeated_cell("shape unmatched"),
            Self::Scalar(pair) => {
                let [cosine, distance, _, _, thousandth, five_thousandths] = repeated_cell("unsupported");
                let (max_abs, max_relative) = (rounded(pair.max_abs_diff), rounded(pair.max_relative));
                [cosine, distance, max_abs, max_relative, thousandth, five_thousandths]
            }
            Self::Elements { stats, .. } if stats.nonfinite_positions_differ => repeated_cell("N/A"),
            Self::Elements { count, stats } => [
                cosine(stats).map_or_else(|_| Cell::word("Nan"), Cell::Float),
                Cell::Float(stats.sum_sq_diff.sqrt()),
                rounded(stats.max_abs_diff),
                rounded(stats.max_relative),
                rounded(share(stats.below_thousandth, *count)),
                rounded(share(stats.below_five_thousandths, *count)),
            ],
        }
    }
}

/// A shape without its axes of length 1.
fn squeezed(shape: &[u64]) -> Vec<u64> {
    shape.iter().copied().filter(|len| *len != 1).collect()
}

/// Reasons why there is no cosine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoCosine {
    /// The candidate is all zero.
    ZeroCandidate,
    /// The baseline is all zero.
    ZeroBaseline,
    /// A product overflowed.
    NotANumber,
}

/// Cosine, to 12 decimals, and to 6 where that is above 0.9999; 1 where both sides are all zero.
pub(super) fn cosine(stats: &MsprobeStats) -> std::result::Result<f64, NoCosine> {
    let (candidate, baseline) = (stats.sum_sq_candidate.sqrt(), stats.sum_sq_baseline.sqrt());
    match (candidate <= f64::EPSILON, baseline <= f64::EPSILON) {
        (true, true) => return Ok(1.0),
        (true, false) => return Err(NoCosine::ZeroCandidate),
        (false, true) => return Err(NoCosine::ZeroBaseline),
        (false, false) => {}
    }
    let cosine = stats.dot / (candidate * baseline);
    if cosine.is_nan() {
        return Err(NoCosine::NotANumber);
    }
    let fine = round(cosine, 12);
    Ok(if fine > 0.9999 { round(fine, 6) } else { fine })
}

/// A number to 12 decimals; `Nan` where it is none.
fn rounded(value: f64) -> Cell<'static> {
    if value.is_nan() { Cell::word("Nan") } else { Cell::Float(round(value, 12)) }
}

/// Rounds by way of text, as the real tool does.
fn round(value: f64, decimals: usize) -> f64 {
    format!("{value:.decimals$}").parse().unwrap_or(value)
}

#[allow(clippy::cast_precision_loss, reason = "element counts are far below 2^53")]
pub(super) fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}
