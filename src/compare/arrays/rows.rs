//! Measures of two embeddings: the angle and length of every row, whether the rows are reordered, and the share of each
//! row's nearest neighbours that both sides have in common.
//!
//! All rows are read once, in pieces. The searches that multiply rows with each other are bounded: they hold at most
//! [`MOST_NUMBERS`] numbers of each side in memory, and each takes at most [`MOST_PRODUCTS`] products.

use std::ops::{AddAssign, Mul};

use pulp::Arch;
use rayon::prelude::*;

use crate::compare::values;
use crate::error::Result;
use crate::read::tensor::TensorData;

/// Numbers (elements, not rows) that are read at a time.
const PIECE: usize = 1 << 18;
/// Most numbers of one side that are held in memory to compare neighbours and order.
const MOST_NUMBERS: usize = 1 << 23;
/// Most multiplications that each of the two searches takes.
const MOST_PRODUCTS: usize = 1 << 28;
/// Most rows that are listed.
const MOST_LISTED: usize = 1000;
/// Number of nearest neighbours of a row that are compared.
const NEIGHBOURS: usize = 10;
/// Cosine below which two rows count as embeddings of different texts.
const LEAST_COSINE: f64 = 0.99;
/// Relative difference up to which two rows count as equally long.
const MOST_LENGTH: f64 = 0.02;

/// Measures of two embeddings of the same shape.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowsMeasure {
    /// Rows.
    pub rows: u64,
    /// Indices of the first rows whose cosine is below the limit.
    pub differing: Vec<u64>,
    /// Number of all rows whose cosine is below the limit.
    pub differing_count: u64,
    /// Number of rows that agree in direction but not in length.
    pub lengths_off: u64,
    /// Median length ratio (candidate over baseline) of such rows.
    pub length_ratio: Option<f64>,
    /// Number of rows that are zero on both sides.
    pub zero: u64,
    /// The smallest cosine.
    pub least_cosine: Option<f64>,
    /// Whether every sampled row of the candidate is a row of the baseline at another place.
    pub is_permuted: bool,
    /// Share of the nearest neighbours that are the same.
    pub neighbours: Option<f64>,
}

/// Compares two embeddings of the same shape, rows by columns.
///
/// # Errors
/// Where one cannot be read.
pub(crate) fn compare_embeddings(baseline: &TensorData, candidate: &TensorData) -> Result<RowsMeasure> {
    let [rows, width] = *baseline.shape else { return Ok(RowsMeasure::default()) };
    let Some(width) = usize::try_from(width).ok().filter(|width| (1..=PIECE).contains(width)) else {
        return Ok(RowsMeasure { rows, ..RowsMeasure::default() });
    };
    let mut measure = RowsMeasure { rows, ..RowsMeasure::default() };
    let mut ratios = Vec::new();
    let mut pieces = Pieces::new([baseline, candidate], rows, width);
    let mut held = Held::new(rows, width);
    while let Some((first, baseline_rows, candidate_rows)) = pieces.next_piece()? {
        let products = products(baseline_rows, candidate_rows, width);
        held.add(baseline_rows, candidate_rows, &products);
        for (place, products) in products.into_iter().enumerate() {
            measure.take(first + place as u64, products, &mut ratios);
        }
    }
    measure.length_ratio = crate::median::upper_median(ratios);
    measure.is_permuted = 2 * measure.differing_count > rows && held.is_permuted();
    measure.neighbours = held.neighbours();
    Ok(measure)
}

impl RowsMeasure {
    /// Adds one row of both sides, by its [`products`].
    fn take(&mut self, place: u64, [own, other, product]: [f64; 3], ratios: &mut Vec<f64>) {
        let (baseline_length, candidate_length) = (own.sqrt(), other.sqrt());
        if baseline_length == 0.0 && candidate_length == 0.0 {
            self.zero += 1;
            return;
        }
        let cosine = product / (baseline_length * candidate_length);
        let cosine = if cosine.is_nan() { -1.0 } else { cosine };
        self.least_cosine = Some(self.least_cosine.map_or(cosine, |least| least.min(cosine)));
        if cosine < LEAST_COSINE {
            self.differing_count += 1;
            if self.differing.len() < MOST_LISTED {
                self.differing.push(place);
            }
        } else if (candidate_length / baseline_length - 1.0).abs() > MOST_LENGTH {
            self.lengths_off += 1;
            if ratios.len() < MOST_LISTED {
                ratios.push(candidate_length / baseline_length);
            }
        }
    }
}

/// The number of the first row, and the rows of both sides.
type Piece<'a> = (u64, &'a [f64], &'a [f64]);

/// Reader of the rows of both sides, piece by piece.
struct Pieces<'a> {
    tensors: [&'a TensorData; 2],
    rows: u64,
    width: usize,
    next: u64,
    numbers: [Vec<f64>; 2],
    bytes: Vec<u8>,
}

impl<'a> Pieces<'a> {
    fn new(tensors: [&'a TensorData; 2], rows: u64, width: usize) -> Self {
        Self { tensors, rows, width, next: 0, numbers: Default::default(), bytes: Vec::new() }
    }

    /// The next piece: the number of its first row, and its rows on both sides; `None` after the last piece.
    fn next_piece(&mut self) -> Result<Option<Piece<'_>>> {
        let first = self.next;
        let many = (PIECE / self.width).max(1);
        let count = usize::try_from(self.rows - first).map_or(many, |left| left.min(many));
        if count == 0 {
            return Ok(None);
        }
        for (tensor, numbers) in self.tensors.iter().zip(&mut self.numbers) {
            numbers.resize(count * self.width, 0.0);
            values::read(Arch::new(), tensor, first * self.width as u64, &mut self.bytes, numbers)?;
        }
        self.next += count as u64;
        let [baseline, candidate] = &self.numbers;
        Ok(Some((first, baseline, candidate)))
    }
}

/// Rows of both sides in memory, each divided by its length.
struct Held {
    width: usize,
    rows: usize,
    baseline: Vec<f32>,
    candidate: Vec<f32>,
}

impl Held {
    fn new(rows: u64, width: usize) -> Self {
        let rows = usize::try_from(rows).unwrap_or(usize::MAX).min(MOST_NUMBERS / width);
        let [baseline, candidate] = [(); 2].map(|()| Vec::with_capacity(rows * width));
        Self { width, rows, baseline, candidate }
    }

    /// Adds the next rows of both sides, with their [`products`], as far as there is room.
    fn add(&mut self, baseline: &[f64], candidate: &[f64], products: &[[f64; 3]]) {
        let room = self.rows.saturating_sub(self.baseline.len() / self.width);
        for (at, (rows, held)) in
            [(baseline, &mut self.baseline), (candidate, &mut self.candidate)].into_iter().enumerate()
        {
            for (row, products) in rows.chunks_exact(self.width).zip(products).take(room) {
                let length = products.get(at).copied().unwrap_or_default().sqrt();
                let length = if length > 0.0 { length } else { 1.0 };
                #[allow(clippy::cast_possible_truncation, reason = "cosines need few digits")]
                held.extend(row.iter().map(|number| (number / length) as f32));
            }
        }
    }

    /// Evenly spaced sample of the rows, small enough to hold each against all rows.
    fn sample(&self) -> Vec<usize> {
        let each = self.rows.saturating_mul(self.width).max(1);
        let count = (MOST_PRODUCTS / each).clamp(1, self.rows.max(1));
        let step = (self.rows / count).max(1);
        (0..self.rows).step_by(step).collect()
    }

    /// The products of a row with all rows of a side.
    fn products(&self, side: &[f32], wanted: &[f32]) -> Vec<f32> {
        let rows = side.chunks_exact(self.width);
        Arch::new().dispatch(
            #[inline(always)]
            || rows.map(|row| dot(row, wanted)).collect(),
        )
    }

    fn row<'a>(&self, side: &'a [f32], place: usize) -> &'a [f32] {
        side.get(place * self.width..(place + 1) * self.width).unwrap_or_default()
    }

    /// Whether every sampled row of the candidate matches a row of the baseline, no two the same one.
    fn is_permuted(&self) -> bool {
        let mut taken = vec![false; self.rows];
        for place in self.sample() {
            let cosines = self.products(&self.baseline, self.row(&self.candidate, place));
            let free = cosines.into_iter().enumerate().filter(|(other, _)| taken.get(*other) == Some(&false));
            let Some((other, cosine)) = free.max_by(|a, b| a.1.total_cmp(&b.1)) else { return false };
            if f64::from(cosine) < LEAST_COSINE {
                return false;
            }
            if let Some(taken) = taken.get_mut(other) {
                *taken = true;
            }
        }
        self.rows > 1
    }

    /// Share of the nearest neighbours (by cosine) that a sampled row has on both sides; `None` for fewer than two
    /// rows.
    fn neighbours(&self) -> Option<f64> {
        let count = NEIGHBOURS.min(self.rows.checked_sub(2)?.max(1));
        let of_row = |place: usize| {
            let [baseline, candidate] = [&self.baseline, &self.candidate].map(|side| self.nearest(side, place, count));
            let same = baseline.iter().filter(|other| candidate.contains(other)).count();
            [same, baseline.len()].map(|count| u32::try_from(count).unwrap_or(0))
        };
        let sum = |[same, all]: [u32; 2], [more_same, more]: [u32; 2]| [same + more_same, all + more];
        let [same, all] = self.sample().into_par_iter().map(of_row).reduce(|| [0, 0], sum);
        (all > 0).then(|| f64::from(same) / f64::from(all))
    }

    /// Rows that are nearest to the row at `place`, without that row itself.
    fn nearest(&self, side: &[f32], place: usize, count: usize) -> Vec<usize> {
        let cosines = self.products(side, self.row(side, place)).into_iter().enumerate();
        let mut all: Vec<(usize, f32)> = cosines.filter(|(other, _)| *other != place).collect();
        let nearer = |a: &(usize, f32), b: &(usize, f32)| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0));
        if count < all.len() {
            all.select_nth_unstable_by(count, nearer);
            all.truncate(count);
        }
        all.into_iter().map(|(other, _)| other).collect()
    }
}

/// For each row the products of the baseline's with itself, of the candidate's with itself, and of both.
fn products(baseline: &[f64], candidate: &[f64], width: usize) -> Vec<[f64; 3]> {
    let rows = baseline.par_chunks_exact(width).zip(candidate.par_chunks_exact(width));
    let arch = Arch::new();
    rows.map(|(b, c)| {
        arch.dispatch(
            #[inline(always)]
            || [dot(b, b), dot(c, c), dot(b, c)],
        )
    })
    .collect()
}

/// The product of two rows. Each lane sums every 32nd number, so that a processor multiplies many at once, and the sum is the same
/// whichever processor it is.
#[inline(always)]
fn dot<T: Copy + Default + AddAssign + Mul<Output = T>>(a: &[T], b: &[T]) -> T {
    const LANES: usize = 32;
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut lanes = [T::default(); LANES];
    for (a, b) in a.iter().zip(b) {
        lanes.iter_mut().zip(a.iter().zip(b)).for_each(|(lane, (a, b))| *lane += *a * *b);
    }
    let mut sum = T::default();
    a_rest.iter().zip(b_rest).for_each(|(a, b)| sum += *a * *b);
    lanes.into_iter().for_each(|lane| sum += lane);
    sum
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::dtype::Dtype;
    use crate::fetch::MemorySource;
    use crate::read::tensor_file;

    const WIDTH: usize = 8;

    fn rows(count: usize) -> Vec<Vec<f32>> {
        let number = |row: usize, column: usize| ((row * 31 + column * 17) as f32 * 0.618_034).fract() - 0.5;
        (0..count).map(|row| (0..WIDTH).map(|column| number(row, column)).collect()).collect()
    }

    fn tensor(rows: &[Vec<f32>]) -> TensorData {
        let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {WIDTH}), }}", rows.len());
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend(u16::try_from(header.len()).expect("short").to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(rows.iter().flatten().flat_map(|number| number.to_le_bytes()));
        let tensor = tensor_file::open(Arc::new(MemorySource::new("x.npy", bytes))).expect("an array");
        assert_eq!(tensor.dtype, Dtype::F32);
        tensor
    }

    #[test]
    fn rows_of_other_texts_are_listed() {
        let baseline = rows(40);
        let mut candidate = baseline.clone();
        candidate.swap(5, 17);
        let measure = compare_embeddings(&tensor(&baseline), &tensor(&candidate)).expect("numbers");
        assert_eq!((measure.differing.as_slice(), measure.is_permuted), ([5, 17].as_slice(), false));
        assert!(measure.neighbours.is_some_and(|share| share < 1.0));
    }

    #[test]
    fn another_order_of_all_rows_is_told() {
        let baseline = rows(40);
        let candidate: Vec<Vec<f32>> = baseline.iter().rev().cloned().collect();
        assert!(compare_embeddings(&tensor(&baseline), &tensor(&candidate)).expect("numbers").is_permuted);
        let other: Vec<Vec<f32>> =
            baseline.iter().map(|row| row.iter().map(|number| 0.3 - number * number).collect()).collect();
        assert!(!compare_embeddings(&tensor(&baseline), &tensor(&other)).expect("numbers").is_permuted);
    }

    #[test]
    fn lengths_and_zeros_are_told_apart() {
        let baseline = rows(12);
        let mut candidate: Vec<Vec<f32>> =
            baseline.iter().map(|row| row.iter().map(|number| number * 3.0).collect()).collect();
        let measure = compare_embeddings(&tensor(&baseline), &tensor(&candidate)).expect("numbers");
        assert_eq!((measure.lengths_off, measure.differing_count), (12, 0));
        assert!(measure.length_ratio.is_some_and(|ratio| (ratio - 3.0).abs() < 1e-6));
        assert_eq!(measure.neighbours, Some(1.0));
        candidate[3] = vec![0.0; WIDTH];
        assert_eq!(compare_embeddings(&tensor(&baseline), &tensor(&candidate)).expect("numbers").differing, [3]);
        let zero = vec![vec![0.0; WIDTH]; 4];
        assert_eq!(compare_embeddings(&tensor(&zero), &tensor(&zero)).expect("numbers").zero, 4);
    }
}
