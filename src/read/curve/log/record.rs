//! Values of one line of a log.

use super::counters::Bar;
use super::pairs::Pair;
use crate::read::curve::beside::Beside;

/// Values of one line, with their place.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Record {
    pub(super) beside: Beside,
    pub(super) step: Option<u64>,
    /// Its counter of steps, with the whole that it is a part of.
    pub(super) part: Option<(u64, u64)>,
    pub(super) pairs: Vec<Pair>,
    /// Skipped updates, where the line counts them.
    pub(super) skipped: Option<u64>,
    /// Whether its step is an epoch.
    pub(super) is_by_epoch: bool,
    /// Whether it is data only beside a line of the same names, as nothing counts.
    pub(super) is_loose: bool,
    /// The bar that draws it, and the epoch that it is of.
    pub(super) bar: Option<(Bar, Option<u64>)>,
}

impl Record {
    /// Whether both hold the same names.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.pairs.iter().map(|pair| pair.name).eq(other.pairs.iter().map(|pair| pair.name))
    }

    /// Whether it draws a bar anew at the place where another stood. Of Keras' bar the last drawing has the epoch's values.
    pub(super) fn redraws(&self, drawn: &Self) -> bool {
        let same_place = drawn.step.is_some() && drawn.step == self.step && drawn.beside == self.beside;
        match (self.bar, drawn.bar) {
            (Some((Bar::Keras, epoch)), Some((Bar::Keras, before))) => epoch == before && self.step >= drawn.step,
            (Some(_), Some(_)) => same_place && self.is_like(drawn),
            _ => false,
        }
    }
}
