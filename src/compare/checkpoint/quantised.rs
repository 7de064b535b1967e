//! Quantised weights: converts codes with their scales to the numbers that they stand for, and measures how far apart
//! two tensors are in units of the quantisation step.
//!
//! A code is a rounded number. Where two numbers are equal up to the noise of training, their codes are equal or
//! neighbours, so a difference of more than one step of each side does not come from rounding. Rounding errors have
//! either sign, so rounding makes no row larger or smaller as a whole.

use std::sync::Arc;

use pulp::Arch;
use serde::{Deserialize, Serialize};

use crate::compare::convert::{fits_f32, to_f32};
use crate::compare::tensor::{PairStats, compare_sample};
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::fetch::ByteSource;
use crate::read::checkpoint::{BlockNumbers, WeightScale};
use crate::read::tensor::{ByteOrder, ElementPlacement, TensorData};

/// Elements that are read at once.
const BLOCK: u64 = 64 << 10;
/// Bytes of a number that a code is converted to (float32).
const SIZE: usize = 4;
/// Noise of weights before they are rounded to codes, as a share of their root mean square: eight roundings of
/// bfloat16.
pub(super) const NOISE: f64 = 8.0 / 512.0;
/// Standard deviations that no healthy value exceeds, however many values a model has.
pub(super) const DEVIATIONS: f64 = 6.0;
/// Share by which a whole row may be larger: four bfloat16 roundings of the largest number, from which the scale is
/// computed.
const ROW: f64 = 4.0 / 512.0;

/// Numbers of two tensors of which at least one is quantised.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QuantisedStats {
    /// Sum of the squares of the steps of both sides.
    #[serde(with = "crate::compare::exact")]
    pub sum_sq_steps: f64,
    /// Number of elements that are further apart than one step of each side plus noise.
    pub beyond: u64,
    /// Number of rows that are larger or smaller as a whole.
    pub rows: u64,
    /// The pattern of the codes that are wrong; `None` where none are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<CodesChange>,
    /// Name of the scale that both sides have, and whether it is the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<(String, bool)>,
}

/// The wrong rows of a weight's codes, and their pattern.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CodesChange {
    /// Number of rows with wrong codes.
    pub wrong: u64,
    /// Number of all rows.
    pub of: u64,
    /// The first wrong rows, counted from 0.
    pub rows: Vec<u64>,
    /// The pattern of all of them; `None` where there is none.
    pub pattern: Option<CodesPattern>,
}

/// A pattern of wrong codes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum CodesPattern {
    /// Each wrong row holds the baseline's row of this number.
    Rows(Vec<u64>),
    /// Each wrong row is zero.
    Zero,
    /// Each wrong row is this multiple of the baseline's.
    Scaled(f64),
    /// Every code is this much larger: another zero point.
    Shifted(f64),
    /// Codes of one sign are read as those of the other: signed codes as unsigned ones, or the reverse.
    Sign,
    /// Every wrong code is the largest of its row.
    Saturated,
}

/// A row of both sides: numbers, and the steps of their codes.
#[derive(Clone, Copy)]
pub(super) struct RowPair<'a> {
    pub(super) baseline: &'a [f32],
    pub(super) candidate: &'a [f32],
    /// Steps of the baseline.
    pub(super) own: &'a [f32],
    /// Steps of the candidate.
    pub(super) other: &'a [f32],
}

/// One side of a pair: a tensor, and its scale where it has one.
#[derive(Clone, Copy)]
pub(super) struct QuantisedSide<'a> {
    pub(super) tensor: &'a TensorData,
    pub(super) scale: Option<&'a WeightScale>,
}

impl QuantisedSide<'_> {
    /// Whether its elements are codes.
    pub(super) fn is_quantised(self) -> bool {
        self.scale.is_some() || matches!(self.tensor.dtype, Dtype::F8E4M3 | Dtype::F8E5M2)
    }

    /// Whether its elements can be measured here: codes, or floating-point numbers that fit `f32`.
    pub(super) fn is_numeric(self) -> bool {
        self.is_quantised() || (self.tensor.dtype.is_float() && fits_f32(self.tensor.dtype))
    }

    /// The name of the candidate's scale, and whether the other side has the same; `None` where a side has none.
    pub(super) fn scale_agreement(self, candidate: Self) -> Result<Option<(String, bool)>> {
        let (Some(own), Some(other)) = (self.scale, candidate.scale) else { return Ok(None) };
        let (one, two) = (&own.factors.numbers, &other.factors.numbers);
        let is_same = one.shape == two.shape && compare_sample(one, two, None)?.unequal == 0;
        Ok(Some((other.name.clone(), is_same)))
    }

    /// The numbers that the elements stand for, converted when they are read.
    pub(super) fn numbers(self) -> Result<TensorData> {
        let Some(scale) = self.scale else { return Ok(self.tensor.new_handle()) };
        let shape = self.tensor.shape.clone();
        let len = self.tensor.elements().saturating_mul(SIZE as u64);
        let placement = ElementPlacement { offset: 0, len, strides: None, order: ByteOrder::Little };
        let source = Numbers { codes: self.tensor.new_handle(), scale: copied_scale(scale), len };
        TensorData::new(Arc::new(source), Dtype::F32, shape, placement)
    }

    /// The numbers of `count` elements from `start` on, and the steps of their codes.
    fn block(self, start: u64, count: u64, numbers: &mut Vec<f32>, steps: &mut Vec<f32>) -> Result<()> {
        raw_numbers(self.tensor, start, count, numbers)?;
        steps.clear();
        steps.extend(numbers.iter().map(|value| step(self.tensor.dtype, *value)));
        match self.scale {
            Some(scale) => apply(scale, &self.tensor.shape, start, numbers, Some(steps)),
            None => Ok(()),
        }
    }
}

fn copied_scale(scale: &WeightScale) -> WeightScale {
    let spread = |spread: &BlockNumbers| BlockNumbers {
        numbers: spread.numbers.new_handle(),
        blocks: spread.blocks.clone(),
        counts: spread.counts.clone(),
        row: spread.row,
    };
    let name = scale.name.clone();
    WeightScale {
        name,
        factors: spread(&scale.factors),
        zeros: scale.zeros.as_ref().map(spread),
        divisor: scale.divisor,
    }
}

/// Elements as they are stored, as numbers.
fn raw_numbers(tensor: &TensorData, start: u64, count: u64, numbers: &mut Vec<f32>) -> Result<()> {
    let size = tensor.dtype.size();
    let len = usize::try_from(count).ok().and_then(|count| count.checked_mul(size));
    let mut bytes = vec![0; len.ok_or_else(|| Error::corrupt(tensor.name(), "a block longer than memory"))?];
    tensor.read_block(start, &mut bytes)?;
    numbers.clear();
    match tensor.dtype {
        Dtype::I8 => numbers.extend(bytes.iter().map(|raw| f32::from(raw.cast_signed()))),
        Dtype::U8 => numbers.extend(bytes.iter().map(|raw| f32::from(*raw))),
        #[allow(clippy::cast_precision_loss, reason = "zero points are small")]
        Dtype::I32 => numbers.extend(bytes.as_chunks().0.iter().map(|raw| i32::from_le_bytes(*raw) as f32)),
        dtype if fits_f32(dtype) => to_f32(Arch::new(), dtype, &bytes, numbers),
        dtype => return Err(Error::unsupported(tensor.name(), format!("scales of type {dtype} are not read"))),
    }
    Ok(())
}

/// Distance from a code to the next larger one before scaling; for a type without codes, the distance between its own
/// numbers.
fn step(dtype: Dtype, value: f32) -> f32 {
    let (bits, lowest) = match dtype {
        Dtype::F8E4M3 => (3, -6),
        Dtype::F8E5M2 => (2, -14),
        Dtype::BF16 => (7, -126),
        Dtype::F16 => (10, -14),
        Dtype::I8 | Dtype::U8 => return 1.0,
        _ => (23, -126),
    };
    // The exponent of a float32 stands in its bits.
    let exponent = i32::try_from((value.to_bits() >> 23) & 0xff).unwrap_or(0) - 127;
    f32::exp2((exponent.clamp(lowest, 127) - bits) as f32)
}

/// Subtracts the zero points from the numbers, then multiplies numbers and steps by the scale of their places.
fn apply(
    scale: &WeightScale,
    shape: &[u64],
    start: u64,
    numbers: &mut [f32],
    mut steps: Option<&mut Vec<f32>>,
) -> Result<()> {
    let width = shape.last().copied().unwrap_or(1).max(1);
    let (mut factors, mut zeros) = (Row::new(&scale.factors), scale.zeros.as_ref().map(Row::new));
    let (mut at, mut place) = (start, 0_usize);
    while place < numbers.len() {
        let (row, column) = (at / width, at % width);
        let count = usize::try_from(width - column).unwrap_or(usize::MAX).min(numbers.len() - place);
        factors.go_to(row, shape)?;
        if let Some(zeros) = &mut zeros {
            zeros.go_to(row, shape)?;
        }
        let own = numbers.get_mut(place..place + count).unwrap_or_default();
        for (index, number) in (column..).zip(own.iter_mut()) {
            let zero = zeros.as_ref().map_or(0.0, |zeros| zeros.at(index));
            *number = (*number - zero) * (factors.at(index) / scale.divisor);
        }
        if let Some(steps) = &mut steps {
            let own = steps.get_mut(place..place + count).unwrap_or_default();
            for (index, step) in (column..).zip(own.iter_mut()) {
                *step *= (factors.at(index) / scale.divisor).abs();
            }
        }
        (at, place) = (at + count as u64, place + count);
    }
    Ok(())
}

/// The numbers of a scale for one row of codes.
struct Row<'a> {
    spread: &'a BlockNumbers,
    /// Row of the scale that is in `numbers`.
    held: Option<u64>,
    numbers: Vec<f32>,
    block: u64,
}

impl<'a> Row<'a> {
    fn new(spread: &'a BlockNumbers) -> Self {
        Self { spread, held: None, numbers: Vec::new(), block: spread.blocks.last().copied().unwrap_or(1).max(1) }
    }

    /// Reads the row of the scale for the codes of `row`, which is counted over all but the last axis of `shape`.
    fn go_to(&mut self, row: u64, shape: &[u64]) -> Result<()> {
        let leading = shape.len().saturating_sub(1);
        let (mut rest, mut own, mut stride) = (row, 0_u64, 1_u64);
        let axes = shape.iter().zip(&self.spread.blocks).zip(&self.spread.counts).take(leading);
        for ((len, block), count) in axes.collect::<Vec<_>>().into_iter().rev() {
            let index = rest % (*len).max(1);
            rest /= (*len).max(1);
            own += index / (*block).max(1) * stride;
            stride = stride.saturating_mul(*count);
        }
        if self.held != Some(own) {
            raw_numbers(&self.spread.numbers, own.saturating_mul(self.spread.row), self.spread.row, &mut self.numbers)?;
            self.held = Some(own);
        }
        Ok(())
    }

    fn at(&self, column: u64) -> f32 {
        let place = usize::try_from(column / self.block).unwrap_or(usize::MAX);
        self.numbers.get(place).copied().unwrap_or(f32::NAN)
    }
}

/// The numbers of codes, as bytes of float32.
struct Numbers {
    codes: TensorData,
    scale: WeightScale,
    len: u64,
}

impl ByteSource for Numbers {
    fn name(&self) -> &str {
        self.codes.name()
    }

    fn file_name_at(&self, offset: u64) -> &str {
        self.codes.file_name_at(offset / SIZE as u64)
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        if !offset.is_multiple_of(SIZE as u64) || !buffer.len().is_multiple_of(SIZE) {
            return Err(Error::corrupt(self.name(), "bytes that are no elements of it"));
        }
        let (start, count) = (offset / SIZE as u64, (buffer.len() / SIZE) as u64);
        let mut numbers = Vec::new();
        raw_numbers(&self.codes, start, count, &mut numbers)?;
        apply(&self.scale, &self.codes.shape, start, &mut numbers, None)?;
        for (to, number) in buffer.as_chunks_mut::<SIZE>().0.iter_mut().zip(&numbers) {
            *to = number.to_le_bytes();
        }
        Ok(())
    }
}

/// Measures two sides whose numbers have `stats`, row by row; returns whether all rows together are changed, too.
pub(super) fn measure_quantised(
    baseline: QuantisedSide<'_>,
    candidate: QuantisedSide<'_>,
    stats: &PairStats,
) -> Result<(QuantisedStats, bool)> {
    #[allow(clippy::cast_precision_loss, reason = "element counts are far below 2^53")]
    let rms = (stats.sum_sq_baseline / (stats.elements.max(1) as f64)).sqrt();
    let mut found = QuantisedStats::default();
    // Rows that are flagged by themselves are left out of the test of all rows together.
    let (mut others, mut count_others) = (Size::default(), 0);
    for_each_row(baseline, candidate, &mut |_, pair| {
        let before = (found.beyond, found.rows);
        let size = found.take_row(pair, rms);
        if (found.beyond, found.rows) == before {
            (others, count_others) = (others.plus(size), count_others + 1);
        }
    })?;
    let is_changed = others.is_changed();
    if is_changed {
        found.rows += count_others;
    }
    Ok((found, is_changed))
}

/// Calls `see` with the number and the elements of every row. Rows longer than a block are cut; returns whether none was.
pub(super) fn for_each_row(
    baseline: QuantisedSide<'_>,
    candidate: QuantisedSide<'_>,
    see: &mut dyn FnMut(u64, RowPair<'_>),
) -> Result<bool> {
    let elements = baseline.tensor.elements();
    let whole = baseline.tensor.shape.last().copied().unwrap_or(1);
    let width = whole.clamp(1, BLOCK);
    let rows_at_once = (BLOCK / width).max(1) * width;
    let (mut b, mut c, mut steps) = (Vec::new(), Vec::new(), [Vec::new(), Vec::new()]);
    let [own, other] = &mut steps;
    let (mut start, mut row) = (0, 0);
    let width_here = usize::try_from(width).unwrap_or(1);
    while start < elements {
        let count = rows_at_once.min(elements - start);
        baseline.block(start, count, &mut b, own)?;
        candidate.block(start, count, &mut c, other)?;
        let rows = b.chunks(width_here).zip(c.chunks(width_here));
        let steps = own.chunks(width_here).zip(other.chunks(width_here));
        for ((baseline, candidate), (own, other)) in rows.zip(steps) {
            see(row, RowPair { baseline, candidate, own, other });
            row += 1;
        }
        start += count;
    }
    Ok(whole <= BLOCK)
}

/// Sums over elements that tell whether one side is larger as a whole.
#[derive(Clone, Copy, Default)]
pub(super) struct Size {
    dot: f64,
    squares: f64,
    /// Variance of `dot` from rounding and noise, which have random signs and are weighted by their elements.
    variance: f64,
}

impl Size {
    fn plus(self, other: Self) -> Self {
        let Self { dot, squares, variance } = other;
        Self { dot: self.dot + dot, squares: self.squares + squares, variance: self.variance + variance }
    }

    pub(super) fn is_changed(self) -> bool {
        self.squares > 0.0
            && (self.dot / self.squares - 1.0).abs() > ROW + DEVIATIONS * self.variance.sqrt() / self.squares
    }
}

impl QuantisedStats {
    pub(super) fn take_row(&mut self, pair: RowPair<'_>, rms: f64) -> Size {
        let RowPair { baseline: b, candidate: c, own, other } = pair;
        let mut size = Size::default();
        for ((b, c), (own, other)) in b.iter().zip(c).zip(own.iter().zip(other)) {
            let [b, c, own, other] = [b, c, own, other].map(|value| f64::from(*value));
            if !(b.is_finite() && c.is_finite()) {
                continue;
            }
            let steps = own * own + other * other;
            let variance = b * b * (steps / 12.0 + (NOISE * rms).powi(2));
            size = size.plus(Size { dot: b * c, squares: b * b, variance });
            self.sum_sq_steps += steps;
            self.beyond += u64::from((c - b).abs() > own + other + DEVIATIONS * NOISE * rms);
        }
        self.rows += u64::from(size.is_changed());
        size
    }

    /// Relative L2 error that rounding alone is expected to make, and the largest that it can make.
    pub fn rounding(&self, stats: &PairStats) -> (f64, f64) {
        if stats.sum_sq_baseline <= 0.0 {
            return (0.0, 0.0);
        }
        let share = self.sum_sq_steps / stats.sum_sq_baseline;
        ((share / 12.0).sqrt(), (share / 4.0).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_those_between_neighbouring_codes() {
        for (dtype, value, expected) in [
            (Dtype::F8E4M3, 1.0, 0.125),
            (Dtype::F8E4M3, 1.875, 0.125),
            (Dtype::F8E4M3, 448.0, 32.0),
            (Dtype::F8E4M3, 0.0, 0.001_953_125),
            (Dtype::F8E5M2, -2.0, 0.5),
            (Dtype::I8, 77.0, 1.0),
            (Dtype::BF16, 1.0, 0.007_812_5),
        ] {
            assert!((step(dtype, value) - expected).abs() < f32::EPSILON, "{dtype} {value}: {}", step(dtype, value));
        }
    }

    /// Statistics of a row of codes against another, both with a step of 1.
    fn of_row(b: &[f32], c: &[f32]) -> QuantisedStats {
        let mut found = QuantisedStats::default();
        let ones = vec![1.0; b.len()];
        let rms = (b.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>() / b.len() as f64).sqrt();
        found.take_row(RowPair { baseline: b, candidate: c, own: &ones, other: &ones }, rms);
        found
    }

    #[test]
    fn neighbouring_codes_are_rounding_and_others_are_not() {
        let row: Vec<f32> = (0..200_u8).map(|at| f32::from(at % 101) - 50.0).collect();
        let neighbours: Vec<f32> = row.iter().zip(0_u8..).map(|(code, at)| code + f32::from(at % 3) - 1.0).collect();
        let of = of_row(&row, &neighbours);
        assert_eq!((of.beyond, of.rows), (0, 0));
        let mut lost = row.clone();
        lost.iter_mut().step_by(5).for_each(|code| *code = 0.0);
        assert!(of_row(&row, &lost).beyond > 20);
        let larger: Vec<f32> = row.iter().map(|code| code * 1.06).collect();
        assert_eq!(of_row(&row, &larger).rows, 1, "a scale that is off makes no single code differ by much");
    }
}
