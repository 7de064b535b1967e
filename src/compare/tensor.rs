//! Comparison of two tensors, in one pass over both.
//!
//! Elements are read in blocks of 256 KiB a side and compared by the kernel beside it. Large tensors are cut
//! at fixed element counts and compared in parallel; chunks are folded in order, so the numbers are the same bits
//! whatever the thread count.
//!
//! The same elements are measured in two ways. [`PairStats`] itself has the gate's numbers: complex numbers with both
//! parts, equality in the stored type, infinities with their sign. [`MsprobeStats`] has those of msprobe 26.2.0
//! (`docs/formats/msprobe-tables.md`, Metrics of tensors): real parts only, everything through `f64`.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

use bytemuck::AnyBitPattern;
use half::{bf16, f16};
use pulp::Arch;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::convert;
use super::detail::{Detail, Largest};
use super::kernel::{Lanes, Stored, Sums};
use super::sample::{Runs, Sample};
use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind, Result};
use crate::read::tensor::TensorData;

#[cfg(test)]
mod tests;

pub use super::scalar::{ScalarPair, scalar_pair};

/// Elements of a chunk: the unit of parallel work, and what fixes the order of summation.
pub(super) const CHUNK: u64 = 1 << 20;
/// Bytes read at once from a side: large enough for fast reads, small enough to stay in the cache for the kernel.
pub(super) const BLOCK_BYTES: usize = 256 << 10;
/// Bytes the processor moves at once; the width of the widest register.
const CACHE_LINE: usize = 64;
/// Elements that the kernel processes at once, and processes again when one of them is not finite.
const STRIP: usize = 8192;
/// The same where elements become numbers in a buffer: both sides, as stored and as numbers, stay in a first-level cache.
const CONVERTED_STRIP: usize = 512;
/// Lanes of 32-bit and of 64-bit numbers: one register of the widest vector unit.
const NARROW: usize = 16;
const WIDE: usize = 8;

/// Sums, counts and largest differences of two tensors of equal element count.
///
/// Sums are taken in `f64` over the places that are finite on both sides; complex numbers count with both parts.
/// Differences are candidate minus baseline. An empty pair has zero sums.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairStats {
    /// Elements of each side that were compared: all of them, unless only a sample was read.
    pub elements: u64,
    /// Σ b·c
    #[serde(with = "super::exact")]
    pub dot: f64,
    /// Σ b²
    #[serde(with = "super::exact")]
    pub sum_sq_baseline: f64,
    /// Σ c²
    #[serde(with = "super::exact")]
    pub sum_sq_candidate: f64,
    /// Σ (c−b)²
    #[serde(with = "super::exact")]
    pub sum_sq_diff: f64,
    /// Σ (c−b), signed.
    #[serde(with = "super::exact")]
    pub sum_diff: f64,
    /// Largest |c−b|, of either part for complex numbers.
    #[serde(with = "super::exact")]
    pub max_abs_diff: f64,
    /// NaN elements of the baseline.
    pub nan_baseline: u64,
    /// NaN elements of the candidate.
    pub nan_candidate: u64,
    /// Infinite elements of the baseline.
    pub inf_baseline: u64,
    /// Infinite elements of the candidate.
    pub inf_candidate: u64,
    /// Places where a side is not finite and the other side differs: NaN agrees with NaN, an infinity with one of the
    /// same sign.
    pub nonfinite_mismatches: u64,
    /// The first such place, counted in row-major order.
    pub first_nonfinite_mismatch: Option<u64>,
    /// Places where the baseline is the largest number of its type (65504 for `float16`) and the candidate infinite.
    pub saturated_baseline: u64,
    /// Places where the candidate is the largest number of its type and the baseline infinite.
    pub saturated_candidate: u64,
    /// Unequal places, exactly: 64-bit integers as integers, imaginary parts too. −0 equals 0, NaN equals NaN.
    pub unequal: u64,
    /// Numbers that msprobe measures.
    pub msprobe: MsprobeStats,
}

/// Numbers that msprobe 26.2.0 measures on tensors that are not 0-d: real parts, in `f64`; places that are not finite
/// count as
/// (0, 0).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MsprobeStats {
    /// Σ b·c
    #[serde(with = "super::exact")]
    pub dot: f64,
    /// Σ b²
    #[serde(with = "super::exact")]
    pub sum_sq_baseline: f64,
    /// Σ c²
    #[serde(with = "super::exact")]
    pub sum_sq_candidate: f64,
    /// Σ (c−b)²
    #[serde(with = "super::exact")]
    pub sum_sq_diff: f64,
    /// Largest |c−b|.
    #[serde(with = "super::exact")]
    pub max_abs_diff: f64,
    /// Largest relative error, taken in `f32` where both types fit it and in `f64` otherwise; where the baseline is
    /// zero that type's epsilon is added to both sides. May be infinite.
    #[serde(with = "super::exact")]
    pub max_relative: f64,
    /// Elements whose relative error is below 1/1000.
    pub below_thousandth: u64,
    /// Elements whose relative error is below 5/1000.
    pub below_five_thousandths: u64,
    /// Whether a place is NaN on one side only, or infinite on one side only; signs are ignored. msprobe then gives
    /// `N/A` for all six numbers.
    pub nonfinite_positions_differ: bool,
}

/// Compares two tensors element by element, in row-major order. Types may differ; shapes are the caller's concern.
///
/// # Errors
/// `Internal` where the element counts differ; otherwise what reading either side gives.
pub fn compare(baseline: &TensorData, candidate: &TensorData) -> Result<PairStats> {
    compare_on(Arch::new(), baseline, candidate)
}

/// [`compare`] over a sample of the elements, or over all of them.
///
/// # Errors
/// As [`compare`].
pub(crate) fn compare_sample(
    baseline: &TensorData,
    candidate: &TensorData,
    sample: Option<&Sample>,
) -> Result<PairStats> {
    let Some(sample) = sample else { return compare(baseline, candidate) };
    let pair = Pair::new(Arch::new(), baseline, candidate)?;
    let runs = sample.runs(candidate.name(), baseline.elements());
    let piece = CHUNK / super::sample::RUN;
    pair.pieces(runs.count.div_ceil(piece), |index| Ranges::Runs {
        runs,
        next: index * piece,
        end: runs.count.min((index + 1) * piece),
    })
}

/// [`compare`] on a given instruction set.
fn compare_on(arch: Arch, baseline: &TensorData, candidate: &TensorData) -> Result<PairStats> {
    let elements = baseline.elements();
    let pair = Pair::new(arch, baseline, candidate)?;
    // Both are requested before either is waited for.
    baseline.expect();
    candidate.expect();
    pair.pieces(elements.div_ceil(CHUNK), |index| {
        Ranges::Whole(Some((index * CHUNK, elements.min((index + 1) * CHUNK))))
    })
}

/// Ranges of elements that a piece of a comparison covers, in order.
enum Ranges {
    /// One range.
    Whole(Option<(u64, u64)>),
    /// Runs of a sample.
    Runs { runs: Runs, next: u64, end: u64 },
}

impl Iterator for Ranges {
    type Item = (u64, u64);

    fn next(&mut self) -> Option<(u64, u64)> {
        match self {
            Self::Whole(range) => range.take(),
            Self::Runs { runs, next, end } => {
                let index = *next;
                *next += 1;
                (index < *end).then(|| runs.get(index))
            }
        }
    }
}

/// Both sides of a comparison.
struct Pair<'a> {
    baseline: &'a TensorData,
    candidate: &'a TensorData,
    arch: Arch,
}

/// Room for one block of each side and one strip of converted values, kept by each worker.
#[derive(Default)]
struct Buffers {
    baseline: Vec<u64>,
    candidate: Vec<u64>,
    narrow: [Vec<f32>; 2],
    wide: [Vec<f64>; 4],
}

thread_local! {
    static BUFFERS: RefCell<Buffers> = RefCell::default();
}

impl<'a> Pair<'a> {
    fn new(arch: Arch, baseline: &'a TensorData, candidate: &'a TensorData) -> Result<Self> {
        let elements = baseline.elements();
        if candidate.elements() != elements {
            let message = format!("{} elements against {elements} of the baseline", candidate.elements());
            return Err(Error::new(ErrorKind::Internal, candidate.name(), message));
        }
        Ok(Self { baseline, candidate, arch })
    }

    /// Compares pieces in parallel and folds their results in order.
    fn pieces(&self, count: u64, ranges: impl Fn(u64) -> Ranges + Sync) -> Result<PairStats> {
        let parts: Vec<Result<PairStats>> = if count <= 1 {
            vec![self.piece(if count == 0 { Ranges::Whole(None) } else { ranges(0) })]
        } else {
            parallel_results(count, |index| self.piece(ranges(index)))
        };
        let mut parts = parts.into_iter();
        let first = parts.next().unwrap_or_else(|| self.piece(Ranges::Whole(None)))?;
        parts.try_fold(first, |total, part| Ok(total.followed_by(&part?)))
    }

    fn piece(&self, ranges: Ranges) -> Result<PairStats> {
        match (self.baseline.dtype, self.candidate.dtype) {
            (b, c) if b.is_complex() || c.is_complex() => self.run::<Complex>(ranges),
            (b, c) if convert::fits_f32(b) && convert::fits_f32(c) => self.run::<Narrow>(ranges),
            _ => self.run::<Wide>(ranges),
        }
    }

    fn run<S: Scheme>(&self, ranges: Ranges) -> Result<PairStats> {
        BUFFERS.with_borrow_mut(|buffers| {
            let mut scheme = S::new();
            let mut detail = Detail::default();
            let mut elements = 0;
            for (start, end) in ranges {
                self.range(start, end, &mut scheme, &mut detail, buffers)?;
                elements += end - start;
            }
            Ok(scheme.finish(elements, &detail))
        })
    }

    /// Adds the elements from `start` to `end`, block by block.
    fn range(
        &self,
        start: u64,
        end: u64,
        scheme: &mut impl Scheme,
        detail: &mut Detail,
        buffers: &mut Buffers,
    ) -> Result<()> {
        let block = BLOCK_BYTES / self.baseline.dtype.size().max(self.candidate.dtype.size());
        let mut at = start;
        while at < end {
            let count = usize::try_from(end - at).unwrap_or(block).min(block);
            let Buffers { baseline, candidate, narrow, wide } = &mut *buffers;
            let strips = Strips {
                baseline: (self.baseline.dtype, block_of(self.baseline, at, count, baseline)?),
                candidate: (self.candidate.dtype, block_of(self.candidate, at, count, candidate)?),
            };
            let mut room = Room { narrow, wide };
            for (index, strip) in strips.iter().enumerate() {
                scheme.take(self.arch, at + (index * strips.strip()) as u64, strip, &mut room, detail);
            }
            at += count as u64;
        }
        Ok(())
    }
}

/// Results of `work` for each index, in order of index. Each free worker gets the next index, so that all of them
/// together read a file from front to back.
pub(super) fn parallel_results<T: Send>(count: u64, work: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let next = AtomicU64::new(0);
    let take = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|index| *index < count);
    let mut done: Vec<(u64, T)> = (0..rayon::current_num_threads())
        .into_par_iter()
        .with_max_len(1)
        .flat_map_iter(|_| std::iter::from_fn(take).map(|index| (index, work(index))))
        .collect();
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, made)| made).collect()
}

/// The bytes of `count` elements: in place where they lie in memory and are aligned, else read into `buffer`.
fn block_of<'a>(tensor: &'a TensorData, at: u64, count: usize, buffer: &'a mut Vec<u64>) -> Result<&'a [u8]> {
    if let Some(bytes) = tensor.in_place(at, count).filter(|bytes| bytes.as_ptr().align_offset(8) == 0) {
        return Ok(bytes);
    }
    let len = count * tensor.dtype.size();
    let bytes = bytemuck::cast_slice_mut::<u64, u8>(aligned(buffer, len.div_ceil(8)));
    let bytes = bytes.get_mut(..len).ok_or_else(|| Error::corrupt(tensor.name(), "block larger than its buffer"))?;
    tensor.read_block(at, bytes)?;
    Ok(bytes)
}

/// `len` elements of `room` from the start of a cache line on: a wide register that straddles two lines takes twice as
/// long to load and to store.
fn aligned<T: Copy + Default>(room: &mut Vec<T>, len: usize) -> &mut [T] {
    let spare = CACHE_LINE / size_of::<T>();
    if room.len() < len + spare {
        room.resize(len + spare, T::default());
    }
    let start = room.as_ptr().align_offset(CACHE_LINE).min(spare);
    room.get_mut(start..start + len).unwrap_or_default()
}

/// The same elements of both sides, as stored.
#[derive(Clone, Copy)]
struct Strips<'a> {
    baseline: (Dtype, &'a [u8]),
    candidate: (Dtype, &'a [u8]),
}

impl<'a> Strips<'a> {
    /// Elements of a piece.
    fn strip(&self) -> usize {
        match (self.baseline.0, self.candidate.0) {
            (b, c)
                if b == c
                    && matches!(b, Dtype::F16 | Dtype::BF16 | Dtype::F32 | Dtype::F64 | Dtype::I32 | Dtype::I64) =>
            {
                STRIP
            }
            _ => CONVERTED_STRIP,
        }
    }

    /// Pieces of [`strip`](Self::strip) elements; the last may be shorter.
    fn iter(self) -> impl Iterator<Item = Self> {
        let strip = self.strip();
        let pieces =
            move |(dtype, bytes): (Dtype, &'a [u8])| bytes.chunks(strip * dtype.size()).map(move |part| (dtype, part));
        pieces(self.baseline).zip(pieces(self.candidate)).map(|(baseline, candidate)| Self { baseline, candidate })
    }

    /// Whether both sides hold the same bits of one type.
    fn are_equal(&self) -> bool {
        self.baseline == self.candidate
    }

    /// Whether a 64-bit integer takes part, whose equality `f64` cannot always tell.
    fn has_long(&self) -> bool {
        [self.baseline.0, self.candidate.0].iter().any(|dtype| matches!(dtype, Dtype::I64 | Dtype::U64))
    }

    /// The elements of both sides as `T`, where both are of type `dtype` and aligned for `T`.
    fn as_stored<T: AnyBitPattern>(&self, dtype: Dtype) -> Option<(&'a [T], &'a [T])> {
        let of = |(own, bytes): (Dtype, &'a [u8])| bytemuck::try_cast_slice(bytes).ok().filter(|_| own == dtype);
        of(self.baseline).zip(of(self.candidate))
    }

    fn largest(&self) -> Largest {
        Largest {
            baseline: convert::largest_finite(self.baseline.0),
            candidate: convert::largest_finite(self.candidate.0),
        }
    }
}

/// Buffers for converted values.
struct Room<'a> {
    narrow: &'a mut [Vec<f32>; 2],
    wide: &'a mut [Vec<f64>; 4],
}

/// Comparison of a pair of element types.
trait Scheme {
    fn new() -> Self;
    fn take(&mut self, arch: Arch, start: u64, strip: Strips<'_>, room: &mut Room<'_>, detail: &mut Detail);
    fn finish(self, elements: u64, detail: &Detail) -> PairStats;
}

/// Adds a strip of stored elements; `false` where a value may not be finite.
fn take_stored<R: Stored, const N: usize>(
    lanes: &mut Lanes<R::Real, N>,
    arch: Arch,
    (baseline, candidate): (&[R], &[R]),
    is_equal: bool,
) -> bool {
    is_equal && lanes.add_equal_strip(arch, baseline) || lanes.add_strip(arch, baseline, candidate)
}

/// Two floating-point types whose values all fit `f32`.
struct Narrow(Lanes<f32, NARROW>);

impl Scheme for Narrow {
    fn new() -> Self {
        Self(Lanes::new())
    }

    fn take(&mut self, arch: Arch, start: u64, strip: Strips<'_>, room: &mut Room<'_>, detail: &mut Detail) {
        let [left, right] = &mut *room.narrow;
        let is_equal = strip.are_equal();
        let is_finite = if let Some(stored) = strip.as_stored::<bf16>(Dtype::BF16) {
            take_stored(&mut self.0, arch, stored, is_equal)
        } else if let Some(stored) = strip.as_stored::<f16>(Dtype::F16) {
            take_stored(&mut self.0, arch, stored, is_equal)
        } else {
            let b = narrow_values(arch, strip.baseline, left);
            let c = if is_equal { b } else { narrow_values(arch, strip.candidate, right) };
            take_stored(&mut self.0, arch, (b, c), is_equal)
        };
        if !is_finite {
            let b = narrow_values(arch, strip.baseline, left);
            detail.count_specials(start, b, narrow_values(arch, strip.candidate, right), strip.largest());
        }
    }

    fn finish(self, elements: u64, detail: &Detail) -> PairStats {
        let sums = self.0.fold();
        PairStats::new(elements, &sums, detail, sums.unequal + detail.unequal)
    }
}

/// The values of a strip: borrowed without conversion where they are `f32`, else converted into `room`.
fn narrow_values<'a>(arch: Arch, (dtype, bytes): (Dtype, &'a [u8]), room: &'a mut Vec<f32>) -> &'a [f32] {
    if dtype == Dtype::F32
        && let Ok(values) = bytemuck::try_cast_slice(bytes)
    {
        return values;
    }
    let room = aligned(room, bytes.len() / dtype.size());
    convert::into_f32(arch, dtype, bytes, room);
    room
}

/// Integers, booleans, and `f64` with anything else.
struct Wide {
    lanes: Lanes<f64, WIDE>,
    /// Unequal pairs that the kernel counted in strips whose equality `f64` cannot decide.
    miscounted: u64,
}

impl Wide {
    /// Adds a strip; `false` where a value may not be finite.
    fn strip(&mut self, arch: Arch, strip: Strips<'_>, is_equal: bool, room: &mut Room<'_>) -> bool {
        if let Some(stored) = strip.as_stored::<i32>(Dtype::I32) {
            return take_stored(&mut self.lanes, arch, stored, is_equal);
        }
        if let Some(stored) = strip.as_stored::<i64>(Dtype::I64) {
            return take_stored(&mut self.lanes, arch, stored, is_equal);
        }
        let [left, right, ..] = &mut *room.wide;
        let b = wide_values(arch, strip.baseline, left);
        let c = if is_equal { b } else { wide_values(arch, strip.candidate, right) };
        take_stored(&mut self.lanes, arch, (b, c), is_equal)
    }
}

impl Scheme for Wide {
    fn new() -> Self {
        Self { lanes: Lanes::new(), miscounted: 0 }
    }

    fn take(&mut self, arch: Arch, start: u64, strip: Strips<'_>, room: &mut Room<'_>, detail: &mut Detail) {
        let is_equal = strip.are_equal();
        let unequal = self.lanes.unequal();
        let is_finite = self.strip(arch, strip, is_equal, room);
        if !is_equal && strip.has_long() && self.lanes.may_skip_integers() {
            self.miscounted += self.lanes.unequal() - unequal;
            detail.count_unequal_integers(strip.baseline, strip.candidate);
        }
        if !is_finite {
            let [left, right, ..] = &mut *room.wide;
            let b = wide_values(arch, strip.baseline, left);
            detail.count_specials(start, b, wide_values(arch, strip.candidate, right), strip.largest());
        }
    }

    fn finish(self, elements: u64, detail: &Detail) -> PairStats {
        let sums = self.lanes.fold();
        PairStats::new(elements, &sums, detail, sums.unequal - self.miscounted + detail.unequal)
    }
}

/// The values of a strip: borrowed without conversion where they are `f64`, else converted into `room`.
fn wide_values<'a>(arch: Arch, (dtype, bytes): (Dtype, &'a [u8]), room: &'a mut Vec<f64>) -> &'a [f64] {
    if dtype == Dtype::F64
        && let Ok(values) = bytemuck::try_cast_slice(bytes)
    {
        return values;
    }
    let room = aligned(room, bytes.len() / dtype.size());
    convert::into_f64(arch, dtype, bytes, false, room);
    room
}

/// A complex type on at least one side: real and imaginary parts side by side.
struct Complex {
    real: Lanes<f64, WIDE>,
    imaginary: Lanes<f64, WIDE>,
}

impl Scheme for Complex {
    fn new() -> Self {
        Self { real: Lanes::new(), imaginary: Lanes::new() }
    }

    fn take(&mut self, arch: Arch, start: u64, strip: Strips<'_>, room: &mut Room<'_>, detail: &mut Detail) {
        let [b_re, b_im, c_re, c_im] = &mut *room.wide;
        for (part, (b, c)) in [(&mut *b_re, &mut *c_re), (&mut *b_im, &mut *c_im)].into_iter().enumerate() {
            convert::to_f64(arch, strip.baseline.0, strip.baseline.1, part == 1, b);
            convert::to_f64(arch, strip.candidate.0, strip.candidate.1, part == 1, c);
        }
        self.real.add_strip(arch, b_re, c_re);
        self.imaginary.add_strip(arch, b_im, c_im);
        detail.count_complex_specials(start, [b_re, b_im], [c_re, c_im], strip.largest());
    }

    fn finish(self, elements: u64, detail: &Detail) -> PairStats {
        let (real, imaginary) = (self.real.fold(), self.imaginary.fold());
        let mut stats = PairStats::new(elements, &real, detail, detail.unequal);
        let both = PairStats::new(elements, &imaginary, &Detail::default(), 0);
        stats.add_sums(&both);
        stats
    }
}

impl PairStats {
    fn new(elements: u64, sums: &Sums, detail: &Detail, unequal: u64) -> Self {
        Self {
            elements,
            dot: sums.dot,
            sum_sq_baseline: sums.sum_sq_baseline,
            sum_sq_candidate: sums.sum_sq_candidate,
            sum_sq_diff: sums.sum_sq_diff,
            sum_diff: sums.sum_diff,
            max_abs_diff: sums.max_abs_diff,
            nan_baseline: detail.nan_baseline,
            nan_candidate: detail.nan_candidate,
            inf_baseline: detail.inf_baseline,
            inf_candidate: detail.inf_candidate,
            nonfinite_mismatches: detail.mismatches,
            first_nonfinite_mismatch: detail.first_mismatch,
            saturated_baseline: detail.saturated_baseline,
            saturated_candidate: detail.saturated_candidate,
            unequal,
            msprobe: MsprobeStats {
                dot: sums.dot,
                sum_sq_baseline: sums.sum_sq_baseline,
                sum_sq_candidate: sums.sum_sq_candidate,
                sum_sq_diff: sums.sum_sq_diff,
                max_abs_diff: sums.max_abs_diff,
                max_relative: sums.max_relative,
                below_thousandth: elements - sums.beyond_thousandth,
                below_five_thousandths: elements - sums.beyond_five_thousandths,
                nonfinite_positions_differ: detail.kinds_differ > 0,
            },
        }
    }

    /// Adds the sums of another part or chunk.
    fn add_sums(&mut self, other: &Self) {
        self.dot += other.dot;
        self.sum_sq_baseline += other.sum_sq_baseline;
        self.sum_sq_candidate += other.sum_sq_candidate;
        self.sum_sq_diff += other.sum_sq_diff;
        self.sum_diff += other.sum_diff;
        self.max_abs_diff = self.max_abs_diff.max(other.max_abs_diff);
    }

    /// Joins this chunk with the one after it.
    fn followed_by(mut self, next: &Self) -> Self {
        self.add_sums(next);
        self.elements += next.elements;
        self.nan_baseline += next.nan_baseline;
        self.nan_candidate += next.nan_candidate;
        self.inf_baseline += next.inf_baseline;
        self.inf_candidate += next.inf_candidate;
        self.nonfinite_mismatches += next.nonfinite_mismatches;
        self.first_nonfinite_mismatch = self.first_nonfinite_mismatch.or(next.first_nonfinite_mismatch);
        self.saturated_baseline += next.saturated_baseline;
        self.saturated_candidate += next.saturated_candidate;
        self.unequal += next.unequal;
        self.msprobe.add(&next.msprobe);
        self
    }
}

impl MsprobeStats {
    fn add(&mut self, next: &Self) {
        self.dot += next.dot;
        self.sum_sq_baseline += next.sum_sq_baseline;
        self.sum_sq_candidate += next.sum_sq_candidate;
        self.sum_sq_diff += next.sum_sq_diff;
        self.max_abs_diff = self.max_abs_diff.max(next.max_abs_diff);
        self.max_relative = self.max_relative.max(next.max_relative);
        self.below_thousandth += next.below_thousandth;
        self.below_five_thousandths += next.below_five_thousandths;
        self.nonfinite_positions_differ |= next.nonfinite_positions_differ;
    }
}
