//! Comparison of two records, without the data they may name.

use std::cmp::Ordering;

use super::measurement::{Basis, ExactDifference, Examined, ValueCoverage};
use super::sums;
use crate::dtype::Dtype;
use crate::read::dump::{LeafValue, Statistic, TensorRecord};
use crate::read::json::Json;
use crate::verdict::Side;

/// The metric of the norm, the last of the four.
const NORM: &str = "norm_difference";

/// Difference that printing can make, in units of the last digit: one unit, and a few roundings of `f64` in the
/// subtraction.
const PRINTED: f64 = 1.0 + 1e-9;

/// Compares two records without the tensors' data; `same` tells whether the data has the same checksum, where that is
/// known.
pub(super) fn compare_records(baseline: LeafValue<'_>, candidate: LeafValue<'_>, same: Option<bool>) -> Examined {
    match (baseline, candidate) {
        (LeafValue::Damaged, _) | (_, LeafValue::Damaged) => Examined::unknown(),
        (LeafValue::Null, LeafValue::Null) => Examined::equal(Basis::Plain),
        (LeafValue::Tensor(baseline), LeafValue::Tensor(candidate)) => tensors(&baseline, &candidate, same),
        (LeafValue::Plain { value: baseline, .. }, LeafValue::Plain { value: candidate, .. }) => {
            plain(baseline, candidate)
        }
        (LeafValue::Tensor(_), _) | (_, LeafValue::Tensor(_)) => {
            Examined::differing(Basis::Plain, ExactDifference::Kind)
        }
        _ => Examined::differing(Basis::Plain, ExactDifference::Argument),
    }
}

fn plain(baseline: &Json, candidate: &Json) -> Examined {
    if same_plain(baseline, candidate) {
        Examined::equal(Basis::Plain)
    } else {
        Examined::differing(Basis::Plain, ExactDifference::Argument)
    }
}

/// Equal values; NaN equals NaN, `1` equals `1.0`, and a device or backend equals its counterpart.
fn same_plain(baseline: &Json, candidate: &Json) -> bool {
    match (baseline, candidate) {
        (Json::Float(a), Json::Float(b)) => is_same_float(*a, *b),
        (Json::Int(_), Json::Float(_)) | (Json::Float(_), Json::Int(_)) => baseline.as_f64() == candidate.as_f64(),
        (Json::Text(a), Json::Text(b)) => {
            a == b || neutral_device(a).is_some_and(|device| neutral_device(b) == Some(device))
        }
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_plain(a, b)),
        _ => baseline == candidate,
    }
}

/// Whether two statistics are equal as plain values are.
fn is_same(baseline: Statistic<'_>, candidate: Statistic<'_>) -> bool {
    match (baseline, candidate) {
        (Statistic::Float(a), Statistic::Float(b)) => is_same_float(a, b),
        _ => same_plain(&baseline.json(), &candidate.json()),
    }
}

fn is_same_float(a: f64, b: f64) -> bool {
    a.partial_cmp(&b) == Some(Ordering::Equal) || (a.is_nan() && b.is_nan())
}

/// A device name without the vendor: `cuda:0` and `npu:0` are the same place, `nccl` and `hccl` have the same role.
fn neutral_device(text: &str) -> Option<String> {
    let (name, index) = text.split_once(':').unwrap_or((text, ""));
    match name {
        "cuda" | "npu" => Some(format!("device:{index}")),
        "nccl" | "hccl" => Some("collectives".to_owned()),
        _ => None,
    }
}

fn tensors(baseline: &TensorRecord<'_>, candidate: &TensorRecord<'_>, same: Option<bool>) -> Examined {
    let elements = baseline.elements().max(1);
    let exact = exact_difference(baseline, candidate);
    let mut measured = match exact {
        Some(ExactDifference::Shape) => Examined::differing(Basis::Statistics, ExactDifference::Shape),
        _ => statistics(baseline, candidate, elements, same),
    };
    measured.elements = elements;
    measured.coverage = coverage(baseline, candidate);
    measured.exact = exact.or(measured.exact);
    measured.identical &= measured.exact.is_none();
    measured.is_equal &= measured.exact.is_none();
    measured
}

fn exact_difference(baseline: &TensorRecord<'_>, candidate: &TensorRecord<'_>) -> Option<ExactDifference> {
    if baseline.shape != candidate.shape {
        return Some(ExactDifference::Shape);
    }
    let same_dtype = match (baseline.element, candidate.element) {
        (Some(a), Some(b)) => a == b || are_of_two_frameworks(baseline, candidate) && is_integer(a) && is_integer(b),
        _ => baseline.dtype == candidate.dtype,
    };
    if !same_dtype {
        return Some(ExactDifference::Dtype);
    }
    match (baseline.requires_grad, candidate.requires_grad) {
        (Some(a), Some(b)) if a != b => Some(ExactDifference::RequiresGrad),
        _ => None,
    }
}

/// Whether one side names its type as PyTorch does and the other does not; frameworks use integers of different widths
/// for counts.
fn are_of_two_frameworks(baseline: &TensorRecord<'_>, candidate: &TensorRecord<'_>) -> bool {
    baseline.dtype.starts_with("torch.") != candidate.dtype.starts_with("torch.")
}

fn is_integer(dtype: Dtype) -> bool {
    dtype != Dtype::Bool && !dtype.is_float() && !dtype.is_complex()
}

/// Coverage of two records that are compared.
fn coverage(baseline: &TensorRecord<'_>, candidate: &TensorRecord<'_>) -> ValueCoverage {
    let (left, right) = (baseline.statistics(), candidate.statistics());
    if baseline.elements() == 0 && candidate.elements() == 0 {
        return ValueCoverage::Empty;
    }
    // As nearly all values are.
    let is_plain = |record: &TensorRecord<'_>| record.finite_statistics().is_some() && record.checksum.is_none();
    if is_plain(baseline) && is_plain(candidate) {
        return ValueCoverage::Whole;
    }
    for (side, statistics) in [(Side::Baseline, left), (Side::Candidate, right)] {
        if statistics.into_iter().any(is_no_number) {
            return ValueCoverage::StatisticUnreadable(side);
        }
    }
    // Releases differ in whether they sum integers; max and min of integers are always there, and exact.
    let sums = if is_exact_type(baseline) && is_exact_type(candidate) { 2 } else { 4 };
    let is_null = |statistic: Statistic<'_>| statistic == Statistic::Null;
    for (side, (here, there)) in [(Side::Candidate, (right, left)), (Side::Baseline, (left, right))] {
        if here.into_iter().zip(there).take(sums).any(|(here, there)| is_null(here) && !is_null(there)) {
            return ValueCoverage::StatisticMissing(side);
        }
    }
    match (baseline.checksum, candidate.checksum) {
        (Some(_), Some(_)) => ValueCoverage::Whole,
        (Some(_), None) => ValueCoverage::StatisticMissing(Side::Candidate),
        (None, Some(_)) => ValueCoverage::StatisticMissing(Side::Baseline),
        (None, None) => coverage_of_numbers(left, right),
    }
}

/// Whether a statistic is a text or a list: anything but a number, a boolean or null.
fn is_no_number(statistic: Statistic<'_>) -> bool {
    matches!(statistic, Statistic::Other(_)) && statistic.as_f64().is_none()
}

fn coverage_of_numbers(baseline: [Statistic<'_>; 4], candidate: [Statistic<'_>; 4]) -> ValueCoverage {
    let all = || baseline.into_iter().chain(candidate).filter(|statistic| *statistic != Statistic::Null);
    let numbers = || all().filter_map(Statistic::as_f64);
    if all().next().is_none() {
        ValueCoverage::NoNumbers
    } else if all().any(|statistic| statistic.as_bool().is_some()) || numbers().any(f64::is_finite) {
        ValueCoverage::Whole
    } else if numbers().any(f64::is_nan) {
        ValueCoverage::NotANumber
    } else {
        ValueCoverage::Infinite
    }
}

/// The four statistics of a record as numbers; `None` where one is null, a boolean or unavailable. A sum that is not
/// finite while both extremes are finite overflowed the type in which it was computed, and counts as unavailable.
#[derive(Clone, Copy, Debug)]
struct Four {
    max: Option<f64>,
    min: Option<f64>,
    mean: Option<f64>,
    norm: Option<f64>,
}

impl Four {
    fn from_record(record: &TensorRecord<'_>) -> Self {
        let [max, min, mean, norm] = record.numbers();
        let is_finite = |extreme: Option<f64>| extreme.is_some_and(f64::is_finite);
        let is_available = |sum: &f64| sum.is_finite() || !(is_finite(max) && is_finite(min));
        Self { max, min, mean: mean.filter(is_available), norm: norm.filter(is_available) }
    }

    /// The largest finite magnitude.
    fn magnitude(&self) -> f64 {
        [self.max, self.min].into_iter().flatten().map(f64::abs).filter(|value| value.is_finite()).fold(0.0, f64::max)
    }
}

/// Error of recorded statistics; where there are none, checksums alone decide.
fn statistics(
    baseline: &TensorRecord<'_>,
    candidate: &TensorRecord<'_>,
    elements: u64,
    same_data: Option<bool>,
) -> Examined {
    let same_checksum = match (&baseline.checksum, &candidate.checksum) {
        _ if same_data.is_some() => same_data,
        (Some(a), Some(b)) => Some(a == b),
        _ => None,
    };
    let (left, right) = (baseline.statistics(), candidate.statistics());
    if left.iter().chain(&right).all(|value| *value == Statistic::Null) {
        return match same_checksum {
            Some(false) => Examined::differing(Basis::Checksum, ExactDifference::Checksum),
            Some(true) => Examined::equal(Basis::Checksum),
            None => Examined::equal(Basis::Statistics),
        };
    }
    // Statistics of equal data may still differ, since each device sums in its own order.
    let equal = same_checksum == Some(true) || left.into_iter().zip(right).all(|(a, b)| is_same(a, b));
    let mut measured =
        if equal { Examined::equal(Basis::Statistics) } else { differences(baseline, candidate, elements) };
    let four = Four::from_record(baseline);
    measured.rms = rms(&four, elements);
    if same_checksum == Some(false) {
        (measured.identical, measured.is_equal) = (false, false);
    }
    // A checksum of data that was read says no more than that some bit differs; a recorded one is all there is to judge.
    if same_checksum == Some(false) && same_data.is_none() {
        measured.exact = measured.exact.or(Some(ExactDifference::Checksum));
    }
    measured
}

#[allow(clippy::cast_precision_loss, reason = "element counts are far below 2^53")]
fn rms(four: &Four, elements: u64) -> Option<f64> {
    four.norm
        .filter(|norm| norm.is_finite())
        .map_or_else(|| four.max.map(|_| four.magnitude()), |norm| Some(norm.abs() / (elements as f64).sqrt()))
}

fn differences(baseline: &TensorRecord<'_>, candidate: &TensorRecord<'_>, elements: u64) -> Examined {
    let (left, right) = (Four::from_record(baseline), Four::from_record(candidate));
    let differ = |(left, right): (Statistic<'_>, Statistic<'_>)| {
        left != Statistic::Null && right != Statistic::Null && !is_same(left, right)
    };
    if is_exact_type(baseline) && baseline.statistics().into_iter().zip(candidate.statistics()).any(differ) {
        return Examined::differing(Basis::Statistics, ExactDifference::Integer);
    }
    let pairs = [(left.max, right.max), (left.min, right.min), (left.mean, right.mean), (left.norm, right.norm)];
    if pairs.iter().any(|pair| non_finite_differs(*pair)) {
        return Examined::differing(Basis::Statistics, ExactDifference::NonFinite);
    }
    let magnitude = left.magnitude();
    let rms = rms(&left, elements).unwrap_or(magnitude);
    let scales = [magnitude, magnitude, rms, left.norm.unwrap_or(magnitude).abs()];
    let names = ["max_difference", "min_difference", "mean_difference", NORM];
    let sums = sums::bounds(baseline, candidate, elements);
    let printed = baseline.precision.rounding_units([left.max, left.min, left.mean, left.norm]);
    let mut measured = Examined::equal(Basis::Statistics);
    for ((((pair, scale), name), bound), digit) in pairs.into_iter().zip(scales).zip(names).zip(sums).zip(printed) {
        // An older release wrote fewer statistics; those that both sides have are compared.
        let (Some(left), Some(right)) = pair else {
            measured.identical &= pair == (None, None);
            continue;
        };
        if !left.is_finite() {
            continue;
        }
        // Differences from printing alone say nothing about the numbers, so they are subtracted.
        let difference = ((right - left).abs() - digit * PRINTED).max(0.0);
        let error = relative_to_scale(difference, scale);
        measured.absolute = measured.absolute.max(difference);
        let is_of_recorder = || name == NORM && sums::is_lost_to_rounding(error, &measured.metrics, elements);
        let beyond = if difference <= bound || is_of_recorder() { 0.0 } else { error };
        measured.error = measured.error.max(beyond);
        measured.metrics.push((name, error));
        measured.error_of_sums = measured.error_of_sums.max(error);
        measured.identical &= difference == 0.0;
        measured.is_equal &= beyond == 0.0;
    }
    measured
}

/// Integers and booleans, which no device may change.
pub(super) fn is_exact_type(record: &TensorRecord<'_>) -> bool {
    record.element.is_some_and(|dtype| !dtype.is_float() && !dtype.is_complex())
}

/// Whether exactly one of two numbers is finite, or both are not and differ.
fn non_finite_differs(pair: (Option<f64>, Option<f64>)) -> bool {
    let (Some(left), Some(right)) = pair else { return false };
    let same =
        left.is_nan() && right.is_nan() || left.is_infinite() && right.is_infinite() && (left > 0.0) == (right > 0.0);
    !(same || left.is_finite() && right.is_finite())
}

/// `difference / scale`; 0 where nothing differs, infinite where the scale is 0.
pub(crate) fn relative_to_scale(difference: f64, scale: f64) -> f64 {
    if difference == 0.0 { 0.0 } else { difference / scale }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_two_frameworks_are_of_one_type() {
        let record = |dtype: &'static str| TensorRecord {
            dtype,
            element: Dtype::parse(dtype),
            shape: &[2],
            max: Statistic::Int(3),
            min: Statistic::Int(1),
            mean: Statistic::Null,
            norm: Statistic::Null,
            requires_grad: None,
            checksum: None,
            extension: None,
            precision: crate::read::dump::Precision::Exact,
        };
        let differ = |a: &'static str, b: &'static str| exact_difference(&record(a), &record(b));
        assert_eq!(differ("torch.int64", "Int32"), None);
        assert_eq!(differ("torch.int64", "torch.int32"), Some(ExactDifference::Dtype));
        assert_eq!(differ("torch.float32", "Float16"), Some(ExactDifference::Dtype));
        assert_eq!(differ("torch.int64", "Bool"), Some(ExactDifference::Dtype));
    }

    #[test]
    fn text_arguments_count_and_devices_have_counterparts() {
        let same = |a: &str, b: &str| same_plain(&Json::Text(a.into()), &Json::Text(b.into()));
        assert!(same("mean", "mean") && same("cuda:0", "npu:0") && same("nccl", "hccl"));
        assert!(!same("mean", "sum") && !same("none", "tanh") && !same("cuda:0", "npu:1") && !same("zeros", "border"));
    }
}
