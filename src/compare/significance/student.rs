//! Student's distribution.

use super::quantile::tail_quantile;

/// Terms of the continued fraction, at most.
const TERMS: u32 = 500;
const SMALLEST: f64 = 1e-300;

/// P(T >= `t`) with `freedom` degrees of freedom: half of the incomplete beta function at v / (v + t²) (Abramowitz and Stegun
/// 1964, 26.7.1).
pub fn upper_tail(t: f64, freedom: f64) -> f64 {
    if t < 0.0 {
        return 1.0 - upper_tail(-t, freedom);
    }
    if t.is_infinite() {
        return 0.0;
    }
    0.5 * incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + t * t))
}

/// The t with P(T <= t) = `probability`, which is at least 0.5.
pub(crate) fn quantile(probability: f64, freedom: f64) -> f64 {
    tail_quantile(1.0 - probability, |t| upper_tail(t, freedom))
}

/// The regularised incomplete beta function (Abramowitz and Stegun 1964, 26.5.8).
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = (log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp();
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(a, b, x) / a
    } else {
        1.0 - front * fraction(b, a, 1.0 - x) / b
    }
}

/// The continued fraction of the incomplete beta function, by Lentz's method.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    let whole = |value: f64| if value.abs() < SMALLEST { SMALLEST } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / whole(1.0 - (a + b) * x / (a + 1.0));
    let mut product = d;
    for term in 1..TERMS {
        let m = f64::from(term);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = product;
        for part in [even, odd] {
            d = 1.0 / whole(1.0 + part * d);
            c = whole(1.0 + part / c);
            product *= c * d;
        }
        if (product - before).abs() <= 1e-16 * product.abs() {
            break;
        }
    }
    product
}

/// The logarithm of the gamma function: Stirling's series (Abramowitz and Stegun 1964, 6.1.41) from 10 on, and the recurrence
/// below.
pub(super) fn log_gamma(x: f64) -> f64 {
    if x < 10.0 {
        return log_gamma(x + 1.0) - x.ln();
    }
    let inverse = 1.0 / (x * x);
    let series = [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0, -691.0 / 360_360.0, 1.0 / 156.0];
    let sum = series.iter().rev().fold(0.0, |sum, term| sum * inverse + term) / x;
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_and_tails_are_those_of_tables() {
        // Abramowitz and Stegun 1964, table 26.10; digits from scipy 1.14.
        for (probability, freedom, expected) in [
            (0.975, 1.0, 12.706_204_736_174_7),
            (0.975, 4.0, 2.776_445_105_197_79),
            (0.995, 9.0, 3.249_835_541_592_14),
            (0.99, 18.0, 2.552_379_630_182_25),
            (0.9995, 60.0, 3.460_200_469_194_95),
        ] {
            let found = quantile(probability, freedom);
            assert!((found - expected).abs() < 1e-9 * expected.max(1.0), "{probability} {freedom}: {found}");
            assert!((upper_tail(expected, freedom) - (1.0 - probability)).abs() < 1e-12);
        }
        assert!((upper_tail(0.0, 3.0) - 0.5).abs() < 1e-15 && (upper_tail(-1.0, 1.0) - 0.75).abs() < 1e-12);
    }

    #[test]
    fn the_logarithm_of_gamma_is_that_of_factorials() {
        let mut factorial = 1.0_f64;
        for n in 1..30_u32 {
            factorial *= f64::from(n);
            assert!((log_gamma(f64::from(n) + 1.0) - factorial.ln()).abs() < 1e-12 * factorial.ln().max(1.0), "{n}");
        }
        assert!((log_gamma(0.5) - 0.572_364_942_924_700_1).abs() < 1e-13);
    }
}
