//! Compare tables of ptdbg_ascend, msprobe's ancestor, in its own columns (`docs/formats/ptdbg.md`).

use std::collections::HashSet;

use super::cells::{self, Half};
use super::metrics::MeasuredPair;
use super::metrics::{self, NoCosine};
use super::mode::CompareMode;
use super::pair::{DumpPair, RowPair, ValuePlace};
use super::pairing;
use crate::compare::tensor::{MsprobeStats, ScalarPair};
use crate::msprobe::python;
use crate::msprobe::table::{Cell, MsprobeTable};
use crate::read::dump::{Dump, Leaf, LeafValue, Operation, Statistic};
use crate::read::json::Json;

/// Text of a cell without a number.
const NAN: &str = "Nan";

/// Pairs rows: operations match in order of appearance, and only as a whole.
pub(super) fn pair(pair: &DumpPair<'_>) -> Vec<RowPair> {
    let keys = |dump: &Dump| -> Vec<String> {
        dump.operations.iter().map(|operation| operation_key(operation, pair.matching.fuzzy)).collect()
    };
    let partners = pairing::in_order(&keys(pair.candidate), &keys(pair.baseline));
    let mut rows = Vec::new();
    for ((index, operation), partner) in pair.candidate.operations.iter().enumerate().zip(partners) {
        let other = partner.and_then(|partner| pair.baseline.operations.get(partner));
        let partner = partner.filter(|_| other.is_some_and(|other| same_types(operation, other)));
        let row = |leaf| RowPair {
            candidate: ValuePlace::new(index, leaf),
            baseline: partner.map(|operation| ValuePlace::new(operation, leaf)),
        };
        rows.extend((0..operation.leaves.len()).map(row));
    }
    rows
}

/// Names of all rows, shapes, and dtypes with the common float types as one: what has to be equal.
fn operation_key(operation: Operation<'_>, fuzzy: bool) -> String {
    let stem = if fuzzy { pairing::without_call(operation.name) } else { operation.name.to_owned() };
    let leaf = |leaf: Leaf<'_>| {
        let half = Half::from_leaf(leaf);
        let suffix = leaf.row.below_operation();
        let dtype = if is_half_family(&half.dtype) { "float" } else { &half.dtype };
        format!("\n{suffix}\t{dtype}\t{}", half.shape)
    };
    stem + &operation.leaves.iter().map(leaf).collect::<String>()
}

fn is_half_family(dtype: &str) -> bool {
    matches!(dtype, "torch.float16" | "torch.float32" | "torch.bfloat16")
}

/// float16 goes with float32 and with bfloat16, these two not with each other.
fn same_types(candidate: Operation<'_>, baseline: Operation<'_>) -> bool {
    candidate.leaves.iter().zip(baseline.leaves.iter()).all(|(a, b)| {
        let (a, b) = (Half::from_leaf(a).dtype, Half::from_leaf(b).dtype);
        a == b || [a, b].iter().any(|dtype| dtype == "torch.float16")
    })
}

/// The table, in ptdbg's columns; `None` where ptdbg writes none (statistics without a norm).
pub(super) fn table(
    pair: &DumpPair<'_>,
    mode: CompareMode,
    measured: &dyn Fn(ValuePlace, ValuePlace) -> MeasuredPair,
    name: String,
) -> Option<MsprobeTable> {
    if mode == CompareMode::Statistics && !has_norms(pair.candidate) {
        return None;
    }
    let mut stacked = HashSet::new();
    let row = |row: RowPair| {
        let candidate = row.candidate.value_in(pair.candidate)?;
        let baseline = row.baseline.and_then(|place| place.value_in(pair.baseline));
        let npu = Half::from_leaf(candidate);
        let bench = baseline.map_or_else(missing, Half::from_leaf);
        let mut cells: Vec<Cell<'_>> = [&npu.name, &bench.name, &npu.dtype, &bench.dtype, &npu.shape, &bench.shape]
            .map(|text| Cell::Text(text.clone()))
            .to_vec();
        let statistics = || npu.statistics.iter().chain(&bench.statistics).cloned();
        let matched = baseline.is_some();
        match mode {
            CompareMode::Tensor => {
                let result = match (candidate.value, baseline.map(|leaf| leaf.value), row.baseline) {
                    (LeafValue::Plain { value: a, .. }, Some(LeafValue::Plain { value: b, .. }), _) => {
                        Result::of_plain(a, b)
                    }
                    (_, Some(_), Some(place)) => Result::of(&measured(row.candidate, place), &npu, &bench),
                    _ => Result::unmatched(),
                };
                cells.extend(result.cells);
                cells.extend(statistics());
                cells.extend([Cell::from(result.accuracy), Cell::from(result.message)]);
            }
            CompareMode::Statistics => {
                let (differences, warning) = differences(&npu, &bench);
                cells.extend(differences);
                cells.extend(statistics());
                cells.extend(if !matched {
                    [Cell::from(NAN), Cell::from("No bench data matched.")]
                } else if warning {
                    [Cell::from("Warning"), Cell::from("Need double check api accuracy.")]
                } else {
                    [Cell::from(""), Cell::from("")]
                });
            }
            CompareMode::Checksum => {
                let result = match matched {
                    true if npu.hash == bench.hash => "Pass",
                    true => "Different",
                    false => NAN,
                };
                cells.extend([Cell::Text(npu.hash), Cell::Text(bench.hash), Cell::from(result)]);
            }
        }
        if pair.candidate.stacks.is_some() {
            let first = matched && stacked.insert(row.candidate.operation());
            cells.push(stack_cell(pair.candidate, row.candidate.operation(), first));
        }
        Some(cells.iter().map(Cell::to_owned).collect())
    };
    let rows: Vec<_> = self::pair(pair).into_iter().filter_map(row).collect();
    let columns = columns(mode, pair.candidate.stacks.is_some());
    (!rows.is_empty()).then(|| MsprobeTable { sheet: "Sheet1".into(), columns, name, rows })
}

fn missing<'a>() -> Half<'a> {
    let text = || NAN.into();
    Half {
        name: text(),
        dtype: text(),
        shape: text(),
        hash: text(),
        statistics: cells::repeated_cell(NAN),
        ..Half::missing()
    }
}

fn has_norms(dump: &Dump) -> bool {
    !dump.operations.leaves().filter_map(Leaf::record).any(|record| record.norm == Statistic::Null)
}

/// Cells of real data.
struct Result {
    cells: [Cell<'static>; 5],
    accuracy: &'static str,
    message: &'static str,
}

impl Result {
    fn unmatched() -> Self {
        Self { cells: cells::repeated_cell(NAN), accuracy: NAN, message: "No bench data matched." }
    }

    fn of(measured: &MeasuredPair, npu: &Half<'_>, bench: &Half<'_>) -> Self {
        let not_compared = |message| Self { cells: cells::repeated_cell(NAN), accuracy: NAN, message };
        match measured {
            MeasuredPair::Unreadable => not_compared("Dump file not found."),
            MeasuredPair::Empty => not_compared("This is empty data, can not compare."),
            MeasuredPair::ShapesDiffer => {
                Self { accuracy: "Unmatched", ..not_compared("Shape of NPU and bench Tensor do not match. Skipped.") }
            }
            MeasuredPair::Scalar(pair) => Self::of_scalar(pair),
            MeasuredPair::Elements { stats, .. } if stats.nonfinite_positions_differ => {
                not_compared("The position of inf or nan in NPU and bench Tensor do not match.")
            }
            MeasuredPair::Elements { count, stats } => {
                let dtypes_differ = npu.dtype != bench.dtype;
                Self::of_elements(*count, stats, dtypes_differ)
            }
        }
    }

    fn of_elements(count: u64, stats: &MsprobeStats, dtypes_differ: bool) -> Self {
        let cosine = metrics::cosine(stats);
        let cells = [
            cosine.map_or_else(|_| Cell::word(NAN), |cosine| cosine_text(cosine).into()),
            fixed(stats.max_abs_diff),
            fixed(stats.max_relative),
            fixed(metrics::share(stats.below_thousandth, count)),
            fixed(metrics::share(stats.below_five_thousandths, count)),
        ];
        let message = match cosine {
            Err(NoCosine::ZeroCandidate) => {
                "Cannot compare by Cosine Similarity, All the data is Zero in npu dump data."
            }
            Err(NoCosine::ZeroBaseline) => {
                "Cannot compare by Cosine Similarity, All the data is Zero in Bench dump data."
            }
            Err(NoCosine::NotANumber) => "Cannot compare by Cosine Similarity, the dump data has NaN.",
            Ok(_) if dtypes_differ => "Dtype of NPU and bench Tensor do not match.",
            Ok(_) => "",
        };
        let accuracy = match cosine {
            Err(_) => NAN,
            Ok(cosine) => accuracy(cosine, stats.max_abs_diff),
        };
        Self { cells, accuracy, message }
    }

    fn of_scalar(pair: &ScalarPair) -> Self {
        Self {
            cells: [
                Cell::from("unsupported"),
                fixed(pair.max_abs_diff),
                fixed(pair.max_relative),
                Cell::from(NAN),
                Cell::from(NAN),
            ],
            accuracy: NAN,
            message: "This is type of scalar data, can not compare.",
        }
    }

    fn of_plain(candidate: &Json, baseline: &Json) -> Self {
        let number = |value: &Json| match value {
            Json::Bool(truth) => f64::from(u8::from(*truth)),
            other => other.as_f64().unwrap_or(f64::NAN),
        };
        let (a, b) = (number(candidate), number(baseline));
        let shift = if b == 0.0 { f64::EPSILON } else { 0.0 };
        let max_relative = (((a + shift) - (b + shift)) / (b + shift)).abs();
        Self::of_scalar(&ScalarPair { max_abs_diff: (a - b).abs(), max_relative })
    }
}

/// ptdbg's rule of thumb.
fn accuracy(cosine: f64, max_abs: f64) -> &'static str {
    if (cosine < 0.99 && max_abs > 0.001) || cosine < 0.9 || max_abs > 1.0 { "No" } else { "Yes" }
}

fn cosine_text(cosine: f64) -> String {
    if cosine > 0.9999 { python::float(cosine) } else { format!("{cosine:.12}") }
}

/// Twelve decimals, always.
fn fixed(value: f64) -> Cell<'static> {
    if value.is_nan() { Cell::word(NAN) } else { format!("{value:.12}").into() }
}

/// Differences of the four statistics, and whether one is more than half of the larger value.
fn differences(npu: &Half<'_>, bench: &Half<'_>) -> ([Cell<'static>; 4], bool) {
    let mut warning = false;
    let mut pairs = npu.statistics.iter().zip(&bench.statistics);
    let cells = std::array::from_fn(|_| {
        let Some((left, right)) = pairs.next() else { return Cell::from(NAN) };
        let Some((a, b)) = number(left).zip(number(right)) else { return Cell::from(NAN) };
        warning |= (a - b).abs() / (a.abs().max(b.abs()) + 1e-10) > 0.5;
        match (whole(left), whole(right)) {
            (Some(left), Some(right)) => Cell::Int(left.wrapping_sub(right)),
            _ => Cell::Float(a - b),
        }
    });
    (cells, warning)
}

#[allow(clippy::cast_precision_loss, reason = "Python converts the same way")]
fn number(cell: &Cell<'_>) -> Option<f64> {
    match cell {
        Cell::Int(value) => Some(*value as f64),
        Cell::Float(value) => Some(*value),
        Cell::Bool(value) => Some(f64::from(u8::from(*value))),
        _ => None,
    }
}

/// A whole number, which truth values are in Python.
fn whole(cell: &Cell<'_>) -> Option<i64> {
    match cell {
        Cell::Int(value) => Some(*value),
        Cell::Bool(value) => Some(i64::from(*value)),
        _ => None,
    }
}

/// The stack as the list of lists that was dumped.
fn stack_cell(dump: &Dump, operation: usize, first: bool) -> Cell<'static> {
    let operation = dump.operations.get(operation).filter(|_| first);
    let frames = operation.and_then(|operation| dump.stacks.as_ref()?.get(operation.name));
    let Some(frames) = frames else { return Cell::from("") };
    let frames = frames.iter().map(|frame| {
        let parts = frame_parts(frame).unwrap_or_else(|| vec![frame]);
        Json::Array(parts.into_iter().map(|part| Json::Text(part.to_owned())).collect())
    });
    python::str(&Json::Array(frames.collect())).into()
}

/// Takes `File <path>, line <n>, in <function>, \n <code>` apart.
fn frame_parts(frame: &str) -> Option<Vec<&str>> {
    let (path, rest) = frame.strip_prefix("File ")?.split_once(", line ")?;
    let (line, rest) = rest.split_once(", in ")?;
    let (function, code) = rest.split_once(", \n ")?;
    Some(vec![path, line, function, code])
}

fn columns(mode: CompareMode, stacks: bool) -> Vec<String> {
    const HEAD: [&str; 6] =
        ["NPU Name", "Bench Name", "NPU Tensor Dtype", "Bench Tensor Dtype", "NPU Tensor Shape", "Bench Tensor Shape"];
    const DATA: [&str; 5] =
        ["Cosine", "MaxAbsErr", "MaxRelativeErr", "One Thousandth Err Ratio", "Five Thousandths Err Ratio"];
    const DIFFERENCES: [&str; 4] = ["Max diff", "Min diff", "Mean diff", "L2norm diff"];
    let body: Vec<&str> = match mode {
        CompareMode::Tensor => {
            DATA.into_iter().chain(cells::STATISTICS).chain(["Accuracy Reached or Not", "Err_message"]).collect()
        }
        CompareMode::Statistics => {
            DIFFERENCES.into_iter().chain(cells::STATISTICS).chain(["Result", "Err_message"]).collect()
        }
        CompareMode::Checksum => vec!["NPU MD5", "BENCH MD5", "Result"],
    };
    let stack = stacks.then_some("NPU_Stack_Info");
    HEAD.into_iter().chain(body).chain(stack).map(str::to_owned).collect()
}
