//! Traits that the lines of a file have in common, from its beginning: which number in front counts, whether a counter begins again
//! with each epoch, which lines are headers.
//!
//! A line alone does not tell these; all lines of one make do.

use std::collections::{HashMap, HashSet};

use super::counters::{Counters, Lead};
use super::names::Names;
use super::pairs::Pair;
use crate::kind::Role;

/// Numbers in front of lines that are written in one way.
#[derive(Clone, Copy, Debug, Default)]
struct Leads {
    count: u64,
    rises: u64,
    falls: u64,
    last: Option<Lead>,
}

/// Lines without a counter of their own, that hold the same names.
#[derive(Clone, Copy, Debug, Default)]
struct Below {
    /// Lines that found a place whose values of these names were free, and one that had them already.
    taken: u64,
    repeated: u64,
}

/// Traits of the lines so far.
#[derive(Debug, Default)]
pub(super) struct Survey {
    leads: HashMap<(u8, u8), Leads>,
    headers: HashMap<u64, u64>,
    below: HashMap<u64, Below>,
    /// Lines by their names, where no name is known.
    alike: HashMap<u64, u64>,
    /// Names of the training loss in lines without a held-out loss.
    losses: HashSet<usize>,
    /// The last epoch and the counter beside it.
    last: Option<(u64, u64)>,
    first_epoch: Option<u64>,
    /// Whether the counter fell when the epoch rose.
    begins_again: bool,
    /// Whether the counter went on when the epoch rose.
    goes_on: bool,
    /// Whether an epoch has a fraction, so that it is a share of the run.
    pub(super) has_shares: bool,
}

/// Ways in which lines are written that are kept.
const MOST: usize = 4096;

impl Survey {
    /// Takes the counters of a line.
    pub(super) fn counters(&mut self, counters: &Counters, has_values: bool) {
        self.has_shares |= counters.share.is_some_and(|share| share.fract() != 0.0);
        if let (Some(lead), false) = (counters.lead, counters.is_some())
            && (self.leads.len() < MOST || self.leads.contains_key(&lead.dress))
        {
            self.leads.entry(lead.dress).or_default().take(lead);
        }
        let is_header = counters.is_some() || counters.is_alone;
        if !has_values && is_header && (self.headers.len() < MOST || self.headers.contains_key(&counters.dress)) {
            *self.headers.entry(counters.dress).or_default() += 1;
        }
        let at = counters.step.map(|(_, at)| at).or(counters.batch);
        if let Some(epoch) = counters.epoch {
            self.first_epoch = Some(self.first_epoch.map_or(epoch, |first| first.min(epoch)));
        }
        if let (Some(epoch), Some(at)) = (counters.epoch, at) {
            self.begins_again |= self.last.is_some_and(|(before, last)| epoch > before && at <= last);
            self.goes_on |= self.last.is_some_and(|(before, last)| epoch > before && at > last);
            self.last = Some((epoch, at));
        }
    }

    /// Takes the values of a line with a counter.
    pub(super) fn values(&mut self, pairs: &[Pair], names: &Names) {
        let known = || pairs.iter().filter_map(|pair| Some((pair.name, names.get(pair.name)?)));
        if !known().any(|(_, name)| name.role == Role::EvalLoss) {
            let losses = known().filter(|(_, name)| name.canonical == "loss").map(|(place, _)| place);
            self.losses.extend(losses);
        }
        if !known().any(|(_, name)| name.is_told()) && self.alike.len() < MOST {
            *self.alike.entry(of_names(pairs)).or_default() += 1;
        }
    }

    /// Takes a line without a counter of its own; whether its values were there already at the place that it would take.
    pub(super) fn below(&mut self, pairs: &[Pair], is_repeated: bool) {
        if self.below.len() >= MOST {
            return;
        }
        let below = self.below.entry(of_names(pairs)).or_default();
        *(if is_repeated { &mut below.repeated } else { &mut below.taken }) += 1;
    }

    /// Whether a number in front counts: it rises from line to line.
    pub(super) fn counts(&self, lead: &Lead) -> bool {
        self.leads.get(&lead.dress).is_some_and(|leads| leads.rises * 10 >= (leads.count - 1) * 8 && leads.rises > 0)
    }

    /// Whether a number in front is a rank: it goes up and down beside a counter.
    pub(super) fn ranks(&self, lead: &Lead) -> bool {
        self.leads.get(&lead.dress).is_some_and(|leads| leads.falls > 0 && !self.counts(lead))
    }

    /// Whether lines of such counters alone are headers, of which a file has several.
    pub(super) fn is_header(&self, counters: &Counters) -> bool {
        self.headers.get(&counters.dress).is_some_and(|count| *count > 1)
    }

    /// Whether lines of these names stand below a place of their own.
    pub(super) fn takes_place(&self, pairs: &[Pair]) -> bool {
        self.below.get(&of_names(pairs)).is_some_and(|below| below.repeated * 5 <= below.taken + below.repeated)
    }

    /// Lines without a counter that have these names.
    pub(super) fn company(&self, pairs: &[Pair]) -> u64 {
        self.below.get(&of_names(pairs)).map_or(0, |below| below.taken + below.repeated)
    }

    /// Whether at least three lines have these names, of which none is known.
    pub(super) fn is_common(&self, pairs: &[Pair]) -> bool {
        self.alike.get(&of_names(pairs)).is_some_and(|count| *count > 2)
    }

    /// Whether a training loss beside a held-out one belongs to the evaluation: the run's own loss has lines of its own.
    pub(super) fn is_of_evaluation(&self, loss: usize) -> bool {
        !self.losses.is_empty() && !self.losses.contains(&loss)
    }

    /// Whether a counter that is a part of a whole is one of its epoch: it begins again with it, or no line shows that it goes on.
    pub(super) fn is_within_epoch(&self) -> bool {
        self.begins_again || !self.goes_on
    }

    /// Number of the first epoch, 0 or 1.
    pub(super) fn base(&self) -> u64 {
        self.first_epoch.map_or(0, |first| first.min(1))
    }
}

impl Leads {
    fn take(&mut self, lead: Lead) {
        if let Some(last) = self.last {
            self.rises += u64::from(lead.at > last.at);
            self.falls += u64::from(lead.at < last.at);
        }
        self.count += 1;
        self.last = Some(lead);
    }
}

/// A number of the names of a line.
fn of_names(pairs: &[Pair]) -> u64 {
    pairs.iter().fold(1, |all, pair| all.wrapping_mul(1_000_003).wrapping_add(pair.name as u64 + 1))
}
