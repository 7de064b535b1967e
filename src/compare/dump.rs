//! Comparison of two recorded values: what differs, and by how much relative to the tensor's scale.
//!
//! Errors are relative to the tensor's *scale*, never to the statistic or element itself: a mean or an element near
//! zero moves by 150 % of itself in a healthy run. From data the error is the relative L2 error; from statistics the
//! largest of |Δmax|, |Δmin| over the largest magnitude, |Δmean| over the root mean square, |Δnorm| over the norm.

use std::cmp::Ordering;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::checksum::checksum;
use super::closeness::{Closeness, ElementTolerance, closeness};
use super::measurements::{Measurements, PairName};
use super::tensor::{self, PairStats};
use crate::dtype::Dtype;
use crate::error::Result;
use crate::pair::dump::{LeafPair, OperationPair};
use crate::read::dump::{Dump, DumpFolder, Operation, Statistic, TensorKind, TensorRecord, Value};
use crate::read::json::Json;

/// How two values compare.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// The first exact property that differs.
    pub exact: Option<ExactDifference>,
    /// Error relative to scale: 0 where nothing differs, infinite where a difference has no size (an integer, a NaN).
    pub error: f64,
    /// Largest absolute difference of an element, or of a statistic where there is no data.
    pub absolute: f64,
    /// What the error was taken from.
    pub basis: Basis,
    /// Whether every bit that was recorded is the same.
    pub identical: bool,
    /// Root mean square of the baseline, where it is known; the unit of absolute errors.
    pub rms: Option<f64>,
    /// Number of elements of the baseline.
    pub elements: u64,
    /// Further numbers by name, for reports.
    pub metrics: Vec<(&'static str, f64)>,
}

/// What an error was taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Every element of both tensors.
    Data,
    /// Recorded statistics.
    Statistics,
    /// Checksums alone.
    Checksum,
    /// Plain values.
    Plain,
}

/// A property that has to be equal and is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExactDifference {
    /// Element type.
    Dtype,
    /// Shape.
    Shape,
    /// A plain argument: number, text, boolean, slice ...
    Argument,
    /// An integer or boolean tensor's values.
    Integer,
    /// Places or signs of NaN and infinity.
    NonFinite,
    /// Whether a gradient is required.
    RequiresGrad,
    /// Checksums, where nothing says by how much.
    Checksum,
    /// One side holds a value of another kind, or none.
    Kind,
}

impl Measurement {
    /// A measurement that found nothing different.
    pub fn equal(basis: Basis) -> Self {
        Self {
            exact: None,
            error: 0.0,
            absolute: 0.0,
            basis,
            identical: true,
            rms: None,
            elements: 1,
            metrics: Vec::new(),
        }
    }

    fn differing(basis: Basis, exact: ExactDifference) -> Self {
        Self {
            exact: Some(exact),
            error: f64::INFINITY,
            absolute: f64::INFINITY,
            identical: false,
            ..Self::equal(basis)
        }
    }
}

/// Compares what two records say, without numbers of tensor data; `same` says whether the data has the same checksum,
/// where that is known.
fn recorded(baseline: &Value, candidate: &Value, same: Option<bool>) -> Measurement {
    match (baseline, candidate) {
        (Value::Null, Value::Null) => Measurement::equal(Basis::Plain),
        (Value::Tensor(baseline), Value::Tensor(candidate)) => tensors(baseline, candidate, same),
        (Value::Plain { value: baseline, .. }, Value::Plain { value: candidate, .. }) => plain(baseline, candidate),
        (Value::Tensor(_), _) | (_, Value::Tensor(_)) => Measurement::differing(Basis::Plain, ExactDifference::Kind),
        _ => Measurement::differing(Basis::Plain, ExactDifference::Argument),
    }
}

fn plain(baseline: &Json, candidate: &Json) -> Measurement {
    if same_plain(baseline, candidate) {
        Measurement::equal(Basis::Plain)
    } else {
        Measurement::differing(Basis::Plain, ExactDifference::Argument)
    }
}

/// Equal values; NaN equals NaN, `1` equals `1.0`, and a device or backend equals its counterpart.
fn same_plain(baseline: &Json, candidate: &Json) -> bool {
    match (baseline, candidate) {
        (Json::Float(a), Json::Float(b)) => a.partial_cmp(b) == Some(Ordering::Equal) || (a.is_nan() && b.is_nan()),
        (Json::Int(_), Json::Float(_)) | (Json::Float(_), Json::Int(_)) => baseline.as_f64() == candidate.as_f64(),
        (Json::Text(a), Json::Text(b)) => a == b || neutral_device(a) == neutral_device(b),
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_plain(a, b)),
        _ => baseline == candidate,
    }
}

/// A device name without the maker: `cuda:0` and `npu:0` are the same place, `nccl` and `hccl` the same role.
fn neutral_device(text: &str) -> Option<String> {
    let (name, index) = text.split_once(':').unwrap_or((text, ""));
    match name {
        "cuda" | "npu" => Some(format!("device:{index}")),
        "nccl" | "hccl" => Some("collectives".to_owned()),
        _ => None,
    }
}

fn tensors(baseline: &TensorRecord, candidate: &TensorRecord, same: Option<bool>) -> Measurement {
    let elements = baseline.shape.iter().product::<u64>().max(1);
    let exact = exact_difference(baseline, candidate);
    let mut measured = match exact {
        Some(ExactDifference::Shape) => Measurement::differing(Basis::Statistics, ExactDifference::Shape),
        _ => statistics(baseline, candidate, elements, same),
    };
    measured.elements = elements;
    measured.exact = exact.or(measured.exact);
    measured.identical &= measured.exact.is_none();
    measured
}

fn exact_difference(baseline: &TensorRecord, candidate: &TensorRecord) -> Option<ExactDifference> {
    if baseline.shape != candidate.shape {
        return Some(ExactDifference::Shape);
    }
    let same_dtype = match (Dtype::parse(&baseline.dtype), Dtype::parse(&candidate.dtype)) {
        (Some(a), Some(b)) => a == b,
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

/// The four statistics of a record as numbers; `None` where one is null or a boolean.
#[derive(Clone, Copy, Debug)]
struct Four {
    max: Option<f64>,
    min: Option<f64>,
    mean: Option<f64>,
    norm: Option<f64>,
}

impl Four {
    fn of(record: &TensorRecord) -> Self {
        let [max, min, mean, norm] = [&record.max, &record.min, &record.mean, &record.norm].map(Statistic::as_f64);
        Self { max, min, mean, norm }
    }

    /// The largest finite magnitude.
    fn magnitude(&self) -> f64 {
        [self.max, self.min].into_iter().flatten().map(f64::abs).filter(|value| value.is_finite()).fold(0.0, f64::max)
    }
}

/// Error of recorded statistics; checksums decide alone where there are none.
fn statistics(
    baseline: &TensorRecord,
    candidate: &TensorRecord,
    elements: u64,
    same_data: Option<bool>,
) -> Measurement {
    let same_checksum = match (&baseline.checksum, &candidate.checksum) {
        _ if same_data.is_some() => same_data,
        (Some(a), Some(b)) => Some(a == b),
        _ => None,
    };
    let written = |record: &TensorRecord| [&record.max, &record.min, &record.mean, &record.norm].map(Statistic::json);
    let (left, right) = (written(baseline), written(candidate));
    if left.iter().all(|value| *value == Json::Null) && right.iter().all(|value| *value == Json::Null) {
        return match same_checksum {
            Some(false) => Measurement::differing(Basis::Checksum, ExactDifference::Checksum),
            Some(true) => Measurement::equal(Basis::Checksum),
            None => Measurement::equal(Basis::Statistics),
        };
    }
    // Statistics of equal data may still differ: each device sums in an order of its own.
    let equal = same_data == Some(true) || left.iter().zip(&right).all(|(a, b)| same_plain(a, b));
    let mut measured =
        if equal { Measurement::equal(Basis::Statistics) } else { differences(baseline, candidate, elements) };
    let four = Four::of(baseline);
    measured.rms = rms(&four, elements);
    if same_checksum == Some(false) {
        measured.identical = false;
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

fn differences(baseline: &TensorRecord, candidate: &TensorRecord, elements: u64) -> Measurement {
    let (left, right) = (Four::of(baseline), Four::of(candidate));
    if is_exact_type(baseline) {
        return Measurement::differing(Basis::Statistics, ExactDifference::Integer);
    }
    let pairs = [(left.max, right.max), (left.min, right.min), (left.mean, right.mean), (left.norm, right.norm)];
    if pairs.iter().any(|pair| non_finite_differs(*pair)) {
        return Measurement::differing(Basis::Statistics, ExactDifference::NonFinite);
    }
    let magnitude = left.magnitude();
    let rms = rms(&left, elements).unwrap_or(magnitude);
    let scales = [magnitude, magnitude, rms, left.norm.unwrap_or(magnitude).abs()];
    let names = ["max_difference", "min_difference", "mean_difference", "norm_difference"];
    let mut measured = Measurement { identical: false, ..Measurement::equal(Basis::Statistics) };
    for ((pair, scale), name) in pairs.into_iter().zip(scales).zip(names) {
        // An older release wrote fewer statistics; what both sides have is compared.
        let (Some(left), Some(right)) = pair else { continue };
        if !left.is_finite() {
            continue;
        }
        let difference = (right - left).abs();
        let error = relative(difference, scale);
        measured.absolute = measured.absolute.max(difference);
        measured.metrics.push((name, error));
        measured.error = measured.error.max(error);
    }
    measured
}

/// Integers and booleans, which no device may change.
fn is_exact_type(record: &TensorRecord) -> bool {
    Dtype::parse(&record.dtype).is_some_and(|dtype| !dtype.is_float() && !dtype.is_complex())
}

/// Whether exactly one of two numbers is finite, or both are not and differ.
fn non_finite_differs(pair: (Option<f64>, Option<f64>)) -> bool {
    let (Some(left), Some(right)) = pair else { return false };
    let same =
        left.is_nan() && right.is_nan() || left.is_infinite() && right.is_infinite() && (left > 0.0) == (right > 0.0);
    !(same || left.is_finite() && right.is_finite())
}

/// `difference / scale`; 0 where nothing differs, infinite where the scale is 0.
pub(crate) fn relative(difference: f64, scale: f64) -> f64 {
    if difference == 0.0 { 0.0 } else { difference / scale }
}

/// One unit, compared: every operation of both sides, in execution order.
#[derive(Clone, Debug, Default)]
pub struct UnitComparison {
    /// Operations in the candidate's execution order, the baseline's own where they would have run.
    pub operations: Vec<OperationComparison>,
}

impl UnitComparison {
    /// Whether there is data to be read for it.
    pub fn has_data(&self) -> bool {
        let mut leaves = self.operations.iter().flat_map(|operation| &operation.leaves);
        leaves.any(|leaf| leaf.has_data)
    }
}

/// One operation, compared.
#[derive(Clone, Debug)]
pub struct OperationComparison {
    /// Which operations they are.
    pub pair: OperationPair,
    /// Their values, paired; empty where one side has no such operation.
    pub leaves: Vec<LeafComparison>,
}

/// One value, compared.
#[derive(Clone, Debug)]
pub struct LeafComparison {
    /// Which values they are.
    pub pair: LeafPair,
    /// How they compare; `None` where one side has none.
    pub measured: Option<Measurement>,
    /// What one pass over the data found, where there is data.
    pub stats: Option<Box<PairStats>>,
    /// Elements counted by a tolerance, where that was asked for.
    pub closeness: Option<Box<Closeness>>,
    /// Why the data could not be compared, where it should have been.
    pub unreadable: Option<Box<str>>,
    /// Whether there is data of both sides to be read.
    pub has_data: bool,
}

impl LeafComparison {
    fn unmeasured(pair: LeafPair) -> Self {
        Self { pair, measured: None, stats: None, closeness: None, unreadable: None, has_data: false }
    }
}

/// Where the data of a unit's tensors lies.
#[derive(Clone, Copy)]
pub struct Folders<'a> {
    /// The baseline's.
    pub baseline: &'a DumpFolder,
    /// The candidate's.
    pub candidate: &'a DumpFolder,
    /// Which pairs are measured, and what is known of them.
    pub measurements: &'a Measurements,
    /// The tolerance that elements of two types are counted by, where they are to be counted.
    pub tolerance: Option<&'a (dyn Fn(Dtype, Dtype) -> Option<ElementTolerance> + Sync)>,
}

/// Compares every paired operation of a unit, in parallel over operations.
pub fn unit(baseline: &Dump, candidate: &Dump, pairs: &[OperationPair], folders: &Folders<'_>) -> UnitComparison {
    let compare = |pair: &OperationPair| {
        let left = pair.baseline.and_then(|index| baseline.operations.get(index));
        let right = pair.candidate.and_then(|index| candidate.operations.get(index));
        let leaves = match (left, right) {
            (Some(left), Some(right)) => operation(left, right, folders),
            _ => Vec::new(),
        };
        OperationComparison { pair: *pair, leaves }
    };
    // One by one: what a worker has begun, no other can help with, and many tensors in a row are a long wait at the end.
    UnitComparison { operations: pairs.par_iter().with_max_len(1).map(compare).collect() }
}

fn operation(baseline: &Operation, candidate: &Operation, folders: &Folders<'_>) -> Vec<LeafComparison> {
    let compare = |pair: LeafPair| {
        let left = pair.baseline.and_then(|index| baseline.leaves.get(index));
        let right = pair.candidate.and_then(|index| candidate.leaves.get(index));
        let mut blank = LeafComparison::unmeasured(pair);
        let (Some(left), Some(right)) = (left, right) else { return blank };
        let alone = |same| Some(recorded(&left.value, &right.value, same));
        let saved = saved(&left.value, &right.value);
        blank.has_data = saved.is_some();
        match saved.and_then(|saved| data(&candidate.name, saved, folders)) {
            None => LeafComparison { measured: alone(None), ..blank },
            Some(Ok(Found::Checksums { same })) => LeafComparison { measured: alone(Some(same)), ..blank },
            Some(Ok(Found::Numbers(stats, closeness))) => {
                let is_exact = matches!(&left.value, Value::Tensor(record) if is_exact_type(record));
                let measured = alone(None).map(|recorded| measured(&recorded, &stats, is_exact));
                LeafComparison { measured, stats: Some(stats), closeness: closeness.map(Box::new), ..blank }
            }
            Some(Err(reason)) => LeafComparison { measured: alone(None), unreadable: Some(reason.into()), ..blank },
        }
    };
    crate::pair::dump::leaves(baseline, candidate).into_iter().map(compare).collect()
}

/// What reading the data of two tensors gave.
#[derive(Serialize, Deserialize)]
enum Found {
    /// One pass over all elements, or a sample of them.
    Numbers(Box<PairStats>, Option<Closeness>),
    /// Whether the checksums of both are the same.
    Checksums { same: bool },
}

/// Two tensors of one shape that both sides saved.
#[derive(Clone, Copy)]
struct Saved<'a> {
    baseline: &'a str,
    candidate: &'a str,
    shape: &'a [u64],
}

fn saved<'a>(baseline: &'a Value, candidate: &'a Value) -> Option<Saved<'a>> {
    let (Value::Tensor(baseline), Value::Tensor(candidate)) = (baseline, candidate) else { return None };
    let (left, right) = (baseline.data_name.as_deref()?, candidate.data_name.as_deref()?);
    let shape = &candidate.shape;
    (baseline.shape == *shape).then_some(Saved { baseline: left, candidate: right, shape })
}

/// Compares the saved data of two tensors, or says for people why it cannot; `None` where a quick look leaves it out, so
/// that what was recorded has to do.
fn data(op: &str, saved: Saved<'_>, folders: &Folders<'_>) -> Option<std::result::Result<Found, String>> {
    let paths = (folders.baseline.data_path(saved.baseline), folders.candidate.data_path(saved.candidate));
    let pair =
        PairName { question: "data", op: Some(op), baseline: &paths.0, candidate: &paths.1, member: "", offset: 0 };
    let answer = folders.measurements.ask(&pair, || measure(saved, folders).map_err(|error| error.to_string()));
    let elements = saved.shape.iter().fold(1, |all: u64, len| all.saturating_mul(*len));
    match &answer {
        Some(Ok(Found::Numbers(stats, _))) => folders.measurements.count(stats.elements, elements),
        Some(Ok(Found::Checksums { same })) => {
            folders.measurements.count(elements, elements);
            if !same {
                folders.measurements.count_unequal();
            }
        }
        _ => {}
    }
    answer
}

fn measure(saved: Saved<'_>, folders: &Folders<'_>) -> Result<Found> {
    let sources = [folders.baseline.open_tensor(saved.baseline), folders.candidate.open_tensor(saved.candidate)];
    if folders.measurements.sample().is_none() {
        // Header and elements come with one answer, and both sides' before either is waited for.
        sources.iter().flatten().for_each(|source| source.expect(0..source.len()));
    }
    let [left, right] = sources;
    let (left, right) = (crate::read::tensor_file::open(left?)?, crate::read::tensor_file::open(right?)?);
    if folders.measurements.by_checksum() {
        return Ok(Found::Checksums { same: checksum(&left)? == checksum(&right)? });
    }
    let tolerance = folders.tolerance.and_then(|tolerance| tolerance(left.dtype, right.dtype));
    let counted = tolerance.map(|tolerance| closeness(&left, &right, tolerance)).transpose()?;
    Ok(Found::Numbers(Box::new(tensor::compare_some(&left, &right, folders.measurements.sample())?), counted))
}

/// What data says, beside the exact properties the records say.
fn measured(recorded: &Measurement, stats: &PairStats, is_exact: bool) -> Measurement {
    let has_size = stats.sum_sq_diff > 0.0;
    let exact = match recorded.exact {
        // Data decides about values; records about everything else.
        Some(exact @ (ExactDifference::Dtype | ExactDifference::RequiresGrad)) => Some(exact),
        _ if stats.nonfinite_mismatches > 0 => Some(ExactDifference::NonFinite),
        _ if stats.unequal > 0 && is_exact => Some(ExactDifference::Integer),
        _ => None,
    };
    let infinite = stats.nonfinite_mismatches > 0 || exact == Some(ExactDifference::Integer);
    let norm = stats.sum_sq_baseline.sqrt();
    let error = if has_size { relative(stats.sum_sq_diff.sqrt(), norm) } else { 0.0 };
    Measurement {
        exact,
        error: if infinite { f64::INFINITY } else { error },
        absolute: if infinite { f64::INFINITY } else { stats.max_abs_diff },
        basis: Basis::Data,
        identical: stats.unequal == 0 && exact.is_none(),
        rms: Some(norm / count(stats.elements).sqrt()),
        elements: stats.elements.max(1),
        metrics: metrics(stats, error),
    }
}

fn metrics(stats: &PairStats, error: f64) -> Vec<(&'static str, f64)> {
    let norms = (stats.sum_sq_baseline * stats.sum_sq_candidate).sqrt();
    vec![
        ("rel_l2", error),
        ("cosine", if norms > 0.0 { stats.dot / norms } else { f64::NAN }),
        ("max_abs_err", stats.max_abs_diff),
        ("mean_difference", stats.sum_diff / count(stats.elements)),
        ("unequal_share", count(stats.unequal) / count(stats.elements)),
    ]
}

#[allow(clippy::cast_precision_loss, reason = "element counts are far below 2^53")]
fn count(elements: u64) -> f64 {
    elements.max(1) as f64
}

/// The largest error among an operation's inputs; infinite where one differs in a property without size.
pub fn input_error(operation: &Operation, comparison: &OperationComparison) -> f64 {
    let is_input = |leaf: &&LeafComparison| {
        let kind = leaf.pair.candidate.and_then(|index| operation.leaves.get(index)).map(|leaf| leaf.kind);
        matches!(kind, Some(TensorKind::Input))
    };
    comparison
        .leaves
        .iter()
        .filter(is_input)
        .filter_map(|leaf| leaf.measured.as_ref())
        .map(|measured| measured.error)
        .fold(0.0, f64::max)
}
