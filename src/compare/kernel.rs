//! The inner loop: everything a pair of blocks contributes, in one pass.
//!
//! Lane arrays instead of intrinsics: the compiler turns them into whatever vector unit `pulp` finds at run time.
//! There is no fused multiply-add and no order that depends on the machine, so every machine gives the same bits:
//! element `i` always goes to lane `i mod N`, and lanes are folded in order. Non-finite values are masked, not
//! branched on: a place where either side is NaN or infinite counts as (0, 0) here and is looked at by
//! [`detail`](super::detail).

use std::ops::{Add, Div, Sub};

use pulp::{Arch, Simd, WithSimd};

/// A type in which relative errors are taken: `f32` or `f64`.
pub(crate) trait Real:
    Copy + PartialEq + PartialOrd + Add<Output = Self> + Sub<Output = Self> + Div<Output = Self> + Send + Sync
{
    /// 0
    const ZERO: Self;
    /// Distance from 1 to the next larger number: what msprobe adds to both sides where the baseline is zero.
    const EPSILON: Self;
    /// Positive infinity.
    const INFINITY: Self;
    /// Negative infinity.
    const NEG_INFINITY: Self;
    /// Counts as nothing: not a number.
    const NAN: Self;
    /// 1/1000, rounded to this type.
    const THOUSANDTH: Self;
    /// 5/1000, rounded to this type.
    const FIVE_THOUSANDTHS: Self;
    /// Magnitude.
    fn magnitude(self) -> Self;
    /// The same value in 64 bits.
    fn wide(self) -> f64;
}

macro_rules! real {
    ($type:ident) => {
        impl Real for $type {
            const ZERO: Self = 0.0;
            const EPSILON: Self = $type::EPSILON;
            const INFINITY: Self = $type::INFINITY;
            const NEG_INFINITY: Self = $type::NEG_INFINITY;
            const NAN: Self = $type::NAN;
            const THOUSANDTH: Self = 0.001;
            const FIVE_THOUSANDTHS: Self = 0.005;

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

real!(f32);
real!(f64);

/// How stored elements become reals of type `T`.
pub(crate) trait Load<T>: Send + Sync {
    /// What is stored.
    type Raw: bytemuck::Pod + Send + Sync;
    /// Its value; exact.
    fn load(raw: Self::Raw) -> T;
}

/// What a run of pairs contributes, kept apart by lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lanes<T, const N: usize> {
    dot: [f64; N],
    sum_sq_baseline: [f64; N],
    sum_sq_candidate: [f64; N],
    sum_sq_diff: [f64; N],
    sum_diff: [f64; N],
    sum_abs_baseline: [f64; N],
    max_abs_diff: [f64; N],
    max_relative: [T; N],
    min_baseline: [T; N],
    max_baseline: [T; N],
    min_candidate: [T; N],
    max_candidate: [T; N],
    beyond_thousandth: [u32; N],
    beyond_five_thousandths: [u32; N],
    zeros_baseline: [u32; N],
    zeros_candidate: [u32; N],
    unequal: [u32; N],
    excluded: [u32; N],
}

/// [`Lanes`], folded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sums {
    pub(crate) dot: f64,
    pub(crate) sum_sq_baseline: f64,
    pub(crate) sum_sq_candidate: f64,
    pub(crate) sum_sq_diff: f64,
    pub(crate) sum_diff: f64,
    pub(crate) sum_abs_baseline: f64,
    pub(crate) max_abs_diff: f64,
    pub(crate) max_relative: f64,
    pub(crate) min_baseline: f64,
    pub(crate) max_baseline: f64,
    pub(crate) min_candidate: f64,
    pub(crate) max_candidate: f64,
    pub(crate) beyond_thousandth: u64,
    pub(crate) beyond_five_thousandths: u64,
    pub(crate) zeros_baseline: u64,
    pub(crate) zeros_candidate: u64,
    pub(crate) unequal: u64,
}

impl<T: Real, const N: usize> Lanes<T, N> {
    /// Nothing yet.
    pub(crate) fn new() -> Self {
        Self {
            dot: [0.0; N],
            sum_sq_baseline: [0.0; N],
            sum_sq_candidate: [0.0; N],
            sum_sq_diff: [0.0; N],
            sum_diff: [0.0; N],
            sum_abs_baseline: [0.0; N],
            max_abs_diff: [0.0; N],
            max_relative: [T::ZERO; N],
            min_baseline: [T::INFINITY; N],
            max_baseline: [T::NEG_INFINITY; N],
            min_candidate: [T::INFINITY; N],
            max_candidate: [T::NEG_INFINITY; N],
            beyond_thousandth: [0; N],
            beyond_five_thousandths: [0; N],
            zeros_baseline: [0; N],
            zeros_candidate: [0; N],
            unequal: [0; N],
            excluded: [0; N],
        }
    }

    /// Takes `baseline` and `candidate` in, element by element; both of one length. A length that is no multiple of
    /// `N` may only come last.
    pub(crate) fn take<L: Load<T>>(&mut self, arch: Arch, baseline: &[L::Raw], candidate: &[L::Raw]) {
        arch.dispatch(Take::<L, T, N> { baseline, candidate, lanes: self });
    }

    /// Places where a side was NaN or infinite, and places of padding.
    pub(crate) fn excluded(&self) -> u64 {
        count(&self.excluded)
    }

    /// Unequal places so far, among those finite on both sides.
    pub(crate) fn unequal(&self) -> u64 {
        count(&self.unequal)
    }

    /// Folds the lanes in order.
    pub(crate) fn fold(&self) -> Sums {
        let sum = |lanes: &[f64; N]| lanes.iter().sum();
        let least = |lanes: &[T; N]| lanes.iter().map(|lane| lane.wide()).fold(f64::INFINITY, f64::min);
        let most = |lanes: &[T; N]| lanes.iter().map(|lane| lane.wide()).fold(f64::NEG_INFINITY, f64::max);
        Sums {
            dot: sum(&self.dot),
            sum_sq_baseline: sum(&self.sum_sq_baseline),
            sum_sq_candidate: sum(&self.sum_sq_candidate),
            sum_sq_diff: sum(&self.sum_sq_diff),
            sum_diff: sum(&self.sum_diff),
            sum_abs_baseline: sum(&self.sum_abs_baseline),
            max_abs_diff: self.max_abs_diff.iter().copied().fold(0.0, f64::max),
            max_relative: most(&self.max_relative),
            min_baseline: least(&self.min_baseline),
            max_baseline: most(&self.max_baseline),
            min_candidate: least(&self.min_candidate),
            max_candidate: most(&self.max_candidate),
            beyond_thousandth: count(&self.beyond_thousandth),
            beyond_five_thousandths: count(&self.beyond_five_thousandths),
            zeros_baseline: count(&self.zeros_baseline),
            zeros_candidate: count(&self.zeros_candidate),
            unequal: count(&self.unequal),
        }
    }

    #[inline(always)]
    #[allow(clippy::indexing_slicing, reason = "one index below N for arrays of N, or no vector code comes of it")]
    fn step(&mut self, baseline: &[T; N], candidate: &[T; N]) {
        for i in 0..N {
            let (b, c) = (baseline[i], candidate[i]);
            let (finite_b, finite_c) = (b.magnitude() < T::INFINITY, c.magnitude() < T::INFINITY);
            self.min_baseline[i] = if finite_b & (b < self.min_baseline[i]) { b } else { self.min_baseline[i] };
            self.max_baseline[i] = if finite_b & (b > self.max_baseline[i]) { b } else { self.max_baseline[i] };
            self.min_candidate[i] = if finite_c & (c < self.min_candidate[i]) { c } else { self.min_candidate[i] };
            self.max_candidate[i] = if finite_c & (c > self.max_candidate[i]) { c } else { self.max_candidate[i] };
            self.zeros_baseline[i] += u32::from(b == T::ZERO);
            self.zeros_candidate[i] += u32::from(c == T::ZERO);
            let both = finite_b & finite_c;
            self.excluded[i] += u32::from(!both);
            let (b, c) = (if both { b } else { T::ZERO }, if both { c } else { T::ZERO });
            self.unequal[i] += u32::from(b != c);
            let shift = if b == T::ZERO { T::EPSILON } else { T::ZERO };
            let relative = (((c + shift) - (b + shift)) / (b + shift)).magnitude();
            self.max_relative[i] = if relative > self.max_relative[i] { relative } else { self.max_relative[i] };
            self.beyond_thousandth[i] += u32::from(relative >= T::THOUSANDTH);
            self.beyond_five_thousandths[i] += u32::from(relative >= T::FIVE_THOUSANDTHS);
            let (b, c) = (b.wide(), c.wide());
            let diff = c - b;
            self.dot[i] += b * c;
            self.sum_sq_baseline[i] += b * b;
            self.sum_sq_candidate[i] += c * c;
            self.sum_sq_diff[i] += diff * diff;
            self.sum_diff[i] += diff;
            self.sum_abs_baseline[i] += b.abs();
            let diff = diff.abs();
            self.max_abs_diff[i] = if diff > self.max_abs_diff[i] { diff } else { self.max_abs_diff[i] };
        }
    }
}

fn count<const N: usize>(lanes: &[u32; N]) -> u64 {
    lanes.iter().map(|lane| u64::from(*lane)).sum()
}

/// The loop over one block, compiled once per instruction set.
struct Take<'a, L: Load<T>, T, const N: usize> {
    baseline: &'a [L::Raw],
    candidate: &'a [L::Raw],
    lanes: &'a mut Lanes<T, N>,
}

impl<L: Load<T>, T: Real, const N: usize> WithSimd for Take<'_, L, T, N> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        // A copy on the stack of this function can live in registers.
        let mut lanes = *self.lanes;
        let (baseline, baseline_rest) = self.baseline.as_chunks::<N>();
        let (candidate, candidate_rest) = self.candidate.as_chunks::<N>();
        for (b, c) in baseline.iter().zip(candidate) {
            lanes.step(&b.map(L::load), &c.map(L::load));
        }
        if !baseline_rest.is_empty() {
            // NaN on both sides is masked everywhere.
            let (mut b, mut c) = ([T::NAN; N], [T::NAN; N]);
            b.iter_mut().zip(baseline_rest).for_each(|(to, from)| *to = L::load(*from));
            c.iter_mut().zip(candidate_rest).for_each(|(to, from)| *to = L::load(*from));
            lanes.step(&b, &c);
        }
        *self.lanes = lanes;
    }
}
