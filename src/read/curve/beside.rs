//! Numbers of a record beside its values that order or separate records: epoch, rank, samples, tokens.

use std::collections::HashMap;

use super::lines;
use crate::read::metric;

/// Numbers of a record, other than its step and its values, that order it among the records.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct RecordContext {
    /// The epoch, which may be fractional.
    pub(super) epoch: Option<f64>,
    /// The rank that wrote it.
    pub(super) rank: Option<u64>,
    /// Samples seen so far.
    pub(super) samples: Option<u64>,
    /// Tokens seen so far.
    pub(super) tokens: Option<u64>,
}

/// Kind of such a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ContextKey {
    Epoch,
    Rank,
    Samples,
    Tokens,
}

impl ContextKey {
    /// The kind of number that a record's key names; `None` for any other key.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        match metric::canonical(name).as_ref() {
            "epoch" => Some(Self::Epoch),
            "rank" => Some(Self::Rank),
            name if metric::SAMPLES.contains(&name) => Some(Self::Samples),
            name if metric::TOKENS.contains(&name) => Some(Self::Tokens),
            _ => None,
        }
    }
}

/// Meaning of the key of a number in a record.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyMeaning {
    /// Its rank among the keys of steps; `None` for any other key.
    pub(super) step_rank: Option<usize>,
    pub(super) context: Option<ContextKey>,
    /// Whether it is a counter or bookkeeping, and names no metric.
    pub(super) is_bookkeeping: bool,
}

/// Meanings of the keys of a file: its records repeat the same ones.
#[derive(Debug, Default)]
pub(super) struct KeyMeanings(HashMap<String, KeyMeaning>);

impl KeyMeanings {
    /// The meaning of a key.
    pub(super) fn of(&mut self, key: &str) -> KeyMeaning {
        /// Largest number of keys that are kept.
        const MOST: usize = 4096;
        if let Some(known) = self.0.get(key) {
            return *known;
        }
        let meaning = KeyMeaning {
            step_rank: metric::step_rank(key),
            context: ContextKey::from_name(key),
            is_bookkeeping: metric::is_bookkeeping(key),
        };
        if self.0.len() < MOST {
            self.0.insert(key.to_owned(), meaning);
        }
        meaning
    }
}

impl RecordContext {
    /// Stores the number of a key. Of several keys for samples or tokens, the first counts.
    pub(super) fn set(&mut self, key: ContextKey, number: f64) {
        let count = lines::whole_number(number);
        match key {
            ContextKey::Epoch => self.epoch = Some(number),
            ContextKey::Rank => self.rank = count,
            ContextKey::Samples => self.samples = self.samples.or(count),
            ContextKey::Tokens => self.tokens = self.tokens.or(count),
        }
    }
}
