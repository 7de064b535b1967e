//! Cases that the inner loop leaves out: places that are not finite, and equality that `f64` cannot decide.

use super::convert::integer;
use super::kernel::Real;
use crate::dtype::Dtype;

/// Counts and first places of one chunk.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Detail {
    pub(crate) nan_baseline: u64,
    pub(crate) nan_candidate: u64,
    pub(crate) inf_baseline: u64,
    pub(crate) inf_candidate: u64,
    pub(crate) saturated_baseline: u64,
    pub(crate) saturated_candidate: u64,
    pub(crate) mismatches: u64,
    pub(crate) first_mismatch: Option<u64>,
    /// Places where only one side is NaN, or only one side is infinite; signs are ignored.
    pub(crate) kinds_differ: u64,
    /// Unequal places that the kernel cannot count.
    pub(crate) unequal: u64,
}

/// The largest finite values of both sides' types.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Largest {
    pub(crate) baseline: Option<f64>,
    pub(crate) candidate: Option<f64>,
}

impl Detail {
    /// Counts NaN, infinity and saturation over all pairs; `start` is the place of the first pair in the tensor.
    pub(crate) fn count_specials<T: Real>(&mut self, start: u64, baseline: &[T], candidate: &[T], largest: Largest) {
        for (place, (b, c)) in (start..).zip(baseline.iter().zip(candidate)) {
            let (b, c) = (b.wide(), c.wide());
            if !b.is_finite() || !c.is_finite() {
                self.count_sides(b.is_nan(), b.is_infinite(), c.is_nan(), c.is_infinite());
                self.compare_specials(place, b, c);
                self.saturated_baseline += u64::from(is_saturated(b, c, largest.baseline));
                self.saturated_candidate += u64::from(is_saturated(c, b, largest.candidate));
            }
        }
    }

    fn count_sides(&mut self, nan_b: bool, inf_b: bool, nan_c: bool, inf_c: bool) {
        self.nan_baseline += u64::from(nan_b);
        self.nan_candidate += u64::from(nan_c);
        self.inf_baseline += u64::from(inf_b);
        self.inf_candidate += u64::from(inf_c);
    }

    fn compare_specials(&mut self, place: u64, b: f64, c: f64) {
        self.kinds_differ += u64::from(b.is_nan() != c.is_nan() || b.is_infinite() != c.is_infinite());
        if !same(b, c) {
            self.mismatches += 1;
            self.first_mismatch.get_or_insert(place);
            self.unequal += 1;
        }
    }

    /// As for real numbers, for complex ones given as `[real, imaginary]` parts: a number is NaN if a part is NaN, else
    /// infinite if a part is infinite.
    pub(crate) fn count_complex_specials(
        &mut self,
        start: u64,
        baseline: [&[f64]; 2],
        candidate: [&[f64]; 2],
        largest: Largest,
    ) {
        let [b_re, b_im] = baseline;
        let [c_re, c_im] = candidate;
        let parts = b_re.iter().zip(b_im).zip(c_re.iter().zip(c_im));
        for (place, ((b_re, b_im), (c_re, c_im))) in (start..).zip(parts) {
            let (nan_b, nan_c) = (b_re.is_nan() || b_im.is_nan(), c_re.is_nan() || c_im.is_nan());
            let (inf_b, inf_c) = (b_re.is_infinite() || b_im.is_infinite(), c_re.is_infinite() || c_im.is_infinite());
            self.count_sides(nan_b, inf_b && !nan_b, nan_c, inf_c && !nan_c);
            let equal = (nan_b && nan_c) || (same(*b_re, *c_re) && same(*b_im, *c_im));
            self.unequal += u64::from(!equal);
            if !equal && (nan_b || nan_c || inf_b || inf_c) {
                self.mismatches += 1;
                self.first_mismatch.get_or_insert(place);
            }
            // msprobe looks at the real part only.
            let kinds_differ = b_re.is_nan() != c_re.is_nan() || b_re.is_infinite() != c_re.is_infinite();
            self.kinds_differ += u64::from(kinds_differ);
            let saturated =
                |x: [&f64; 2], y: [&f64; 2], largest| x.iter().zip(y).any(|(x, y)| is_saturated(**x, *y, largest));
            self.saturated_baseline += u64::from(saturated([b_re, b_im], [c_re, c_im], largest.baseline));
            self.saturated_candidate += u64::from(saturated([c_re, c_im], [b_re, b_im], largest.candidate));
        }
    }

    /// Counts unequal pairs where a side is a 64-bit integer: integers as they are, floats by their exact value. Floats
    /// that are not finite are counted with the other special values.
    pub(crate) fn count_unequal_integers(&mut self, baseline: (Dtype, &[u8]), candidate: (Dtype, &[u8])) {
        let ((b_type, b_bytes), (c_type, c_bytes)) = (baseline, candidate);
        if b_type == c_type {
            let pairs = b_bytes.as_chunks::<8>().0.iter().zip(c_bytes.as_chunks::<8>().0);
            self.unequal += pairs.filter(|(b, c)| b != c).count() as u64;
            return;
        }
        let pairs = b_bytes.chunks_exact(b_type.size()).zip(c_bytes.chunks_exact(c_type.size()));
        for (b, c) in pairs {
            let equal = match (integer(b_type, b), integer(c_type, c)) {
                (Some(b), Some(c)) => b == c,
                (Some(b), None) => is_integer(real(c_type, c), b),
                (None, Some(c)) => is_integer(real(b_type, b), c),
                (None, None) => true,
            };
            self.unequal += u64::from(!equal);
        }
    }
}

/// Equal numbers, or NaN on both sides.
fn same(b: f64, c: f64) -> bool {
    b.partial_cmp(&c) == Some(std::cmp::Ordering::Equal) || (b.is_nan() && c.is_nan())
}

/// Whether `value` is stuck at the largest number of its type where `other` is infinite.
fn is_saturated(value: f64, other: f64, largest: Option<f64>) -> bool {
    other.is_infinite() && largest.is_some_and(|largest| same(value, largest.copysign(other)))
}

fn real(dtype: Dtype, raw: &[u8]) -> f64 {
    let mut value = Vec::with_capacity(1);
    super::convert::to_f64(pulp::Arch::new(), dtype, raw, false, &mut value);
    value.first().copied().unwrap_or(f64::NAN)
}

/// Whether a float is exactly the integer `exact`, or not finite.
#[allow(clippy::cast_possible_truncation, reason = "a float within the range of 64-bit integers fits 128 bits")]
fn is_integer(value: f64, exact: i128) -> bool {
    !value.is_finite() || (value.abs() < 2f64.powi(65) && same(value.trunc(), value) && value as i128 == exact)
}
