//! Cells of one side of a row, and how msprobe prints them (`docs/formats/msprobe-tables.md`, Columns and Cells).

use std::borrow::Cow;

use super::hash;
use super::mode::CompareMode;
use crate::msprobe::python;
use crate::msprobe::table::Cell;
use crate::read::dump::{Leaf, LeafValue, RowName, Statistic, TensorRecord};
use crate::read::json::Json;

/// Text of a cell without a value.
pub(super) const NOTHING: &str = "N/A";
/// Text of `Data_name` where no file was written.
const NO_FILE: &str = "-1";

/// One side of a row.
#[derive(Clone, Debug)]
pub(super) struct Half<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) dtype: Cow<'a, str>,
    pub(super) shape: Cow<'a, str>,
    pub(super) requires_grad: &'static str,
    /// Maximum, minimum, mean, 2-norm.
    pub(super) statistics: [Cell<'a>; 4],
    pub(super) hash: Cow<'a, str>,
    pub(super) data_name: Cow<'a, str>,
}

impl<'a> Half<'a> {
    /// The cells of a value.
    pub(super) fn from_leaf(leaf: Leaf<'a>) -> Self {
        let name = leaf.row.text();
        match leaf.value {
            LeafValue::Tensor(record) => Self {
                name,
                dtype: record.dtype.into(),
                shape: shape_text(record.shape).into(),
                requires_grad: match record.requires_grad {
                    Some(true) => "True",
                    Some(false) => "False",
                    None => NOTHING,
                },
                statistics: tensor_statistics(&record),
                hash: hash::checksum_text(record.checksum),
                data_name: leaf.data_name().map_or(NO_FILE.into(), Cow::Owned),
            },
            LeafValue::Null | LeafValue::Damaged => {
                Self { name, statistics: repeated_cell("None"), data_name: NO_FILE.into(), ..Self::missing() }
            }
            LeafValue::Plain { type_name, value, .. } => Self { name, ..Self::of_plain(leaf.row, type_name, value) },
        }
    }

    /// The cells where there is no value to show.
    pub(super) fn missing() -> Self {
        Self {
            name: NOTHING.into(),
            dtype: NOTHING.into(),
            shape: NOTHING.into(),
            requires_grad: NOTHING,
            statistics: repeated_cell(NOTHING),
            hash: NOTHING.into(),
            data_name: NOTHING.into(),
        }
    }

    fn of_plain(row: RowName<'a>, type_name: &'a str, value: &'a Json) -> Self {
        // These keep their value under another key than the one msprobe looks at first.
        let elsewhere = matches!(type_name, "torch.ProcessGroup" | "torch.memory_format");
        let text = python::str(value);
        let scalar = Self { data_name: NO_FILE.into(), shape: "[]".into(), ..Self::missing() };
        let named_rank = matches!(row.last_part(), "src" | "dst" | "group_src" | "group_dst");
        match type_name {
            "torch.Size" => Self {
                dtype: type_name.into(),
                hash: hash::text_checksum(&text),
                shape: text.into(),
                statistics: repeated_cell("None"),
                ..scalar
            },
            "slice" => Self {
                dtype: type_name.into(),
                shape: format!("({},)", value.as_array().map_or(0, <[Json]>::len)).into(),
                statistics: repeated_cell("None"),
                hash: hash::text_checksum(&text),
                ..scalar
            },
            "ellipsis" => Self {
                dtype: type_name.into(),
                statistics: [value; 4].map(statistic),
                hash: hash::text_checksum(&text),
                ..scalar
            },
            _ if named_rank => {
                let text = if elsewhere { "None".into() } else { text };
                let shown = statistic(&Json::Text(text.clone()));
                let statistics = std::array::from_fn(|_| shown.to_owned());
                let hash = if text.is_empty() { hash::text_checksum("") } else { text.into() };
                Self { dtype: type_name.into(), statistics, hash, ..scalar }
            }
            "torch.ProcessGroup" => {
                Self { dtype: type_name.into(), statistics: repeated_cell(text.clone()), hash: text.into(), ..scalar }
            }
            "torch.memory_format" => Self {
                dtype: class_of(&Json::Null),
                statistics: repeated_cell("None"),
                hash: hash::text_checksum(""),
                ..scalar
            },
            _ => Self {
                dtype: class_of(value),
                statistics: [value; 4].map(statistic),
                hash: hash::value_checksum(value),
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
pub(super) fn repeated_cell<'a, const N: usize>(text: impl Into<Cow<'a, str>>) -> [Cell<'a>; N] {
    let text = text.into();
    std::array::from_fn(|_| Cell::from(text.clone()))
}

/// A shape as the text of a Python list.
pub(super) fn shape_text(shape: &[u64]) -> String {
    let mut text = String::with_capacity(32);
    text.push('[');
    for (axis, len) in shape.iter().enumerate() {
        text.push_str(if axis == 0 { "" } else { ", " });
        python::write_whole(*len, &mut text);
    }
    text.push(']');
    text
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
fn statistic(value: &Json) -> Cell<'static> {
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

/// The statistics of a value, as in its half of a row.
pub(super) fn statistics_of(leaf: Leaf<'_>) -> [Cell<'_>; 4] {
    match leaf.value {
        LeafValue::Tensor(record) => tensor_statistics(&record),
        _ => Half::from_leaf(leaf).statistics,
    }
}

/// msprobe turns the truth values of a tensor's record into text, those of scalars not.
fn tensor_statistics(record: &TensorRecord<'_>) -> [Cell<'static>; 4] {
    let cell = |value: Statistic<'_>| match value {
        Statistic::Float(number) if !number.is_nan() => Cell::Float(number),
        Statistic::Int(number) => Cell::Int(number),
        Statistic::Bool(truth) => Cell::word(if truth { "True" } else { "False" }),
        other => statistic(&other.json()),
    };
    // One by one: a mapped array is not inlined.
    [cell(record.max), cell(record.min), cell(record.mean), cell(record.norm)]
}

/// Repeats what pandas does to the four statistics of one side when it makes columns of them.
///
/// A column of whole and other numbers becomes one of floats. If all four columns are numeric and any value is a float, all become
/// floats. The kinds of every row therefore have to be joined before they are [applied](Self::apply) to one.
#[derive(Clone, Copy, Default)]
pub(super) struct Inference([ColumnKind; 4]);

impl Inference {
    /// The kinds of a single row; `None` is a row that one side lacks.
    pub(super) fn of(leaf: Option<Leaf<'_>>) -> Self {
        leaf.map_or(Self([ColumnKind::Other; 4]), |leaf| Self(statistics_of(leaf).each_ref().map(ColumnKind::of)))
    }

    /// The kinds of the row of a tensor.
    pub(super) fn of_recorded(statistics: [Statistic<'_>; 4]) -> Self {
        Self(statistics.map(ColumnKind::of_recorded))
    }

    /// Joins the kinds of two rows.
    pub(super) fn and(self, other: Self) -> Self {
        let [a, b, c, d] = self.0;
        let [e, f, g, h] = other.0;
        Self([a.max(e), b.max(f), c.max(g), d.max(h)])
    }

    pub(super) fn apply(self, row: &mut [Cell<'_>; 4]) {
        let widest = self.0.into_iter().max().unwrap_or_default();
        for (kind, cell) in self.0.into_iter().zip(row) {
            if kind == ColumnKind::Number || widest == ColumnKind::Number {
                float(cell);
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
    fn of_recorded(statistic: Statistic<'_>) -> Self {
        match statistic {
            Statistic::Int(_) => Self::Whole,
            Statistic::Float(number) if !number.is_nan() => Self::Number,
            other => Self::of(&self::statistic(&other.json())),
        }
    }

    fn of(cell: &Cell<'_>) -> Self {
        match cell {
            Cell::Int(_) => Self::Whole,
            Cell::Float(_) => Self::Number,
            _ => Self::Other,
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "pandas converts the same way")]
fn float(cell: &mut Cell<'_>) {
    if let Cell::Int(value) = cell {
        *cell = Cell::Float(*value as f64);
    }
}

/// The cell as it goes into the table: infinite numbers are marked.
pub(super) fn table_cell<'c>(cell: &'c Cell<'_>) -> Cell<'c> {
    match cell {
        Cell::Float(value) if value.is_infinite() => Cell::Infinite(*value),
        other => other.reborrow(),
    }
}

/// Titles of the statistics of both sides.
pub(super) const STATISTICS: [&str; 8] =
    ["NPU max", "NPU min", "NPU mean", "NPU l2norm", "Bench max", "Bench min", "Bench mean", "Bench l2norm"];

/// Column titles.
pub(super) fn columns(mode: CompareMode, stacks: bool) -> Vec<String> {
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
        CompareMode::Tensor => TENSOR.into_iter().chain(STATISTICS).collect(),
        CompareMode::Statistics => DIFFERENCES.into_iter().chain(STATISTICS).collect(),
        CompareMode::Checksum => vec!["NPU MD5", "BENCH MD5"],
    };
    let stack = stacks.then_some("NPU_Stack_Info");
    let data_name = (mode == CompareMode::Tensor).then_some("Data_name");
    let titles = HEAD.into_iter().chain(body).chain(TAIL).chain(stack).chain(data_name);
    titles.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inferred(rows: Vec<[Cell<'static>; 4]>) -> Vec<[String; 4]> {
        let mut rows = rows;
        let seen = |row: &[Cell<'static>; 4]| Inference(row.each_ref().map(ColumnKind::of));
        let inference = rows.iter().map(seen).fold(Inference::default(), Inference::and);
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
