//! Builder of the columns of a dump, value by value.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use super::compact::Shared;
use super::precision::Precision;
use super::records::{Body, Form, Leaf, LeafValue, Operations, Span, Tag};
use crate::dtype::Dtype;
use crate::hash::ByHash;
use crate::kind::TensorKind;
use crate::read::json::Json;

/// Most values and bytes that memory is reserved for in advance.
const MOST_EXPECTED: usize = 1 << 23;

/// Operations of a dump while they are being built.
#[derive(Default)]
pub(super) struct Builder {
    operations: Operations,
    /// Indices of forms, by hash.
    forms: ByHash<u32>,
    shared: Shared,
    /// Name and index of the operation that new values belong to.
    name: String,
    current: usize,
}

/// A tensor record to be added.
pub(super) struct NewTensor<'a> {
    pub(super) dtype: &'a str,
    pub(super) shape: &'a [u64],
    /// Largest value, smallest value, mean and 2-norm.
    pub(super) statistics: [Cow<'a, Json>; 4],
    pub(super) requires_grad: Option<bool>,
    pub(super) checksum: Option<&'a str>,
    /// Part of the data file's name after the row name, such as `.npy`; `None` where the data was not saved.
    pub(super) extension: Option<&'a str>,
}

/// Name and role of a value in its operation.
#[derive(Hash)]
struct Place<'a> {
    row: &'a str,
    kind: TensorKind,
    is_below_operation: bool,
}

impl<'a> Place<'a> {
    fn of(operation: &str, row: &'a str, kind: TensorKind) -> Self {
        let below = row.strip_prefix(operation);
        Self { row: below.unwrap_or(row), kind, is_below_operation: below.is_some() }
    }

    fn is_of(&self, form: &Form) -> bool {
        (&*form.row, form.kind, form.is_below_operation) == (self.row, self.kind, self.is_below_operation)
    }
}

impl Body {
    /// Adds `by` to the words that are indices into the list of other values.
    fn shift_others(&self, words: &mut [u64; 4], by: u64) {
        match self {
            Self::Null | Self::Damaged => {}
            Self::Plain { .. } => words[0] += by,
            Self::Tensor { statistics, .. } => {
                let places = words.iter_mut().zip(statistics).filter(|(_, tag)| **tag == Tag::Other);
                places.for_each(|(word, _)| *word += by);
            }
        }
    }
}

impl Builder {
    /// Begins an operation. The values that follow belong to it.
    pub(super) fn begin(&mut self, name: &str) {
        name.clone_into(&mut self.name);
        self.current = self.operations.len();
        self.operations.names_mut().push(name);
        self.operations.spans.push(Span::new(self.operations.form_of.len(), 0));
    }

    /// Records the number of digits that statistics were printed with.
    pub(super) fn set_precision(&mut self, precision: Precision) {
        self.operations.precision = precision;
    }

    /// Whether there is no operation yet.
    pub(super) fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Name of the current operation; empty before the first.
    pub(super) fn current(&self) -> &str {
        &self.name
    }

    /// Adds `null`.
    pub(super) fn add_null(&mut self, row: &str, kind: TensorKind) {
        let place = Place::of(&self.name, row, kind);
        let hash = crate::hash::hash_of(&place);
        let form = self.form(hash, &place, |body| *body == Body::Null, |_| Body::Null);
        self.push(form, [0; 4], "");
    }

    /// Adds a damaged record, which lacks its type, element type or shape.
    pub(super) fn add_damaged(&mut self, row: &str, kind: TensorKind) {
        let place = Place::of(&self.name, row, kind);
        let hash = crate::hash::hash_of(&(&place, "damaged"));
        let form = self.form(hash, &place, |body| *body == Body::Damaged, |_| Body::Damaged);
        self.push(form, [0; 4], "");
    }

    /// Adds a value that is not a tensor.
    pub(super) fn add_plain(&mut self, row: &str, kind: TensorKind, type_name: &str, value: Json) {
        self.add_saved_plain(row, kind, type_name, value, None);
    }

    /// Adds a value that is not a tensor and may have been saved to a file whose name ends with `extension`.
    pub(super) fn add_saved_plain(
        &mut self,
        row: &str,
        kind: TensorKind,
        type_name: &str,
        value: Json,
        extension: Option<&str>,
    ) {
        let place = self.other(value);
        let place_of = Place::of(&self.name, row, kind);
        let hash = crate::hash::hash_of(&(&place_of, type_name, extension));
        let is = |body: &Body| {
            matches!(body, Body::Plain { type_name: known, extension: end }
                if **known == *type_name && end.as_deref() == extension)
        };
        let make = |shared: &mut Shared| Body::Plain {
            type_name: shared.text(type_name),
            extension: extension.map(|extension| shared.text(extension)),
        };
        let form = self.form(hash, &place_of, is, make);
        self.push(form, [place, 0, 0, 0], "");
    }

    /// Adds a tensor.
    pub(super) fn add_tensor(&mut self, row: &str, kind: TensorKind, tensor: &NewTensor<'_>) {
        let words = tensor.statistics.each_ref().map(|statistic| self.word(statistic));
        let tags = words.map(|(tag, _)| tag);
        let place = Place::of(&self.name, row, kind);
        let NewTensor { dtype, shape, requires_grad, extension, .. } = *tensor;
        let hash = crate::hash::hash_of(&(&place, dtype, shape, tags, requires_grad, extension));
        let is = |body: &Body| {
            matches!(body, Body::Tensor { dtype: name, shape: sizes, statistics, requires_grad: grad, extension: end, .. }
                if **name == *dtype && **sizes == *shape && *statistics == tags && *grad == requires_grad
                    && end.as_deref() == extension)
        };
        let make = |shared: &mut Shared| Body::Tensor {
            dtype: shared.text(dtype),
            element: Dtype::parse(dtype),
            shape: shared.shape(shape),
            statistics: tags,
            requires_grad,
            extension: extension.map(|extension| shared.text(extension)),
        };
        let form = self.form(hash, &place, is, make);
        self.push(form, words.map(|(_, word)| word), tensor.checksum.unwrap_or_default());
    }

    /// Memory that the columns take.
    pub(super) fn bytes(&self) -> usize {
        let Operations { names, spans, forms, form_of, words, checksums, others, precision: _ } = &self.operations;
        let texts = [names.as_ref(), checksums].map(|texts| texts.bytes() + texts.len() * size_of::<usize>());
        texts.iter().sum::<usize>()
            + size_of_val(spans.as_slice())
            + size_of_val(forms.as_slice())
            + size_of_val(form_of.as_slice())
            + words.bytes()
            + size_of_val(others.as_slice())
    }

    /// Returns the finished operations.
    pub(super) fn finish(mut self) -> Operations {
        self.operations.shrink_to_fit();
        self.operations
    }

    /// Reserves memory for `times` parts of this size, because columns that grow step by step are copied many times.
    pub(super) fn reserve_for(&mut self, part: &Self, times: u64) {
        let times = usize::try_from(times).unwrap_or(usize::MAX);
        let columns = &mut self.operations;
        let all = |count: usize| count.saturating_mul(times).min(MOST_EXPECTED);
        let values = all(part.operations.form_of.len());
        // If the reservation fails, the column grows as usual.
        let _grows = columns.form_of.try_reserve(values);
        columns.words.reserve(values, &part.operations.words);
        let _grows = columns.spans.try_reserve(all(part.operations.spans.len()));
        columns.names_mut().reserve(all(part.operations.names.len()), all(part.operations.names.bytes()));
    }

    /// Adds all operations of `part`. `place` is called with each of its names in order and returns the index of a name that is
    /// already known. If a name is repeated, its last record counts, at the first place, as in Python.
    pub(super) fn append(&mut self, part: Self, mut place: impl FnMut(&str) -> Option<usize>) {
        let part = part.operations;
        let forms: Vec<u32> = part.forms.into_iter().map(|form| self.known_form(form)).collect();
        let (first, others) = (self.operations.form_of.len(), self.operations.others.len() as u64);
        self.operations.others.extend(part.others);
        for (index, form) in part.form_of.iter().enumerate() {
            let mut words = part.words.get(index).unwrap_or_default();
            let form = forms.get(*form as usize).copied().unwrap_or(u32::MAX);
            if others > 0
                && let Some(form) = self.operations.forms.get(form as usize)
            {
                form.body.shift_others(&mut words, others);
            }
            self.add(form, words, part.checksums.get(index).unwrap_or_default());
        }
        for (index, own) in part.spans.into_iter().enumerate() {
            let name = part.names.get(index).unwrap_or_default();
            let span = own.shifted(first);
            match place(name).and_then(|known| self.operations.spans.get_mut(known)) {
                Some(known) => *known = span,
                None => {
                    self.operations.names_mut().push(name);
                    self.operations.spans.push(span);
                }
            }
        }
    }

    fn push(&mut self, form: u32, words: [u64; 4], checksum: &str) {
        self.add(form, words, checksum);
        if let Some(span) = self.operations.spans.get_mut(self.current) {
            span.grow();
        }
    }

    /// Adds a value to the columns.
    fn add(&mut self, form: u32, words: [u64; 4], checksum: &str) {
        let columns = &mut self.operations;
        if !checksum.is_empty() {
            // Fill the entries of earlier values, which have no checksum.
            (columns.checksums.len()..columns.form_of.len()).for_each(|_| columns.checksums.push(""));
        }
        if !checksum.is_empty() || columns.checksums.len() > 0 {
            columns.checksums.push(checksum);
        }
        columns.form_of.push(form);
        columns.words.push(words);
    }

    /// Index of the form at `place` whose body is as wanted. The form is created if it does not exist yet.
    fn form(
        &mut self,
        hash: u64,
        place: &Place<'_>,
        is: impl Fn(&Body) -> bool,
        make: impl FnOnce(&mut Shared) -> Body,
    ) -> u32 {
        let known = self.forms.get(&hash).copied();
        let is_it = |form: &Form| place.is_of(form) && is(&form.body);
        if let Some(number) = known.filter(|number| self.operations.forms.get(*number as usize).is_some_and(is_it)) {
            return number;
        }
        let Place { row, kind, is_below_operation } = *place;
        let row = self.shared.text(row);
        let form = Form { kind, row, is_below_operation, body: make(&mut self.shared) };
        self.new_form(hash, form)
    }

    /// Index here of a form of another builder.
    fn known_form(&mut self, form: Form) -> u32 {
        let hash = crate::hash::hash_of(&form);
        match self.forms.get(&hash) {
            Some(number) if self.operations.forms.get(*number as usize) == Some(&form) => *number,
            _ => self.new_form(hash, form),
        }
    }

    fn new_form(&mut self, hash: u64, form: Form) -> u32 {
        let number = u32::try_from(self.operations.forms.len()).unwrap_or(u32::MAX);
        self.operations.forms.push(form);
        self.forms.insert(hash, number);
        number
    }

    fn word(&mut self, statistic: &Json) -> (Tag, u64) {
        match statistic {
            Json::Null => (Tag::Null, 0),
            Json::Bool(value) => (Tag::Bool, u64::from(*value)),
            Json::Int(value) => (Tag::Int, value.cast_unsigned()),
            Json::Float(value) => (Tag::Float, value.to_bits()),
            other => (Tag::Other, self.other(other.clone())),
        }
    }

    fn other(&mut self, value: Json) -> u64 {
        self.operations.others.push(value);
        self.operations.others.len() as u64 - 1
    }
}

impl Operations {
    /// Copies all operations and adds plain arguments to some of them. `arguments` has row names and values by the operation's index.
    #[must_use]
    pub(crate) fn with_arguments(&self, arguments: &BTreeMap<usize, Vec<(String, Json)>>) -> Self {
        let mut builder = Builder::default();
        builder.set_precision(self.precision);
        for (index, operation) in self.iter().enumerate() {
            builder.begin(operation.name);
            operation.leaves.iter().for_each(|leaf| builder.leaf(leaf));
            for (row, value) in arguments.get(&index).into_iter().flatten() {
                builder.add_plain(row, TensorKind::Input, "default", value.clone());
            }
        }
        builder.finish()
    }

    /// Copies all operations without the values of the given rows.
    #[must_use]
    pub(crate) fn without_rows(&self, rows: &HashSet<String>) -> Self {
        let mut builder = Builder::default();
        builder.set_precision(self.precision);
        for operation in self.iter() {
            builder.begin(operation.name);
            let kept = operation.leaves.iter().filter(|leaf| !rows.contains(leaf.row.text().as_ref()));
            kept.for_each(|leaf| builder.leaf(leaf));
        }
        builder.finish()
    }

    /// Copies only the operation at `index`, with its values.
    #[must_use]
    pub(crate) fn single_operation(&self, index: usize) -> Self {
        let mut builder = Builder::default();
        builder.set_precision(self.precision);
        if let Some(operation) = self.get(index) {
            builder.begin(operation.name);
            operation.leaves.iter().for_each(|leaf| builder.leaf(leaf));
        }
        builder.finish()
    }
}

impl Builder {
    fn leaf(&mut self, leaf: Leaf<'_>) {
        let row = leaf.row.to_string();
        match leaf.value {
            LeafValue::Null => self.add_null(&row, leaf.kind),
            LeafValue::Damaged => self.add_damaged(&row, leaf.kind),
            LeafValue::Plain { type_name, value, extension } => {
                self.add_saved_plain(&row, leaf.kind, type_name, value.clone(), extension);
            }
            LeafValue::Tensor(record) => {
                let tensor = NewTensor {
                    dtype: record.dtype,
                    shape: record.shape,
                    statistics: record.statistics().map(|statistic| Cow::Owned(statistic.json())),
                    requires_grad: record.requires_grad,
                    checksum: record.checksum,
                    extension: record.extension,
                };
                self.add_tensor(&row, leaf.kind, &tensor);
            }
        }
    }
}
