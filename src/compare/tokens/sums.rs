//! Sums over tokens, and the measures that they make.

use super::moments::Moments;

/// Ratio of probabilities that counts as outside: 1.2, and its inverse.
const OUTSIDE: f64 = 1.2;

/// Sums over tokens of a, the engine's log-probability, and b, the trainer's.
#[derive(Clone, Debug)]
pub struct Sums {
    /// Tokens.
    pub tokens: u64,
    /// Sum of |a - b|.
    abs: f64,
    /// Sum of |e^a - e^b|.
    prob: f64,
    /// Sum of e^(b-a) - 1 - (b-a).
    k3: f64,
    /// Sum of a - b.
    difference: f64,
    /// Tokens whose ratio is outside.
    outside: u64,
    /// Tokens whose a and b have the same bits.
    pub equal_bits: u64,
    /// Smallest and largest a.
    pub range_a: [f64; 2],
    /// Smallest and largest b.
    pub range_b: [f64; 2],
    /// Sums that describe the shape of the differences.
    pub moments: Moments,
}

impl Default for Sums {
    fn default() -> Self {
        const NONE: [f64; 2] = [f64::INFINITY, f64::NEG_INFINITY];
        Self {
            tokens: 0,
            abs: 0.0,
            prob: 0.0,
            k3: 0.0,
            difference: 0.0,
            outside: 0,
            equal_bits: 0,
            range_a: NONE,
            range_b: NONE,
            moments: Moments::default(),
        }
    }
}

/// Measures over tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measures {
    /// Mean |a - b|, in nats; NaN where only probabilities are known, or nothing is.
    pub mean_abs: f64,
    /// Mean |e^a - e^b|; NaN where nothing is known.
    pub prob_mean: f64,
    /// Mean e^(b-a) - 1 - (b-a); NaN as above.
    pub k3: f64,
    /// Mean a - b; NaN as above.
    pub bias: f64,
    /// Share of tokens with a ratio outside 1/1.2 to 1.2; NaN as above.
    pub outside: f64,
}

impl Sums {
    /// Adds a token; `noise` in nats is the unit for differences clearly below zero.
    pub fn add(&mut self, a: f64, b: f64, noise: f64) {
        let difference = a - b;
        self.tokens += 1;
        self.abs += difference.abs();
        self.prob += (a.exp() - b.exp()).abs();
        self.k3 += (-difference).exp_m1() + difference;
        self.difference += difference;
        self.outside += u64::from(difference.abs() > OUTSIDE.ln());
        self.equal_bits += u64::from(a.to_bits() == b.to_bits());
        self.range_a = widened(self.range_a, a);
        self.range_b = widened(self.range_b, b);
        self.moments.add(a, b, noise);
    }

    /// Adds a difference of probabilities.
    pub(crate) fn add_difference(&mut self, difference: f64) {
        self.tokens += 1;
        self.abs = f64::NAN;
        self.prob += difference.abs();
        self.equal_bits += u64::from(difference == 0.0);
    }

    /// Adds the sums of other tokens.
    pub fn join(&mut self, other: &Self) {
        self.tokens += other.tokens;
        self.abs += other.abs;
        self.prob += other.prob;
        self.k3 += other.k3;
        self.difference += other.difference;
        self.outside += other.outside;
        self.equal_bits += other.equal_bits;
        for (range, [least, most]) in [(&mut self.range_a, other.range_a), (&mut self.range_b, other.range_b)] {
            *range = widened(widened(*range, least), most);
        }
        self.moments.join(&other.moments);
    }

    /// The measures.
    pub fn measures(&self) -> Measures {
        #[allow(clippy::cast_precision_loss, reason = "no run has 2^53 tokens")]
        let (tokens, outside) = (self.tokens as f64, self.outside as f64);
        let is_known = !self.abs.is_nan();
        let mean = |sum: f64| if is_known { sum / tokens } else { f64::NAN };
        Measures {
            mean_abs: mean(self.abs),
            prob_mean: self.prob / tokens,
            k3: mean(self.k3),
            bias: mean(self.difference),
            outside: mean(outside),
        }
    }
}

fn widened([least, most]: [f64; 2], value: f64) -> [f64; 2] {
    [least.min(value), most.max(value)]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The measures by their definitions, token by token.
    fn naive(pairs: &[(f64, f64)]) -> Measures {
        let mean = |of: &dyn Fn(f64, f64) -> f64| {
            pairs.iter().map(|(a, b)| of(*a, *b)).sum::<f64>() / f64::from(u32::try_from(pairs.len()).expect("few"))
        };
        Measures {
            mean_abs: mean(&|a, b| (a - b).abs()),
            prob_mean: mean(&|a, b| (a.exp() - b.exp()).abs()),
            k3: mean(&|a, b| (b - a).exp() - 1.0 - (b - a)),
            bias: mean(&|a, b| a - b),
            outside: mean(&|a, b| f64::from(u8::from(!(1.0 / 1.2..=1.2).contains(&(a - b).exp())))),
        }
    }

    proptest! {
        #[test]
        fn measures_are_those_of_their_definitions(
            pairs in prop::collection::vec((-12.0..0.0_f64, -1.0..1.0_f64), 1..200),
            cut in 0..200_usize,
        ) {
            let pairs: Vec<(f64, f64)> = pairs.into_iter().map(|(b, apart)| ((b + apart).min(0.0), b)).collect();
            let (mut first, mut second) = (Sums::default(), Sums::default());
            for (nth, (a, b)) in pairs.iter().enumerate() {
                if nth < cut { first.add(*a, *b, 0.02) } else { second.add(*a, *b, 0.02) }
            }
            first.join(&second);
            let (found, wanted) = (first.measures(), naive(&pairs));
            let of = |measures: Measures| {
                [measures.mean_abs, measures.prob_mean, measures.k3, measures.bias, measures.outside]
            };
            for (found, wanted) in of(found).into_iter().zip(of(wanted)) {
                prop_assert!((found - wanted).abs() <= 1e-12 * wanted.abs().max(1.0), "{found} and {wanted}");
            }
            prop_assert_eq!(first.tokens, pairs.len() as u64);
        }
    }

    #[test]
    fn equal_values_measure_nothing_and_are_counted() {
        let mut sums = Sums::default();
        [-1.0, -0.25].into_iter().for_each(|value| sums.add(value, value, 0.02));
        let Measures { mean_abs, k3, outside, .. } = sums.measures();
        assert_eq!((mean_abs.to_bits(), k3.to_bits(), outside.to_bits(), sums.equal_bits), (0, 0, 0, 2));
    }

    #[test]
    fn of_differences_of_probabilities_one_measure_is_known() {
        let mut sums = Sums::default();
        [0.25, 0.0].into_iter().for_each(|difference| sums.add_difference(difference));
        let measures = sums.measures();
        assert!(measures.mean_abs.is_nan() && measures.k3.is_nan() && (measures.prob_mean - 0.125).abs() < 1e-15);
    }
}
