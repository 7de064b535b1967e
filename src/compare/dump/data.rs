//! Comparison of the saved data of two tensors.

use serde::{Deserialize, Serialize};

use super::folders::{CountedPair, Folders};
use super::measurement::{Basis, ExactDifference, Examined, ValueCoverage};
use super::recorded::{is_exact_type, relative_to_scale};
use crate::compare::checksum::checksum;
use crate::compare::closeness::{Closeness, closeness};
use crate::compare::measurements::PairName;
use crate::compare::tensor::{self, PairStats};
use crate::error::Result;
use crate::fetch::Source;
use crate::read::dump::{Leaf, LeafValue, TensorRecord};
use crate::read::tensor::TensorData;
use crate::verdict::Side;

/// Share of a norm by which rounding may change it: eight roundoffs of `bfloat16`, the coarsest type in which a
/// recorder sums.
const NORM_ROUNDING: f64 = 1.0 / 32.0;

/// Outcome of reading the data of two tensors.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum DataComparison {
    /// One pass over all elements, or a sample of them.
    Numbers(Box<PairStats>, Option<Closeness>),
    /// Checksums only, with whether both are the same.
    Checksums { same: bool },
}

/// Two tensors of one shape that both sides saved.
pub(super) struct Saved<'a> {
    baseline: String,
    candidate: String,
    shape: &'a [u64],
    records: [Option<TensorRecord<'a>>; 2],
    /// Their files, where they were opened early: the baseline's first.
    opened: Option<[Result<Source>; 2]>,
}

impl Saved<'_> {
    /// Opens both files, unless this data will not be read.
    pub(super) fn open(&mut self, op: &str, folders: &Folders<'_>) {
        let paths = self.paths(folders);
        if folders.measurements.is_to_be_measured(&pair_name(op, &paths)) {
            self.opened = Some(self.files(folders));
        }
    }

    /// The files that are open.
    pub(super) fn sources(&self) -> impl Iterator<Item = &Source> {
        self.opened.iter().flatten().flatten()
    }

    fn files(&self, folders: &Folders<'_>) -> [Result<Source>; 2] {
        [folders.baseline.open_tensor(&self.baseline), folders.candidate.open_tensor(&self.candidate)]
    }

    /// Both tensors, of the files that were opened early where they were.
    fn tensors(&mut self, folders: &Folders<'_>) -> Result<[TensorData; 2]> {
        match self.opened.take() {
            Some([left, right]) => Ok([
                folders.baseline.tensor_in_file(&self.baseline, left?)?,
                folders.candidate.tensor_in_file(&self.candidate, right?)?,
            ]),
            None => Ok([folders.baseline.tensor(&self.baseline)?, folders.candidate.tensor(&self.candidate)?]),
        }
    }

    fn paths(&self, folders: &Folders<'_>) -> [String; 2] {
        [folders.baseline.data_path(&self.baseline), folders.candidate.data_path(&self.candidate)]
    }
}

fn pair_name<'a>(op: &'a str, [baseline, candidate]: &'a [String; 2]) -> PairName<'a> {
    PairName { question: "data", op: Some(op), baseline, candidate, member: "", offset: 0 }
}

pub(super) fn saved_pair<'a>(baseline: Leaf<'a>, candidate: Leaf<'a>) -> Option<Saved<'a>> {
    let shape = match (baseline.value, candidate.value) {
        (LeafValue::Tensor(left), LeafValue::Tensor(right)) if left.shape == right.shape => right.shape,
        (LeafValue::Plain { .. }, LeafValue::Plain { .. }) => &[],
        _ => return None,
    };
    let records = [baseline.record(), candidate.record()];
    Some(Saved { baseline: baseline.data_name()?, candidate: candidate.data_name()?, shape, records, opened: None })
}

/// Compares the saved data of two tensors, or gives the reason in words why that failed; `None` where a quick look
/// skips it, so that the records have to do.
pub(super) fn compare_data(
    op: &str,
    saved: Saved<'_>,
    folders: &Folders<'_>,
) -> Option<std::result::Result<DataComparison, String>> {
    let paths = saved.paths(folders);
    let elements = saved.shape.iter().fold(1, |all: u64, len| all.saturating_mul(*len));
    let measure = || measure(op, saved, folders).map_err(|error| error.to_string());
    let answer = folders.measurements.get_or_measure(&pair_name(op, &paths), measure);
    match &answer {
        Some(Ok(DataComparison::Numbers(stats, _))) => folders.measurements.count_elements(stats.elements, elements),
        Some(Ok(DataComparison::Checksums { same })) => {
            folders.measurements.count_elements(elements, elements);
            if !same {
                folders.measurements.count_unequal();
            }
        }
        _ => {}
    }
    answer
}

fn measure(op: &str, mut saved: Saved<'_>, folders: &Folders<'_>) -> Result<DataComparison> {
    let [left, right] = saved.tensors(folders)?;
    if folders.measurements.by_checksum() {
        return Ok(DataComparison::Checksums { same: checksum(&left)? == checksum(&right)? });
    }
    let asked = CountedPair { op, records: saved.records, dtypes: [left.dtype, right.dtype] };
    let tolerance = folders.tolerance.and_then(|tolerance| tolerance(&asked));
    let counted = tolerance.map(|tolerance| closeness(&left, &right, tolerance)).transpose()?;
    Ok(DataComparison::Numbers(
        Box::new(tensor::compare_sample(&left, &right, folders.measurements.sample())?),
        counted,
    ))
}

/// Combines the numbers measured of data with the exact properties that only records tell: element type and
/// `requires_grad`. A difference without a size (NaN or infinity on one side only, an integer) makes the error
/// infinite.
pub(super) fn combine_with_records(
    recorded: &Examined,
    stats: &PairStats,
    records: [Option<TensorRecord<'_>>; 2],
) -> Examined {
    let [baseline, _] = records;
    let is_exact = baseline.is_some_and(|record| is_exact_type(&record));
    let has_size = stats.sum_sq_diff > 0.0;
    let exact = match recorded.exact {
        // Data decides about values, records about everything else.
        Some(exact @ (ExactDifference::Dtype | ExactDifference::RequiresGrad)) => Some(exact),
        _ if stats.nonfinite_mismatches > 0 => Some(ExactDifference::NonFinite),
        _ if stats.unequal > 0 && is_exact => Some(ExactDifference::Integer),
        _ => None,
    };
    let infinite = stats.nonfinite_mismatches > 0 || exact == Some(ExactDifference::Integer);
    let norm = stats.sum_sq_baseline.sqrt();
    let error = if has_size { relative_to_scale(stats.sum_sq_diff.sqrt(), norm) } else { 0.0 };
    Examined {
        exact,
        error: if infinite { f64::INFINITY } else { error },
        error_of_sums: if infinite { f64::INFINITY } else { error },
        absolute: if infinite { f64::INFINITY } else { stats.max_abs_diff },
        basis: Basis::Data,
        identical: stats.unequal == 0 && exact.is_none(),
        is_equal: stats.unequal == 0 && exact.is_none(),
        rms: Some(norm / count(stats.elements).sqrt()),
        elements: stats.elements.max(1),
        metrics: metrics(stats, error),
        coverage: contradicting(stats, records).map_or_else(|| coverage(stats), ValueCoverage::Contradicting),
    }
}

/// The side whose recorded norm does not match its saved data, although both were taken of one tensor at one moment.
fn contradicting(stats: &PairStats, records: [Option<TensorRecord<'_>>; 2]) -> Option<Side> {
    // A place that is not finite on one side is left out of both sums.
    if stats.nan_baseline + stats.inf_baseline + stats.nan_candidate + stats.inf_candidate > 0 {
        return None;
    }
    let sums = [stats.sum_sq_baseline, stats.sum_sq_candidate];
    let mut sides = [Side::Baseline, Side::Candidate].into_iter().zip(records).zip(sums);
    sides.find_map(|((side, record), sum)| {
        let record = record.filter(|record| !is_exact_type(record) && record.elements() == stats.elements)?;
        // The norm of a scalar is recorded as the scalar itself, with its sign.
        let recorded = record.norm.as_f64().map(f64::abs).filter(|norm| norm.is_finite())?;
        let norm = sum.sqrt();
        // Smaller numbers have a square of 0 in `float32`, in which the recorder sums.
        let lost = (count(stats.elements) * f64::from(f32::MIN_POSITIVE)).sqrt();
        ((recorded - norm).abs() > NORM_ROUNDING * norm + lost).then_some(side)
    })
}

/// Comparison of saved scalars, which have to be equal, like plain arguments.
pub(super) fn compare_scalars(stats: &PairStats) -> Examined {
    if stats.unequal > 0 || stats.nonfinite_mismatches > 0 {
        Examined::differing(Basis::Plain, ExactDifference::Argument)
    } else {
        Examined::equal(Basis::Plain)
    }
}

fn coverage(stats: &PairStats) -> ValueCoverage {
    let non_finite = |nan: u64, infinite: u64| nan.saturating_add(infinite) >= stats.elements;
    let nothing_finite = stats.nonfinite_mismatches == 0
        && non_finite(stats.nan_baseline, stats.inf_baseline)
        && non_finite(stats.nan_candidate, stats.inf_candidate);
    match stats.nan_candidate {
        _ if stats.elements == 0 => ValueCoverage::Empty,
        0 if nothing_finite => ValueCoverage::Infinite,
        1.. if nothing_finite => ValueCoverage::NotANumber,
        _ => ValueCoverage::Whole,
    }
}

/// Coverage of two values whose data was not read: data that only one side saved was not compared, nor was data that
/// was skipped by request and not recorded in any other way.
pub(super) fn coverage_without(recorded: ValueCoverage, baseline: Leaf<'_>, candidate: Leaf<'_>) -> ValueCoverage {
    let is_saved = |leaf: Leaf<'_>| leaf.record().is_some_and(|record| record.extension.is_some());
    let of_other_shapes =
        || baseline.record().map(|record| record.shape) != candidate.record().map(|record| record.shape);
    match (recorded, is_saved(baseline), is_saved(candidate)) {
        // Where shapes differ there is nothing to read.
        (ValueCoverage::NoNumbers, true, true) if of_other_shapes() => recorded,
        (ValueCoverage::NoNumbers, true, true) => ValueCoverage::LeftOut,
        (
            ValueCoverage::Damaged
            | ValueCoverage::StatisticMissing(_)
            | ValueCoverage::StatisticUnreadable(_)
            | ValueCoverage::Empty,
            _,
            _,
        ) => recorded,
        (_, true, false) => ValueCoverage::DataMissing(Side::Candidate),
        (_, false, true) => ValueCoverage::DataMissing(Side::Baseline),
        _ => recorded,
    }
}

fn metrics(stats: &PairStats, error: f64) -> Vec<(&'static str, f64)> {
    let norms = (stats.sum_sq_baseline * stats.sum_sq_candidate).sqrt();
    vec![
        ("rel_l2", error),
        ("cosine", if norms > 0.0 { stats.dot / norms } else { f64::NAN }),
        ("max_abs_err", stats.max_abs_diff),
        ("mean_difference", stats.sum_diff / count(stats.elements)),
        ("unequal_share", if stats.unequal == 0 { 0.0 } else { count(stats.unequal) / count(stats.elements) }),
    ]
}

#[allow(clippy::cast_precision_loss, reason = "element counts are far below 2^53")]
fn count(elements: u64) -> f64 {
    elements.max(1) as f64
}
