//! Notes about answers that are taken while they are aligned.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::meter::TokenPlace;
use super::quantity::Quantity;
use crate::read::tokens::{PromptDifference, TokensStep};

/// Count of something that was found, with the first place.
#[derive(Clone, Debug, PartialEq)]
pub struct NoteCount<T> {
    /// Its count.
    pub count: u64,
    /// First place, with the value found there.
    pub first: Option<(String, T)>,
}

impl<T> Default for NoteCount<T> {
    fn default() -> Self {
        Self { count: 0, first: None }
    }
}

impl<T> NoteCount<T> {
    /// Counts one more at a place; the first one is kept.
    pub fn add(&mut self, place: impl fmt::Display, what: T) {
        self.count += 1;
        if self.first.is_none() {
            self.first = Some((place.to_string(), what));
        }
    }
}

/// A step and rank.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepRank {
    /// The step.
    pub step: TokensStep,
    /// The rank; `None` where there is only one process.
    pub rank: Option<u64>,
}

impl fmt::Display for StepRank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.step, self.rank) {
            (TokensStep::Number(step), Some(rank)) => write!(f, "step {step} rank {rank}"),
            (TokensStep::Number(step), None) => write!(f, "step {step}"),
            (TokensStep::Name(name), Some(rank)) => write!(f, "{name} rank {rank}"),
            (TokensStep::Name(name), None) => f.write_str(name),
        }
    }
}

/// Notes about the answers of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    /// Answers that each part has, measured or not.
    pub answers: BTreeMap<StepRank, u64>,
    /// Answers that could not be read.
    pub unreadable: NoteCount<String>,
    /// Answers whose arrays have other lengths.
    pub lengths: NoteCount<[(&'static str, u64); 2]>,
    /// Answers that two masks treat differently, with the number of tokens that only one of the masks keeps.
    pub masks: NoteCount<u64>,
    /// Answers that end in zeros that no mask excludes.
    pub zeros: NoteCount<u64>,
    /// Answers for which the trainer scored a different sequence.
    pub prompts: NoteCount<PromptDifference>,
    /// Answers with a value that cannot be a log-probability.
    pub positive: NoteCount<(Quantity, f64)>,
    /// Whether all values of such answers lie in 0 to 1, as probabilities do.
    pub are_probabilities: bool,
    /// Steps in which a quantity is constant.
    pub constant: Vec<(TokensStep, Quantity, f64)>,
    /// Answers that differ between two files of the same step and rank.
    pub contradicting: NoteCount<String>,
    /// Number of answers of the engine, and of the trainer, that the other one does not have.
    pub lonely: [u64; 2],
    /// The largest lag of a weight version behind its step, by step.
    pub lags: BTreeMap<u64, i64>,
}

impl Notes {
    /// Ranks of each step.
    pub fn ranks(&self) -> BTreeMap<&TokensStep, BTreeSet<Option<u64>>> {
        let mut ranks: BTreeMap<&TokensStep, BTreeSet<Option<u64>>> = BTreeMap::new();
        for part in self.answers.keys() {
            ranks.entry(&part.step).or_default().insert(part.rank);
        }
        ranks
    }

    /// Answers of each step.
    pub fn by_step(&self) -> BTreeMap<&TokensStep, u64> {
        let mut steps: BTreeMap<&TokensStep, u64> = BTreeMap::new();
        for (part, count) in &self.answers {
            *steps.entry(&part.step).or_default() += count;
        }
        steps
    }
}

/// Place of a token in words.
impl fmt::Display for TokenPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = StepRank { step: self.step.clone(), rank: self.rank };
        write!(f, "{part}, answer {}, position {}", self.sequence, self.position)
    }
}
