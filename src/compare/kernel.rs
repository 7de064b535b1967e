//! The inner loop: everything a pair of blocks contributes, in one pass.
//!
//! Lane arrays instead of intrinsics: the compiler turns them into whatever vector unit `pulp` finds at run time.
//! Every machine gives the same bits: element `i` always goes to lane `i mod N`, lanes are folded in order, and a fused
//! multiply-add is used only where the product is exact in `f64` anyway (two `f32` have 48 bits of product), so that it
//! rounds just as the two steps it stands for.
//!
//! A strip is first taken as if it held nothing but finite numbers and a baseline without zeros. Where that is wrong,
//! its largest relative error is infinite or NaN, and the strip is taken again, with what it needs: rare cases cost
//! nothing elsewhere. Under masks a place where either side is NaN or infinite counts as (0, 0) here and is looked at
//! by [`detail`](super::detail).

#[cfg(target_arch = "x86_64")]
use std::any::Any;
use std::fmt::Debug;
use std::ops::{Add, Div, Sub};

use half::{bf16, f16};
use pulp::{Arch, Simd, WithSimd};

/// A type in which relative errors are taken: `f32` or `f64`.
pub(crate) trait Real:
    Copy + Debug + PartialEq + PartialOrd + Add<Output = Self> + Sub<Output = Self> + Div<Output = Self> + Send + Sync
{
    /// Bits of a number; those of numbers that are not negative have the numbers' order, with NaN on top.
    type Bits: Copy + Debug + Ord;
    /// 0
    const ZERO: Self;
    /// Distance from 1 to the next larger number: what msprobe adds to both sides where the baseline is zero.
    const EPSILON: Self;
    /// Positive infinity.
    const INFINITY: Self;
    /// Counts as nothing: not a number.
    const NAN: Self;
    /// 1/1000, rounded to this type.
    const THOUSANDTH: Self;
    /// 5/1000, rounded to this type.
    const FIVE_THOUSANDTHS: Self;
    /// Whether products of two are exact in `f64`, and neither overflow nor vanish there.
    const IS_EXACT_IN_PRODUCTS: bool;
    /// Magnitude.
    fn magnitude(self) -> Self;
    /// The same value in 64 bits.
    fn wide(self) -> f64;
    /// Its bits.
    fn bits(self) -> Self::Bits;
    /// The number with these bits.
    fn from_bits(bits: Self::Bits) -> Self;
}

macro_rules! real {
    ($type:ident, $bits:ident, $is_exact:literal) => {
        impl Real for $type {
            type Bits = $bits;
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

            #[inline(always)]
            fn bits(self) -> $bits {
                self.to_bits()
            }

            #[inline(always)]
            fn from_bits(bits: $bits) -> Self {
                Self::from_bits(bits)
            }
        }
    };
}

real!(f32, u32, true);
real!(f64, u64, false);

/// A stored element that becomes a [`Real`] on its way into a register.
pub(crate) trait Stored: Copy {
    /// What it becomes.
    type Real: Real;

    /// Hands the numbers of both sides on: these themselves, or what they become on `simd`.
    fn pass<S: Simd, const N: usize>(
        simd: S,
        b: &[Self; N],
        c: &[Self; N],
        on: impl FnOnce(&[Self::Real; N], &[Self::Real; N]),
    );
}

impl<T: Real> Stored for T {
    type Real = T;

    #[inline(always)]
    fn pass<S: Simd, const N: usize>(_: S, b: &[T; N], c: &[T; N], on: impl FnOnce(&[T; N], &[T; N])) {
        on(b, c);
    }
}

impl Stored for bf16 {
    type Real = f32;

    #[inline(always)]
    fn pass<S: Simd, const N: usize>(_: S, b: &[Self; N], c: &[Self; N], on: impl FnOnce(&[f32; N], &[f32; N])) {
        on(&widened(b), &widened(c));
    }
}

impl Stored for f16 {
    type Real = f32;

    #[inline(always)]
    fn pass<S: Simd, const N: usize>(simd: S, b: &[Self; N], c: &[Self; N], on: impl FnOnce(&[f32; N], &[f32; N])) {
        on(&widened_halves(simd, b), &widened_halves(simd, c));
    }
}

/// The values of `float16`s: whole registers by the instruction for it where the widest vector unit is there. Without
/// one this is slow, and converting beforehand is better ([`converts_halves`]).
#[inline(always)]
#[cfg_attr(not(target_arch = "x86_64"), expect(unused_variables, reason = "no instruction is asked for there"))]
fn widened_halves<S: Simd, const N: usize>(simd: S, stored: &[f16; N]) -> [f32; N] {
    let mut numbers = [0.0; N];
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = (&simd as &dyn Any).downcast_ref::<pulp::x86::V4>().filter(|_| N.is_multiple_of(16)) {
        for (to, from) in numbers.as_chunks_mut::<16>().0.iter_mut().zip(stored.as_chunks::<16>().0) {
            *to = pulp::cast(simd.avx512f._mm512_cvtph_ps(pulp::cast(from.map(f16::to_bits))));
        }
        return numbers;
    }
    for (to, from) in numbers.iter_mut().zip(stored) {
        *to = from.to_f32_const();
    }
    numbers
}

/// Whether 16-bit numbers are converted in the kernel's registers. Narrower registers are too few for that: a buffer is twice
/// as fast there.
#[cfg(target_arch = "x86_64")]
pub(crate) fn converts_halves(arch: Arch) -> bool {
    matches!(arch, Arch::V4(_))
}

/// Other machines convert beforehand.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn converts_halves(_: Arch) -> bool {
    false
}

#[inline(always)]
fn widened<const N: usize>(stored: &[bf16; N]) -> [f32; N] {
    let mut numbers = [0.0; N];
    for (to, from) in numbers.iter_mut().zip(stored) {
        *to = f32::from_bits(u32::from(from.to_bits()) << 16);
    }
    numbers
}

/// Lanes of the sums: one register of the widest vector unit.
const SUM_LANES: usize = 8;

/// What a run of pairs contributes, kept apart by lane: counts and relative errors in the elements' own width, sums
/// in 64 bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lanes<T: Real, const N: usize> {
    max_relative: [T::Bits; N],
    beyond_thousandth: [u32; N],
    beyond_five_thousandths: [u32; N],
    unequal: [u32; N],
    dot: [f64; SUM_LANES],
    sum_sq_baseline: [f64; SUM_LANES],
    sum_sq_candidate: [f64; SUM_LANES],
    sum_sq_diff: [f64; SUM_LANES],
    sum_diff: [f64; SUM_LANES],
    /// Of the differences, or of their squares where these lose nothing ([`Real::IS_EXACT_IN_PRODUCTS`]).
    max_diff: [f64; SUM_LANES],
    /// Whether the baseline has had zeros, which then are expected.
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
            max_relative: [T::ZERO.bits(); N],
            beyond_thousandth: [0; N],
            beyond_five_thousandths: [0; N],
            unequal: [0; N],
            dot: [0.0; SUM_LANES],
            sum_sq_baseline: [0.0; SUM_LANES],
            sum_sq_candidate: [0.0; SUM_LANES],
            sum_sq_diff: [0.0; SUM_LANES],
            sum_diff: [0.0; SUM_LANES],
            max_diff: [0.0; SUM_LANES],
            has_zeros: false,
        }
    }

    /// Takes a strip of both sides in, element by element; both of one length. A length that is no multiple of `N`
    /// may only come last. `false` where a value may not be finite.
    pub(crate) fn take<R: Stored<Real = T>>(&mut self, arch: Arch, baseline: &[R], candidate: &[R]) -> bool {
        arch.dispatch(Take { baseline, candidate, lanes: self })
    }

    /// Takes a strip in that is the same on both sides, to the bit; a length that is no multiple of `N` may only come
    /// last. `false` where a value may not be finite: the strip then has to be [taken](Self::take) as any other.
    pub(crate) fn take_equal(&mut self, arch: Arch, values: &[T]) -> bool {
        arch.dispatch(TakeEqual { values, lanes: self })
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
            max_relative: self.max_relative.iter().max().map_or(0.0, |bits| T::from_bits(*bits).wide()),
            beyond_thousandth: count(&self.beyond_thousandth),
            beyond_five_thousandths: count(&self.beyond_five_thousandths),
            unequal: count(&self.unequal),
        }
    }

    /// Takes a strip in, unless its largest relative error says that more than `ZEROS` and `MASKED` is needed.
    #[inline(always)]
    fn attempt<R: Stored<Real = T>, S: Simd, const ZEROS: bool, const MASKED: bool, const FUSED: bool>(
        &mut self,
        simd: S,
        baseline: &[R],
        candidate: &[R],
        one: u32,
    ) -> bool {
        // A copy on the stack of this function can live in registers.
        let mut lanes = Self { max_relative: [T::ZERO.bits(); N], has_zeros: ZEROS, ..*self };
        let (baseline, baseline_rest) = baseline.as_chunks::<N>();
        let (candidate, candidate_rest) = candidate.as_chunks::<N>();
        for (b, c) in baseline.iter().zip(candidate) {
            R::pass(
                simd,
                b,
                c,
                #[inline(always)]
                |b, c| lanes.step::<ZEROS, MASKED, FUSED>(b, c, one),
            );
        }
        let rest = [padded(simd, baseline_rest), padded(simd, candidate_rest)];
        let len = baseline_rest.len();
        let is_sound = lanes.max_relative.iter().all(|most| *most < T::INFINITY.bits())
            && rest.iter().flat_map(|rest| rest.iter().take(len)).all(|value| is_finite(*value));
        if !MASKED && !is_sound {
            return false;
        }
        if len > 0 {
            let [b, c] = &rest;
            lanes.step::<true, true, FUSED>(b, c, one);
        }
        for (most, before) in lanes.max_relative.iter_mut().zip(&self.max_relative) {
            *most = (*most).max(*before);
        }
        *self = lanes;
        true
    }

    #[inline(always)]
    #[allow(clippy::indexing_slicing, reason = "one index below N for arrays of N, or no vector code comes of it")]
    fn step<const ZEROS: bool, const MASKED: bool, const FUSED: bool>(
        &mut self,
        baseline: &[T; N],
        candidate: &[T; N],
        one: u32,
    ) {
        for i in 0..N {
            let (mut b, mut c) = (baseline[i], candidate[i]);
            if MASKED {
                let both = is_finite(b) & is_finite(c);
                (b, c) = (choose(both, b, T::ZERO), choose(both, c, T::ZERO));
            }
            self.unequal[i] += choose(b != c, one, 0);
            if ZEROS {
                let shift = choose(b == T::ZERO, T::EPSILON, T::ZERO);
                (b, c) = (b + shift, c + shift);
            }
            let relative = ((c - b) / b).magnitude();
            self.max_relative[i] = self.max_relative[i].max(relative.bits());
            self.beyond_thousandth[i] += choose(relative >= T::THOUSANDTH, one, 0);
            self.beyond_five_thousandths[i] += choose(relative >= T::FIVE_THOUSANDTHS, one, 0);
        }
        let (baseline, candidate) = (baseline.as_chunks().0, candidate.as_chunks().0);
        for (b, c) in baseline.iter().zip(candidate) {
            self.sum::<MASKED, FUSED>(b, c);
        }
    }

    #[inline(always)]
    #[allow(clippy::indexing_slicing, reason = "one index below N for arrays of N, or no vector code comes of it")]
    fn sum<const MASKED: bool, const FUSED: bool>(&mut self, baseline: &[T; SUM_LANES], candidate: &[T; SUM_LANES]) {
        for i in 0..SUM_LANES {
            let (mut b, mut c) = (baseline[i].wide(), candidate[i].wide());
            if MASKED {
                let both = is_finite(b) & is_finite(c);
                (b, c) = (choose(both, b, 0.0), choose(both, c, 0.0));
            }
            let diff = c - b;
            let square = diff * diff;
            self.dot[i] = multiply_add::<T, FUSED>(b, c, self.dot[i]);
            self.sum_sq_baseline[i] = multiply_add::<T, FUSED>(b, b, self.sum_sq_baseline[i]);
            self.sum_sq_candidate[i] = multiply_add::<T, FUSED>(c, c, self.sum_sq_candidate[i]);
            self.sum_sq_diff[i] += square;
            self.sum_diff[i] += diff;
            self.max_diff[i] = greatest(if T::IS_EXACT_IN_PRODUCTS { square } else { diff.abs() }, self.max_diff[i]);
        }
    }
}

/// `a·b + sum`, rounded once where the product is exact and the machine has an instruction for it: the same bits.
#[inline(always)]
fn multiply_add<T: Real, const FUSED: bool>(a: f64, b: f64, sum: f64) -> f64 {
    if FUSED && T::IS_EXACT_IN_PRODUCTS { a.mul_add(b, sum) } else { sum + a * b }
}

/// The numbers of `rest`, filled up with what is masked everywhere: NaN.
#[inline(always)]
fn padded<R: Stored, S: Simd, const N: usize>(simd: S, rest: &[R]) -> [R::Real; N] {
    let mut lanes = [R::Real::NAN; N];
    for (to, from) in lanes.iter_mut().zip(rest) {
        R::pass(simd, &[*from], &[*from], |[number], _| *to = *number);
    }
    lanes
}

#[inline(always)]
fn choose<T>(condition: bool, yes: T, no: T) -> T {
    if condition { yes } else { no }
}

/// The greater number; `b` where `a` is NaN.
#[inline(always)]
fn greatest(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

#[inline(always)]
fn is_finite<T: Real>(value: T) -> bool {
    value.magnitude() < T::INFINITY
}

fn count<const N: usize>(lanes: &[u32; N]) -> u64 {
    lanes.iter().map(|lane| u64::from(*lane)).sum()
}

/// One strip that is the same on both sides: nothing but squares to sum up, the same for all three products.
struct TakeEqual<'a, T: Real, const N: usize> {
    values: &'a [T],
    lanes: &'a mut Lanes<T, N>,
}

impl<T: Real, const N: usize> TakeEqual<'_, T, N> {
    #[inline(always)]
    #[allow(clippy::indexing_slicing, reason = "one index below N for arrays of N, or no vector code comes of it")]
    fn run<const FUSED: bool>(self) -> bool {
        let Lanes { mut dot, mut sum_sq_baseline, mut sum_sq_candidate, .. } = *self.lanes;
        let (whole, rest) = self.values.as_chunks::<SUM_LANES>();
        let mut last = [T::ZERO; SUM_LANES];
        last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        for values in whole.iter().chain(std::iter::once(&last)) {
            for i in 0..SUM_LANES {
                let value = values[i].wide();
                dot[i] = multiply_add::<T, FUSED>(value, value, dot[i]);
                sum_sq_baseline[i] = multiply_add::<T, FUSED>(value, value, sum_sq_baseline[i]);
                sum_sq_candidate[i] = multiply_add::<T, FUSED>(value, value, sum_sq_candidate[i]);
            }
        }
        let are_finite = dot.iter().all(|sum| sum.is_finite());
        if are_finite {
            *self.lanes = Lanes { dot, sum_sq_baseline, sum_sq_candidate, ..*self.lanes };
        }
        are_finite
    }
}

impl<T: Real, const N: usize> WithSimd for TakeEqual<'_, T, N> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> bool {
        if S::IS_SCALAR { self.run::<false>() } else { self.run::<true>() }
    }
}

/// One strip, compiled once per instruction set.
struct Take<'a, R: Stored, const N: usize> {
    baseline: &'a [R],
    candidate: &'a [R],
    lanes: &'a mut Lanes<R::Real, N>,
}

impl<R: Stored, const N: usize> Take<'_, R, N> {
    #[inline(always)]
    fn run<S: Simd, const FUSED: bool>(self, simd: S, one: u32) -> bool {
        let Self { baseline, candidate, lanes } = self;
        if !lanes.has_zeros && lanes.attempt::<R, S, false, false, FUSED>(simd, baseline, candidate, one)
            || lanes.attempt::<R, S, true, false, FUSED>(simd, baseline, candidate, one)
        {
            return true;
        }
        lanes.attempt::<R, S, true, true, FUSED>(simd, baseline, candidate, one);
        false
    }
}

impl<R: Stored, const N: usize> WithSimd for Take<'_, R, N> {
    type Output = bool;

    /// Every vector unit `pulp` knows of fuses; plain code would call a function for it.
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        // AVX-512 adds under a mask in one step. The compiler finds that only where it does not know that a one is
        // added, for which it has another way: the mask as a number, in two.
        let one = if size_of::<S::f32s>() == 64 { std::hint::black_box(1) } else { 1 };
        if S::IS_SCALAR { self.run::<S, false>(simd, one) } else { self.run::<S, true>(simd, one) }
    }
}
