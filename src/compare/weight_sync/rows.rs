//! Rows of a tensor that is not what was sent: which are equal, whether all are there in another order, and whether the numbers
//! have anything in common.

use pulp::Arch;

use super::elements::{BLOCK, Encoded, is_all_zero, nan};
use super::outcome::SyncChange;
use crate::compare::convert;
use crate::dtype::Dtype;
use crate::error::Result;
use crate::hash;
use crate::read::tensor::TensorData;

/// Bytes of a row; of longer ones nothing is told.
const MOST_ROW: u64 = 64 << 20;
/// Cosine below which numbers have nothing in common.
const UNLIKE: f64 = 0.2;
/// Part of the rows that are equal, from which on a tensor whose numbers have little in common is one in part.
const PART: u64 = 4;
/// Of a vector, elements inside of the part that differs may be equal by chance: one in ten.
const CHANCE: u64 = 10;

/// Numbers of two tensors, gathered row by row.
#[derive(Default)]
struct Gathered {
    rows: u64,
    equal: u64,
    /// The first row that differs, and the one behind the last.
    range: Option<[u64; 2]>,
    /// Sums of the hashes of rows, and of elements, on either side: the same whatever their order.
    row_sums: [u64; 2],
    element_sums: [u64; 2],
    nan: u64,
    infinite: u64,
    is_zero: bool,
    products: [f64; 3],
}

/// Explains two tensors of one shape that differ.
pub(super) fn by_rows(from: &TensorData, to: &TensorData) -> Result<SyncChange> {
    let is_vector = to.shape.len() < 2;
    let width = if is_vector { 1 } else { to.shape.iter().skip(1).product::<u64>().max(1) };
    let size = to.dtype.size() as u64;
    if width.saturating_mul(size) > MOST_ROW {
        return Ok(SyncChange::Other);
    }
    let at_once = (BLOCK / (width * size)).max(1) * width;
    let mut gathered = Gathered { is_zero: true, ..Gathered::default() };
    let (mut ours, mut theirs) = (Encoded::new(from, to.dtype), Encoded::new(to, to.dtype));
    let mut start = 0;
    while start < to.elements() {
        let count = at_once.min(to.elements() - start);
        gathered.take(ours.block(start, count)?, theirs.block(start, count)?, (to.dtype, width * size));
        start += count;
    }
    Ok(gathered.change(is_vector))
}

impl Gathered {
    fn take(&mut self, ours: &[u8], theirs: &[u8], (dtype, row): (Dtype, u64)) {
        let row = usize::try_from(row).unwrap_or(usize::MAX);
        for (own, other) in ours.chunks(row).zip(theirs.chunks(row)) {
            if own == other {
                self.equal += 1;
            } else {
                let [first, _] = self.range.unwrap_or([self.rows, 0]);
                self.range = Some([first, self.rows + 1]);
            }
            self.rows += 1;
        }
        for (bytes, (rows, elements)) in
            [ours, theirs].into_iter().zip(self.row_sums.iter_mut().zip(&mut self.element_sums))
        {
            bytes.chunks(row).for_each(|row| *rows = rows.wrapping_add(hash::of(row)));
            bytes.chunks(dtype.size()).for_each(|element| *elements = elements.wrapping_add(hash::of(element)));
        }
        self.nan += nan(dtype, theirs);
        self.is_zero = self.is_zero && is_all_zero(dtype, theirs);
        if dtype.is_float() {
            self.multiply(ours, theirs, dtype);
        }
    }

    fn multiply(&mut self, ours: &[u8], theirs: &[u8], dtype: Dtype) {
        let (mut own, mut other) = (Vec::new(), Vec::new());
        convert::to_f64(Arch::new(), dtype, ours, false, &mut own);
        convert::to_f64(Arch::new(), dtype, theirs, false, &mut other);
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

    /// Whether some rows are equal. Numbers of a vector may be equal by chance: there a part of it has to be.
    fn is_part(&self, [first, behind]: [u64; 2], is_vector: bool) -> bool {
        let inside = behind.saturating_sub(first);
        let differing = self.rows - self.equal;
        let is_block = (inside - differing) * CHANCE <= inside && (self.rows - inside) * PART >= self.rows;
        self.equal > 0 && (!is_vector || is_block)
    }
}
