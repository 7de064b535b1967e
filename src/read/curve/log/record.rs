//! The record that one line of a log makes.

use super::counters::Bar;
use super::pairs::Pair;
use crate::read::curve::beside::RecordContext;

/// Values of one line, with the step, epoch and rank they belong to.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Record {
    pub(super) context: RecordContext,
    pub(super) step: Option<u64>,
    /// Its step counter and that counter's total, as in `10/60`.
    pub(super) part: Option<(u64, u64)>,
    pub(super) pairs: Vec<Pair>,
    /// Number of skipped updates, where the line counts them.
    pub(super) skipped: Option<u64>,
    /// Whether its step is an epoch.
    pub(super) is_by_epoch: bool,
    /// Whether it has no counter, so that it counts as data only if other lines have the same names.
    pub(super) is_loose: bool,
    /// Kind of the progress bar that draws it, and its epoch.
    pub(super) bar: Option<(Bar, Option<u64>)>,
}

impl Record {
    /// Whether both hold the same names in the same order.
    pub(super) fn has_same_names(&self, other: &Self) -> bool {
        self.pairs.iter().map(|pair| pair.name).eq(other.pairs.iter().map(|pair| pair.name))
    }

    /// Whether it redraws the progress bar of `drawn` and so replaces it. Every drawing of a Keras bar within an epoch does, because
    /// the last one has the values of the epoch.
    pub(super) fn redraws(&self, drawn: &Self) -> bool {
        let same_place = drawn.step.is_some() && drawn.step == self.step && drawn.context == self.context;
        match (self.bar, drawn.bar) {
            (Some((Bar::Keras, epoch)), Some((Bar::Keras, before))) => epoch == before && self.step >= drawn.step,
            (Some(_), Some(_)) => same_place && self.has_same_names(drawn),
            _ => false,
        }
    }
}
