//! Cells of one side of a row, and how msprobe prints them (`docs/formats/msprobe-tables.md`, Columns and Cells).

use std::borrow::Cow;

use super::{Mode, hash};
use crate::msprobe::python;
use crate::msprobe::table::Cell;
use crate::read::dump::{Leaf, Row, TensorRecord, Value};
use crate::read::json::Json;

/// Text of a cell without a value.
pub(super) const NOTHING: &str = "N/A";
/// Text of `Data_name` where no file was written.
const NO_FILE: &str = "-1";

/// One side of a row.
#[derive(Clone, Debug)]
pub(super) struct Half {
    pub(super) name: Cow<'static, str>,
    pub(super) dtype: Cow<'static, str>,
    pub(super) shape: Cow<'static, str>,
    pub(super) requires_grad: &'static str,
    /// Maximum, minimum, mean, 2-norm.
    pub(super) statistics: [Cell; 4],
    pub(super) hash: Cow<'static, str>,
    pub(super) data_name: Cow<'static, str>,
}

impl Half {
    /// The cells of a value.
    pub(super) fn of(leaf: Leaf<'_>) -> Self {
        let half = match leaf.value {
            Value::Null => Self { statistics: all("None"), data_name: NO_FILE.into(), ..Self::missing() },
            Value::Tensor(record) => {
                let data_name = leaf.data_name().map_or(NO_FILE.into(), Cow::Owned);
                Self { data_name, ..Self::of_tensor(&record) }
            }
            Value::Plain { type_name, value, .. } => Self::of_plain(leaf.row, type_name, value),
        };
        Self { name: leaf.row.text().into_owned().into(), ..half }
    }

    /// The cells where there is no value to show.
    pub(super) fn missing() -> Self {
        Self {
            name: NOTHING.into(),
            dtype: NOTHING.into(),
            shape: NOTHING.into(),
            requires_grad: NOTHING,
            statistics: all(NOTHING),
            hash: NOTHING.into(),
            data_name: NOTHING.into(),
        }
    }

    fn of_tensor(record: &TensorRecord<'_>) -> Self {
        Self {
            dtype: record.dtype.to_owned().into(),
            shape: shape_text(record.shape).into(),
            requires_grad: match record.requires_grad {
                Some(true) => "True",
                Some(false) => "False",
                None => NOTHING,
            },
            statistics: tensor_statistics(record),
            hash: hash::of_checksum(record.checksum),
            ..Self::missing()
        }
    }

    fn of_plain(row: Row<'_>, type_name: &str, value: &Json) -> Self {
        // These keep their value under another key than the one msprobe looks at first.
        let elsewhere = matches!(type_name, "torch.ProcessGroup" | "torch.memory_format");
        let text = python::str(value);
        let scalar = Self { data_name: NO_FILE.into(), shape: "[]".into(), ..Self::missing() };
        let named_rank = matches!(row.last_part(), "src" | "dst" | "group_src" | "group_dst");
        match type_name {
            "torch.Size" => Self {
                dtype: type_name.to_owned().into(),
                hash: hash::of_text(&text),
                shape: text.into(),
                statistics: all("None"),
                ..scalar
            },
            "slice" => Self {
                dtype: type_name.to_owned().into(),
                shape: format!("({},)", value.as_array().map_or(0, <[Json]>::len)).into(),
                statistics: all("None"),
                hash: hash::of_text(&text),
                ..scalar
            },
            "ellipsis" => Self {
                dtype: type_name.to_owned().into(),
                statistics: [value; 4].map(statistic),
                hash: hash::of_text(&text),
                ..scalar
            },
            _ if named_rank => {
                let text = if elsewhere { "None".into() } else { text };
                let statistics = std::array::from_fn(|_| statistic(&Json::Text(text.clone())));
                let hash = if text.is_empty() { hash::of_text("") } else { text.into() };
                Self { dtype: type_name.to_owned().into(), statistics, hash, ..scalar }
            }
            "torch.ProcessGroup" => {
                Self { dtype: type_name.to_owned().into(), statistics: all(text.clone()), hash: text.into(), ..scalar }
            }
            "torch.memory_format" => {
                Self { dtype: class_of(&Json::Null), statistics: all("None"), hash: hash::of_text(""), ..scalar }
            }
            _ => Self {
                dtype: class_of(value),
                statistics: [value; 4].map(statistic),
                hash: hash::of_value(value),
                ..scalar
            },
        }
    }

    /// Whether a file of its values was written.
    pub(super) fn is_saved(&self) -> bool {
        self.data_name != NO_FILE && self.data_name != NOTHING
    }

    /// Whether there is a value at all.
    pub(super) fn is_missing(&self) -> bool {
        self.name == NOTHING
    }
}

/// The same text in every cell.
pub(super) fn all<const N: usize>(text: impl Into<Cow<'static, str>>) -> [Cell; N] {
    let text = text.into();
    std::array::from_fn(|_| Cell::from(text.clone()))
}

/// A shape as the text of a Python list.
pub(super) fn shape_text(shape: &[u64]) -> String {
    format!("{shape:?}")
}

/// The text of the Python class of a value.
fn class_of(value: &Json) -> Cow<'static, str> {
    Cow::Borrowed(match value {
        Json::Null => "<class 'NoneType'>",
        Json::Bool(_) => "<class 'bool'>",
        Json::Int(_) | Json::BigInt(_) => "<class 'int'>",
        Json::Float(_) => "<class 'float'>",
        Json::Text(_) => "<class 'str'>",
        Json::Array(_) => "<class 'list'>",
        Json::Object(_) => "<class 'dict'>",
    })
}

/// A statistic: numbers and truth values keep their kind, NaN is `Nan`, everything else is text.
fn statistic(value: &Json) -> Cell {
    match value {
        Json::Int(number) => Cell::Int(*number),
        Json::Bool(truth) => Cell::Bool(*truth),
        Json::Float(number) if !number.is_nan() => Cell::Float(*number),
        other => match python::str(other) {
            text if text.eq_ignore_ascii_case("nan") => Cell::word("Nan"),
            text => Cell::from(text),
        },
    }
}

/// The statistics of a value, as [`Half::of`] has them.
pub(super) fn statistics_of(leaf: Leaf<'_>) -> [Cell; 4] {
    match leaf.value {
        Value::Tensor(record) => tensor_statistics(&record),
        _ => Half::of(leaf).statistics,
    }
}

/// The element type of a value, as [`Half::of`] has it.
pub(super) fn dtype_of(leaf: Leaf<'_>) -> Cow<'_, str> {
    match leaf.value {
        Value::Tensor(record) => record.dtype.into(),
        _ => Half::of(leaf).dtype,
    }
}

/// msprobe turns the truth values of a tensor's record into text, those of scalars not.
fn tensor_statistics(record: &TensorRecord<'_>) -> [Cell; 4] {
    record.statistics().map(|value| match statistic(&value.json()) {
        truth @ Cell::Bool(_) => Cell::from(truth.text().into_owned()),
        other => other,
    })
}

/// Repeats what pandas does to the four statistics of one side when it makes columns of them.
///
/// A column of whole and other numbers becomes one of floats. Where all four columns are numeric and any value is
/// a float, all become floats. So every row has to be [seen](Self::see) before it is [applied](Self::apply) to one.
#[derive(Clone, Copy, Default)]
pub(super) struct Inference([ColumnKind; 4]);

impl Inference {
    pub(super) fn see(&mut self, row: &[Cell; 4]) {
        for (kind, cell) in self.0.iter_mut().zip(row) {
            *kind = (*kind).max(ColumnKind::of(cell));
        }
    }

    pub(super) fn apply(self, row: &mut [Cell; 4]) {
        let widest = self.0.into_iter().max().unwrap_or_default();
        for (kind, cell) in self.0.into_iter().zip(row) {
            if kind == ColumnKind::Number || widest == ColumnKind::Number {
                *cell = float(cell);
            }
        }
    }
}

/// Kind of values in a column, each wider than the one before.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum ColumnKind {
    #[default]
    Whole,
    Number,
    Other,
}

impl ColumnKind {
    fn of(cell: &Cell) -> Self {
        match cell {
            Cell::Int(_) => Self::Whole,
            Cell::Float(_) => Self::Number,
            _ => Self::Other,
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "pandas converts the same way")]
fn float(cell: &Cell) -> Cell {
    match cell {
        Cell::Int(value) => Cell::Float(*value as f64),
        other => other.clone(),
    }
}

/// The cell as it goes into the table: infinite numbers are marked.
pub(super) fn written(cell: Cell) -> Cell {
    match cell {
        Cell::Float(value) if value.is_infinite() => Cell::Infinite(value),
        other => other,
    }
}

/// Titles of the statistics of both sides.
pub(super) const STATISTICS: [&str; 8] =
    ["NPU max", "NPU min", "NPU mean", "NPU l2norm", "Bench max", "Bench min", "Bench mean", "Bench l2norm"];

/// Column titles.
pub(super) fn columns(mode: Mode, stacks: bool) -> Vec<String> {
    const HEAD: [&str; 8] = [
        "NPU Name",
        "Bench Name",
        "NPU Dtype",
        "Bench Dtype",
        "NPU Tensor Shape",
        "Bench Tensor Shape",
        "NPU Requires_grad",
        "Bench Requires_grad",
    ];
    const TENSOR: [&str; 6] =
        ["Cosine", "EucDist", "MaxAbsErr", "MaxRelativeErr", "One Thousandth Err Ratio", "Five Thousandths Err Ratio"];
    const DIFFERENCES: [&str; 8] = [
        "Max diff",
        "Min diff",
        "Mean diff",
        "L2norm diff",
        "MaxRelativeErr",
        "MinRelativeErr",
        "MeanRelativeErr",
        "NormRelativeErr",
    ];
    const TAIL: [&str; 3] = ["Requires_grad Consistent", "Result", "Err_message"];
    let body: Vec<&str> = match mode {
        Mode::Tensor => TENSOR.into_iter().chain(STATISTICS).collect(),
        Mode::Statistics => DIFFERENCES.into_iter().chain(STATISTICS).collect(),
        Mode::Checksum => vec!["NPU MD5", "BENCH MD5"],
    };
    let stack = stacks.then_some("NPU_Stack_Info");
    let data_name = (mode == Mode::Tensor).then_some("Data_name");
    let titles = HEAD.into_iter().chain(body).chain(TAIL).chain(stack).chain(data_name);
    titles.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inferred(rows: Vec<[Cell; 4]>) -> Vec<[String; 4]> {
        let mut rows = rows;
        let mut inference = Inference::default();
        rows.iter().for_each(|row| inference.see(row));
        rows.iter_mut().for_each(|row| inference.apply(row));
        rows.iter().map(|row| row.each_ref().map(|cell| cell.text().into_owned())).collect()
    }

    #[test]
    fn one_float_in_a_numeric_matrix_makes_all_floats() {
        let rows = inferred(vec![[Cell::Int(1), Cell::Int(2), Cell::Int(3), Cell::Float(4.5)]]);
        assert_eq!(rows, [["1.0", "2.0", "3.0", "4.5"]]);
    }

    #[test]
    fn a_mixed_column_becomes_floats_beside_text() {
        let rows = inferred(vec![
            [Cell::Int(1), Cell::Int(2), Cell::from("None"), Cell::from("None")],
            [Cell::Float(1.5), Cell::Int(2), Cell::Int(3), Cell::from("None")],
        ]);
        assert_eq!(rows, [["1.0", "2", "None", "None"], ["1.5", "2", "3", "None"]]);
    }

    #[test]
    fn whole_numbers_alone_stay_whole() {
        assert_eq!(inferred(vec![[Cell::Int(1), Cell::Int(2), Cell::Int(3), Cell::Int(4)]]), [["1", "2", "3", "4"]]);
    }
}
