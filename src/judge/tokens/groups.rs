//! Groups of answers: which are loud, and what parts them from the quiet ones.
//!
//! A level alone does not do: a damaged row of an embedding leaves a mean that a noisy engine shows too. But the quiet answers of
//! the same run measure its noise.

use std::collections::{BTreeMap, BTreeSet};

use crate::compare::tokens::{FEWEST_TOKENS, Sequence};
use crate::read::tokens::Step;

/// Times the noise that an answer's mean has to exceed to be loud, and that a quiet part's median stays within.
const LOUD: f64 = 2.5;
/// Times the lower quartile of all answers, and times the quiet part's median.
const APART: f64 = 5.0;
/// Least lower quartile, as a part of the noise.
const LEAST_QUARTILE: f64 = 0.2;
/// Fewest answers of each part.
const FEWEST: usize = 3;
/// Least share of a part that is loud, most of the other, and least share of the loud ones that are in it.
const SHARES: [f64; 3] = [0.7, 0.1, 0.9];

/// Answers with enough tokens, and which of them are loud.
pub struct Loudness<'s> {
    sequences: Vec<&'s Sequence>,
    loud: Vec<bool>,
    noise: f64,
}

/// Ranks, or every so-manieth answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankClass {
    /// A rank.
    Rank(u64),
    /// Answers whose number leaves a remainder.
    Class {
        /// Divisor.
        modulus: u64,
        /// Remainder.
        remainder: u64,
    },
}

impl<'s> Loudness<'s> {
    /// Tells the loud ones of `sequences` for a noise in nats.
    pub fn of(sequences: &'s [Sequence], noise: f64) -> Self {
        let sequences: Vec<&Sequence> = sequences.iter().filter(|one| one.tokens >= FEWEST_TOKENS).collect();
        let means: Vec<f64> = sequences.iter().map(|one| one.mean).collect();
        // Where most answers are loud the quartile is one of them, and no noise.
        let quartile = quantile(&means, 0.25).min(noise).max(LEAST_QUARTILE * noise);
        let limit = (APART * quartile).max(LOUD * noise);
        let loud = means.iter().map(|mean| *mean > limit).collect();
        Self { sequences, loud, noise }
    }

    /// Number of loud answers.
    pub fn count(&self) -> u64 {
        self.loud.iter().filter(|loud| **loud).count() as u64
    }

    /// The loud ones.
    pub fn loud(&self) -> impl Iterator<Item = &'s Sequence> {
        self.sequences.iter().zip(&self.loud).filter(|(_, loud)| **loud).map(|(sequence, _)| *sequence)
    }

    /// Whether the answers that are not loud are within noise, so that the loud ones stand out.
    pub fn stands_out(&self) -> bool {
        let quiet = self.means_of(&self.loud.iter().map(|loud| !loud).collect::<Vec<_>>());
        quiet.len() >= FEWEST && median(&quiet) <= LOUD * self.noise
    }

    /// Whether a grouping parts the loud answers from the quiet ones.
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

    fn group(&self, of: impl Fn(&Sequence) -> bool) -> Vec<bool> {
        self.sequences.iter().map(|sequence| of(sequence)).collect()
    }

    /// Whether the loud ones are those with padding on the left. A record without padding tells it by its prompts: those shorter
    /// than the longest of their batch were padded in it.
    pub fn is_padding(&self) -> bool {
        let mut longest: BTreeMap<(&Step, Option<u64>), u64> = BTreeMap::new();
        for sequence in &self.sequences {
            let known = longest.entry((&sequence.step, sequence.rank)).or_default();
            *known = sequence.prompt.max(*known);
        }
        self.splits(&self.group(|sequence| match sequence.padding {
            Some(padding) => padding > 0,
            None => longest.get(&(&sequence.step, sequence.rank)).is_some_and(|longest| sequence.prompt < *longest),
        }))
    }

    /// The rank, or every so-manieth answer, that the loud ones are.
    pub fn rank(&self) -> Option<RankClass> {
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

    /// The token that stands in every loud answer or its prompt, and in no quiet one; `None` where several do.
    pub fn token(&self) -> Option<i64> {
        let mut shared: Option<BTreeSet<i64>> = None;
        for loud in self.loud() {
            let ids = loud.ids.as_deref()?;
            shared = Some(match shared {
                None => ids.iter().copied().collect(),
                Some(shared) => shared.into_iter().filter(|id| ids.binary_search(id).is_ok()).collect(),
            });
        }
        let has =
            |sequence: &Sequence, id: i64| sequence.ids.as_deref().is_some_and(|ids| ids.binary_search(&id).is_ok());
        if self.sequences.iter().any(|sequence| sequence.ids.is_none()) {
            return None;
        }
        let shared = shared?;
        let quiet = || self.sequences.iter().zip(&self.loud).filter(|(_, loud)| !**loud).map(|(one, _)| *one);
        let splits = |id: i64| self.splits(&self.group(|sequence| has(sequence, id)));
        // In no quiet one, or in few: behind its last token an answer is not read again.
        let in_none = shared.iter().copied().filter(|id| !quiet().any(|one| has(one, *id)) && splits(*id));
        let in_none: Vec<i64> = in_none.collect();
        let found = if in_none.is_empty() { shared.into_iter().filter(|id| splits(*id)).collect() } else { in_none };
        match *found.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Whether the loud ones are those whose prompt came from a cache.
    pub fn is_cached(&self) -> bool {
        self.splits(&self.group(|sequence| sequence.cached > 0))
    }
}

/// The median; NaN of nothing.
pub(super) fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// A quantile, between two values in proportion; NaN of nothing.
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

    fn sequence(index: u64, mean: f64) -> Sequence {
        Sequence {
            step: Step::Number(1),
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

    fn run(is_loud: impl Fn(u64) -> bool) -> Vec<Sequence> {
        (0..32).map(|index| sequence(index, if is_loud(index) { 0.4 } else { 0.008 })).collect()
    }

    #[test]
    fn what_parts_loud_answers_from_quiet_ones_is_found_and_nothing_else() {
        let of = |is_loud: &dyn Fn(u64) -> bool| {
            let sequences = run(is_loud);
            let loudness = Loudness::of(&sequences, 0.012);
            (loudness.is_padding(), loudness.rank(), loudness.token(), loudness.is_cached(), loudness.count())
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
