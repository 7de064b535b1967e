//! Building the columns of a dump, value by value.

use std::collections::HashMap;

use super::TensorKind;
use super::compact::Shared;
use super::records::{Body, Form, Leaf, Operations, Statistic, Tag, Value};
use crate::read::json::Json;

/// A dump in the making.
#[derive(Default)]
pub(super) struct Builder {
    operations: Operations,
    forms: HashMap<Form, u32>,
    shared: Shared,
    /// Name and index of the operation that values belong to.
    name: String,
    current: usize,
}

/// A tensor as it was read.
pub(super) struct NewTensor<'a> {
    pub(super) dtype: &'a str,
    pub(super) shape: &'a [u64],
    /// Largest value, smallest value, mean and 2-norm.
    pub(super) statistics: [&'a Json; 4],
    pub(super) requires_grad: Option<bool>,
    pub(super) checksum: Option<&'a str>,
    /// Part of the data file's name after the row name, such as `.npy`; `None` where the data was not saved.
    pub(super) extension: Option<&'a str>,
}

impl Builder {
    /// Begins an operation, and tells its index; values that follow are its own.
    pub(super) fn begin(&mut self, name: &str) -> usize {
        let index = self.operations.len();
        self.operations.names.push(name);
        self.operations.spans.push((0, 0));
        self.begin_again(index, name);
        index
    }

    /// Begins the operation at `index` again, without the values it had: of a repeated name the last record counts, at
    /// the first place, as in Python.
    pub(super) fn begin_again(&mut self, index: usize, name: &str) {
        name.clone_into(&mut self.name);
        self.current = index;
        if let Some(span) = self.operations.spans.get_mut(index) {
            *span = (self.operations.form_of.len(), 0);
        }
    }

    /// Name of the operation that values belong to now; empty before the first.
    pub(super) fn current(&self) -> &str {
        &self.name
    }

    /// Adds `null`.
    pub(super) fn null(&mut self, row: &str, kind: TensorKind) {
        self.push(row, kind, Body::Null, [0; 4], "");
    }

    /// Adds a value that is not a tensor.
    pub(super) fn plain(&mut self, row: &str, kind: TensorKind, type_name: &str, value: Json) {
        self.saved_plain(row, kind, type_name, value, None);
    }

    /// Adds a value that is not a tensor and may have been saved to a file whose name ends with `extension`.
    pub(super) fn saved_plain(
        &mut self,
        row: &str,
        kind: TensorKind,
        type_name: &str,
        value: Json,
        extension: Option<&str>,
    ) {
        let extension = extension.map(|extension| self.shared.text(extension));
        let body = Body::Plain { type_name: self.shared.text(type_name), extension };
        let place = self.other(value);
        self.push(row, kind, body, [place, 0, 0, 0], "");
    }

    /// Adds a tensor.
    pub(super) fn tensor(&mut self, row: &str, kind: TensorKind, tensor: &NewTensor<'_>) {
        let words = tensor.statistics.map(|statistic| self.word(statistic));
        let body = Body::Tensor {
            dtype: self.shared.text(tensor.dtype),
            shape: self.shared.shape(tensor.shape),
            statistics: words.map(|(tag, _)| tag),
            requires_grad: tensor.requires_grad,
            extension: tensor.extension.map(|extension| self.shared.text(extension)),
        };
        self.push(row, kind, body, words.map(|(_, word)| word), tensor.checksum.unwrap_or_default());
    }

    /// The dump's operations.
    pub(super) fn finish(mut self) -> Operations {
        self.operations.shrink_to_fit();
        self.operations
    }

    fn push(&mut self, row: &str, kind: TensorKind, body: Body, words: [u64; 4], checksum: &str) {
        let below = row.strip_prefix(self.name.as_str());
        let form =
            Form { kind, row: self.shared.text(below.unwrap_or(row)), is_below_operation: below.is_some(), body };
        let form = self.form(form);
        let columns = &mut self.operations;
        if !checksum.is_empty() {
            // Values before the first that has one.
            (columns.checksums.len()..columns.form_of.len()).for_each(|_| columns.checksums.push(""));
        }
        if !checksum.is_empty() || columns.checksums.len() > 0 {
            columns.checksums.push(checksum);
        }
        columns.form_of.push(form);
        columns.words.push(words);
        if let Some((_, len)) = columns.spans.get_mut(self.current) {
            *len += 1;
        }
    }

    fn form(&mut self, form: Form) -> u32 {
        if let Some(known) = self.forms.get(&form) {
            return *known;
        }
        let number = u32::try_from(self.operations.forms.len()).unwrap_or(u32::MAX);
        self.operations.forms.push(form.clone());
        self.forms.insert(form, number);
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
    /// The operation at `index` alone, with its values.
    #[must_use]
    pub fn only(&self, index: usize) -> Self {
        let mut builder = Builder::default();
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
            Value::Null => self.null(&row, leaf.kind),
            Value::Plain { type_name, value, extension } => {
                self.saved_plain(&row, leaf.kind, type_name, value.clone(), extension);
            }
            Value::Tensor(record) => {
                let statistics = record.statistics().map(Statistic::json);
                let tensor = NewTensor {
                    dtype: record.dtype,
                    shape: record.shape,
                    statistics: statistics.each_ref(),
                    requires_grad: record.requires_grad,
                    checksum: record.checksum,
                    extension: record.extension,
                };
                self.tensor(&row, leaf.kind, &tensor);
            }
        }
    }
}
