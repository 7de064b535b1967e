//! The normal distribution.

/// Smallest drop in standard errors that a test at 0.01 finds four times in five: the quantiles of 0.99 and 0.8 added up.
pub(crate) const DETECTABLE: f64 = 3.17;
/// Standard errors to each end of a confidence interval of 95 %.
pub(crate) const INTERVAL: f64 = 1.959_963_984_540_054;

/// Distance from which on the continued fraction converges quickly.
const FAR: f64 = 3.0;
/// Terms of the continued fraction, and at most of the series.
const TERMS: u32 = 200;

/// P(Z >= `z`) of a standard normal number, to some twelve digits; NaN for NaN.
pub fn upper_tail(z: f64) -> f64 {
    if z < 0.0 {
        return 1.0 - upper_tail(-z);
    }
    let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
    if z < FAR { 0.5 - density * series(z) } else { density / fraction(z) }
}

/// z + z^3/3 + z^5/15 + ..., all terms of one sign (Abramowitz and Stegun 1964, 26.2.11).
fn series(z: f64) -> f64 {
    let (mut sum, mut term) = (z, z);
    for order in 1..TERMS {
        term *= z * z / f64::from(2 * order + 1);
        sum += term;
    }
    sum
}

/// z + 1/(z + 2/(z + 3/(z + ...))) (Abramowitz and Stegun 1964, 26.2.14).
fn fraction(z: f64) -> f64 {
    (1..=TERMS).rev().fold(z, |rest, order| z + f64::from(order) / rest)
}

#[cfg(test)]
mod tests {
    use super::upper_tail;

    #[test]
    fn tails_are_those_of_tables() {
        // Abramowitz and Stegun 1964, table 26.1; further ones from mpmath.
        for (z, expected) in [
            (0.0, 0.5),
            (1.0, 0.158_655_253_931_457_05),
            (2.0, 0.022_750_131_948_179_21),
            (2.999_999_999, 0.001_349_898_036_061_944_4),
            (3.0, 0.001_349_898_031_630_095_7),
            (5.0, 2.866_515_718_791_94e-7),
            (10.0, 7.619_853_024_160_527e-24),
            (30.0, 4.906_713_927_148_764e-198),
        ] {
            let found = upper_tail(z);
            assert!((found - expected).abs() <= 1e-10 * expected, "{z}: {found} {expected}");
            assert!((upper_tail(-z) - (1.0 - expected)).abs() <= 1e-15, "{z}");
        }
        assert!(upper_tail(f64::NAN).is_nan());
        assert!(upper_tail(f64::INFINITY) <= 0.0);
    }
}
