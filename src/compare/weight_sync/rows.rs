//! Rows of a tensor that differs from the one that was sent: which of them are equal, whether they are in another
//! order, and whether the numbers are correlated at all.

use pulp::Arch;

use super::elements::{BLOCK, Encoded, is_all_zero, nan_count};
use super::outcome::SyncChange;
use crate::compare::convert;
use crate::dtype::Dtype;
use crate::error::Result;
use crate::hash;
use crate::read::tensor::TensorData;

/// Most bytes of a row; longer rows are not examined.
const MOST_ROW: u64 = 64 << 20;
/// Cosine below which numbers count as uncorrelated.
const UNLIKE: f64 = 0.2;
/// Inverse share of equal rows from which on a tensor with uncorrelated numbers counts as partly equal.
const PART: u64 = 4;
/// Inverse share of elements inside the differing part of a vector that may be equal by chance.
const CHANCE: u64 = 10;

/// Numbers of two tensors, gathered row by row.
#[derive(Default)]
struct Gathered {
    rows: u64,
    equal: u64,
    /// The first row that differs, and the one after the last.
    range: Option<[u64; 2]>,
    /// Sums of the hashes of rows (and below, of elements) on each side, which do not depend on their order.
    row_sums: [u64; 2],
    element_sums: [u64; 2],
    nan: u64,
    infinite: u64,
    is_zero: bool,
    products: [f64; 3],
}

/// Explains two tensors of one shape that differ.
pub(super) fn explain_by_rows(from: &TensorData, to: &TensorData) -> Result<SyncChange> {
    let is_vector = to.shape.len() < 2;
    let width = if is_vector { 1 } else { to.shape.iter().skip(1).product::<u64>().max(1) };
    let size = to.dtype.size() as u64;
    if width.saturating_mul(size) > MOST_ROW {
        return Ok(SyncChange::Other);
    }
    let at_once = (BLOCK / (width * size)).max(1) * width;
    let mut gathered = Gathered { is_zero: true, ..Gathered::default() };
    let (mut from_reader, mut to_reader) = (Encoded::new(from, to.dtype), Encoded::new(to, to.dtype));
    let mut start = 0;
    while start < to.elements() {
        let count = at_once.min(to.elements() - start);
        gathered.take(from_reader.block(start, count)?, to_reader.block(start, count)?, (to.dtype, width * size));
        start += count;
    }
    Ok(gathered.change(is_vector))
}

impl Gathered {
    fn take(&mut self, from: &[u8], to: &[u8], (dtype, row): (Dtype, u64)) {
        let row = usize::try_from(row).unwrap_or(usize::MAX);
        for (own, other) in from.chunks(row).zip(to.chunks(row)) {
            if own == other {
                self.equal += 1;
            } else {
                let [first, _] = self.range.unwrap_or([self.rows, 0]);
                self.range = Some([first, self.rows + 1]);
            }
            self.rows += 1;
        }
        for (bytes, (rows, elements)) in
            [from, to].into_iter().zip(self.row_sums.iter_mut().zip(&mut self.element_sums))
        {
            bytes.chunks(row).for_each(|row| *rows = rows.wrapping_add(hash::hash_of(row)));
            bytes.chunks(dtype.size()).for_each(|element| *elements = elements.wrapping_add(hash::hash_of(element)));
        }
        self.nan += nan_count(dtype, to);
        self.is_zero = self.is_zero && is_all_zero(dtype, to);
        if dtype.is_float() {
            self.multiply(from, to, dtype);
        }
    }

    fn multiply(&mut self, from: &[u8], to: &[u8], dtype: Dtype) {
        let (mut own, mut other) = (Vec::new(), Vec::new());
        convert::to_f64(Arch::new(), dtype, from, false, &mut own);
        convert::to_f64(Arch::new(), dtype, to, false, &mut other);
        let [dot, one, two] = &mut self.products;
        for (own, other) in own.iter().zip(&other) {
            self.infinite += u64::from(other.is_infinite() && own.is_finite());
            *dot += own * other;
            *one += own * own;
            *two += other * other;
        }
    }

    fn change(&self, is_vector: bool) -> SyncChange {
        let [dot, one, two] = self.products;
        let broken = self.nan + self.infinite;
        if broken > 0 {
            return SyncChange::NonFinite { count: broken };
        }
        if self.row_sums[0] == self.row_sums[1] || self.element_sums[0] == self.element_sums[1] {
            return SyncChange::Reordered;
        }
        let is_apart = one > 0.0 && two > 0.0 && dot / (one.sqrt() * two.sqrt()) < UNLIKE;
        if !is_vector && (self.is_zero || is_apart && self.equal * PART < self.rows) {
            return SyncChange::Unlike;
        }
        match self.range {
            Some(rows) if self.is_part(rows, is_vector) => SyncChange::Partial { rows, count: self.rows - self.equal },
            _ => SyncChange::Other,
        }
    }

    /// Whether some rows are equal. Single numbers of a vector may be equal by chance, so there a whole block has to
    /// be.
    fn is_part(&self, [first, behind]: [u64; 2], is_vector: bool) -> bool {
        let inside = behind.saturating_sub(first);
        let differing = self.rows - self.equal;
        let is_block = (inside - differing) * CHANCE <= inside && (self.rows - inside) * PART >= self.rows;
        self.equal > 0 && (!is_vector || is_block)
    }
}
