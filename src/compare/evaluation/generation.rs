//! Generations token by token: the place where two of them diverge, and the difference of their log-probabilities
//! before it.

use crate::read::evaluation::Token;

/// Percentile of the differences that counts as the noise of log-probabilities.
const PERCENTILE: f64 = 0.95;

/// Distance of two log-probabilities from which on one of them must be a placeholder, such as `-9999.0` for a token
/// that was not requested.
const PLACEHOLDER: f64 = 1000.0;

/// Place where two generations diverge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parting {
    /// Number of the first different token, from 0.
    pub token: usize,
    /// Log-probabilities that the baseline has of both tokens.
    pub gap: TokenGap,
    /// Kullback-Leibler divergence of the candidate from the baseline over the tokens that both top lists hold, in nats, each
    /// list made to add up to 1; `None` where fewer than two are shared.
    pub divergence: Option<f64>,
}

/// Log-probability of the baseline's token above that of the candidate's, both on the baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TokenGap {
    /// In nats.
    Nats(f64),
    /// The candidate's token is not in the baseline's top list.
    Beyond,
    /// The baseline has no top list there.
    Unrecorded,
    /// One side ends there.
    End,
}

/// Finds the first place where two generations differ; `None` where they are equal.
pub fn parting(baseline: &[Token], candidate: &[Token]) -> Option<Parting> {
    let token = baseline.iter().zip(candidate).take_while(|(b, c)| b.name == c.name).count();
    match (baseline.get(token), candidate.get(token)) {
        (None, None) => None,
        (Some(b), Some(c)) => Some(Parting { token, gap: gap(b, c), divergence: divergence(b, c) }),
        _ => Some(Parting { token, gap: TokenGap::End, divergence: None }),
    }
}

fn gap(baseline: &Token, candidate: &Token) -> TokenGap {
    // A list with only the generated token says nothing about others.
    if !baseline.alternatives.keys().any(|name| *name != baseline.name) {
        return TokenGap::Unrecorded;
    }
    let Some(own) = token_probability(baseline) else { return TokenGap::Unrecorded };
    match baseline.alternatives.get(&candidate.name).map(|other| own - other) {
        Some(gap) if gap.is_finite() => TokenGap::Nats(gap),
        _ => TokenGap::Beyond,
    }
}

/// Log-probability of a token that was generated; `None` where none was recorded, or it is NaN.
fn token_probability(token: &Token) -> Option<f64> {
    token.log_probability.or_else(|| token.alternatives.get(&token.name).copied()).filter(|own| !own.is_nan())
}

fn divergence(baseline: &Token, candidate: &Token) -> Option<f64> {
    let shared: Vec<(f64, f64)> = baseline
        .alternatives
        .iter()
        .filter_map(|(name, log)| Some((log.exp(), candidate.alternatives.get(name)?.exp())))
        .filter(|(p, q)| *p > 0.0 && *q > 0.0 && p.is_finite() && q.is_finite())
        .collect();
    if shared.len() < 2 {
        return None;
    }
    let (of_p, of_q) = shared.iter().fold((0.0, 0.0), |(of_p, of_q), (p, q)| (of_p + p, of_q + q));
    let terms = shared.iter().map(|(p, q)| p / of_p * ((p / of_p) / (q / of_q)).ln());
    // Rounding may leave a divergence of 0 slightly below it.
    Some(terms.sum::<f64>().max(0.0))
}

/// Log-probabilities of both sides over shared beginnings.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProbabilityAgreement {
    /// Magnitudes of the differences.
    differences: Vec<f64>,
    /// Sums over distances between the generated token and an alternative, on both sides.
    products: Sums,
    /// Tokens whose log-probability is finite on the baseline and not on the candidate.
    pub non_finite: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    count: u64,
    baseline: f64,
    candidate: f64,
    both: f64,
}

impl ProbabilityAgreement {
    /// Adds the first `shared` tokens of a pair.
    pub(crate) fn add(&mut self, baseline: &[Token], candidate: &[Token], shared: usize) {
        for (baseline_token, candidate_token) in baseline.iter().zip(candidate).take(shared) {
            let (Some(b), Some(c)) = (token_probability(baseline_token), probability_or_nan(candidate_token)) else {
                continue;
            };
            if !b.is_finite() {
                continue;
            }
            if !c.is_finite() {
                self.non_finite += 1;
                continue;
            }
            self.differences.push((b - c).abs());
            let others = baseline_token.alternatives.iter().filter(|(name, _)| **name != baseline_token.name);
            for (name, baseline_other) in others {
                let Some(candidate_other) = candidate_token.alternatives.get(name) else { continue };
                let (g, h) = (b - baseline_other, c - candidate_other);
                if g.abs() < PLACEHOLDER && h.abs() < PLACEHOLDER {
                    self.products.count += 1;
                    self.products.baseline += g * g;
                    self.products.candidate += h * h;
                    self.products.both += g * h;
                }
            }
        }
    }

    /// Mean magnitude of the differences, in nats; `None` without any.
    pub(crate) fn mean(&self) -> Option<f64> {
        let count = self.differences.len();
        (count > 0).then(|| self.differences.iter().sum::<f64>() / count as f64)
    }

    /// The 95th percentile of the differences' magnitudes, in nats, interpolated between the two nearest ones; `None`
    /// without any.
    pub(crate) fn noise(&self) -> Option<f64> {
        let mut sorted = self.differences.clone();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().checked_sub(1)?;
        let place = PERCENTILE * last as f64;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in the list")]
        let below = place.floor() as usize;
        let (low, high) = (sorted.get(below)?, sorted.get((below + 1).min(last))?);
        Some(low + (high - low) * (place - place.floor()))
    }

    /// Factor from the baseline's distances between tokens to the candidate's, by least squares, with its standard
    /// error; `None` where there are fewer than two distances, or all are 0.
    pub(crate) fn scale(&self) -> Option<(f64, f64)> {
        let sums = self.products;
        if sums.count < 2 || sums.baseline <= 0.0 {
            return None;
        }
        let scale = sums.both / sums.baseline;
        let residual = (sums.candidate - scale * sums.both).max(0.0);
        Some((scale, (residual / (sums.count - 1) as f64 / sums.baseline).sqrt()))
    }
}

/// Log-probability of the candidate's token; NaN where it was recorded as such.
fn probability_or_nan(token: &Token) -> Option<f64> {
    token.log_probability.or_else(|| token.alternatives.get(&token.name).copied())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::{prop, proptest};

    use super::*;

    fn token(name: &str, list: &[(&str, f64)]) -> Token {
        let alternatives: BTreeMap<String, f64> = list.iter().map(|(name, p)| ((*name).to_owned(), p.ln())).collect();
        Token { name: name.to_owned(), log_probability: alternatives.get(name).copied(), alternatives }
    }

    #[test]
    fn equal_generations_do_not_part() {
        let text = [token("a", &[]), token("b", &[])];
        assert_eq!(parting(&text, &text), None);
        assert_eq!(parting(&[], &[]), None);
        let found = parting(&text, &text[..1]).expect("one ends");
        assert_eq!((found.token, found.gap), (1, TokenGap::End));
    }

    #[test]
    fn the_gap_is_the_baselines() {
        let (baseline, candidate) = (token("a", &[("a", 0.5), ("b", 0.25)]), token("b", &[("b", 0.6), ("a", 0.3)]));
        let found = parting(std::slice::from_ref(&baseline), &[candidate]).expect("other tokens");
        let TokenGap::Nats(gap) = found.gap else { panic!("{found:?}") };
        assert!((gap - 2_f64.ln()).abs() < 1e-12);
        // (2/3, 1/3) against (1/3, 2/3).
        assert!((found.divergence.expect("two shared") - 2_f64.ln() / 3.0).abs() < 1e-12);
        let beyond = parting(&[baseline], &[token("c", &[])]).expect("other tokens");
        assert_eq!((beyond.gap, beyond.divergence), (TokenGap::Beyond, None));
        for none in [token("a", &[]), token("a", &[("a", 0.9)])] {
            assert_eq!(parting(&[none], &[token("c", &[])]).map(|found| found.gap), Some(TokenGap::Unrecorded));
        }
    }

    #[test]
    fn a_scale_shows_where_the_mean_hides_it() {
        let list = [("a", 0.98), ("b", 0.01), ("c", 0.002)];
        let baseline: Vec<Token> = (0..20).map(|_| token("a", &list)).collect();
        let scaled = |token: &Token| {
            let alternatives: BTreeMap<String, f64> =
                token.alternatives.iter().map(|(name, lp)| (name.clone(), 0.6 * lp)).collect();
            Token { log_probability: alternatives.get("a").copied(), alternatives, ..token.clone() }
        };
        let candidate: Vec<Token> = baseline.iter().map(scaled).collect();
        let mut agreement = ProbabilityAgreement::default();
        agreement.add(&baseline, &candidate, 20);
        let (scale, error) = agreement.scale().expect("alternatives");
        assert!((scale - 0.6).abs() < 1e-12 && error < 1e-6, "{scale} {error}");
        assert!(agreement.mean().expect("tokens") < 0.01);
        assert_eq!(ProbabilityAgreement::default().scale(), None);
        assert_eq!((ProbabilityAgreement::default().mean(), ProbabilityAgreement::default().noise()), (None, None));
    }

    #[test]
    fn placeholders_have_no_part_in_the_scale() {
        let with = |factor: f64| {
            let mut token = token("a", &[("a", 0.9), ("b", 0.05), ("c", 0.04)]);
            token.alternatives.values_mut().for_each(|lp| *lp *= factor);
            token.log_probability = token.alternatives.get("a").copied();
            token.alternatives.insert("z".to_owned(), -9999.0);
            token
        };
        let mut agreement = ProbabilityAgreement::default();
        agreement.add(&[with(1.0)], &[with(0.6)], 1);
        assert!((agreement.scale().expect("alternatives").0 - 0.6).abs() < 1e-9);
    }

    #[test]
    fn what_is_no_number_is_counted_and_enters_nothing() {
        let baseline = [token("a", &[("a", 0.5)]), token("a", &[("a", 0.5)])];
        let mut candidate = baseline.clone();
        candidate[0].log_probability = Some(f64::NAN);
        let mut agreement = ProbabilityAgreement::default();
        agreement.add(&baseline, &candidate, 2);
        agreement.add(&candidate, &baseline, 2);
        assert_eq!(agreement.non_finite, 1);
        assert!(agreement.mean().is_some_and(|mean| mean <= 0.0));
    }

    proptest! {
        #[test]
        fn noise_is_the_percentile_of_a_naive_interpolation(mut values in prop::collection::vec(0.0_f64..1.0, 1..200)) {
            let agreement = ProbabilityAgreement { differences: values.clone(), ..ProbabilityAgreement::default() };
            values.sort_by(f64::total_cmp);
            let place = 0.95 * (values.len() - 1) as f64;
            let share = |index: usize| (1.0 - (place - index as f64).abs()).max(0.0);
            let expected: f64 = values.iter().enumerate().map(|(index, value)| value * share(index)).sum();
            let found = agreement.noise().expect("values");
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }
}
