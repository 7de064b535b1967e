//! Selection of the pairs of tensors to measure, and source of their numbers: measured here, or from the parts of a run
//! that
//! was spread over several machines.
//!
//! Every place that needs the numbers of two tensors asks the measurements. It measures, leaves the pair out, or knows the
//! answer already. A measurements that was filled by all parts of a run gives every answer that measuring would give, so what
//! is judged from it is the same to the byte.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use globset::GlobMatcher;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::sample::{RUN, Sample};

/// Two tensors, by where they lie.
#[derive(Clone, Copy, Debug)]
pub struct PairName<'a> {
    /// Kind of the measurement: `data`, `parameter` or `cells`; the same two tensors may be measured for several.
    pub question: &'static str,
    /// The operation of the candidate, where they belong to one.
    pub op: Option<&'a str>,
    /// The baseline's file.
    pub baseline: &'a str,
    /// The candidate's file.
    pub candidate: &'a str,
    /// The name inside the candidate's file, where it holds several.
    pub member: &'a str,
    /// Bytes before it in that file.
    pub offset: u64,
}

/// A quick look instead of a whole one.
#[derive(Clone, Default)]
pub struct Selection {
    /// Look at some elements only.
    pub sample: Option<Sample>,
    /// Take checksums of tensors instead of numbers.
    pub checksum: bool,
    /// Read data of these operations only.
    pub ops: Option<GlobMatcher>,
    /// Read no more data once this says so.
    pub stop: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
}

/// Counts of a selection, for the result: measured and left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartialCoverage {
    /// Pairs of tensors that were measured.
    pub measured: u64,
    /// Pairs that were not: another operation was wanted.
    pub by_operation: u64,
    /// Pairs that were not: time was up.
    pub by_time: u64,
    /// Elements that were looked at, of the pairs measured.
    pub elements: u64,
    /// Elements these pairs have.
    pub of_elements: u64,
    /// Runs of elements that were looked at.
    pub runs: u64,
    /// Pairs whose checksums differ, so that no more is known of how far apart they are than what was recorded.
    pub unequal: u64,
}

/// Answers about pairs of tensors.
#[derive(Default)]
pub struct Measurements {
    selection: Selection,
    pages: Pages,
    counts: Counts,
}

#[derive(Default)]
enum Pages {
    /// Measure everything, keep nothing.
    #[default]
    None,
    /// Measure what is this part's, and keep it.
    Part { plan: Plan, noted: Mutex<BTreeMap<String, Value>> },
    /// Everything is known.
    Joined(BTreeMap<String, Value>),
}

#[derive(Default)]
struct Counts {
    measured: AtomicU64,
    by_operation: AtomicU64,
    by_time: AtomicU64,
    elements: AtomicU64,
    of_elements: AtomicU64,
    runs: AtomicU64,
    unequal: AtomicU64,
}

impl Measurements {
    /// Measures the pairs that `selection` wants.
    pub fn new(selection: Selection) -> Self {
        Self { selection, ..Self::default() }
    }

    /// Measures other pairs by the same selection; they are not counted among these.
    #[must_use]
    pub fn beside(&self) -> Self {
        Self::new(self.selection.clone())
    }

    /// Measures the pairs of one part, and keeps the results.
    pub fn part(selection: Selection, plan: Plan) -> Self {
        Self { pages: Pages::Part { plan, noted: Mutex::default() }, ..Self::new(selection) }
    }

    /// Measures nothing: takes the results of all parts of a run.
    pub fn joined(selection: Selection, noted: BTreeMap<String, Value>) -> Self {
        Self { pages: Pages::Joined(noted), ..Self::new(selection) }
    }

    /// The sample that is looked at.
    pub fn sample(&self) -> Option<&Sample> {
        self.selection.sample.as_ref()
    }

    /// Whether tensors are compared by their checksums.
    pub fn by_checksum(&self) -> bool {
        self.selection.checksum
    }

    /// The operations whose data is read, as they were asked for.
    pub fn ops(&self) -> Option<&str> {
        self.selection.ops.as_ref().map(|ops| ops.glob().glob())
    }

    /// Whether data of the operation `op` is read.
    pub fn asks_for(&self, op: &str) -> bool {
        self.selection.ops.as_ref().is_none_or(|ops| ops.is_match(op))
    }

    /// The answer about two tensors: known, or measured now; `None` where the pair is left out, which is counted.
    pub fn ask<T: Serialize + DeserializeOwned>(&self, pair: &PairName<'_>, measure: impl FnOnce() -> T) -> Option<T> {
        let answer = self.ask_again(pair, measure);
        let counter = match &answer {
            Some(_) => &self.counts.measured,
            None if !self.wants(pair) => &self.counts.by_operation,
            None => &self.counts.by_time,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        answer
    }

    /// [`ask`](Self::ask) about a pair that was asked about before in another way: nothing is counted.
    pub fn ask_again<T: Serialize + DeserializeOwned>(
        &self,
        pair: &PairName<'_>,
        measure: impl FnOnce() -> T,
    ) -> Option<T> {
        if !self.wants(pair) {
            return None;
        }
        match &self.pages {
            Pages::None => self.in_time().then(measure),
            Pages::Part { plan, .. } if !plan.has(pair) => None,
            Pages::Part { noted, .. } => {
                let answer = self.in_time().then(measure);
                let value = serde_json::to_value(&answer).unwrap_or_default();
                noted.lock().unwrap_or_else(PoisonError::into_inner).insert(key(pair), value);
                answer
            }
            Pages::Joined(noted) => {
                noted.get(&key(pair)).and_then(|value| serde_json::from_value(value.clone()).ok()).flatten()
            }
        }
    }

    /// Whether an answer about two tensors would be measured, as far as is known before.
    pub fn is_to_be_measured(&self, pair: &PairName<'_>) -> bool {
        let is_here = match &self.pages {
            Pages::None => true,
            Pages::Part { plan, .. } => plan.has(pair),
            Pages::Joined(_) => false,
        };
        is_here && self.wants(pair)
    }

    fn wants(&self, pair: &PairName<'_>) -> bool {
        pair.op.is_none_or(|op| self.asks_for(op))
    }

    /// Counts elements of a pair that was measured.
    pub fn count(&self, looked_at: u64, elements: u64) {
        self.counts.elements.fetch_add(looked_at, Ordering::Relaxed);
        self.counts.of_elements.fetch_add(elements, Ordering::Relaxed);
        self.counts.runs.fetch_add(looked_at.div_ceil(RUN), Ordering::Relaxed);
    }

    /// Counts a pair whose checksums differ.
    pub fn count_unequal(&self) {
        self.counts.unequal.fetch_add(1, Ordering::Relaxed);
    }

    /// The counts since the last call; resets them to 0.
    pub fn partial_coverage(&self) -> PartialCoverage {
        let take = |counter: &AtomicU64| counter.swap(0, Ordering::Relaxed);
        PartialCoverage {
            measured: take(&self.counts.measured),
            by_operation: take(&self.counts.by_operation),
            by_time: take(&self.counts.by_time),
            elements: take(&self.counts.elements),
            of_elements: take(&self.counts.of_elements),
            runs: take(&self.counts.runs),
            unequal: take(&self.counts.unequal),
        }
    }

    /// The measurements that a part has recorded, by pair; empty for other kinds of run.
    pub fn into_noted(self) -> BTreeMap<String, Value> {
        match self.pages {
            Pages::Part { noted, .. } => noted.into_inner().unwrap_or_else(PoisonError::into_inner),
            _ => BTreeMap::new(),
        }
    }

    fn in_time(&self) -> bool {
        self.selection.stop.as_ref().is_none_or(|stop| !stop())
    }
}

/// One line of text per pair; a tab is in no file name that matters.
fn key(pair: &PairName<'_>) -> String {
    [pair.question, pair.baseline, pair.candidate, pair.member].join("\t")
}

/// Assignment of tensors to one part of a run: of all the candidate's bytes, laid end to end in the order of its files
/// (rank,
/// step, operation), those from `part − 1` to `part` of `parts` equal stretches. A tensor belongs where it begins.
#[derive(Clone, Debug)]
pub struct Plan {
    part: u64,
    parts: u64,
    /// Bytes before each file.
    before: BTreeMap<String, u64>,
    total: u64,
}

impl Plan {
    /// Part `part` (from 1) of `parts` over the candidate's tensor files with their lengths, in any order.
    pub fn new(part: u64, parts: u64, files: impl IntoIterator<Item = (String, u64)>) -> Self {
        let mut before: BTreeMap<String, u64> = files.into_iter().collect();
        let mut total = 0u64;
        for len in before.values_mut() {
            total = total.saturating_add(std::mem::replace(len, total));
        }
        Self { part, parts, before, total }
    }

    fn has(&self, pair: &PairName<'_>) -> bool {
        self.part_of(pair) == self.part
    }

    /// Number of the part that the pair belongs to, from 1. A file that was not listed goes by its name.
    fn part_of(&self, pair: &PairName<'_>) -> u64 {
        let parts = u128::from(self.parts.max(1));
        let part = match self.before.get(pair.candidate) {
            Some(before) => {
                let at = u128::from(before.saturating_add(pair.offset));
                at * parts / u128::from(self.total.max(1))
            }
            None => pair.candidate.bytes().fold(0u128, |sum, byte| sum + u128::from(byte)) % parts,
        };
        u64::try_from(part.min(parts - 1)).unwrap_or(0) + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(candidate: &str, offset: u64) -> PairName<'_> {
        PairName { question: "data", op: Some("Torch.add.0.forward"), baseline: "b", candidate, member: "", offset }
    }

    #[test]
    fn parts_share_the_bytes_evenly_and_everything_has_one() {
        let files = || (0..100).map(|index| (format!("t{index:03}.pt"), if index < 50 { 300 } else { 100 }));
        let mut bytes = [0u64; 4];
        for (name, len) in files() {
            let owners: Vec<u64> = (1..=4).filter(|part| Plan::new(*part, 4, files()).has(&pair(&name, 0))).collect();
            let [owner] = owners.as_slice() else { panic!("{name} belongs to {owners:?}") };
            bytes[usize::try_from(*owner).expect("small") - 1] += len;
        }
        assert!(bytes.iter().all(|sum| (4500..=5500).contains(sum)), "{bytes:?}");
    }

    #[test]
    fn files_that_are_not_listed_have_one_owner_too() {
        let has = |part| Plan::new(part, 3, Vec::new()).has(&pair("somewhere.pt", 0));
        assert_eq!((1..=3).filter(|part| has(*part)).count(), 1);
    }

    #[test]
    fn a_joined_book_answers_what_its_parts_measured() {
        let files = || vec![("a.pt".to_owned(), 10), ("b.pt".to_owned(), 10)];
        let mut noted = BTreeMap::new();
        for part in 1..=2 {
            let measurements = Measurements::part(Selection::default(), Plan::new(part, 2, files()));
            for (name, value) in [("a.pt", 1.5), ("b.pt", -0.0)] {
                measurements.ask(&pair(name, 0), || value);
            }
            noted.extend(measurements.into_noted());
        }
        let measurements = Measurements::joined(Selection::default(), noted);
        let known = |name| measurements.ask(&pair(name, 0), || f64::NAN).map(f64::to_bits);
        assert_eq!((known("a.pt"), known("b.pt")), (Some(1.5f64.to_bits()), Some((-0.0f64).to_bits())));
        assert_eq!((known("c.pt"), measurements.partial_coverage().by_time), (None, 1));
    }

    #[test]
    fn time_and_operations_leave_pairs_out() {
        let ops = globset::Glob::new("Torch.mul.*").expect("a pattern").compile_matcher();
        let measurements = Measurements::new(Selection { ops: Some(ops), ..Selection::default() });
        assert_eq!(measurements.ask(&pair("a.pt", 0), || 1), None);
        let measurements = Measurements::new(Selection { stop: Some(Arc::new(|| true)), ..Selection::default() });
        assert_eq!(measurements.ask(&pair("a.pt", 0), || 1), None);
        assert_eq!(measurements.partial_coverage(), PartialCoverage { by_time: 1, ..PartialCoverage::default() });
    }
}
