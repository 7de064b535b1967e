//! Rows by columns, packed in blocks that the page's scripts unpack (`templates/report/page/blocks.js`).
//!
//! A block is packed by DEFLATE (RFC 1951). Unpacked it is the number of rows and that of metrics, 32 bits each with the
//! lowest byte first, then the columns, then JSON. A column has 32 bits a row, in four planes: the lowest byte of every row,
//! then the next one, up to the highest. That way bytes which hardly change are beside each other.
//!
//! The columns in their order:
//!
//! * step and rank, order, operation, tensor, module, kind, state, reason, types of baseline and candidate, their names of the tensor,
//!   and the number of values of both: whole numbers, each the difference to the row before;
//! * error, limit and the baseline's [`VALUES`] values, as the bits of an `f32`;
//! * the candidate's values, each the difference of its bits to the baseline's;
//! * the metrics, as the bits of an `f32`.
//!
//! A difference wraps around, and its sign is the lowest bit. Bits of a NaN hold the index of a text in place of a number: what
//! no `f32` is close to, and what is no number; the empty text where there is nothing. The JSON is an object with `texts`, those that
//! later rows of all blocks refer to in the order of their indexes, and `values`, the texts of this block's numbers.

use std::borrow::Cow;
use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde::Serialize;

use super::embedding::embeddable;
use super::texts::IndexedTexts;
use crate::result::number::Number;
use crate::result::operation::RecordedValue;

/// Rows of a block: enough for columns to be packed well, and few enough to be unpacked between two frames.
pub(super) const ROWS: usize = 8192;
/// Columns of whole numbers.
pub(super) const INTEGERS: usize = 13;
/// Values of a side.
pub(super) const VALUES: usize = 4;
/// Columns that every block has.
const COLUMNS: usize = INTEGERS + 2 + 2 * VALUES;
/// Cells from the beginning of one column to that of the next. Columns that began at like places of the memory's pages would push each
/// other out of the processor's caches.
const STRIDE: usize = ROWS + 16;
/// Bits of a number that is text; the lower 22 are the index. There are at most 75 numbers a row, 64 of them metrics.
const TEXT: u32 = 0x7fc0_0000;
/// Bytes of a value's text that are kept: enough for every number.
const MOST_VALUE: usize = 400;
/// Bits of error, limit and metrics that are dropped, of 23. Two and four digits of them are shown.
const COARSE: u32 = 11;
const FINE: u32 = 8;

/// Rows of a block to come.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// The columns, [`STRIDE`] cells each; those of the metrics come last. What was not stored is [`TEXT`].
    cells: Vec<u32>,
    rows: usize,
    /// Texts of its numbers.
    values: IndexedTexts,
    bytes: Vec<u8>,
    /// Buffer in which a block is packed, before it is kept in as much memory as it takes.
    packed: Vec<u8>,
}

/// A row, its texts as indexes.
#[derive(Debug)]
pub(super) struct BlockRow<'a> {
    pub(super) unit: u32,
    pub(super) order: u32,
    pub(super) op: u32,
    /// Twice the index of the name's end, behind that of the operation and a point; or twice the index of the whole name, and one
    /// more.
    pub(super) tensor: u32,
    pub(super) module: u32,
    pub(super) kind: u32,
    pub(super) state: u32,
    pub(super) reason: u32,
    pub(super) error: Option<Number>,
    pub(super) limit: Option<Number>,
    pub(super) sides: [BlockSide<'a>; 2],
    /// Metrics, each by its index.
    pub(super) metrics: &'a [(usize, Number)],
}

/// One side of a row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BlockSide<'a> {
    /// One more than the index of type and shape; 0 where there is no such side.
    pub(super) type_and_shape: u32,
    /// Name on this side, as that of the row; 0 where it is the same.
    pub(super) tensor: u32,
    pub(super) values: &'a [RecordedValue<'a>],
}

impl BlockRow<'_> {
    /// Its whole numbers, in the order of their columns.
    pub(super) fn integers(&self) -> [u32; INTEGERS] {
        let &Self { unit, order, op, tensor, module, kind, state, reason, sides: [left, right], .. } = self;
        let [of_left, of_right] = [left, right].map(|side| u32::try_from(side.values.len().min(VALUES)).unwrap_or(0));
        let types = [left.type_and_shape, right.type_and_shape];
        let counts = of_left | of_right << 4;
        [unit, order, op, tensor, module, kind, state, reason, types[0], types[1], left.tensor, right.tensor, counts]
    }
}

/// Indexes of the texts that a row refers to by its whole numbers.
pub(super) fn texts_of(integers: &[u32; INTEGERS]) -> impl Iterator<Item = u32> {
    let &[_, _, op, tensor, module, _, _, reason, types @ .., left, right, _] = integers;
    let types = types.into_iter().filter_map(|side| side.checked_sub(1));
    [op, module, reason].into_iter().chain([tensor, left, right].map(|name| name >> 1)).chain(types)
}

/// Texts of a block.
#[derive(Serialize)]
struct Tail<'a> {
    texts: Vec<&'a str>,
    values: Vec<&'a str>,
}

impl Block {
    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.rows
    }

    /// Takes a row.
    pub(super) fn push(&mut self, row: &BlockRow<'_>) {
        let values = &mut self.values;
        let [left, right] = row.sides.map(|side| {
            let mut recorded = side.values.iter();
            [(); VALUES].map(|()| recorded.next().map_or(TEXT, |value| recorded_bits(value, values)))
        });
        let limits =
            [row.error, row.limit].map(|number| number.map_or(TEXT, |number| number_bits(number, COARSE, values)));
        self.store(0, &row.integers());
        self.store(INTEGERS, &limits);
        self.store(INTEGERS + 2, &left);
        self.store(INTEGERS + 2 + VALUES, &right);
        for (index, number) in row.metrics {
            let cell = number_bits(*number, FINE, &mut self.values);
            self.store(COLUMNS + index, &[cell]);
        }
        self.rows += 1;
    }

    /// Stores cells of the row at hand in columns from `first` on.
    fn store(&mut self, first: usize, row: &[u32]) {
        let columns = COLUMNS.max(first + row.len());
        if self.cells.len() < columns * STRIDE {
            self.cells.resize(columns * STRIDE, TEXT);
        }
        for (column, cell) in (first..).zip(row) {
            if let Some(place) = self.cells.get_mut(column * STRIDE + self.rows) {
                *place = *cell;
            }
        }
    }

    /// The packed block, with the texts that it is the first to name; it is empty afterwards.
    pub(super) fn pack(&mut self, texts: Vec<&str>) -> std::io::Result<Box<[u8]>> {
        let rows = self.rows;
        let mut columns: Vec<&mut [u32]> =
            self.cells.chunks_mut(STRIDE).filter_map(|column| column.get_mut(..rows)).collect();
        differences(&mut columns);
        self.bytes.clear();
        for count in [rows, columns.len().saturating_sub(COLUMNS)] {
            self.bytes.extend(u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
        }
        for column in columns {
            for shift in [0, 8, 16, 24] {
                self.bytes.extend(column.iter().map(|cell| (cell >> shift).to_le_bytes()[0]));
            }
        }
        let tail = Tail { texts, values: self.values.texts_from(0).collect() };
        self.bytes.extend(embeddable(&serde_json::to_string(&tail)?).as_bytes());
        self.packed.clear();
        let mut encoder = DeflateEncoder::new(&mut self.packed, Compression::fast());
        encoder.write_all(&self.bytes)?;
        encoder.finish()?;
        self.cells.clear();
        self.rows = 0;
        self.values.clear();
        Ok(self.packed.as_slice().into())
    }
}

/// Replaces what is stored as a difference by it.
fn differences(columns: &mut [&mut [u32]]) {
    let (integers, numbers) = columns.split_at_mut(INTEGERS.min(columns.len()));
    for column in integers {
        let mut before = 0;
        for cell in column.iter_mut() {
            (before, *cell) = (*cell, difference(*cell, before));
        }
    }
    let (left, right) = numbers.split_at_mut((2 + VALUES).min(numbers.len()));
    for (left, right) in left.iter().skip(2).zip(right) {
        left.iter().zip(right.iter_mut()).for_each(|(left, right)| *right = difference(*right, *left));
    }
}

/// The difference of `cell` to `other`, its sign in the lowest bit: small numbers for small differences of either sign.
fn difference(cell: u32, other: u32) -> u32 {
    let size = cell.wrapping_sub(other);
    (size << 1) ^ (0_u32.wrapping_sub(size >> 31))
}

/// Bits of a recorded value: a whole number has to be kept as it is, any other one as the nearest `f32`.
fn recorded_bits(value: &RecordedValue<'_>, texts: &mut IndexedTexts) -> u32 {
    let number = match value {
        RecordedValue::Number(Number(number)) => Some(*number),
        RecordedValue::Int(number) => whole(*number),
        RecordedValue::Null | RecordedValue::Bool(_) | RecordedValue::Text(_) => None,
    };
    let is_kept = |bits: &u32| {
        number.is_some_and(|number| {
            f64::from(f32::from_bits(*bits)).to_bits() == number.to_bits() || number.fract() != 0.0
        })
    };
    let bits = number.filter(|number| number.is_finite()).and_then(close).filter(is_kept);
    bits.unwrap_or_else(|| TEXT | texts.index(&clipped(&value.to_string(), MOST_VALUE)))
}

/// An integer as a number that is exactly it.
fn whole(integer: i64) -> Option<f64> {
    i32::try_from(integer).ok().map(f64::from)
}

/// Bits of the nearest `f32`, if it is close.
#[allow(clippy::cast_possible_truncation, reason = "the distance is looked at")]
fn close(number: f64) -> Option<u32> {
    let near = number as f32;
    (near.is_normal() || f64::from(near).to_bits() == number.to_bits()).then(|| near.to_bits())
}

/// Bits of a number, `dropped` of them 0.
fn number_bits(number: Number, dropped: u32, texts: &mut IndexedTexts) -> u32 {
    let Some(bits) = close(number.0).filter(|_| !number.0.is_nan()) else {
        let word = serde_json::to_string(&number).unwrap_or_default();
        return TEXT | texts.index(word.trim_matches('"'));
    };
    let coarse = |bits: u32| bits & !((1 << dropped) - 1);
    let rounded = coarse(bits + (1 << (dropped - 1)));
    if f32::from_bits(rounded).is_finite() { rounded } else { coarse(bits) }
}

/// A text of at most `most` bytes; a mark tells that there was more.
pub(super) fn clipped(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return text.into();
    }
    let end = (0..=most).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    format!("{}…", text.get(..end).unwrap_or_default()).into()
}
