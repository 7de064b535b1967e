//! `Result` and `Err_message`: msprobe's indicator rules (`docs/formats/msprobe-tables.md`, Result and
//! Err_message).
//!
//! Rows are judged per operation. Rules run in a fixed order; each may raise a row's level and adds its text.

use super::cells::Half;
use super::line::{Line, Numbers};
use crate::msprobe::table::Cell;

/// Level of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Pass,
    Warning,
    Error,
}

impl Level {
    fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// Result of the rules for one row: the worst level, with the text of every rule that applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    level: Level,
    texts: Vec<&'static str>,
}

impl Outcome {
    const CLEAN: Self = Self { level: Level::Pass, texts: Vec::new() };

    fn add(&mut self, (level, text): Rule) {
        self.level = self.level.max(level);
        self.texts.push(text);
    }

    /// The cells of `Result` and `Err_message`: the level, and the texts as a JSON array.
    pub(super) fn cells(&self) -> [Cell<'static>; 2] {
        let texts = || self.texts.iter().map(|text| format!("\"{text}\"")).collect::<Vec<_>>().join(", ");
        let messages = if self.texts.is_empty() { Cell::word("[]") } else { format!("[{}]", texts()).into() };
        [Cell::word(self.level.as_str()), messages]
    }
}

/// A level and its text.
type Rule = (Level, &'static str);

const NOT_FINITE: Rule = (Level::Error, "error: There is nan/inf/-inf in the maximum or minimum value of NPU.");
const ONE_THOUSANDTH: Rule =
    (Level::Error, "error: The input/parameters of One Thousandth Err Ratio > 0.9 while the output < 0.6.");
const NORM_OF_OUTPUT: Rule = (Level::Error, "error: The NormRelativeErr of output is greater than 0.5.");
const REQUIRES_GRAD: Rule = (Level::Error, "error: The Required_Grad of NPU and Bench are inconsistent");
const SCALAR: Rule = (Level::Error, "error: The scalar parameters of NPU and Bench are inconsistent.");
const DTYPE: Rule = (Level::Error, "error: The dtype of NPU and Bench are inconsistent.");
const SHAPE: Rule = (Level::Error, "error: The shape of NPU and Bench are inconsistent.");
const COSINE: Rule =
    (Level::Warning, "warning: The input/parameters of Cosine > 0.9, and input/parameters - output > 0.1");
const NORM_GROWS: Rule = (Level::Warning, "warning: The norm relative error of output is 10 times that of input.");
const CHECKSUM: Rule = (Level::Error, "error: The CRC-32 value of NPU differs from that of the bench.");
const NO_CHECKSUM: Rule = (Level::Warning, "warning: The parameter of NPU does not match the bench.");

/// Judges the rows of one operation.
pub(super) fn judge(rows: &[Line<'_>]) -> Vec<Outcome> {
    let mut outcomes = vec![Outcome::CLEAN; rows.len()];
    let is_output: Vec<bool> = rows.iter().map(|row| row.candidate.name.contains(".output.")).collect();
    let first_input = rows.iter().zip(&is_output).find(|(_, output)| !**output).map(|(row, _)| row);
    let ignored = first_input.map_or(Ignored::Nothing, |row| Ignored::of(&row.candidate.name));
    if ignored == Ignored::All {
        return outcomes;
    }
    for ((row, outcome), output) in rows.iter().zip(&mut outcomes).zip(&is_output) {
        if *output || ignored == Ignored::Nothing {
            judge_row(row, outcome, !*output);
        }
    }
    if ignored == Ignored::Nothing {
        let group = Group { rows, is_output: &is_output };
        group.compare_input_with_output(&mut outcomes);
        for (outcome, row) in outcomes.iter_mut().zip(rows) {
            outcome.texts.sort_by_key(|text| order_of(text, &row.numbers));
        }
    }
    outcomes
}

/// Rules of different scope interleave in the order msprobe runs them.
fn order_of(text: &str, numbers: &Numbers) -> usize {
    let order = match numbers {
        Numbers::Tensor(_) => [NOT_FINITE, ONE_THOUSANDTH, REQUIRES_GRAD, SCALAR, DTYPE, SHAPE, COSINE],
        _ => [NOT_FINITE, NORM_OF_OUTPUT, REQUIRES_GRAD, SCALAR, DTYPE, SHAPE, NORM_GROWS],
    };
    order.iter().position(|rule| rule.1 == text).unwrap_or(order.len())
}

/// Rules that look at one row.
fn judge_row(row: &Line<'_>, outcome: &mut Outcome, is_input: bool) {
    let (npu, bench) = (&row.candidate, &row.baseline);
    if matches!(row.numbers, Numbers::Checksum) {
        let empty = |hash: &str| matches!(hash, "N/A" | "Nan" | "");
        if npu.hash != bench.hash {
            outcome.add(if empty(&npu.hash) || empty(&bench.hash) { NO_CHECKSUM } else { CHECKSUM });
        }
        return;
    }
    if !has_extreme(bench) && has_extreme(npu) {
        outcome.add(NOT_FINITE);
    }
    if bench.is_missing() {
        return;
    }
    if npu.requires_grad != bench.requires_grad {
        outcome.add(REQUIRES_GRAD);
    }
    let scalars = npu.dtype.contains("class") && bench.dtype.contains("class") && npu.shape == "[]";
    if is_input && scalars && !same_value(&npu.statistics[0], &bench.statistics[0]) {
        outcome.add(SCALAR);
    }
    let aggregated = bench.name.contains("qkv") || bench.name.contains("gate_up");
    if npu.dtype != bench.dtype && !aggregated {
        outcome.add(DTYPE);
    }
    if npu.shape != bench.shape {
        outcome.add(SHAPE);
    }
}

/// Whether the maximum or the minimum is not finite.
fn has_extreme(half: &Half<'_>) -> bool {
    half.statistics.iter().take(2).any(|cell| match cell {
        Cell::Float(value) => !value.is_finite(),
        Cell::Text(text) => matches!(text.trim().to_ascii_lowercase().as_str(), "inf" | "-inf" | "nan"),
        _ => false,
    })
}

/// Equality as Python sees it: `1` equals `1.0`.
#[allow(clippy::float_cmp, clippy::cast_precision_loss, reason = "what is repeated here is Python's exact comparison")]
fn same_value(a: &Cell<'_>, b: &Cell<'_>) -> bool {
    match (a, b) {
        (Cell::Int(whole), Cell::Float(float)) | (Cell::Float(float), Cell::Int(whole)) => *whole as f64 == *float,
        _ => a == b,
    }
}

/// Operations whose values msprobe does not judge.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ignored {
    Nothing,
    /// Inputs are not judged: the call writes into them.
    Inputs,
    All,
}

impl Ignored {
    /// By the second part of the name of the first input.
    fn of(row: &str) -> Self {
        match row.split('.').nth(1) {
            Some(
                "empty" | "empty_like" | "numpy" | "to" | "__setitem__" | "empty_with_format" | "new_empty_strided"
                | "new_empty" | "empty_strided",
            ) => Self::All,
            Some("_reduce_scatter_base" | "_all_gather_base" | "all_to_all_single" | "batch_isend_irecv") => {
                Self::Inputs
            }
            _ => Self::Nothing,
        }
    }
}

/// The rows of one operation.
struct Group<'a> {
    rows: &'a [Line<'a>],
    is_output: &'a [bool],
}

impl Group<'_> {
    fn compare_input_with_output(&self, outcomes: &mut [Outcome]) {
        match self.rows.first().map(|row| &row.numbers) {
            Some(Numbers::Tensor(_)) => self.compare_tensors(outcomes),
            Some(Numbers::Statistics(_)) => self.compare_norms(outcomes),
            _ => {}
        }
    }

    fn compare_tensors(&self, outcomes: &mut [Outcome]) {
        let Some(first) = self.first_output(outcomes) else { return };
        let ratio = |output| self.least(output, |[_, _, _, _, one_thousandth, _]| one_thousandth);
        if ratio(false) > 0.9 && ratio(true) < 0.1 {
            first.add(ONE_THOUSANDTH);
        }
        let cosine = |output| self.least(output, |[cosine, ..]| cosine);
        if cosine(false) > 0.9 && cosine(false) - cosine(true) > 0.1 {
            first.add(COSINE);
        }
    }

    fn compare_norms(&self, outcomes: &mut [Outcome]) {
        let (input, output) = (self.largest_norm(false), self.largest_norm(true));
        if input < 0.1 {
            for ((row, outcome), _) in
                self.rows.iter().zip(outcomes.iter_mut()).zip(self.is_output).filter(|(_, o)| **o)
            {
                if norm_of(row).is_some_and(|norm| norm.abs() > 0.5) {
                    outcome.add(NORM_OF_OUTPUT);
                }
            }
        }
        let grows = if input == 0.0 { output > 0.1 } else { output / input > 10.0 };
        if grows && let Some(first) = self.first_output(outcomes) {
            first.add(NORM_GROWS);
        }
    }

    fn first_output<'o>(&self, outcomes: &'o mut [Outcome]) -> Option<&'o mut Outcome> {
        outcomes.get_mut(self.is_output.iter().position(|output| *output)?)
    }

    fn side(&self, output: bool) -> impl Iterator<Item = &Line<'_>> {
        self.rows.iter().zip(self.is_output).filter(move |(_, is)| **is == output).map(|(row, _)| row)
    }

    /// The least number of a column, at most 1; cells with text are skipped.
    fn least(&self, output: bool, column: for<'c> fn(&'c [Cell<'c>; 6]) -> &'c Cell<'c>) -> f64 {
        let numbers = self.side(output).filter_map(|row| match &row.numbers {
            Numbers::Tensor(cells) => Some(column(cells)),
            _ => None,
        });
        numbers.fold(1.0, |least, cell| match cell {
            Cell::Float(value) if *value < least => *value,
            _ => least,
        })
    }

    /// The largest relative norm error given in percent, at least 0.
    fn largest_norm(&self, output: bool) -> f64 {
        let percent = |row: &Line<'_>| match &row.numbers {
            Numbers::Statistics([.., Cell::Percent(_)]) => norm_of(row),
            _ => None,
        };
        self.side(output).filter_map(percent).fold(0.0, |most, norm| if norm > most { norm } else { most })
    }
}

/// A relative error as a fraction; msprobe reads words like `inf` as numbers too.
fn norm_of(row: &Line<'_>) -> Option<f64> {
    let percent = match &row.numbers {
        Numbers::Statistics([.., Cell::Percent(percent)]) => *percent,
        Numbers::Statistics([.., Cell::Text(word)]) => word.trim().parse().ok()?,
        _ => return None,
    };
    Some(percent / 100.0)
}
