//! Survey of the lines at the beginning of a file: which leading number counts, whether a counter restarts with each epoch, which
//! lines are headers.
//!
//! A single line does not show this; all lines of its form together do.

use std::collections::{HashMap, HashSet};

use super::counters::{Counters, Lead};
use super::names::Names;
use super::pairs::Pair;
use crate::kind::Role;

/// Leading numbers of the lines that are written in the same form.
#[derive(Clone, Copy, Debug, Default)]
struct Leads {
    count: u64,
    rises: u64,
    falls: u64,
    last: Option<Lead>,
}

/// Lines that have no counter of their own and hold the same names.
#[derive(Clone, Copy, Debug, Default)]
struct Below {
    /// `taken` counts the lines that found a record above them without values of these names, `repeated` those that did not.
    taken: u64,
    repeated: u64,
}

/// Traits of the lines so far.
#[derive(Debug, Default)]
pub(super) struct Survey {
    leads: HashMap<(u8, u8), Leads>,
    headers: HashMap<u64, u64>,
    below: HashMap<u64, Below>,
    /// Number of lines by a hash of their names, for lines without a key metric.
    alike: HashMap<u64, u64>,
    /// Places of the names of a training loss that stands in lines without a held-out loss.
    losses: HashSet<usize>,
    /// The last epoch, and the step or batch beside it.
    last: Option<(u64, u64)>,
    first_epoch: Option<u64>,
    /// Whether the counter fell when the epoch rose.
    begins_again: bool,
    /// Whether the counter kept rising when the epoch rose.
    goes_on: bool,
    /// Whether an epoch has a fraction.
    pub(super) has_shares: bool,
}

/// Largest number of line forms that are kept.
const MOST: usize = 4096;

impl Survey {
    /// Takes the counters of a line.
    pub(super) fn take_counters(&mut self, counters: &Counters, has_values: bool) {
        self.has_shares |= counters.share.is_some_and(|share| share.fract() != 0.0);
        if let (Some(lead), false) = (counters.lead, counters.has_counter())
            && (self.leads.len() < MOST || self.leads.contains_key(&lead.dress))
        {
            self.leads.entry(lead.dress).or_default().take(lead);
        }
        let is_header = counters.has_counter() || counters.is_alone;
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
    pub(super) fn take_values(&mut self, pairs: &[Pair], names: &Names) {
        let known = || pairs.iter().filter_map(|pair| Some((pair.name, names.get(pair.name)?)));
        if !known().any(|(_, name)| name.role == Role::EvalLoss) {
            let losses = known().filter(|(_, name)| name.canonical == "loss").map(|(place, _)| place);
            self.losses.extend(losses);
        }
        if !known().any(|(_, name)| name.is_key_metric()) && self.alike.len() < MOST {
            *self.alike.entry(of_names(pairs)).or_default() += 1;
        }
    }

    /// Takes a line without a counter of its own. `is_repeated` tells that the record above it already has values of its names.
    pub(super) fn take_line_below(&mut self, pairs: &[Pair], is_repeated: bool) {
        if self.below.len() >= MOST {
            return;
        }
        let below = self.below.entry(of_names(pairs)).or_default();
        *(if is_repeated { &mut below.repeated } else { &mut below.taken }) += 1;
    }

    /// Whether a leading number is a counter: it rises in at least 80% of the lines of its form.
    pub(super) fn is_counting(&self, lead: &Lead) -> bool {
        self.leads.get(&lead.dress).is_some_and(|leads| leads.rises * 10 >= (leads.count - 1) * 8 && leads.rises > 0)
    }

    /// Whether a leading number is a rank: it is no counter and sometimes falls.
    pub(super) fn is_rank(&self, lead: &Lead) -> bool {
        self.leads.get(&lead.dress).is_some_and(|leads| leads.falls > 0 && !self.is_counting(lead))
    }

    /// Whether lines that hold only such counters are headers; the file must have more than one of them.
    pub(super) fn is_header(&self, counters: &Counters) -> bool {
        self.headers.get(&counters.dress).is_some_and(|count| *count > 1)
    }

    /// Whether lines of these names belong to the record above them: at most a fifth of them repeated values it already had.
    pub(super) fn takes_place(&self, pairs: &[Pair]) -> bool {
        self.below.get(&of_names(pairs)).is_some_and(|below| below.repeated * 5 <= below.taken + below.repeated)
    }

    /// Number of lines without a counter that have these names.
    pub(super) fn count_alike(&self, pairs: &[Pair]) -> u64 {
        self.below.get(&of_names(pairs)).map_or(0, |below| below.taken + below.repeated)
    }

    /// Whether at least three lines have these names, none of which is a key metric.
    pub(super) fn is_common(&self, pairs: &[Pair]) -> bool {
        self.alike.get(&of_names(pairs)).is_some_and(|count| *count > 2)
    }

    /// Whether a training loss beside a held-out one belongs to the evaluation, because the run's own loss has separate lines.
    pub(super) fn is_of_evaluation(&self, loss: usize) -> bool {
        !self.losses.is_empty() && !self.losses.contains(&loss)
    }

    /// Whether a counter with a total counts within its epoch: it restarts with the epoch, or no line shows that it keeps rising.
    pub(super) fn is_within_epoch(&self) -> bool {
        self.begins_again || !self.goes_on
    }

    /// Number of the first epoch, 0 or 1.
    pub(super) fn epoch_base(&self) -> u64 {
        self.first_epoch.map_or(0, |first| first.min(1))
    }
}

impl Leads {
    fn take(&mut self, lead: Lead) {
        if let Some(last) = self.last {
            self.rises += u64::from(lead.count > last.count);
            self.falls += u64::from(lead.count < last.count);
        }
        self.count += 1;
        self.last = Some(lead);
    }
}

/// A hash of the names of a line, in their order.
fn of_names(pairs: &[Pair]) -> u64 {
    pairs.iter().fold(1, |all, pair| all.wrapping_mul(1_000_003).wrapping_add(pair.name as u64 + 1))
}
