//! Rows that do not agree and rows near them, with every value as it was recorded.

use std::borrow::Cow;
use std::collections::{BTreeSet, VecDeque};

use serde::Serialize;

use super::block::{BlockRow, INTEGERS, VALUES, clipped, texts_of};
use super::embedding::Embedding;
use super::texts::IndexedTexts;
use crate::error::Result;
use crate::result::number::Number;
use crate::result::operation::{OperationLine, RecordedValue, State};

/// Number of operations before and after one that does not agree which count as near.
const NEAR: u64 = 3;
/// Largest number of rows before one that does not agree; an operation may have hundreds of arguments.
const MOST_BEFORE: usize = 64;
/// Rows in full, and their bytes: a browser reads them in a tenth of a second.
const MOST_ROWS: usize = 20_000;
const MOST_BYTES: usize = 12 << 20;
/// Bytes of a value's text that are kept.
const MOST_VALUE: usize = 4096;

/// Rows in full, as JSON.
#[derive(Debug, Default)]
pub(super) struct FullRows {
    rows: String,
    count: usize,
    /// Indexes of the texts that they refer to.
    texts: BTreeSet<u32>,
    /// The last rows that agree, and reusable memory of earlier rows.
    recent: VecDeque<Copied>,
    spare: Vec<Copied>,
    /// Place of the last line.
    place: Option<Place>,
    /// Number of the last operation, with a gap of [`NEAR`] between two units.
    operation: u64,
    /// Number of the last operation that is near one that does not agree.
    near_until: u64,
}

/// Step and rank of a line, and the order of its operation.
type Place = ((u64, Option<u64>), u64);

fn place_of(line: &OperationLine<'_>) -> Place {
    ((line.step, line.rank), line.order)
}

/// A row, in memory that is reused.
#[derive(Debug, Default)]
struct Copied {
    operation: u64,
    row: usize,
    integers: [u32; INTEGERS],
    error: Option<Number>,
    limit: Option<Number>,
    sides: [Vec<RecordedValue<'static>>; 2],
    metrics: Vec<(usize, Number)>,
}

impl FullRows {
    /// Takes the next row: its number among all, whether it agrees, and whether a later one that does not may be near it.
    pub(super) fn add(&mut self, number: usize, (agrees, may_be_near): (bool, bool), row: &BlockRow<'_>) {
        if self.count >= MOST_ROWS || self.rows.len() >= MOST_BYTES {
            return;
        }
        if agrees && !may_be_near && self.operation > self.near_until {
            return;
        }
        let mut copied = self.spare.pop().unwrap_or_default();
        copied.take(self.operation, number, row);
        if !agrees {
            self.near_until = self.operation + NEAR;
            while let Some(before) = self.recent.pop_front() {
                self.write(before);
            }
        }
        if self.operation <= self.near_until {
            self.write(copied);
        } else {
            self.recent.push_back(copied);
        }
    }

    /// Goes on to the operation of a line, whether or not it becomes a row, and forgets rows that are not near it.
    pub(super) fn go_on_to(&mut self, line: &OperationLine<'_>) {
        let place = place_of(line);
        if self.place != Some(place) {
            let is_next = self.place.is_some_and(|(unit, _)| unit == place.0);
            self.operation += if is_next { 1 } else { NEAR + 1 };
            self.place = Some(place);
        }
        let is_far = |before: &Copied| before.operation + NEAR < self.operation;
        while self.recent.len() >= MOST_BEFORE || self.recent.front().is_some_and(is_far) {
            self.spare.extend(self.recent.pop_front());
        }
    }

    fn write(&mut self, copied: Copied) {
        self.texts.extend(texts_of(&copied.integers));
        self.rows.push_str(if self.count > 0 { "," } else { "" });
        self.rows.push_str(&serde_json::to_string(&copied.items()).unwrap_or_default());
        self.count += 1;
        self.spare.push(copied);
    }

    /// Writes the rows, and the strings that they refer to, by their indexes.
    ///
    /// A row is its number among all, whole numbers as in a block, error, limit, the values of both sides, and the metrics.
    pub(super) fn embed(&self, texts: &IndexedTexts, out: &mut Embedding<'_>) -> Result<()> {
        out.written("\"rows\":[")?;
        out.embedded(&self.rows)?;
        out.written("],\"strings\":{")?;
        for (place, index) in self.texts.iter().enumerate() {
            out.written(&format!("{}\"{index}\":", if place > 0 { "," } else { "" }))?;
            out.json(&texts.get(*index))?;
        }
        out.written("}")
    }
}

/// Tells of each of some lines in a row whether one that does not agree may be near behind it: one of these lines, or one after them.
pub(super) fn may_be_near(lines: &[OperationLine<'_>]) -> Vec<bool> {
    let (mut distance, mut behind) = (0, lines.last().map(place_of));
    let mut near = vec![true; lines.len()];
    for (line, near) in lines.iter().zip(&mut near).rev() {
        distance += u64::from(behind.replace(place_of(line)) != Some(place_of(line)));
        distance = if line.state == State::Agrees { distance } else { 0 };
        *near = distance <= NEAR;
    }
    near
}

impl Copied {
    fn take(&mut self, operation: u64, number: usize, row: &BlockRow<'_>) {
        (self.operation, self.row, self.integers) = (operation, number, row.integers());
        (self.error, self.limit) = (row.error, row.limit);
        for (kept, side) in self.sides.iter_mut().zip(row.sides) {
            kept.resize(side.values.len().min(VALUES), RecordedValue::Null);
            for (kept, value) in kept.iter_mut().zip(side.values) {
                *kept = shortened(value);
            }
        }
        row.metrics.clone_into(&mut self.metrics);
    }

    fn items(&self) -> Vec<Item> {
        let mut items = vec![Item::Row(self.row)];
        items.extend(self.integers.map(Item::Integer));
        items.extend([self.error, self.limit].map(Item::of));
        items
            .extend(self.sides.each_ref().map(|values| Item::Values(values.iter().map(ToString::to_string).collect())));
        let metrics = self.metrics.iter().map(|(index, _)| index + 1).max().unwrap_or_default();
        let number = |index| self.metrics.iter().find(|(at, _)| *at == index).map(|(_, number)| *number);
        items.extend((0..metrics).map(|index| Item::of(number(index))));
        items
    }
}

/// A value with texts of its own, which are not longer than a page should have them.
fn shortened(value: &RecordedValue<'_>) -> RecordedValue<'static> {
    match value {
        RecordedValue::Text(text) => RecordedValue::Text(Cow::Owned(clipped(text, MOST_VALUE).into_owned())),
        other => other.clone().into_owned(),
    }
}

/// One item of a row.
#[derive(Serialize)]
#[serde(untagged)]
enum Item {
    Row(usize),
    Integer(u32),
    Number(Option<Number>),
    Values(Vec<String>),
}

impl Item {
    /// A number with five significant digits: the page shows four.
    fn of(number: Option<Number>) -> Self {
        let rounded = |number: Number| format!("{:.4e}", number.0).parse().map_or(number, Number);
        Self::Number(number.map(rounded))
    }
}
