//! Records of a part of a file, stored by column: the result of one thread while other threads read other parts.

use std::collections::HashMap;

use super::beside::RecordContext;
use super::series::Steps;

/// Consecutive records, with the values of each metric in one column.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) columns: Vec<Column>,
    pub(super) records: Vec<Record>,
    /// Distinct shapes of records; most files have one or a few.
    pub(super) shapes: Vec<Shape>,
    /// Columns in the order in which they first had a value.
    pub(super) with_values: Vec<usize>,
    /// Number of entries: values, and metrics that a record lists without one.
    pub(super) entries: usize,
    /// Whether a record has two entries of one metric.
    pub(super) has_repeats: bool,
    places: HashMap<String, usize>,
    known: HashMap<Shape, usize>,
    /// Entries of the record that is being read.
    open: Shape,
}

/// Values of one metric, in the order of the records that have one.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) values: Vec<f64>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) context: RecordContext,
    pub(super) step: Option<u64>,
    /// Index of its shape in the batch.
    pub(super) shape: usize,
}

/// The entries of a record, in its order.
pub(super) type Shape = Vec<Entry>;

/// A metric of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Entry {
    /// Index of its column in the batch.
    pub(super) column: usize,
    /// Whether it has a value; otherwise the record lists the metric without one.
    pub(super) has_value: bool,
}

impl Batch {
    /// Returns the index of the column of metric `name`, and adds the column where it is new.
    pub(super) fn column(&mut self, name: &str) -> usize {
        if let Some(place) = self.places.get(name) {
            return *place;
        }
        self.places.insert(name.to_owned(), self.columns.len());
        self.columns.push(Column { name: name.to_owned(), values: Vec::new() });
        self.columns.len() - 1
    }

    /// Adds an entry to the record that is being read: a value, or `None` where the record lists a metric without one.
    pub(super) fn add(&mut self, column: usize, value: Option<f64>) {
        self.open.push(Entry { column, has_value: value.is_some() });
        if let (Some(value), Some(column_of)) = (value, self.columns.get_mut(column)) {
            if column_of.values.is_empty() {
                self.with_values.push(column);
            }
            column_of.values.push(value);
        }
    }

    /// Ends the record that is being read.
    pub(super) fn finish_record(&mut self, beside: RecordContext, step: Option<u64>) {
        self.entries += self.open.len();
        let last = self.records.last().map(|record| record.shape);
        let shape = match last.filter(|last| self.shapes.get(*last) == Some(&self.open)) {
            Some(last) => last,
            None => self.shape(),
        };
        self.open.clear();
        self.records.push(Record { context: beside, step, shape });
    }

    /// Discards the record that is being read.
    pub(super) fn discard(&mut self) {
        for entry in std::mem::take(&mut self.open).into_iter().filter(|entry| entry.has_value) {
            let Some(column) = self.columns.get_mut(entry.column) else { continue };
            column.values.pop();
            if column.values.is_empty() {
                self.with_values.retain(|other| *other != entry.column);
            }
        }
    }

    fn shape(&mut self) -> usize {
        if let Some(known) = self.known.get(&self.open) {
            return *known;
        }
        let mut columns: Vec<usize> = self.open.iter().map(|entry| entry.column).collect();
        columns.sort_unstable();
        self.has_repeats |= columns.windows(2).any(|pair| matches!(pair, [a, b] if a == b));
        self.known.insert(self.open.clone(), self.shapes.len());
        self.shapes.push(self.open.clone());
        self.shapes.len() - 1
    }

    /// Steps of all records whose shape is marked in `is_due`.
    pub(super) fn steps_of(&self, is_due: &[bool]) -> Steps {
        let mut steps = Steps::numbered();
        let due = self.records.iter().filter(|record| is_due.get(record.shape) == Some(&true));
        steps.extend(due.filter_map(|record| record.step));
        steps
    }
}
