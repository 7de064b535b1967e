//! Factors from recorded noise to limits, by the number of comparisons that recorded it.

/// Number of comparisons from which on the smaller factors apply: three repeats have as many.
const ENOUGH: u32 = 3;

/// Multiples of the largest recorded value that warn, and that fail.
pub(super) fn noise_factors(comparisons: u32) -> (f64, f64) {
    if comparisons >= ENOUGH { (1.5, 3.0) } else { (2.5, 5.0) }
}
