//! Factors between recorded noise and the limits that follow from it, by the number of comparisons that recorded it.

/// Comparisons of three repeats, from which on the smaller factors hold.
const ENOUGH: u32 = 3;

/// Times the largest recorded value that warn, and that fail.
pub(super) fn factors(comparisons: u32) -> (f64, f64) {
    if comparisons >= ENOUGH { (1.5, 3.0) } else { (2.5, 5.0) }
}
