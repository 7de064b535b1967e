//! The inner loop: everything a pair of blocks contributes, in one pass.
//!
//! Lane arrays instead of intrinsics: the compiler turns them into whatever vector unit `pulp` finds at run time.
//! There is no fused multiply-add and no order that depends on the machine, so every machine gives the same bits:
//! element `i` always goes to lane `i mod N`, and lanes are folded in order. What a strip does not hold costs nothing:
//! zeros are looked for once a strip, and one with values that are not finite takes the same loops with masks: a place where either side is NaN or infinite counts as (0, 0) here and is looked
//! at by [`detail`](super::detail).

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

/// Lanes of the sums: one register of the widest vector unit.
const SUM_LANES: usize = 8;

/// What a run of pairs contributes, kept apart by lane. Two loops over a strip that stays in the first-level cache are
/// faster than one that needs more registers than there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lanes<T, const N: usize> {
    order: Order<T, N>,
    products: Products,
}

/// What is taken in the elements' own width: extremes, relative errors, counts.
#[derive(Clone, Copy, Debug)]
struct Order<T, const N: usize> {
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
}

/// What is summed in 64 bits.
#[derive(Clone, Copy, Debug)]
struct Products {
    dot: [f64; SUM_LANES],
    sum_sq_baseline: [f64; SUM_LANES],
    sum_sq_candidate: [f64; SUM_LANES],
    sum_sq_diff: [f64; SUM_LANES],
    sum_diff: [f64; SUM_LANES],
    sum_abs_baseline: [f64; SUM_LANES],
    max_abs_diff: [f64; SUM_LANES],
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
        Self { order: Order::new(), products: Products::new() }
    }

    /// Takes a strip of both sides in, element by element; both of one length. A length that is no multiple of `N`
    /// may only come last. Says whether every value was finite.
    pub(crate) fn take(&mut self, arch: Arch, baseline: &[T], candidate: &[T]) -> bool {
        arch.dispatch(Take { baseline, candidate, lanes: self })
    }

    /// Unequal places so far, among those finite on both sides.
    pub(crate) fn unequal(&self) -> u64 {
        count(&self.order.unequal)
    }

    /// Folds the lanes in order.
    pub(crate) fn fold(&self) -> Sums {
        let sum = |lanes: &[f64; SUM_LANES]| lanes.iter().sum();
        let least = |lanes: &[T; N]| lanes.iter().map(|lane| lane.wide()).fold(f64::INFINITY, f64::min);
        let most = |lanes: &[T; N]| lanes.iter().map(|lane| lane.wide()).fold(f64::NEG_INFINITY, f64::max);
        let Self { order, products } = self;
        Sums {
            dot: sum(&products.dot),
            sum_sq_baseline: sum(&products.sum_sq_baseline),
            sum_sq_candidate: sum(&products.sum_sq_candidate),
            sum_sq_diff: sum(&products.sum_sq_diff),
            sum_diff: sum(&products.sum_diff),
            sum_abs_baseline: sum(&products.sum_abs_baseline),
            max_abs_diff: products.max_abs_diff.iter().copied().fold(0.0, f64::max),
            max_relative: most(&order.max_relative),
            min_baseline: least(&order.min_baseline),
            max_baseline: most(&order.max_baseline),
            min_candidate: least(&order.min_candidate),
            max_candidate: most(&order.max_candidate),
            beyond_thousandth: count(&order.beyond_thousandth),
            beyond_five_thousandths: count(&order.beyond_five_thousandths),
            zeros_baseline: count(&order.zeros_baseline),
            zeros_candidate: count(&order.zeros_candidate),
            unequal: count(&order.unequal),
        }
    }
}

impl<T: Real, const N: usize> Order<T, N> {
    fn new() -> Self {
        Self {
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
        }
    }

    #[inline(always)]
    #[allow(clippy::indexing_slicing, reason = "one index below N for arrays of N, or no vector code comes of it")]
    fn step<const ZEROS: bool, const MASKED: bool>(&mut self, baseline: &[T; N], candidate: &[T; N]) {
        for i in 0..N {
            let (mut b, mut c) = (baseline[i], candidate[i]);
            let (mut kept_b, mut kept_c) = (b, c);
            if ZEROS {
                self.zeros_baseline[i] += u32::from(b == T::ZERO);
                self.zeros_candidate[i] += u32::from(c == T::ZERO);
            }
            if MASKED {
                let (finite_b, finite_c) = (b.magnitude() < T::INFINITY, c.magnitude() < T::INFINITY);
                (kept_b, kept_c) = (choose(finite_b, b, T::NAN), choose(finite_c, c, T::NAN));
                let both = finite_b & finite_c;
                (b, c) = (choose(both, b, T::ZERO), choose(both, c, T::ZERO));
            }
            self.min_baseline[i] = least(kept_b, self.min_baseline[i]);
            self.max_baseline[i] = greatest(kept_b, self.max_baseline[i]);
            self.min_candidate[i] = least(kept_c, self.min_candidate[i]);
            self.max_candidate[i] = greatest(kept_c, self.max_candidate[i]);
            self.unequal[i] += u32::from(b != c);
            if ZEROS {
                let shift = choose(b == T::ZERO, T::EPSILON, T::ZERO);
                (b, c) = (b + shift, c + shift);
            }
            let relative = ((c - b) / b).magnitude();
            self.max_relative[i] = greatest(relative, self.max_relative[i]);
            self.beyond_thousandth[i] += u32::from(relative >= T::THOUSANDTH);
            self.beyond_five_thousandths[i] += u32::from(relative >= T::FIVE_THOUSANDTHS);
        }
    }

    /// The loop over one strip; `ZEROS` where a value is zero, `MASKED` where one is not finite.
    #[inline(always)]
    fn take<const ZEROS: bool, const MASKED: bool>(&mut self, baseline: &[T], candidate: &[T]) {
        // A copy on the stack of this function can live in registers.
        let mut lanes = *self;
        let (baseline, baseline_rest) = baseline.as_chunks::<N>();
        let (candidate, candidate_rest) = candidate.as_chunks::<N>();
        for (b, c) in baseline.iter().zip(candidate) {
            lanes.step::<ZEROS, MASKED>(b, c);
        }
        if !baseline_rest.is_empty() {
            lanes.step::<true, true>(&padded(baseline_rest), &padded(candidate_rest));
        }
        *self = lanes;
    }
}

impl Products {
    fn new() -> Self {
        Self {
            dot: [0.0; SUM_LANES],
            sum_sq_baseline: [0.0; SUM_LANES],
            sum_sq_candidate: [0.0; SUM_LANES],
            sum_sq_diff: [0.0; SUM_LANES],
            sum_diff: [0.0; SUM_LANES],
            sum_abs_baseline: [0.0; SUM_LANES],
            max_abs_diff: [0.0; SUM_LANES],
        }
    }

    #[inline(always)]
    #[allow(clippy::indexing_slicing, reason = "one index below N for arrays of N, or no vector code comes of it")]
    fn step<const MASKED: bool, T: Real>(&mut self, baseline: &[T; SUM_LANES], candidate: &[T; SUM_LANES]) {
        for i in 0..SUM_LANES {
            let (mut b, mut c) = (baseline[i].wide(), candidate[i].wide());
            if MASKED {
                let both = (b.abs() < f64::INFINITY) & (c.abs() < f64::INFINITY);
                (b, c) = (choose(both, b, 0.0), choose(both, c, 0.0));
            }
            let diff = c - b;
            self.dot[i] += b * c;
            self.sum_sq_baseline[i] += b * b;
            self.sum_sq_candidate[i] += c * c;
            self.sum_sq_diff[i] += diff * diff;
            self.sum_diff[i] += diff;
            self.sum_abs_baseline[i] += b.abs();
            self.max_abs_diff[i] = greatest(diff.abs(), self.max_abs_diff[i]);
        }
    }

    /// The loop over one strip; `MASKED` where a place is not finite.
    #[inline(always)]
    fn take<const MASKED: bool, T: Real>(&mut self, baseline: &[T], candidate: &[T]) {
        let mut lanes = *self;
        let (baseline, baseline_rest) = baseline.as_chunks::<SUM_LANES>();
        let (candidate, candidate_rest) = candidate.as_chunks::<SUM_LANES>();
        for (b, c) in baseline.iter().zip(candidate) {
            lanes.step::<MASKED, T>(b, c);
        }
        if !baseline_rest.is_empty() {
            lanes.step::<true, T>(&padded(baseline_rest), &padded(candidate_rest));
        }
        *self = lanes;
    }
}

/// `rest`, filled up with what is masked everywhere: NaN.
#[inline(always)]
fn padded<T: Real, const N: usize>(rest: &[T]) -> [T; N] {
    let mut lanes = [T::NAN; N];
    lanes.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    lanes
}

#[inline(always)]
fn choose<T>(condition: bool, yes: T, no: T) -> T {
    if condition { yes } else { no }
}

/// The lesser number; `b` where `a` is NaN.
#[inline(always)]
fn least<T: Real>(a: T, b: T) -> T {
    if a < b { a } else { b }
}

/// The greater number; `b` where `a` is NaN.
#[inline(always)]
fn greatest<T: Real>(a: T, b: T) -> T {
    if a > b { a } else { b }
}

fn count<const N: usize>(lanes: &[u32; N]) -> u64 {
    lanes.iter().map(|lane| u64::from(*lane)).sum()
}

/// The loops over one strip, compiled once per instruction set.
struct Take<'a, T, const N: usize> {
    baseline: &'a [T],
    candidate: &'a [T],
    lanes: &'a mut Lanes<T, N>,
}

impl<T: Real, const N: usize> WithSimd for Take<'_, T, N> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> bool {
        let Self { baseline, candidate, lanes } = self;
        let finite = all(baseline, is_finite) & all(candidate, is_finite);
        let nonzero = all(baseline, is_nonzero) & all(candidate, is_nonzero);
        match (finite, nonzero) {
            (true, true) => lanes.order.take::<false, false>(baseline, candidate),
            (true, false) => lanes.order.take::<true, false>(baseline, candidate),
            (false, _) => lanes.order.take::<true, true>(baseline, candidate),
        }
        if finite {
            lanes.products.take::<false, T>(baseline, candidate);
        } else {
            lanes.products.take::<true, T>(baseline, candidate);
        }
        finite
    }
}

#[inline(always)]
fn all<T: Real>(values: &[T], test: impl Fn(T) -> bool) -> bool {
    values.iter().fold(true, |all, value| all & test(*value))
}

#[inline(always)]
fn is_finite<T: Real>(value: T) -> bool {
    value.magnitude() < T::INFINITY
}

#[inline(always)]
fn is_nonzero<T: Real>(value: T) -> bool {
    value != T::ZERO
}
