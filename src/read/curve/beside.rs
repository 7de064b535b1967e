//! Numbers that stand beside the values of a record and order them: epochs, ranks, samples, tokens.

use super::lines;
use crate::read::metric;

/// Numbers of a record beside its step and its values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Beside {
    /// The epoch.
    pub(super) epoch: Option<f64>,
    /// The rank that wrote it.
    pub(super) rank: Option<u64>,
    /// Samples seen so far.
    pub(super) samples: Option<u64>,
    /// Tokens seen so far.
    pub(super) tokens: Option<u64>,
}

/// Numbers that order records beside their steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Epoch,
    Rank,
    Samples,
    Tokens,
}

impl Key {
    /// The meaning of a record's key; `None` where it orders nothing.
    pub(super) fn of(name: &str) -> Option<Self> {
        match metric::canonical(name).as_ref() {
            "epoch" => Some(Self::Epoch),
            "rank" => Some(Self::Rank),
            name if metric::SAMPLES.contains(&name) => Some(Self::Samples),
            name if metric::TOKENS.contains(&name) => Some(Self::Tokens),
            _ => None,
        }
    }
}

impl Beside {
    /// Takes the number of a key.
    pub(super) fn take(&mut self, key: Key, number: f64) {
        let count = lines::whole(number);
        match key {
            Key::Epoch => self.epoch = Some(number),
            Key::Rank => self.rank = count,
            Key::Samples => self.samples = self.samples.or(count),
            Key::Tokens => self.tokens = self.tokens.or(count),
        }
    }
}
