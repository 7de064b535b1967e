//! Numbers of a record beside its values that order or separate records: epoch, rank, samples, tokens.

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
