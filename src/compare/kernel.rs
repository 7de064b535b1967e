//! The inner loop: everything a pair of blocks contributes, in one pass.
//!
//! Lane arrays instead of intrinsics: the compiler turns them into whatever vector unit `pulp` finds at run time.
//! Every machine gives the same bits: element `i` always goes to lane `i mod N`, lanes are folded in order, and a fused
//! multiply-add is used only where the product is exact in `f64` anyway (two `f32` have 48 bits of product), so that it
//! rounds just as the two steps it stands for.
//!
//! Loops are written for the narrowest common vector unit, AVX2, whose 16 registers are fewer than there are sums and
//! counts. These measures have a measurable effect there: a group of elements is read twice, once for its relative
//! errors and once for its sums, since widening `f32` to `f64` during the load is cheaper; 16-bit numbers are converted
//! some groups ahead, so that nothing waits for them; memory is prefetched; and registers that are spilled are aligned
//! so that none straddles two cache lines.
//!
//! A strip is first processed as if it held only finite numbers and a baseline without zeros. If that was wrong, its
//! largest relative error is infinite or a sum of squares is not a number, and the strip is processed again with zeros
//! or masks enabled: rare cases cost nothing elsewhere. A zero on both sides gives NaN, which is neither the largest
//! error nor beyond any limit, just like the error 0 that it stands for. Under masks, a place where either side is NaN
//! or infinite counts as (0, 0) here and is examined by [`detail`](super::detail).

#[cfg(target_arch = "x86_64")]
use std::any::Any;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::_MM_HINT_T0;
use std::fmt::Debug;
use std::hint::black_box;
use std::ops::{Add, AddAssign, Div, Sub};

use half::{bf16, f16};
use pulp::{Arch, Simd, WithSimd};

use super::convert::{widen_finite_half, widen_half};

/// A type in which relative errors are taken: `f32` or `f64`.
pub(crate) trait Real:
    Copy + Debug + PartialEq + PartialOrd + Add<Output = Self> + Sub<Output = Self> + Div<Output = Self> + Send + Sync
{
    /// A count with the same number of bits, so that a vector register has as many lanes for it.
    type Count: Copy + Debug + AddAssign + Sub<Output = Self::Count> + From<bool> + Into<u64>;
    /// 0
    const ZERO: Self;
    /// Distance from 1 to the next larger number: what msprobe adds to both sides where the baseline is zero.
    const EPSILON: Self;
    /// Positive infinity.
    const INFINITY: Self;
    /// Not a number.
    const NAN: Self;
    /// 1/1000, rounded to this type.
    const THOUSANDTH: Self;
    /// 5/1000, rounded to this type.
    const FIVE_THOUSANDTHS: Self;
    /// Whether the product of two numbers is exact in `f64`, without overflow or underflow.
    const IS_EXACT_IN_PRODUCTS: bool;
    fn magnitude(self) -> Self;
    /// The same value in 64 bits.
    fn wide(self) -> f64;
}

macro_rules! real {
    ($type:ident, $count:ident, $is_exact:literal) => {
        impl Real for $type {
            type Count = $count;
            const ZERO: Self = 0.0;
            const EPSILON: Self = $type::EPSILON;
            const INFINITY: Self = $type::INFINITY;
            const NAN: Self = $type::NAN;
            const THOUSANDTH: Self = 0.001;
            const FIVE_THOUSANDTHS: Self = 0.005;
            const IS_EXACT_IN_PRODUCTS: bool = $is_exact;

            #[inline(always)]
            fn magnitude(self) -> Self {
                self.abs()
            }

            #[inline(always)]
            fn wide(self) -> f64 {
                f64::from(self)
            }
        }
    };
}

real!(f32, u32, true);
real!(f64, u64, false);

/// A stored element that becomes a [`Real`] in the kernel.
pub(crate) trait Stored: Copy {
    /// Type of the numbers that the elements become.
    type Real: Real;
    /// Whether the stored bits are the numbers.
    const ARE_NUMBERS: bool = false;
    /// Whether two different finite numbers always differ by at least a thousandth of the first one, unless that is
    /// zero.
    const IS_COARSE: bool = false;

    /// The elements themselves, where the stored bits are the numbers; `None` where they need conversion.
    #[inline(always)]
    fn as_numbers<const N: usize>(_: &[[Self; N]]) -> Option<&[[Self::Real; N]]> {
        None
    }

    /// Converts stored elements to numbers. Infinity and NaN may become any number, unless `MASKED`.
    fn numbers<S: Simd, const MASKED: bool, const N: usize>(simd: S, stored: &[Self; N]) -> [Self::Real; N];

    /// Whether that may have happened to one of these elements, given the sum of squares of their numbers.
    #[inline(always)]
    fn may_mislead(_: &[Self], _squares: f64) -> bool {
        false
    }
}

impl<T: Real> Stored for T {
    type Real = T;
    const ARE_NUMBERS: bool = true;

    #[inline(always)]
    fn as_numbers<const N: usize>(stored: &[[T; N]]) -> Option<&[[T; N]]> {
        Some(stored)
    }

    #[inline(always)]
    fn numbers<S: Simd, const MASKED: bool, const N: usize>(_: S, stored: &[T; N]) -> [T; N] {
        *stored
    }
}

impl Stored for i32 {
    type Real = f64;

    #[inline(always)]
    fn numbers<S: Simd, const MASKED: bool, const N: usize>(_: S, stored: &[Self; N]) -> [f64; N] {
        stored.map(f64::from)
    }
}

/// As `f64`, rounded.
impl Stored for i64 {
    type Real = f64;

    /// The widest vector unit has an instruction for this; on others, [`rounded`] avoids converting one element at a
    /// time.
    #[inline(always)]
    #[allow(clippy::cast_precision_loss, reason = "what rounding means; equality is taken elsewhere")]
    fn numbers<S: Simd, const MASKED: bool, const N: usize>(_: S, stored: &[Self; N]) -> [f64; N] {
        if has_widest::<S>() { stored.map(|value| value as f64) } else { stored.map(rounded) }
    }
}

/// The number nearest to a 64-bit integer. Both 32-bit halves become numbers by setting exponent bits beside them: the
/// lower half plus 2^52, the upper half plus 2^84 + 2^63. Subtracting both offsets from the upper half is exact, so
/// only the final sum is rounded.
#[inline(always)]
fn rounded(value: i64) -> f64 {
    const LOWER: u64 = 0x4330_0000_0000_0000;
    const UPPER: u64 = 0x4530_0000_8000_0000;
    const BOTH: u64 = 0x4530_0000_8010_0000;
    let bits = value.cast_unsigned();
    let (lower, upper) = (bits & 0xffff_ffff | LOWER, bits >> 32 ^ UPPER);
    f64::from_bits(upper) - f64::from_bits(BOTH) + f64::from_bits(lower)
}

impl Stored for bf16 {
    type Real = f32;
    /// The significand has eight bits, so its last bit is at least a 256th of the number.
    const IS_COARSE: bool = true;

    #[inline(always)]
    fn numbers<S: Simd, const MASKED: bool, const N: usize>(_: S, stored: &[Self; N]) -> [f32; N] {
        let mut numbers = [0.0; N];
        for (to, from) in numbers.iter_mut().zip(stored) {
            *to = f32::from_bits(u32::from(from.to_bits()) << 16);
        }
        numbers
    }
}

impl Stored for f16 {
    type Real = f32;

    /// Converts whole registers with the hardware instruction where the widest vector unit is available, else by
    /// shifting bits.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "x86_64"), expect(unused_variables, reason = "no instruction is asked for there"))]
    fn numbers<S: Simd, const MASKED: bool, const N: usize>(simd: S, stored: &[Self; N]) -> [f32; N] {
        let mut numbers = [0.0; N];
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = (&simd as &dyn Any).downcast_ref::<pulp::x86::V4>().filter(|_| N.is_multiple_of(16)) {
            for (to, from) in numbers.as_chunks_mut::<16>().0.iter_mut().zip(stored.as_chunks::<16>().0) {
                *to = pulp::cast(simd.avx512f._mm512_cvtph_ps(pulp::cast(from.map(Self::to_bits))));
            }
            return numbers;
        }
        for (to, from) in numbers.iter_mut().zip(stored) {
            *to = if MASKED { widen_half(from.to_bits()) } else { widen_finite_half(from.to_bits()) };
        }
        numbers
    }

    /// Shifting bits turns infinity and NaN into numbers of at least 65536. If the sum of all squares is smaller than
    /// that number's square, with room for rounding, all elements are finite and need not be examined.
    #[inline(always)]
    fn may_mislead(stored: &[Self], squares: f64) -> bool {
        const ROOM: f64 = 2.0;
        let largest = || stored.iter().fold(0, |largest, half| (half.to_bits() & 0x7fff).max(largest));
        squares >= 65536.0 * 65536.0 / ROOM && largest() >= Self::INFINITY.to_bits()
    }
}

/// Number of groups of `N` pairs that are converted ahead: enough for a store to complete before its data is loaded.
const AHEAD: usize = 4;
/// The same for 64-bit numbers, of which a group has half as many.
const WIDE_AHEAD: usize = 8;

/// Converted numbers of both sides that wait to be added to the lanes.
#[repr(align(64))]
struct Ahead<T, const N: usize, const GROUPS: usize>([[[T; N]; 2]; GROUPS]);

/// Prefetch distance in bytes, about the amount that memory delivers during its latency.
#[cfg(target_arch = "x86_64")]
const DISTANCE: usize = 2048;

/// Prefetches the memory [some way](DISTANCE) after these elements of both sides. Processors do this themselves, but
/// only within a page of 4 KiB, and the arithmetic leaves them no time to catch up.
#[inline(always)]
#[cfg_attr(not(target_arch = "x86_64"), expect(unused_variables, reason = "there is no such instruction to be had"))]
fn prefetch<S: Simd, T>(simd: S, baseline: &T, candidate: &T) {
    #[cfg(target_arch = "x86_64")]
    for side in [baseline, candidate] {
        // Only an address: nothing is read, whatever is stored there.
        let address = std::ptr::from_ref(side).cast::<i8>().wrapping_add(DISTANCE);
        if let Some(simd) = (&simd as &dyn Any).downcast_ref::<pulp::x86::V4>() {
            simd.sse._mm_prefetch::<_MM_HINT_T0>(address);
        } else if let Some(simd) = (&simd as &dyn Any).downcast_ref::<pulp::x86::V3>() {
            simd.sse._mm_prefetch::<_MM_HINT_T0>(address);
        }
    }
}

/// Lanes of the sums: one register of the widest vector unit.
const SUM_LANES: usize = 8;
/// Lanes of the relative errors where registers are narrower than the widest, so that a group takes fewer registers.
const NARROWER_LANES: usize = 8;
/// The same for converted 64-bit numbers: one register for each side, since the conversion needs registers too.
const CONVERTED_LANES: usize = 4;

/// Counts, largest relative errors and sums over pairs, kept per lane: counts and relative errors in the elements' own
/// width, sums in 64 bits. Counts and largest errors do not depend on the lane they are in, so a machine may use only
/// some of the lanes.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Lanes<T: Real, const N: usize> {
    max_relative: [T; N],
    beyond_thousandth: [T::Count; N],
    beyond_five_thousandths: [T::Count; N],
    unequal: [T::Count; N],
    dot: [f64; SUM_LANES],
    sum_sq_baseline: [f64; SUM_LANES],
    sum_sq_candidate: [f64; SUM_LANES],
    sum_sq_diff: [f64; SUM_LANES],
    sum_diff: [f64; SUM_LANES],
    /// Largest differences, or largest squares of differences where squaring loses nothing
    /// ([`Real::IS_EXACT_IN_PRODUCTS`]).
    max_diff: [f64; SUM_LANES],
    /// Whether the baseline had zeros so far; further ones are then expected.
    has_zeros: bool,
}

/// [`Lanes`], folded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sums {
    pub(crate) dot: f64,
    pub(crate) sum_sq_baseline: f64,
    pub(crate) sum_sq_candidate: f64,
    pub(crate) sum_sq_diff: f64,
    pub(crate) sum_diff: f64,
    pub(crate) max_abs_diff: f64,
    pub(crate) max_relative: f64,
    pub(crate) beyond_thousandth: u64,
    pub(crate) beyond_five_thousandths: u64,
    pub(crate) unequal: u64,
}

impl<T: Real, const N: usize> Lanes<T, N> {
    /// Nothing yet.
    pub(crate) fn new() -> Self {
        Self {
            max_relative: [T::ZERO; N],
            beyond_thousandth: [T::Count::from(false); N],
            beyond_five_thousandths: [T::Count::from(false); N],
            unequal: [T::Count::from(false); N],
            dot: [0.0; SUM_LANES],
            sum_sq_baseline: [0.0; SUM_LANES],
            sum_sq_candidate: [0.0; SUM_LANES],
            sum_sq_diff: [0.0; SUM_LANES],
            sum_diff: [0.0; SUM_LANES],
            max_diff: [0.0; SUM_LANES],
            has_zeros: false,
        }
    }

    /// Adds a strip of both sides, element by element; both have the same length. A length that is not a multiple of
    /// `N` is only allowed in the last strip. Returns `false` where a value may not be finite.
    pub(crate) fn add_strip<R: Stored<Real = T>>(&mut self, arch: Arch, baseline: &[R], candidate: &[R]) -> bool {
        arch.dispatch(Take { baseline, candidate, lanes: self })
    }

    /// Adds a strip that is the same on both sides to the last bit; a length that is not a multiple of `N` is only
    /// allowed in the last strip. Returns `false` where a value may not be finite; the strip then has to be added like
    /// any other one.
    pub(crate) fn add_equal_strip<R: Stored<Real = T>>(&mut self, arch: Arch, values: &[R]) -> bool {
        arch.dispatch(TakeEqual { values, lanes: self })
    }

    /// Unequal pairs so far.
    pub(crate) fn unequal(&self) -> u64 {
        count(&self.unequal)
    }

    /// Whether a number so far may have had a magnitude of 2^53 or more, from where on `f64` skips integers. The margin
    /// is twice what rounding needs.
    pub(crate) fn may_skip_integers(&self) -> bool {
        let largest = 2f64.powi(105);
        let is_below = |sums: &[f64; SUM_LANES]| sums.iter().all(|sum| *sum < largest);
        !(is_below(&self.sum_sq_baseline) && is_below(&self.sum_sq_candidate))
    }

    /// Folds the lanes in order.
    pub(crate) fn fold(&self) -> Sums {
        let sum = |lanes: &[f64; SUM_LANES]| lanes.iter().sum();
        let max_diff = self.max_diff.iter().copied().fold(0.0, f64::max);
        Sums {
            dot: sum(&self.dot),
            sum_sq_baseline: sum(&self.sum_sq_baseline),
            sum_sq_candidate: sum(&self.sum_sq_candidate),
            sum_sq_diff: sum(&self.sum_sq_diff),
            sum_diff: sum(&self.sum_diff),
            // The root of a square, each rounded, is the number itself where the square neither overflows nor vanishes.
            max_abs_diff: if T::IS_EXACT_IN_PRODUCTS { max_diff.sqrt() } else { max_diff },
            max_relative: self.max_relative.iter().copied().fold(T::ZERO, greatest).wide(),
            beyond_thousandth: count(&self.beyond_thousandth),
            beyond_five_thousandths: count(&self.beyond_five_thousandths),
            unequal: count(&self.unequal),
        }
    }

    /// Adds a strip, unless it needs more than `ZEROS` and `MASKED` provide.
    #[inline(always)]
    fn attempt<R: Stored<Real = T>, S: Simd, const ZEROS: bool, const MASKED: bool>(
        &mut self,
        simd: S,
        baseline: &[R],
        candidate: &[R],
        one: T::Count,
    ) -> bool {
        // A copy on the stack of this function can be kept in registers.
        let mut lanes = Self { max_relative: [T::ZERO; N], has_zeros: ZEROS, ..*self };
        let (baseline, baseline_rest) = baseline.as_chunks::<N>();
        let (candidate, candidate_rest) = candidate.as_chunks::<N>();
        if let Some((baseline, candidate)) = R::as_numbers(baseline).zip(R::as_numbers(candidate)) {
            for (b, c) in baseline.iter().zip(candidate) {
                prefetch(simd, b, c);
                lanes.step::<R, S, ZEROS, MASKED>(b, c, one);
            }
        } else if size_of::<T>() == size_of::<f64>() {
            lanes.convert::<R, S, ZEROS, MASKED, WIDE_AHEAD>(simd, baseline, candidate, one);
        } else {
            lanes.convert::<R, S, ZEROS, MASKED, AHEAD>(simd, baseline, candidate, one);
        }
        if is_counted_once::<R, ZEROS, MASKED>() {
            let unequal = lanes.unequal.iter().zip(&self.unequal);
            let counts = lanes.beyond_thousandth.iter_mut().zip(unequal);
            counts.for_each(|(beyond, (unequal, before))| *beyond += *unequal - *before);
        }
        // NaN is masked everywhere.
        let rest = [baseline_rest, candidate_rest].map(|rest| padded(simd, rest, T::NAN));
        let len = baseline_rest.len();
        let is_sound = lanes.max_relative.iter().all(|most| *most < T::INFINITY)
            && lanes.sum_sq_baseline.iter().chain(&lanes.sum_sq_candidate).all(|sum| sum.is_finite())
            && !R::may_mislead(baseline.as_flattened(), grown(&lanes.sum_sq_baseline, &self.sum_sq_baseline))
            && !R::may_mislead(candidate.as_flattened(), grown(&lanes.sum_sq_candidate, &self.sum_sq_candidate))
            && rest.iter().flat_map(|rest| rest.iter().take(len)).all(|value| is_finite(*value));
        if !MASKED && !is_sound {
            return false;
        }
        if len > 0 {
            let [b, c] = &rest;
            lanes.step::<R, S, true, true>(b, c, one);
        }
        for (most, before) in lanes.max_relative.iter_mut().zip(&self.max_relative) {
            *most = greatest(*most, *before);
        }
        // Spilled values have to be aligned as their type says, and with them the whole stack of this function: a
        // register that is spilled across two cache lines can halve the speed.
        *self = black_box(lanes);
        true
    }

    /// Adds groups whose elements have to be converted, which is done [some groups ahead](AHEAD).
    #[inline(always)]
    #[allow(clippy::indexing_slicing, reason = "an index modulo the length")]
    fn convert<R: Stored<Real = T>, S: Simd, const ZEROS: bool, const MASKED: bool, const GROUPS: usize>(
        &mut self,
        simd: S,
        baseline: &[[R; N]],
        candidate: &[[R; N]],
        one: T::Count,
    ) {
        let mut ahead = Ahead([[[T::ZERO; N]; 2]; GROUPS]);
        let (first_baseline, baseline) = baseline.split_at(baseline.len().min(GROUPS));
        let (first_candidate, candidate) = candidate.split_at(candidate.len().min(GROUPS));
        for (place, (b, c)) in ahead.0.iter_mut().zip(first_baseline.iter().zip(first_candidate)) {
            *place = [R::numbers::<S, MASKED, N>(simd, b), R::numbers::<S, MASKED, N>(simd, c)];
        }
        let mut turn = 0;
        for (b, c) in baseline.iter().zip(candidate) {
            prefetch(simd, b, c);
            let place = &mut ahead.0[turn % GROUPS];
            let [now_baseline, now_candidate] = &*place;
            self.step::<R, S, ZEROS, MASKED>(now_baseline, now_candidate, one);
            *place = [R::numbers::<S, MASKED, N>(simd, b), R::numbers::<S, MASKED, N>(simd, c)];
            turn += 1;
        }
        for _ in first_baseline {
            let [b, c] = &ahead.0[turn % GROUPS];
            self.step::<R, S, ZEROS, MASKED>(b, c, one);
            turn += 1;
        }
    }

    /// Adds one group.
    #[inline(always)]
    fn step<R: Stored<Real = T>, S: Simd, const ZEROS: bool, const MASKED: bool>(
        &mut self,
        baseline: &[T; N],
        candidate: &[T; N],
        one: T::Count,
    ) {
        if has_widest::<S>() {
            self.errors::<R, ZEROS, MASKED, N>(baseline, candidate, one);
        } else if size_of::<T>() == size_of::<f64>() && !R::ARE_NUMBERS {
            let (baseline, candidate) = (baseline.as_chunks::<CONVERTED_LANES>().0, candidate.as_chunks().0);
            for (b, c) in baseline.iter().zip(candidate) {
                self.errors::<R, ZEROS, MASKED, CONVERTED_LANES>(b, c, one);
            }
        } else {
            let (baseline, candidate) = (baseline.as_chunks::<NARROWER_LANES>().0, candidate.as_chunks().0);
            for (b, c) in baseline.iter().zip(candidate) {
                self.errors::<R, ZEROS, MASKED, NARROWER_LANES>(b, c, one);
            }
        }
        // The compiler does not recognise these as the same values, so it reads them again.
        let (baseline, candidate) = black_box((baseline, candidate));
        for (b, c) in baseline.as_chunks().0.iter().zip(candidate.as_chunks().0) {
            self.sum::<S, MASKED>(b, c);
        }
    }

    #[inline(always)]
    #[allow(clippy::indexing_slicing, reason = "one index below M for arrays of M, or no vector code comes of it")]
    fn errors<R: Stored<Real = T>, const ZEROS: bool, const MASKED: bool, const M: usize>(
        &mut self,
        baseline: &[T; M],
        candidate: &[T; M],
        one: T::Count,
    ) {
        let none = T::Count::from(false);
        for i in 0..M {
            let (mut b, mut c) = (baseline[i], candidate[i]);
            if MASKED {
                let both = is_finite(b) & is_finite(c);
                (b, c) = (choose(both, b, T::ZERO), choose(both, c, T::ZERO));
            }
            self.unequal[i] += choose(b != c, one, none);
            if ZEROS {
                let shift = choose(b == T::ZERO, T::EPSILON, T::ZERO);
                (b, c) = (b + shift, c + shift);
            }
            let relative = ((c - b) / b).magnitude();
            self.max_relative[i] = greatest(relative, self.max_relative[i]);
            if !is_counted_once::<R, ZEROS, MASKED>() {
                self.beyond_thousandth[i] += choose(relative >= T::THOUSANDTH, one, none);
            }
            self.beyond_five_thousandths[i] += choose(relative >= T::FIVE_THOUSANDTHS, one, none);
        }
    }

    #[inline(always)]
    #[allow(clippy::indexing_slicing, reason = "one index below N for arrays of N, or no vector code comes of it")]
    fn sum<S: Simd, const MASKED: bool>(&mut self, baseline: &[T; SUM_LANES], candidate: &[T; SUM_LANES]) {
        for i in 0..SUM_LANES {
            let (mut b, mut c) = (baseline[i].wide(), candidate[i].wide());
            if MASKED {
                let both = is_finite(b) & is_finite(c);
                (b, c) = (choose(both, b, 0.0), choose(both, c, 0.0));
            }
            let diff = c - b;
            let square = diff * diff;
            self.dot[i] = multiply_add::<T, S>(b, c, self.dot[i]);
            self.sum_sq_baseline[i] = multiply_add::<T, S>(b, b, self.sum_sq_baseline[i]);
            self.sum_sq_candidate[i] = multiply_add::<T, S>(c, c, self.sum_sq_candidate[i]);
            self.sum_sq_diff[i] += square;
            self.sum_diff[i] += diff;
            self.max_diff[i] = greatest(if T::IS_EXACT_IN_PRODUCTS { square } else { diff.abs() }, self.max_diff[i]);
        }
    }
}

/// `a·b + sum`, rounded once where the product is exact and the machine has an instruction for it, which every vector unit
/// has that `pulp` knows of: the same bits.
#[inline(always)]
fn multiply_add<T: Real, S: Simd>(a: f64, b: f64, sum: f64) -> f64 {
    if !S::IS_SCALAR && T::IS_EXACT_IN_PRODUCTS { a.mul_add(b, sum) } else { sum + a * b }
}

/// The numbers of `rest`, padded with `nothing`.
#[inline(always)]
fn padded<R: Stored, S: Simd, const N: usize>(simd: S, rest: &[R], nothing: R::Real) -> [R::Real; N] {
    let mut lanes = [nothing; N];
    for (to, from) in lanes.iter_mut().zip(rest) {
        [*to] = R::numbers::<S, true, 1>(simd, &[*from]);
    }
    lanes
}

/// Whether the unequal pairs are exactly those beyond a thousandth, so that one count serves for both.
const fn is_counted_once<R: Stored, const ZEROS: bool, const MASKED: bool>() -> bool {
    R::IS_COARSE && !ZEROS && !MASKED
}

/// Whether registers have the widest size, that of a cache line.
fn has_widest<S: Simd>() -> bool {
    size_of::<S::f32s>() == 64
}

/// Growth of the sum over the lanes.
fn grown(after: &[f64; SUM_LANES], before: &[f64; SUM_LANES]) -> f64 {
    after.iter().zip(before).map(|(after, before)| after - before).sum()
}

#[inline(always)]
fn choose<T>(condition: bool, yes: T, no: T) -> T {
    if condition { yes } else { no }
}

/// The greater number; `b` where `a` is NaN.
#[inline(always)]
fn greatest<T: Real>(a: T, b: T) -> T {
    if a > b { a } else { b }
}

#[inline(always)]
fn is_finite<T: Real>(value: T) -> bool {
    value.magnitude() < T::INFINITY
}

fn count<C: Copy + Into<u64>, const N: usize>(lanes: &[C; N]) -> u64 {
    lanes.iter().map(|lane| (*lane).into()).sum()
}

/// One strip that is the same on both sides: only squares have to be summed, which are the same for all three products.
struct TakeEqual<'a, R: Stored, const N: usize> {
    values: &'a [R],
    lanes: &'a mut Lanes<R::Real, N>,
}

impl<R: Stored, const N: usize> WithSimd for TakeEqual<'_, R, N> {
    type Output = bool;

    #[inline(always)]
    #[allow(clippy::indexing_slicing, reason = "one index below N for arrays of N, or no vector code comes of it")]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        let Lanes { mut dot, mut sum_sq_baseline, mut sum_sq_candidate, .. } = *self.lanes;
        let mut take = |values: [R::Real; SUM_LANES]| {
            for i in 0..SUM_LANES {
                let value = values[i].wide();
                dot[i] = multiply_add::<R::Real, S>(value, value, dot[i]);
                sum_sq_baseline[i] = multiply_add::<R::Real, S>(value, value, sum_sq_baseline[i]);
                sum_sq_candidate[i] = multiply_add::<R::Real, S>(value, value, sum_sq_candidate[i]);
            }
        };
        let (whole, rest) = self.values.as_chunks::<SUM_LANES>();
        whole.iter().for_each(|values| take(R::numbers::<S, false, SUM_LANES>(simd, values)));
        take(padded(simd, rest, R::Real::ZERO));
        let are_finite =
            dot.iter().all(|sum| sum.is_finite()) && !R::may_mislead(self.values, grown(&dot, &self.lanes.dot));
        if are_finite {
            *self.lanes = Lanes { dot, sum_sq_baseline, sum_sq_candidate, ..*self.lanes };
        }
        are_finite
    }
}

/// One strip, compiled once per instruction set.
struct Take<'a, R: Stored, const N: usize> {
    baseline: &'a [R],
    candidate: &'a [R],
    lanes: &'a mut Lanes<R::Real, N>,
}

impl<R: Stored, const N: usize> WithSimd for Take<'_, R, N> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        let Self { baseline, candidate, lanes } = self;
        // AVX-512 adds under a mask in one step. The compiler uses that only where it cannot see that the added number
        // is a one; otherwise it converts the mask to a number, which takes two steps.
        let one = <R::Real as Real>::Count::from(true);
        let one = if has_widest::<S>() { black_box(one) } else { one };
        if !lanes.has_zeros && lanes.attempt::<R, S, false, false>(simd, baseline, candidate, one)
            || lanes.attempt::<R, S, true, false>(simd, baseline, candidate, one)
        {
            return true;
        }
        lanes.attempt::<R, S, true, true>(simd, baseline, candidate, one);
        false
    }
}
