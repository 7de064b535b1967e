//! Quantiles: the place where a falling tail reaches a probability.

use crate::compare::evaluation::normal::upper_tail;

/// Number of halvings after which no `f64` is left between the ends.
const HALVINGS: usize = 120;

/// The z with P(Z <= z) = `probability` of a standard normal number.
pub fn normal(probability: f64) -> f64 {
    if probability < 0.5 {
        -tail_quantile(probability, upper_tail)
    } else {
        tail_quantile(1.0 - probability, upper_tail)
    }
}

/// The place at or above zero where a falling `tail` equals `probability`, which is at most 0.5.
pub(super) fn tail_quantile(probability: f64, tail: impl Fn(f64) -> f64) -> f64 {
    if probability <= 0.0 {
        return f64::INFINITY;
    }
    let (mut low, mut high) = (0.0, 1.0);
    while tail(high) > probability && high < 1e300 {
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if tail(middle) > probability { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::normal;

    #[test]
    fn quantiles_are_those_of_tables() {
        // Abramowitz and Stegun 1964, table 26.1; scipy 1.14.
        for (probability, expected) in [
            (0.5, 0.0),
            (0.9, 1.281_551_565_544_600_5),
            (0.975, 1.959_963_984_540_054),
            (0.995, 2.575_829_303_548_901),
            (0.001, -3.090_232_306_167_813),
        ] {
            assert!((normal(probability) - expected).abs() < 1e-9, "{probability}: {}", normal(probability));
        }
    }
}
