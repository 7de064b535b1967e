//! Comparison of rates in two samples of runs.

use super::student::log_gamma;

/// Probability of at least as many marked runs on the candidate's side, where every run is equally likely to be marked
/// (R. A. Fisher's exact test, one-sided). `marked` runs of `runs`, of baseline and candidate.
#[allow(clippy::cast_precision_loss, reason = "counts of runs")]
pub(crate) fn fisher(marked: [usize; 2], runs: [usize; 2]) -> f64 {
    let choose = |n: usize, k: usize| {
        if k > n { f64::NEG_INFINITY } else { log_factorial(n) - log_factorial(k) - log_factorial(n - k) }
    };
    let ([baseline, candidate], [n, m]) = (marked, runs);
    let both = baseline + candidate;
    let chance = |count: usize| (choose(m, count) + choose(n, both - count) - choose(n + m, both)).exp();
    (candidate..=both.min(m)).map(chance).sum::<f64>().min(1.0)
}

/// The logarithm of a factorial.
#[allow(clippy::cast_precision_loss, reason = "a count of runs")]
fn log_factorial(n: usize) -> f64 {
    log_gamma(n as f64 + 1.0)
}

#[cfg(test)]
mod tests {
    use super::fisher;

    #[test]
    fn chances_are_counted() {
        assert!((fisher([0, 1], [8, 8]) - 0.5).abs() < 1e-9);
        assert!((fisher([1, 3], [4, 4]) - 17.0 / 70.0).abs() < 1e-9);
        assert!((fisher([0, 0], [3, 3]) - 1.0).abs() < 1e-9);
    }
}
