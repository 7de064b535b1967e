//! The operations of the page, taken one line at a time as they are judged.
//!
//! Lines that do not agree and those near them are kept in full, and every line by columns in packed blocks: some 30 bytes a line.
//! Names are kept once each. Lines may be those of an untrusted run: what is kept of them has limits, and a line that
//! exceeds them is left out and counted.

use std::collections::HashMap;
use std::fmt::Write;
use std::ops::ControlFlow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::block::{Block, BlockRow, BlockSide, ROWS};
use super::embedding::Embedding;
use super::full::{FullRows, may_be_near};
use super::texts::IndexedTexts;
use crate::error::{Error, ErrorKind, Result};
use crate::kind::TensorKind;
use crate::report::lines::OperationLines;
use crate::result::number::Number;
use crate::result::operation::{OperationLine, Recorded, State};

/// Rows in the page: agreeing ones, and all. A browser holds more with ease; the size of the file is the limit.
const MOST_AGREEING: usize = 1_000_000;
const MOST_ROWS: usize = 1_500_000;
/// Largest size in bytes of all blocks together, which take a third more in the page, and of all names before they are packed.
const MOST_PACKED: usize = 72 << 20;
const MOST_NAMES: usize = 64 << 20;
/// Bytes of one name, and numbers of one shape.
const MOST_NAME: usize = 4096;
const MOST_DIMENSIONS: usize = 64;
/// Metrics that rows have; those of a real run are at most a dozen.
const MOST_METRICS: usize = 64;
/// Bit in the code of a state that is set if error and limit explain the state.
const EXPLAINED: u32 = 8;

/// Operations of a page in the making.
#[derive(Debug, Default)]
pub struct Operations {
    full: FullRows,
    block: Block,
    packed: Vec<Box<[u8]>>,
    /// Bytes of the packed blocks.
    bytes: usize,
    texts: IndexedTexts,
    /// Number of texts that packed blocks hold already.
    packed_texts: usize,
    last: Last,
    units: Vec<Unit>,
    unit_at: HashMap<Unit, u32>,
    metrics: Vec<String>,
    /// Metrics of the line at hand, each by its index.
    numbers: Vec<(usize, Number)>,
    /// Types with shapes of the line at hand.
    types: [String; 2],
    rows: usize,
    agreeing: usize,
    total: usize,
}

/// Step and rank.
type Unit = (u64, Option<u64>);

/// Indexes of texts of the last line, which the next line mostly shares.
#[derive(Debug, Default)]
struct Last {
    unit: u32,
    op: u32,
    module: u32,
    reason: u32,
    types: [u32; 2],
    /// Ends of the names of the last operations' tensors, by their place in the operation; of the first ones.
    ends: [u32; 32],
    /// Place of the last line in its operation.
    place: usize,
}

/// The operations of a page.
#[derive(Debug)]
pub struct OperationTable {
    full: FullRows,
    texts: IndexedTexts,
    packed: Vec<Box<[u8]>>,
    units: Vec<Unit>,
    metrics: Vec<String>,
    rows: usize,
    agreeing: usize,
    total: usize,
}

impl Operations {
    /// Takes the next line.
    ///
    /// # Errors
    /// `Internal` where rows cannot be packed.
    pub fn add(&mut self, line: &OperationLine<'_>) -> Result<()> {
        self.add_line(line, true)
    }

    /// Takes the next lines, in less time than one by one.
    ///
    /// # Errors
    /// As [`Operations::add`].
    pub(in crate::report) fn add_all(&mut self, lines: &[OperationLine<'_>]) -> Result<()> {
        lines.iter().zip(may_be_near(lines)).try_for_each(|(line, near)| self.add_line(line, near))
    }

    /// Takes the next line; `may_be_near` tells whether a later one that does not agree may be near it.
    fn add_line(&mut self, line: &OperationLine<'_>, may_be_near: bool) -> Result<()> {
        self.total += 1;
        self.full.go_on_to(line);
        let Some(order) = u32::try_from(line.order).ok().filter(|_| self.has_room(line)) else { return Ok(()) };
        self.name_types(line);
        self.number_metrics(line);
        let row = BlockRow {
            unit: self.unit(line),
            order,
            op: self.op(line),
            tensor: self.tensor(line),
            module: self.texts.index_or_last(&mut self.last.module, &line.module),
            kind: code_of_kind(line.kind),
            state: code_of_state(line),
            reason: self.texts.index_or_last(&mut self.last.reason, &line.reason),
            error: line.error,
            limit: line.limit,
            sides: self.sides(line),
            metrics: &self.numbers,
        };
        let agrees = line.state == State::Agrees;
        self.block.push(&row);
        self.full.add(self.rows, (agrees, may_be_near), &row);
        self.rows += 1;
        self.agreeing += usize::from(agrees);
        if self.block.len() == ROWS { self.pack() } else { Ok(()) }
    }

    /// The operations that were taken.
    ///
    /// # Errors
    /// As [`Operations::add`].
    pub fn finish(mut self) -> Result<OperationTable> {
        if self.block.len() > 0 {
            self.pack()?;
        }
        let Self { full, texts, packed, units, metrics, rows, agreeing, total, .. } = self;
        Ok(OperationTable { full, texts, packed, units, metrics, rows, agreeing, total })
    }

    fn has_room(&self, line: &OperationLine<'_>) -> bool {
        let has_rows = self.rows < MOST_ROWS && (line.state != State::Agrees || self.agreeing < MOST_AGREEING);
        let has_bytes = self.bytes < MOST_PACKED && self.texts.bytes() < MOST_NAMES;
        let sides = [&line.baseline, &line.candidate].into_iter().flatten();
        let fits = |name: &str| name.len() <= MOST_NAME;
        let is_side_short = |side: &Recorded<'_>| {
            side.tensor.as_deref().is_none_or(fits) && fits(&side.dtype) && side.shape.len() <= MOST_DIMENSIONS
        };
        let is_short = [&line.op, &line.module, &line.tensor, &line.reason].into_iter().all(|name| fits(name));
        has_rows && has_bytes && is_short && sides.clone().all(is_side_short)
    }

    fn name_types(&mut self, line: &OperationLine<'_>) {
        let [of_baseline, of_candidate] = &mut self.types;
        name_type(line.baseline.as_ref(), of_baseline);
        match (&line.baseline, &line.candidate) {
            (Some(left), Some(right)) if (&left.dtype, &left.shape) == (&right.dtype, &right.shape) => {
                of_candidate.clone_from(of_baseline);
            }
            (_, right) => name_type(right.as_ref(), of_candidate),
        }
    }

    fn number_metrics(&mut self, line: &OperationLine<'_>) {
        self.numbers.clear();
        for (place, (name, number)) in line.metrics.iter().enumerate() {
            // Lines mostly have the same metrics in the same order.
            let is_there = self.metrics.get(place).is_some_and(|known| known == name);
            let known = is_there.then_some(place).or_else(|| self.metrics.iter().position(|known| known == name));
            if known.is_none() && (self.metrics.len() >= MOST_METRICS || name.len() > MOST_NAME) {
                continue;
            }
            let index = known.unwrap_or_else(|| {
                self.metrics.push(name.to_string());
                self.metrics.len() - 1
            });
            self.numbers.push((index, *number));
        }
    }

    fn unit(&mut self, line: &OperationLine<'_>) -> u32 {
        let unit = (line.step, line.rank);
        if self.units.get(self.last.unit as usize) != Some(&unit) {
            let next = u32::try_from(self.units.len()).unwrap_or(u32::MAX);
            self.last.unit = *self.unit_at.entry(unit).or_insert(next);
            self.units.extend((self.last.unit == next).then_some(unit));
        }
        self.last.unit
    }

    /// Name of the line's operation.
    fn op(&mut self, line: &OperationLine<'_>) -> u32 {
        let before = self.last.op;
        let op = self.texts.index_or_last(&mut self.last.op, &line.op);
        self.last.place = if op == before { self.last.place + 1 } else { 0 };
        op
    }

    /// Name of the line's tensor: most begin with the operation, and have few different ends, mostly those of the operation before.
    fn tensor(&mut self, line: &OperationLine<'_>) -> u32 {
        let Some(end) = end(&line.tensor, &line.op) else { return self.texts.index(&line.tensor) << 1 | 1 };
        match self.last.ends.get_mut(self.last.place) {
            Some(last) => self.texts.index_or_last(last, end) << 1,
            None => self.texts.index(end) << 1,
        }
    }

    fn sides<'a>(&mut self, line: &'a OperationLine<'_>) -> [BlockSide<'a>; 2] {
        let (texts, [left, right], last) = (&mut self.texts, &self.types, &mut self.last.types);
        let types = [texts.index_or_last(&mut last[0], left), texts.index_or_last(&mut last[1], right)];
        [(&line.baseline, types[0]), (&line.candidate, types[1])].map(|(side, type_and_shape)| {
            side.as_ref().map_or_else(BlockSide::default, |side| BlockSide {
                type_and_shape: type_and_shape + 1,
                tensor: side.tensor.as_deref().map_or(0, |own| self.tensor_of_side(line, own)),
                values: &side.values,
            })
        })
    }

    /// Name that a side's tensor has of its own, as [`Operations::tensor`] with an operation of its own.
    fn tensor_of_side(&mut self, line: &OperationLine<'_>, own: &str) -> u32 {
        let op = end(&line.tensor, &line.op).and_then(|end| own.strip_suffix(end)?.strip_suffix('.'));
        match op.filter(|op| !op.is_empty()) {
            Some(op) => self.texts.index(op) << 1,
            None => self.texts.index(own) << 1 | 1,
        }
    }

    fn pack(&mut self) -> Result<()> {
        let packed = self.block.pack(self.texts.texts_from(self.packed_texts).collect());
        let packed = packed.map_err(|error| Error::new(ErrorKind::Internal, "report.html", error))?;
        self.bytes += packed.len();
        self.packed.push(packed);
        self.packed_texts = self.texts.len();
        Ok(())
    }
}

impl OperationTable {
    /// Makes the operations of a page from lines.
    ///
    /// # Errors
    /// Errors of reading; and as [`Operations::add`].
    pub fn from_lines(lines: &OperationLines<'_>) -> Result<Self> {
        let mut operations = Operations::default();
        lines.for_each_line(|line| operations.add(line).map(ControlFlow::Continue))?;
        operations.finish()
    }

    /// Writes what the page's scripts need at once: the rows in full, and what the blocks refer to.
    pub(super) fn embed(&self, out: &mut Embedding<'_>) -> Result<()> {
        out.written("{")?;
        self.full.embed(&self.texts, out)?;
        out.written(",\"units\":")?;
        out.json(&self.units)?;
        out.written(",\"metrics\":")?;
        out.json(&self.metrics)?;
        let (count, wrong, total) = (self.rows, self.rows - self.agreeing, self.total);
        let names = self.texts.len();
        out.written(&format!(",\"names\":{names},\"count\":{count},\"wrong\":{wrong},\"total\":{total}}}"))
    }

    /// Writes the packed blocks of all rows, one a line, in base64.
    pub(super) fn embed_blocks(&self, out: &mut Embedding<'_>) -> Result<()> {
        self.packed.iter().try_for_each(|packed| {
            out.written(&STANDARD.encode(packed))?;
            out.written("\n")
        })
    }
}

/// Replaces `text` by type and shape of a side; by nothing where there is no such side.
fn name_type(side: Option<&Recorded<'_>>, text: &mut String) {
    text.clear();
    let Some(Recorded { dtype, shape, .. }) = side else { return };
    text.push_str(dtype);
    for (index, size) in shape.iter().enumerate() {
        text.push_str(if index > 0 { ", " } else { " [" });
        // Writing to a string cannot fail.
        let _ = write!(text, "{size}");
    }
    text.push_str(if shape.is_empty() { "" } else { "]" });
}

/// The end of a tensor's name, behind the operation and a point.
fn end<'a>(tensor: &'a str, op: &str) -> Option<&'a str> {
    tensor.strip_prefix(op)?.strip_prefix('.').filter(|_| !op.is_empty())
}

fn code_of_kind(kind: TensorKind) -> u32 {
    match kind {
        TensorKind::Input => 0,
        TensorKind::Parameter => 1,
        TensorKind::Output => 2,
        TensorKind::ParameterGradient => 3,
        TensorKind::Value => 4,
    }
}

fn code_of_state(line: &OperationLine<'_>) -> u32 {
    let is_explained = line
        .error
        .zip(line.limit)
        .is_some_and(|(error, limit)| error.0 <= limit.0 || error.0.is_nan() || limit.0.is_nan());
    let state = match line.state {
        State::Agrees => 0,
        State::Differs => 1,
        State::NotCompared => 2,
        State::MissingOnCandidate => 3,
        State::MissingOnBaseline => 4,
    };
    if is_explained { state | EXPLAINED } else { state }
}

#[cfg(test)]
mod tests;
