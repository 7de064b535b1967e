//! Groups of answers: the loud ones, and the property that separates them from the quiet ones. An answer is loud where its mean
//! difference of log-probabilities is far above the noise.
//!
//! A fixed level is not enough: a damaged row of an embedding gives a mean that a noisy engine has too. The quiet answers of the same run
//! show its actual noise.

use std::collections::{BTreeMap, BTreeSet};

use crate::compare::tokens::{FEWEST_TOKENS, MeasuredAnswer};
use crate::read::tokens::TokensStep;

/// Factor over the noise that the mean of a loud answer exceeds, and that the median of the quiet group stays within.
const LOUD: f64 = 2.5;
/// Factor over the lower quartile of all answers, and over the median of the quiet group, that loud answers exceed.
const APART: f64 = 5.0;
/// Least lower quartile that is assumed, relative to the noise.
const LEAST_QUARTILE: f64 = 0.2;
/// Fewest answers of each group.
const FEWEST: usize = 3;
/// For a group that separates loud answers: least share of loud answers in it, largest share of loud answers outside of it, and least share
/// of all loud answers that are in it.
const SHARES: [f64; 3] = [0.7, 0.1, 0.9];

/// Answers with enough tokens, each marked as loud or quiet.
pub(crate) struct Loudness<'s> {
    sequences: Vec<&'s MeasuredAnswer>,
    loud: Vec<bool>,
    noise: f64,
}

/// A rank, or a residue class of answer numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankClass {
    /// A rank.
    Rank(u64),
    /// Answers whose number leaves `remainder` when divided by `modulus`.
    Class {
        /// Divisor.
        modulus: u64,
        /// Remainder.
        remainder: u64,
    },
}

impl<'s> Loudness<'s> {
    /// Finds the loud ones of `sequences`, for a noise in nats.
    pub(crate) fn from_sequences(sequences: &'s [MeasuredAnswer], noise: f64) -> Self {
        let sequences: Vec<&MeasuredAnswer> = sequences.iter().filter(|one| one.tokens >= FEWEST_TOKENS).collect();
        let means: Vec<f64> = sequences.iter().map(|one| one.mean).collect();
        // Where most answers are loud, the quartile is loud too and does not measure noise.
        let quartile = quantile(&means, 0.25).min(noise).max(LEAST_QUARTILE * noise);
        let limit = (APART * quartile).max(LOUD * noise);
        let loud = means.iter().map(|mean| *mean > limit).collect();
        Self { sequences, loud, noise }
    }

    /// Number of loud answers.
    pub(crate) fn count(&self) -> u64 {
        self.loud.iter().filter(|loud| **loud).count() as u64
    }

    /// The loud ones.
    pub(crate) fn loud(&self) -> impl Iterator<Item = &'s MeasuredAnswer> {
        self.sequences.iter().zip(&self.loud).filter(|(_, loud)| **loud).map(|(sequence, _)| *sequence)
    }

    /// Whether the quiet answers are within noise, so that the loud ones stand out.
    pub(crate) fn stands_out(&self) -> bool {
        let quiet = self.means_of(&self.loud.iter().map(|loud| !loud).collect::<Vec<_>>());
        quiet.len() >= FEWEST && median(&quiet) <= LOUD * self.noise
    }

    /// Whether the answers marked in `inside` are the loud ones, within [`SHARES`].
    fn splits(&self, inside: &[bool]) -> bool {
        let outside: Vec<bool> = inside.iter().map(|inside| !inside).collect();
        let (loud, quiet) = (self.means_of(inside), self.means_of(&outside));
        if loud.len() < FEWEST || quiet.len() < FEWEST {
            return false;
        }
        let (of_loud, of_quiet) = (median(&loud), median(&quiet));
        let limit = LOUD * self.noise;
        let is_apart = of_quiet <= limit && of_loud > limit && of_loud > APART * of_quiet;
        #[allow(clippy::cast_precision_loss, reason = "no run has 2^53 answers")]
        let share = |part: usize, whole: usize| part as f64 / whole.max(1) as f64;
        let among = |group: &[bool]| group.iter().zip(&self.loud).filter(|(group, loud)| **group && **loud).count();
        let [least, most, least_inside] = SHARES;
        is_apart
            && share(among(inside), loud.len()) >= least
            && share(among(&outside), quiet.len()) <= most
            && share(among(inside), among(inside) + among(&outside)) >= least_inside
    }

    fn means_of(&self, group: &[bool]) -> Vec<f64> {
        self.sequences.iter().zip(group).filter(|(_, is_in)| **is_in).map(|(sequence, _)| sequence.mean).collect()
    }

    fn group(&self, of: impl Fn(&MeasuredAnswer) -> bool) -> Vec<bool> {
        self.sequences.iter().map(|sequence| of(sequence)).collect()
    }

    /// Whether the loud answers are those whose prompt was padded on the left. Where padding was not recorded, prompts shorter than the longest
    /// of their step and rank count as padded.
    pub(crate) fn loud_are_padded(&self) -> bool {
        let mut longest: BTreeMap<(&TokensStep, Option<u64>), u64> = BTreeMap::new();
        for sequence in &self.sequences {
            let known = longest.entry((&sequence.step, sequence.rank)).or_default();
            *known = sequence.prompt.max(*known);
        }
        self.splits(&self.group(|sequence| match sequence.padding {
            Some(padding) => padding > 0,
            None => longest.get(&(&sequence.step, sequence.rank)).is_some_and(|longest| sequence.prompt < *longest),
        }))
    }

    /// The rank, or the residue class of answer numbers, that holds the loud answers.
    pub(crate) fn loud_rank(&self) -> Option<RankClass> {
        let ranks: BTreeSet<u64> = self.sequences.iter().filter_map(|sequence| sequence.rank).collect();
        let is_rank = |rank: &&u64| self.splits(&self.group(|sequence| sequence.rank == Some(**rank)));
        if let Some(rank) = ranks.iter().find(is_rank) {
            return Some(RankClass::Rank(*rank));
        }
        let classes = [2, 4, 8].into_iter().flat_map(|modulus| (0..modulus).map(move |remainder| (modulus, remainder)));
        let mut classes = classes
            .filter(|(modulus, remainder)| self.splits(&self.group(|sequence| sequence.index % modulus == *remainder)));
        classes.next().map(|(modulus, remainder)| RankClass::Class { modulus, remainder })
    }

    /// The only token that is in every loud answer or its prompt and separates them from the quiet ones; `None` where there are several.
    pub(crate) fn loud_token(&self) -> Option<i64> {
        let mut shared: Option<BTreeSet<i64>> = None;
        for loud in self.loud() {
            let ids = loud.ids.as_deref()?;
            shared = Some(match shared {
                None => ids.iter().copied().collect(),
                Some(shared) => shared.into_iter().filter(|id| ids.binary_search(id).is_ok()).collect(),
            });
        }
        let has = |sequence: &MeasuredAnswer, id: i64| {
            sequence.ids.as_deref().is_some_and(|ids| ids.binary_search(&id).is_ok())
        };
        if self.sequences.iter().any(|sequence| sequence.ids.is_none()) {
            return None;
        }
        let shared = shared?;
        let quiet = || self.sequences.iter().zip(&self.loud).filter(|(_, loud)| !**loud).map(|(one, _)| *one);
        let splits = |id: i64| self.splits(&self.group(|sequence| has(sequence, id)));
        // Tokens in no quiet answer come first. The last token of an answer is not read again, so it can occur in a few quiet ones.
        let in_none = shared.iter().copied().filter(|id| !quiet().any(|one| has(one, *id)) && splits(*id));
        let in_none: Vec<i64> = in_none.collect();
        let found = if in_none.is_empty() { shared.into_iter().filter(|id| splits(*id)).collect() } else { in_none };
        match *found.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Whether the loud answers are those whose prompt came from a cache.
    pub(crate) fn loud_are_cached(&self) -> bool {
        self.splits(&self.group(|sequence| sequence.cached > 0))
    }
}

/// The median; NaN for an empty list.
pub(super) fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// A quantile, interpolated linearly between two values; NaN for an empty list.
fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    #[allow(clippy::cast_precision_loss, reason = "no run has 2^53 answers")]
    let place = share * sorted.len().saturating_sub(1) as f64;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in the list")]
    let (low, high) = (place.floor() as usize, place.ceil() as usize);
    let both = sorted.get(low).zip(sorted.get(high));
    both.map_or(f64::NAN, |(low, high)| low + (high - low) * place.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(index: u64, mean: f64) -> MeasuredAnswer {
        MeasuredAnswer {
            step: TokensStep::Number(1),
            rank: Some(index / 8),
            index,
            tokens: 20,
            mean,
            padding: Some(index % 3),
            prompt: 5,
            cached: index % 5,
            ids: Some(vec![1, 10 + i64::try_from(index % 7).expect("small")].into_boxed_slice()),
            parts: Vec::new(),
        }
    }

    fn run(is_loud: impl Fn(u64) -> bool) -> Vec<MeasuredAnswer> {
        (0..32).map(|index| sequence(index, if is_loud(index) { 0.4 } else { 0.008 })).collect()
    }

    #[test]
    fn what_parts_loud_answers_from_quiet_ones_is_found_and_nothing_else() {
        let of = |is_loud: &dyn Fn(u64) -> bool| {
            let sequences = run(is_loud);
            let loudness = Loudness::from_sequences(&sequences, 0.012);
            (
                loudness.loud_are_padded(),
                loudness.loud_rank(),
                loudness.loud_token(),
                loudness.loud_are_cached(),
                loudness.count(),
            )
        };
        let padded = of(&|index| index % 3 > 0);
        assert_eq!((padded.0, padded.4), (true, 21), "two thirds are loud");
        assert_eq!(of(&|index| index / 8 == 2), (false, Some(RankClass::Rank(2)), None, false, 8));
        let class = Some(RankClass::Class { modulus: 4, remainder: 3 });
        assert_eq!(of(&|index| index % 4 == 3), (false, class, None, false, 8));
        assert_eq!(of(&|index| index % 7 == 4), (false, None, Some(14), false, 4));
        assert_eq!(of(&|index| [3, 17, 20].contains(&index)), (false, None, None, false, 3));
        assert_eq!(of(&|_| false), (false, None, None, false, 0));
    }

    #[test]
    fn quantiles_lie_between_values() {
        assert_eq!(quantile(&[4.0, 1.0, 3.0, 2.0], 0.25).to_bits(), 1.75_f64.to_bits());
        assert!(median(&[]).is_nan());
        assert_eq!(median(&[7.0]).to_bits(), 7.0_f64.to_bits());
    }
}
