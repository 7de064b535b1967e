//! The error of a tensor over its axes: reads every element of a few tensors to tell where an error lies.
//!
//! Sums per index of each axis are kept, and the error over a coarse grid of all axes, which does not grow with the tensor and
//! which [`ndarray`] sums to any two of them.

use ndarray::{Array2, ArrayD, Axis, IxDyn};
use pulp::Arch;

use super::values::{self, PIECE};
use crate::error::Result;
use crate::read::tensor::TensorData;

/// Most cells of the grid.
const CELLS: usize = 1 << 18;
/// Longest axis whose indices are kept one by one; on longer axes, neighbouring indices are counted together.
const LONGEST: usize = 1 << 16;

/// Error of two tensors of the same shape.
#[derive(Clone, Debug)]
pub(crate) struct ErrorField {
    /// Lengths of the axes; empty for a scalar.
    pub shape: Vec<usize>,
    /// Number of elements.
    pub elements: u64,
    /// Elements that are off by more than the limit.
    pub wrong: u64,
    /// Root mean square of the baseline's finite elements.
    pub rms: f64,
    /// Sums per index of each axis.
    pub along: Vec<AlongAxis>,
    /// Σ b·c, Σ b², Σ c² and Σ (c−b)² over places that are finite on both sides.
    pub products: Products,
    cells: ArrayD<f64>,
    /// Neighbours that share a cell, per axis.
    bins: Vec<usize>,
}

/// Sums of products over places that are finite on both sides.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Products {
    /// Σ b·c
    pub dot: f64,
    /// Σ b²
    pub baseline: f64,
    /// Σ c²
    pub candidate: f64,
    /// Σ (c−b)²
    pub difference: f64,
}

/// Sums per index of one axis.
#[derive(Clone, Debug)]
pub(crate) struct AlongAxis {
    /// Neighbouring indices that count as one; 1 but for very long axes.
    pub step: usize,
    /// Σ (c−b)²; a place that is not finite on one side counts as one root mean square off.
    pub squares: Vec<f64>,
    /// Elements that are off by more than the limit.
    pub wrong: Vec<u64>,
    /// Σ b²
    pub baseline: Vec<f64>,
    /// Σ c²
    pub candidate: Vec<f64>,
}

impl AlongAxis {
    fn new(len: usize) -> Self {
        let step = len.div_ceil(LONGEST).max(1);
        let count = len.div_ceil(step);
        let zeros = || vec![0.0; count];
        Self { step, squares: zeros(), wrong: vec![0; count], baseline: zeros(), candidate: zeros() }
    }

    fn add(&mut self, index: usize, sums: &Sums) {
        let at = index / self.step;
        for (values, value) in [
            (&mut self.squares, sums.square),
            (&mut self.baseline, sums.baseline),
            (&mut self.candidate, sums.candidate),
        ] {
            if let Some(known) = values.get_mut(at) {
                *known += value;
            }
        }
        if let Some(known) = self.wrong.get_mut(at) {
            *known += sums.wrong;
        }
    }
}

/// Sums over some elements.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    square: f64,
    baseline: f64,
    candidate: f64,
    wrong: u64,
}

impl Sums {
    fn new(b: f64, c: f64, rms: f64, limit: f64) -> Self {
        let difference = c - b;
        if b.is_finite() && c.is_finite() {
            let wrong = u64::from(difference.abs() > limit * b.abs().max(rms));
            return Self { square: difference * difference, baseline: b * b, candidate: c * c, wrong };
        }
        let is_same = b.to_bits() == c.to_bits() || b.is_nan() && c.is_nan();
        let square = if is_same { 0.0 } else { rms * rms };
        Self { square, wrong: u64::from(!is_same), ..Self::default() }
    }

    fn add(&mut self, other: &Self) {
        self.square += other.square;
        self.baseline += other.baseline;
        self.candidate += other.candidate;
        self.wrong += other.wrong;
    }
}

/// Compares two tensors of the same shape; `None` for other or empty ones. An element is wrong if it is off by more
/// than `limit` of itself and of the root mean square. Complex numbers count with their real parts.
///
/// # Errors
/// Where a tensor cannot be read.
pub(crate) fn error_field(baseline: &TensorData, candidate: &TensorData, limit: f64) -> Result<Option<ErrorField>> {
    let lengths: Option<Vec<usize>> = baseline.shape.iter().map(|len| usize::try_from(*len).ok()).collect();
    let Some(shape) = lengths.filter(|_| baseline.shape == candidate.shape && baseline.elements() > 0) else {
        return Ok(None);
    };
    let rms = root_mean_square(baseline)?;
    let mut field = ErrorField::new(shape, baseline.elements(), rms);
    let (mut b, mut c, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
    let mut start = 0;
    while start < field.elements {
        let count = usize::try_from(field.elements - start).map_or(PIECE, |left| left.min(PIECE));
        b.resize(count, 0.0);
        c.resize(count, 0.0);
        values::read(Arch::new(), baseline, start, &mut bytes, &mut b)?;
        values::read(Arch::new(), candidate, start, &mut bytes, &mut c)?;
        field.take(start, &b, &c, limit);
        start += count as u64;
    }
    Ok(Some(field))
}

#[allow(clippy::cast_precision_loss, reason = "element counts are far below 2^53")]
fn root_mean_square(tensor: &TensorData) -> Result<f64> {
    let (mut sum, mut count, mut start) = (0.0, 0_u64, 0);
    let (mut piece, mut bytes) = (Vec::new(), Vec::new());
    while start < tensor.elements() {
        let len = usize::try_from(tensor.elements() - start).map_or(PIECE, |left| left.min(PIECE));
        piece.resize(len, 0.0);
        values::read(Arch::new(), tensor, start, &mut bytes, &mut piece)?;
        for value in piece.iter().filter(|value| value.is_finite()) {
            sum += value * value;
            count += 1;
        }
        start += len as u64;
    }
    Ok((sum / (count.max(1) as f64)).sqrt())
}

impl ErrorField {
    fn new(shape: Vec<usize>, elements: u64, rms: f64) -> Self {
        let bins = bins_of(&shape);
        let lens: Vec<usize> = shape.iter().zip(&bins).map(|(len, bin)| len.div_ceil(*bin)).collect();
        let along = shape.iter().map(|len| AlongAxis::new(*len)).collect();
        let cells = ArrayD::zeros(IxDyn(&lens));
        Self { shape, elements, wrong: 0, rms, along, products: Products::default(), cells, bins }
    }

    /// Adds elements in row-major order, one run of the last axis at a time.
    fn take(&mut self, start: u64, baseline: &[f64], candidate: &[f64], limit: f64) {
        let width = self.shape.last().copied().unwrap_or(1).max(1);
        let mut at = 0;
        while at < baseline.len() {
            let place = start + at as u64;
            let column = usize::try_from(place % width as u64).unwrap_or_default();
            let end = baseline.len().min(at + width - column);
            let (run, other) = (baseline.get(at..end).unwrap_or_default(), candidate.get(at..end).unwrap_or_default());
            self.take_run(place / width as u64, column, run, other, limit);
            at = end;
        }
    }

    fn take_run(&mut self, row: u64, column: usize, baseline: &[f64], candidate: &[f64], limit: f64) {
        let outer = self.indices_of(row);
        let mut total = Sums::default();
        let last_bin = self.bins.last().copied().unwrap_or(1);
        let mut cells = self.cells.view_mut();
        for (index, bin) in outer.iter().zip(&self.bins) {
            cells.index_axis_inplace(Axis(0), index / bin);
        }
        let row_of_cells = cells.as_slice_mut().unwrap_or_default();
        for (offset, (b, c)) in baseline.iter().zip(candidate).enumerate() {
            let sums = Sums::new(*b, *c, self.rms, limit);
            // `square` also holds the penalty of places that are not finite; the products must not.
            if b.is_finite() && c.is_finite() {
                self.products.dot += b * c;
                self.products.difference += sums.square;
            }
            total.add(&sums);
            if let Some(along) = self.along.last_mut() {
                along.add(column + offset, &sums);
            }
            if let Some(known) = row_of_cells.get_mut((column + offset) / last_bin) {
                *known += sums.square;
            }
        }
        for (along, index) in self.along.iter_mut().zip(&outer) {
            along.add(*index, &total);
        }
        self.products.baseline += total.baseline;
        self.products.candidate += total.candidate;
        self.wrong += total.wrong;
    }

    /// Indices of a row along all axes but the last.
    fn indices_of(&self, row: u64) -> Vec<usize> {
        let mut rest = row;
        let outer = self.shape.split_last().map_or(&[][..], |(_, outer)| outer);
        let mut indices: Vec<usize> = outer
            .iter()
            .rev()
            .map(|len| {
                let len = *len as u64;
                let index = rest % len.max(1);
                rest /= len.max(1);
                usize::try_from(index).unwrap_or_default()
            })
            .collect();
        indices.reverse();
        indices
    }

    /// Sum of the squared error.
    pub(crate) fn squared_error(&self) -> f64 {
        self.along.last().map_or_else(|| self.cells.sum(), |along| along.squares.iter().sum())
    }

    /// Root mean square error over two axes, relative to the root mean square of the baseline, in at most `rows` times
    /// `columns` cells; a tensor with one axis has one row.
    #[allow(clippy::cast_precision_loss, reason = "element counts are far below 2^53")]
    pub(crate) fn error_over_axes(
        &self,
        vertical: Option<usize>,
        horizontal: usize,
        rows: usize,
        columns: usize,
    ) -> Array2<f64> {
        let mut cells = self.cells.clone();
        for axis in (0..self.shape.len()).rev().filter(|axis| Some(*axis) != vertical && *axis != horizontal) {
            cells = cells.sum_axis(Axis(axis));
        }
        // A tensor with one axis, or none, is one row.
        while cells.ndim() < 2 {
            cells.insert_axis_inplace(Axis(0));
        }
        let Ok(mut plane) = cells.into_dimensionality::<ndarray::Ix2>() else { return Array2::zeros((1, 1)) };
        if vertical.is_some_and(|vertical| vertical > horizontal) {
            plane = plane.reversed_axes();
        }
        // Height and width count elements; rows and columns of the plane count cells of the grid.
        let (height, width) = (vertical.map_or(1, |axis| self.len(axis)), self.len(horizontal));
        let (bin_rows, bin_columns) = (vertical.map_or(1, |axis| self.bin(axis)), self.bin(horizontal));
        let (rows, columns) = (rows.min(plane.nrows()).max(1), columns.min(plane.ncols()).max(1));
        let (by_rows, by_columns) = (plane.nrows().div_ceil(rows), plane.ncols().div_ceil(columns));
        let mut coarse = Array2::<f64>::zeros((plane.nrows().div_ceil(by_rows), plane.ncols().div_ceil(by_columns)));
        for (band, mut sums) in plane.axis_chunks_iter(Axis(0), by_rows).zip(coarse.axis_iter_mut(Axis(0))) {
            for (block, sum) in band.axis_chunks_iter(Axis(1), by_columns).zip(&mut sums) {
                *sum = block.sum();
            }
        }
        let others = self.elements as f64 / (height * width) as f64;
        for ((row, column), sum) in coarse.indexed_iter_mut() {
            let extent = |at: usize, by: usize, len: usize| by.min(len.saturating_sub(at * by)).max(1) as f64;
            let count =
                extent(row, by_rows * bin_rows, height) * extent(column, by_columns * bin_columns, width) * others;
            *sum = if self.rms > 0.0 { (*sum / count).sqrt() / self.rms } else { f64::from(u8::from(*sum > 0.0)) };
        }
        coarse
    }

    fn len(&self, axis: usize) -> usize {
        self.shape.get(axis).copied().unwrap_or(1)
    }

    fn bin(&self, axis: usize) -> usize {
        self.bins.get(axis).copied().unwrap_or(1)
    }
}

/// Neighbours that share a cell: the finest axes are halved until the grid is small enough.
fn bins_of(shape: &[usize]) -> Vec<usize> {
    let mut bins = vec![1_usize; shape.len()];
    loop {
        let lens: Vec<usize> = shape.iter().zip(&bins).map(|(len, bin)| len.div_ceil(*bin)).collect();
        let cells = lens.iter().fold(1_usize, |product, len| product.saturating_mul(*len));
        let Some(longest) = (0..lens.len()).max_by_key(|axis| lens.get(*axis)).filter(|_| cells > CELLS) else {
            return bins;
        };
        if let Some(bin) = bins.get_mut(longest) {
            *bin *= 2;
        }
    }
}
