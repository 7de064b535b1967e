//! Records of a dump, stored in columns.
//!
//! A dump has millions of values but few forms: the same argument of the same layer appears once per call. A form (place in the
//! call, element type, shape ...) is stored once. A value stores the index of its form and its four statistics, 24 bytes, or 40 if
//! 32 bits do not hold them, and its checksum with 8 more bytes if there is one. [`Operation`], [`Leaf`] and [`TensorRecord`] are
//! views into the columns, created on demand.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::compact::PackedTexts;
use super::precision::Precision;
use super::statistics::StatisticWords;
use crate::dtype::Dtype;
use crate::kind::TensorKind;
use crate::read::json::Json;

/// Operations of a dump in execution order, with their values.
#[derive(Clone, Debug, Default)]
pub struct Operations {
    /// Names of operations, which ranks with the same operations share.
    pub(super) names: Arc<PackedTexts>,
    /// Values of each operation.
    pub(super) spans: Vec<Span>,
    pub(super) forms: Vec<Form>,
    /// The form of each value.
    pub(super) form_of: Vec<u32>,
    /// Largest, smallest and mean value and 2-norm of each value, encoded as [`Tag`] says. A plain value has its index in `others` in
    /// the first word.
    pub(super) words: StatisticWords,
    /// Checksum of each value, empty if it has none; no entries if no value has a checksum.
    pub(super) checksums: PackedTexts,
    /// Plain values, and statistics that are neither numbers nor booleans.
    pub(super) others: Vec<Json>,
    /// Digits that statistics were printed with.
    pub(super) precision: Precision,
}

/// Range of an operation's values in the columns: the first index and the number.
///
/// A dump of 2^32 values does not fit in memory, so `u32` is enough; further values would be left out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    start: u32,
    len: u32,
}

impl Span {
    pub(super) fn new(start: usize, len: usize) -> Self {
        let [start, len] = [start, len].map(|count| u32::try_from(count).unwrap_or(u32::MAX));
        Self { start, len }
    }

    /// Range shifted by `first` values.
    pub(super) fn shifted(self, first: usize) -> Self {
        Self { start: self.start.saturating_add(u32::try_from(first).unwrap_or(u32::MAX)), len: self.len }
    }

    /// Extends the range by one value.
    pub(super) fn grow(&mut self) {
        self.len = self.len.saturating_add(1);
    }
}

/// Properties of a value that many values share.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Form {
    pub(super) kind: TensorKind,
    /// Row name: the whole name, or only the part after the operation's name.
    pub(super) row: Arc<str>,
    pub(super) is_below_operation: bool,
    pub(super) body: Body,
}

impl Form {
    fn row_of<'a>(&'a self, operation: &'a str) -> RowName<'a> {
        RowName { operation: if self.is_below_operation { operation } else { "" }, rest: &self.row }
    }
}

/// Shared part of a value's content.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Body {
    Null,
    Damaged,
    Tensor {
        dtype: Arc<str>,
        element: Option<Dtype>,
        shape: Arc<[u64]>,
        statistics: [Tag; 4],
        requires_grad: Option<bool>,
        /// Part of the data file's name after the row name; `None` if the data was not saved.
        extension: Option<Arc<str>>,
    },
    Plain {
        type_name: Arc<str>,
        /// Same as for a tensor, because ptdbg_ascend saves scalars too.
        extension: Option<Arc<str>>,
    },
}

/// Type of a statistic, which decides how its word is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Tag {
    Null,
    Bool,
    Int,
    Float,
    /// An index into `others`.
    Other,
}

/// One call of an operation or module.
#[derive(Clone, Copy, Debug)]
pub struct Operation<'a> {
    /// Name as dumped.
    pub name: &'a str,
    /// Its values, in msprobe's row order: inputs, parameters, outputs, parameter gradients.
    pub leaves: Leaves<'a>,
}

/// Values of an operation.
#[derive(Clone, Copy, Debug)]
pub struct Leaves<'a> {
    records: &'a Operations,
    operation: &'a str,
    start: usize,
    len: usize,
}

/// One value of an operation.
#[derive(Clone, Copy, Debug)]
pub struct Leaf<'a> {
    /// Row name as msprobe prints it: `Functional.linear.0.forward.input.0`.
    pub row: RowName<'a>,
    /// Role of the value in the operation.
    pub kind: TensorKind,
    /// The value.
    pub value: LeafValue<'a>,
}

/// Name of a row in two parts: the operation's name, and the rest.
#[derive(Clone, Copy, Debug)]
pub struct RowName<'a> {
    operation: &'a str,
    rest: &'a str,
}

/// Content of a leaf.
#[derive(Clone, Copy, Debug)]
pub enum LeafValue<'a> {
    /// `null`
    Null,
    /// A damaged record, which lacks its type, element type or shape.
    Damaged,
    /// A tensor.
    Tensor(TensorRecord<'a>),
    /// Any other value, with its recorded type: `int`, `slice`, `torch.Size`, `torch.ProcessGroup` ...
    Plain {
        /// The recorded type.
        type_name: &'a str,
        /// The recorded value.
        value: &'a Json,
        /// Part of the data file's name after the row name; `None` if the value was not saved.
        extension: Option<&'a str>,
    },
}

/// Record of a tensor in a dump.
#[derive(Clone, Copy, Debug)]
pub struct TensorRecord<'a> {
    /// Element type as written: `torch.float32`, `BFloat16`.
    pub dtype: &'a str,
    /// Element type with this name; `None` if the name is not known.
    pub element: Option<Dtype>,
    /// Shape.
    pub shape: &'a [u64],
    /// Largest value, as written (a number, a boolean, null).
    pub max: Statistic<'a>,
    /// Smallest value.
    pub min: Statistic<'a>,
    /// Mean.
    pub mean: Statistic<'a>,
    /// 2-norm.
    pub norm: Statistic<'a>,
    /// Whether it requires a gradient; not written by every producer.
    pub requires_grad: Option<bool>,
    /// Checksum (`md5` key: CRC-32, or `0x…` for xor).
    pub checksum: Option<&'a str>,
    /// Part of the data file's name after the row name, such as `.npy`; `None` if the data was not saved.
    pub extension: Option<&'a str>,
    /// Digits that its statistics were printed with.
    pub precision: Precision,
}

/// A statistic as it was written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Statistic<'a> {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// An integer that fits.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// Anything else.
    Other(&'a Json),
}

impl Operations {
    /// Number of operations.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there are no operations.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The operation at an index of the execution order.
    pub fn get(&self, index: usize) -> Option<Operation<'_>> {
        let (name, Span { start, len }) = (self.names.get(index)?, *self.spans.get(index)?);
        let (start, len) = (start as usize, len as usize);
        Some(Operation { name, leaves: Leaves { records: self, operation: name, start, len } })
    }

    /// All operations in execution order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Operation<'_>> + ExactSizeIterator + Clone {
        let empty = Leaves { records: self, operation: "", start: 0, len: 0 };
        (0..self.len()).map(move |index| self.get(index).unwrap_or(Operation { name: "", leaves: empty }))
    }

    /// Number of values of all operations.
    pub(crate) fn value_count(&self) -> usize {
        self.spans.iter().map(|span| span.len as usize).sum()
    }

    /// Values of all operations, one operation after the other.
    pub fn leaves(&self) -> impl Iterator<Item = Leaf<'_>> {
        self.iter().flat_map(|operation| operation.leaves.iter())
    }

    /// Checksum of the first tensor that has one.
    pub(crate) fn first_checksum(&self) -> Option<&str> {
        // Most dumps have none, and are not searched for it.
        if self.checksums.len() == 0 {
            return None;
        }
        self.leaves().find_map(|leaf| leaf.record()?.checksum)
    }

    /// Names of operations, for adding.
    pub(super) fn names_mut(&mut self) -> &mut PackedTexts {
        Arc::make_mut(&mut self.names)
    }

    /// Shares the names of operations with `other` if they are the same.
    pub(super) fn share_names(&mut self, other: &Self) {
        if self.names == other.names {
            self.names = Arc::clone(&other.names);
        }
    }

    /// Whether the names of operations are shared with `other`.
    pub(crate) fn has_names_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.names, &other.names)
    }

    /// Releases memory that was reserved for more values.
    pub(super) fn shrink_to_fit(&mut self) {
        self.names_mut().shrink_to_fit();
        self.spans.shrink_to_fit();
        self.forms.shrink_to_fit();
        self.form_of.shrink_to_fit();
        self.words.shrink_to_fit();
        self.checksums.shrink_to_fit();
        self.others.shrink_to_fit();
    }

    fn leaf<'a>(&'a self, operation: &'a str, index: usize) -> Option<Leaf<'a>> {
        let form = self.form(index)?;
        Some(Leaf { row: form.row_of(operation), kind: form.kind, value: self.value(&form.body, index)? })
    }

    fn form(&self, index: usize) -> Option<&Form> {
        self.forms.get(*self.form_of.get(index)? as usize)
    }

    fn value<'a>(&'a self, body: &'a Body, index: usize) -> Option<LeafValue<'a>> {
        Some(match body {
            Body::Null => LeafValue::Null,
            Body::Damaged => LeafValue::Damaged,
            Body::Plain { type_name, extension } => {
                let [place, ..] = self.words.get(index)?;
                LeafValue::Plain { type_name, value: self.other(place)?, extension: extension.as_deref() }
            }
            Body::Tensor { dtype, element, shape, statistics, requires_grad, extension } => {
                let [max, min, mean, norm] = self.statistics(*statistics, index)?;
                LeafValue::Tensor(TensorRecord {
                    dtype,
                    element: *element,
                    shape,
                    max,
                    min,
                    mean,
                    norm,
                    requires_grad: *requires_grad,
                    checksum: self.checksums.get(index).filter(|checksum| !checksum.is_empty()),
                    extension: extension.as_deref(),
                    precision: self.precision,
                })
            }
        })
    }

    fn statistics(&self, [of_max, of_min, of_mean, of_norm]: [Tag; 4], index: usize) -> Option<[Statistic<'_>; 4]> {
        let [max, min, mean, norm] = self.words.get(index)?;
        let [max, min] = [self.statistic(of_max, max), self.statistic(of_min, min)];
        Some([max, min, self.statistic(of_mean, mean), self.statistic(of_norm, norm)])
    }

    fn statistic(&self, tag: Tag, word: u64) -> Statistic<'_> {
        match tag {
            Tag::Null => Statistic::Null,
            Tag::Bool => Statistic::Bool(word != 0),
            Tag::Int => Statistic::Int(word.cast_signed()),
            Tag::Float => Statistic::Float(f64::from_bits(word)),
            Tag::Other => self.other(word).map_or(Statistic::Null, Statistic::Other),
        }
    }

    fn other(&self, place: u64) -> Option<&Json> {
        self.others.get(usize::try_from(place).ok()?)
    }
}

impl<'a> Leaves<'a> {
    /// Number of values.
    pub fn len(self) -> usize {
        self.len
    }

    /// Whether there are no values.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The value at an index of the row order.
    pub fn get(self, index: usize) -> Option<Leaf<'a>> {
        if index < self.len { self.records.leaf(self.operation, self.start + index) } else { None }
    }

    /// Row name of the value at an index of the row order, without the value.
    pub(crate) fn row(self, index: usize) -> Option<RowName<'a>> {
        Some(self.form(index)?.row_of(self.operation))
    }

    /// Role of the value at an index of the row order, without the value.
    pub(crate) fn kind(self, index: usize) -> Option<TensorKind> {
        self.form(index).map(|form| form.kind)
    }

    /// Whether the value at an index of the row order was saved to a file.
    pub(crate) fn is_saved(self, index: usize) -> bool {
        self.form(index).is_some_and(|form| match &form.body {
            Body::Null | Body::Damaged => false,
            Body::Tensor { extension, .. } | Body::Plain { extension, .. } => extension.is_some(),
        })
    }

    /// Statistics of the tensor at an index of the row order, without its other properties; `None` for anything else.
    pub(crate) fn statistics(self, index: usize) -> Option<[Statistic<'a>; 4]> {
        match &self.form(index)?.body {
            Body::Tensor { statistics, .. } => self.records.statistics(*statistics, self.start + index),
            Body::Null | Body::Damaged | Body::Plain { .. } => None,
        }
    }

    /// Element type as written of the tensor at an index of the row order, without the tensor; `None` for anything else.
    pub(crate) fn dtype(self, index: usize) -> Option<&'a str> {
        match &self.form(index)?.body {
            Body::Tensor { dtype, .. } => Some(dtype),
            Body::Null | Body::Damaged | Body::Plain { .. } => None,
        }
    }

    fn form(self, index: usize) -> Option<&'a Form> {
        if index < self.len { self.records.form(self.start + index) } else { None }
    }

    /// All values in row order.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = Leaf<'a>> + Clone {
        (0..self.len).filter_map(move |index| self.get(index))
    }
}

impl<'a> RowName<'a> {
    /// Part of the row name after the operation's name; the whole name if it does not start with the operation's name.
    pub(crate) fn below_operation(&self) -> &'a str {
        self.rest
    }

    /// The last part of the name, after its last dot.
    pub fn last_part(&self) -> &'a str {
        self.rest.rsplit('.').next().unwrap_or_default()
    }

    /// The whole name.
    pub fn text(&self) -> Cow<'a, str> {
        if self.operation.is_empty() { self.rest.into() } else { [self.operation, self.rest].concat().into() }
    }

    fn bytes(&self) -> impl Iterator<Item = u8> {
        self.operation.bytes().chain(self.rest.bytes())
    }
}

impl fmt::Display for RowName<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.operation)?;
        formatter.write_str(self.rest)
    }
}

impl PartialEq for RowName<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.operation == other.operation && self.rest == other.rest || self.bytes().eq(other.bytes())
    }
}

impl PartialEq<str> for RowName<'_> {
    fn eq(&self, other: &str) -> bool {
        self.bytes().eq(other.bytes())
    }
}

impl<'a> Leaf<'a> {
    /// The record of a tensor; `None` for anything else.
    pub fn record(self) -> Option<TensorRecord<'a>> {
        self.tensor().copied()
    }

    /// Reference to the record of a tensor; `None` for anything else.
    pub fn tensor(&self) -> Option<&TensorRecord<'a>> {
        match &self.value {
            LeafValue::Tensor(record) => Some(record),
            _ => None,
        }
    }

    /// Name of the file in the data folder that a value was saved to; `None` if it was not saved.
    pub fn data_name(self) -> Option<String> {
        Some(format!("{}{}", self.row, self.extension()?))
    }

    /// Part of the data file's name after the row name; `None` if the value was not saved.
    pub fn extension(self) -> Option<&'a str> {
        match self.value {
            LeafValue::Null | LeafValue::Damaged => None,
            LeafValue::Tensor(record) => record.extension,
            LeafValue::Plain { extension, .. } => extension,
        }
    }
}

impl<'a> TensorRecord<'a> {
    /// Largest value, smallest value, mean and 2-norm.
    pub fn statistics(&self) -> [Statistic<'a>; 4] {
        [self.max, self.min, self.mean, self.norm]
    }

    /// Largest value, smallest value, mean and 2-norm, of each the number; `None` for what is none.
    #[inline]
    pub(crate) fn numbers(&self) -> [Option<f64>; 4] {
        // One by one: a mapped array is not inlined.
        [self.max.as_f64(), self.min.as_f64(), self.mean.as_f64(), self.norm.as_f64()]
    }

    /// Largest value, smallest value, mean and 2-norm as numbers; `None` if one of them is not a finite number.
    #[inline]
    pub(crate) fn finite_statistics(&self) -> Option<[f64; 4]> {
        let [max, min, mean, norm] = self.numbers();
        let all = [max?, min?, mean?, norm?];
        all.iter().all(|value| value.is_finite()).then_some(all)
    }

    /// Number of elements of the recorded shape, limited to [`u64::MAX`] because a damaged shape may be too large.
    pub fn elements(&self) -> u64 {
        self.shape.iter().fold(1, |product: u64, len| product.saturating_mul(*len))
    }
}

impl Statistic<'_> {
    /// The value as it was written.
    pub fn json(self) -> Json {
        match self {
            Self::Null => Json::Null,
            Self::Bool(value) => Json::Bool(value),
            Self::Int(value) => Json::Int(value),
            Self::Float(value) => Json::Float(value),
            Self::Other(value) => value.clone(),
        }
    }

    /// The value of any number (not of a boolean).
    #[allow(clippy::cast_precision_loss, reason = "Python converts the same way")]
    #[inline]
    pub fn as_f64(self) -> Option<f64> {
        match self {
            Self::Int(value) => Some(value as f64),
            Self::Float(value) => Some(value),
            Self::Other(value) => value.as_f64(),
            Self::Null | Self::Bool(_) => None,
        }
    }

    /// The truth value of a boolean.
    pub fn as_bool(self) -> Option<bool> {
        if let Self::Bool(value) = self { Some(value) } else { None }
    }
}
