//! Exact tails of the binomial distribution.
//!
//! Only additions, multiplications and divisions are used, so that every machine gives the same bits. One rounding per
//! operation leaves a relative error below 1e-9 up to a million trials.

/// Steps by which a number is scaled: a power of two, which changes no digit.
const STEP: i64 = 512;
/// Terms below this part of their sum no longer change it.
const NEGLIGIBLE: f64 = 1e-18;

/// Most draws whose combinations, and every intermediate product, fit an integer.
const MOST_COUNTED: u32 = 100;

/// A non-negative number whose exponent may lie far outside the range of `f64`: `mantissa * 2^exponent`.
#[derive(Clone, Copy, Debug)]
struct Scaled {
    mantissa: f64,
    exponent: i64,
}

impl Scaled {
    const ONE: Self = Self { mantissa: 1.0, exponent: 0 };

    fn new(mantissa: f64, exponent: i64) -> Self {
        let (up, down) = (2_f64.powi(512), 2_f64.powi(-512));
        match mantissa {
            zero if zero <= 0.0 => Self { mantissa: 0.0, exponent: 0 },
            large if large >= up => Self { mantissa: large * down, exponent: exponent + STEP },
            small if small <= down => Self { mantissa: small * up, exponent: exponent - STEP },
            other => Self { mantissa: other, exponent },
        }
    }

    fn times(self, factor: f64) -> Self {
        Self::new(self.mantissa * factor, self.exponent)
    }

    fn product(self, other: Self) -> Self {
        // Both lie within 2^512 of 1, so that their product is finite and not zero.
        Self::new(self.mantissa * other.mantissa, self.exponent + other.exponent)
    }

    /// `base^power`, by squaring.
    fn power(base: f64, mut power: u64) -> Self {
        let (mut result, mut square) = (Self::ONE, Self::new(base, 0));
        while power > 0 {
            if power & 1 == 1 {
                result = result.product(square);
            }
            square = square.product(square);
            power >>= 1;
        }
        result
    }

    /// The number; 0 where it is smaller than any `f64`.
    fn get(self) -> f64 {
        let (mut value, mut exponent) = (self.mantissa, self.exponent);
        while exponent <= -STEP && value > 0.0 {
            value *= 2_f64.powi(-512);
            exponent += STEP;
        }
        while exponent >= STEP && value.is_finite() && value > 0.0 {
            value *= 2_f64.powi(512);
            exponent -= STEP;
        }
        value * 2_f64.powi(i32::try_from(exponent).unwrap_or(0))
    }
}

/// P(X >= `least`) of `trials` draws with chance `chance` each; 1 for `least` 0, 0 for more than `trials`.
/// `chance` lies between 0 and 1.
pub fn upper_tail(least: u64, trials: u64, chance: f64) -> f64 {
    if least == 0 {
        return 1.0;
    }
    if least > trials || chance <= 0.0 {
        return 0.0;
    }
    if chance >= 1.0 {
        return 1.0;
    }
    // The tail that does not contain the mean is the small one; summing it loses no precision.
    if least as f64 > chance * trials as f64 {
        above(least, trials, chance)
    } else {
        1.0 - above(trials - least + 1, trials, 1.0 - chance)
    }
}

/// One-sided exact McNemar test: the probability that of `worse + better` changed answers at least `worse` got worse where
/// either is as likely (McNemar, Psychometrika 12, 1947). 1 where no answer changed.
pub fn mcnemar(worse: u64, better: u64) -> f64 {
    counted(worse, worse + better).unwrap_or_else(|| upper_tail(worse, worse + better, 0.5))
}

/// The tail of fair draws by counting all combinations, which rounds once; `None` where these do not fit an integer.
fn counted(least: u64, trials: u64) -> Option<f64> {
    let trials = u32::try_from(trials).ok().filter(|trials| *trials <= MOST_COUNTED)?;
    let (mut ways, mut sum) = (1_u128, 0_u128);
    // From all draws downwards, each number of ways following from the one before.
    for successes in (0..=trials).rev() {
        if u64::from(successes) < least {
            break;
        }
        sum += ways;
        ways = ways * u128::from(successes) / u128::from(trials - successes + 1);
    }
    Some(sum as f64 / (1_u128 << trials) as f64)
}

/// P(X >= `least`), summed from its largest term on, `least` being above the mean.
fn above(least: u64, trials: u64, chance: f64) -> f64 {
    let odds = chance / (1.0 - chance);
    let first = mass(least, trials, chance);
    let (mut sum, mut term) = (1.0_f64, 1.0_f64);
    for successes in least..trials {
        term *= (trials - successes) as f64 / (successes + 1) as f64 * odds;
        sum += term;
        if term <= sum * NEGLIGIBLE {
            break;
        }
    }
    first.times(sum).get().min(1.0)
}

/// P(X = `successes`).
fn mass(successes: u64, trials: u64, chance: f64) -> Scaled {
    // The shorter of the two products that give the binomial coefficient.
    let (few, p, q) = match successes <= trials - successes {
        true => (successes, chance, 1.0 - chance),
        false => (trials - successes, 1.0 - chance, chance),
    };
    let mut result = Scaled::power(q, trials - few);
    for drawn in 1..=few {
        result = result.times((trials - few + drawn) as f64 * p / drawn as f64);
    }
    result
}

#[cfg(test)]
mod tests {
    use proptest::prelude::proptest;

    use super::*;

    /// The tail summed term by term from logarithms of factorials, good to some ten digits for few trials.
    fn naive(least: u64, trials: u64, chance: f64) -> f64 {
        let factorial = |n: u64| (1..=n).map(|i| (i as f64).ln()).sum::<f64>();
        let term = |k: u64| {
            let ways = factorial(trials) - factorial(k) - factorial(trials - k);
            (ways + k as f64 * chance.ln() + (trials - k) as f64 * (1.0 - chance).ln()).exp()
        };
        (least..=trials).map(term).sum()
    }

    fn close(found: f64, expected: f64, relative: f64) -> bool {
        (found - expected).abs() <= relative * expected.abs()
    }

    proptest! {
        #[test]
        fn tails_are_those_of_a_naive_sum(trials in 1_u64..200, share in 0.0_f64..=1.0, chance in 0.01_f64..0.99) {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of few trials")]
            let least = (share * trials as f64) as u64;
            let (found, expected) = (upper_tail(least, trials, chance), naive(least, trials, chance));
            assert!(close(found, expected, 1e-9), "{found} {expected}");
        }

        #[test]
        fn a_tail_and_the_rest_are_one(trials in 1_u64..100_000, share in 0.4_f64..0.6) {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of the trials")]
            let least = 1 + (share * trials as f64) as u64;
            let least = least.min(trials);
            let sum = upper_tail(least, trials, 0.5) + upper_tail(trials + 1 - least, trials, 0.5);
            assert!(close(sum, 1.0, 1e-9), "{sum}");
        }
    }

    #[test]
    fn few_answers_are_exact() {
        assert!((mcnemar(0, 0) - 1.0).abs() <= 0.0);
        assert!((mcnemar(0, 9) - 1.0).abs() <= 0.0);
        assert!((mcnemar(7, 0) - 1.0 / 128.0).abs() <= 0.0);
        assert!(close(mcnemar(20, 1), 22.0 / 2_f64.powi(21), 1e-15));
        assert!(close(mcnemar(5, 5), 638.0 / 1024.0, 1e-15));
    }

    #[test]
    fn large_tables_are_exact_to_nine_digits() {
        // From integers of Python: sum(math.comb(n, k) for k in range(w, n + 1)) / 2**n.
        for (worse, better, expected) in LARGE {
            let found = mcnemar(worse, better);
            assert!(close(found, expected, 1e-9), "{worse} {better}: {found} {expected}");
        }
    }

    const LARGE: [(u64, u64, f64); 8] = [
        (5_100, 4_900, 0.023292763852473693),
        (5_300, 4_700, 1.0380168479603624e-09),
        (50_500, 49_500, 0.0007911799394257978),
        (251_000, 249_000, 0.0023491975059437213),
        (500_000, 500_000, 0.5003989421806658),
        (501_500, 498_500, 0.0013543276530298784),
        (510_000, 490_000, 2.7721816438496123e-89),
        (518_000, 482_000, 3.7694958097349926e-284),
    ];

    #[test]
    fn hopeless_tails_are_zero_and_not_a_number_never() {
        assert!(mcnemar(1_000_000, 0) <= 0.0);
        assert!((upper_tail(0, 10, 0.5) - 1.0).abs() <= 0.0);
        assert!(upper_tail(11, 10, 0.5) <= 0.0);
        assert!(upper_tail(1, 10, 0.0) <= 0.0);
        assert!((upper_tail(10, 10, 1.0) - 1.0).abs() <= 0.0);
    }
}
