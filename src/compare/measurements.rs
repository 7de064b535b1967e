//! Selection of the pairs of tensors to measure, and source of their numbers: they are measured here, or come from the
//! parts of a run that was spread over several machines.
//!
//! All code that needs the numbers of two tensors asks [`Measurements`], which measures the pair, skips it, or already
//! knows the answer. Filled with the results of all parts of a run, it gives every answer that measuring would give, so
//! everything judged from it is the same to the byte.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use globset::GlobMatcher;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::sample::{RUN, Sample};

/// Name of a pair of tensors, by the places where they are stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PairName<'a> {
    /// Kind of the measurement: `data`, `parameter` or `cells`; the same two tensors may be measured for several.
    pub question: &'static str,
    /// The candidate's operation, where the tensors belong to one.
    pub op: Option<&'a str>,
    /// The baseline's file.
    pub baseline: &'a str,
    /// The candidate's file.
    pub candidate: &'a str,
    /// The name inside the candidate's file, where it holds several.
    pub member: &'a str,
    /// Offset of the tensor in that file, in bytes.
    pub offset: u64,
}

/// Options of a quick look, which leaves out pairs or elements.
#[derive(Clone, Default)]
pub struct Selection {
    /// Sample of the elements to read; all where there is none.
    pub sample: Option<Sample>,
    /// Whether checksums of tensors are compared instead of numbers.
    pub checksum: bool,
    /// Operations whose data is read; all where there are none.
    pub ops: Option<GlobMatcher>,
    /// Tells when to stop reading data.
    pub stop: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
}

/// Counts of the pairs that a selection measured and skipped, for the result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PartialCoverage {
    /// Pairs of tensors that were measured.
    pub measured: u64,
    /// Pairs that were skipped because another operation was selected.
    pub by_operation: u64,
    /// Pairs that were skipped because time was up.
    pub by_time: u64,
    /// Elements that were read of the measured pairs.
    pub elements: u64,
    /// All elements of these pairs.
    pub of_elements: u64,
    /// Runs of elements that were read.
    pub runs: u64,
    /// Pairs whose checksums differ, so that only the records tell how far apart they are.
    pub unequal: u64,
}

/// Numbers of pairs of tensors, measured or known.
#[derive(Default)]
pub struct Measurements {
    selection: Selection,
    pages: Pages,
    counts: Counts,
}

#[derive(Default)]
enum Pages {
    /// Measures everything and keeps nothing.
    #[default]
    None,
    /// Measures the pairs of this part and keeps the results.
    Part { plan: PartPlan, noted: Mutex<BTreeMap<String, Value>> },
    /// Knows the results of all parts.
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

    /// A copy with the same selection for other pairs, whose counts are separate.
    #[must_use]
    pub(crate) fn uncounted_copy(&self) -> Self {
        Self::new(self.selection.clone())
    }

    /// Measures the pairs of one part, and keeps the results.
    pub(crate) fn for_part(selection: Selection, plan: PartPlan) -> Self {
        Self { pages: Pages::Part { plan, noted: Mutex::default() }, ..Self::new(selection) }
    }

    /// Measures nothing, but answers from the results of all parts of a run.
    pub(crate) fn from_parts(selection: Selection, noted: BTreeMap<String, Value>) -> Self {
        Self { pages: Pages::Joined(noted), ..Self::new(selection) }
    }

    /// The sample of elements that is read.
    pub fn sample(&self) -> Option<&Sample> {
        self.selection.sample.as_ref()
    }

    /// Whether tensors are compared by their checksums.
    pub fn by_checksum(&self) -> bool {
        self.selection.checksum
    }

    /// The operations whose data is read, as the user's pattern.
    pub fn ops(&self) -> Option<&str> {
        self.selection.ops.as_ref().map(|ops| ops.glob().glob())
    }

    /// Whether data of the operation `op` is read.
    pub(crate) fn selects_operation(&self, op: &str) -> bool {
        self.selection.ops.as_ref().is_none_or(|ops| ops.is_match(op))
    }

    /// The numbers of two tensors, known or measured now. `None` where the pair is skipped. Either is counted.
    pub(crate) fn get_or_measure<T: Serialize + DeserializeOwned>(
        &self,
        pair: &PairName<'_>,
        measure: impl FnOnce() -> T,
    ) -> Option<T> {
        let answer = self.get_or_measure_uncounted(pair, measure);
        let counter = match &answer {
            Some(_) => &self.counts.measured,
            None if !self.wants(pair) => &self.counts.by_operation,
            None => &self.counts.by_time,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        answer
    }

    /// The numbers of a pair that was counted before in another way; nothing is counted.
    pub(crate) fn get_or_measure_uncounted<T: Serialize + DeserializeOwned>(
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

    /// Whether the numbers of two tensors would be measured, as far as is known in advance.
    pub(crate) fn is_to_be_measured(&self, pair: &PairName<'_>) -> bool {
        let is_here = match &self.pages {
            Pages::None => true,
            Pages::Part { plan, .. } => plan.has(pair),
            Pages::Joined(_) => false,
        };
        is_here && self.wants(pair)
    }

    fn wants(&self, pair: &PairName<'_>) -> bool {
        pair.op.is_none_or(|op| self.selects_operation(op))
    }

    /// Counts elements of a pair that was measured.
    pub(crate) fn count_elements(&self, looked_at: u64, elements: u64) {
        self.counts.elements.fetch_add(looked_at, Ordering::Relaxed);
        self.counts.of_elements.fetch_add(elements, Ordering::Relaxed);
        self.counts.runs.fetch_add(looked_at.div_ceil(RUN), Ordering::Relaxed);
    }

    /// Counts a pair whose checksums differ.
    pub(crate) fn count_unequal(&self) {
        self.counts.unequal.fetch_add(1, Ordering::Relaxed);
    }

    /// The counts since the last call; resets them to 0.
    pub(crate) fn partial_coverage(&self) -> PartialCoverage {
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

    /// The results that a part has recorded, by pair; empty for other kinds of run.
    pub(crate) fn into_results(self) -> BTreeMap<String, Value> {
        match self.pages {
            Pages::Part { noted, .. } => noted.into_inner().unwrap_or_else(PoisonError::into_inner),
            _ => BTreeMap::new(),
        }
    }

    fn in_time(&self) -> bool {
        self.selection.stop.as_ref().is_none_or(|stop| !stop())
    }
}

/// One line of text per pair, separated by tabs, which no relevant file name contains.
fn key(pair: &PairName<'_>) -> String {
    [pair.question, pair.baseline, pair.candidate, pair.member].join("\t")
}

/// Assignment of tensors to one part of a run. All of the candidate's bytes are laid end to end in the order of its
/// files (rank, step, operation) and cut into `parts` equal stretches; this part has the one from `part − 1` to `part`.
/// A tensor belongs to the stretch in which it begins.
#[derive(Clone, Debug)]
pub(crate) struct PartPlan {
    part: u64,
    parts: u64,
    /// Bytes before each file.
    before: BTreeMap<String, u64>,
    total: u64,
}

impl PartPlan {
    /// Part `part` (from 1) of `parts` over the candidate's tensor files with their lengths, in any order.
    pub(crate) fn new(part: u64, parts: u64, files: impl IntoIterator<Item = (String, u64)>) -> Self {
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

    /// Number of the part that the pair belongs to, from 1. A file that was not listed is assigned by its name.
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
            let owners: Vec<u64> =
                (1..=4).filter(|part| PartPlan::new(*part, 4, files()).has(&pair(&name, 0))).collect();
            let [owner] = owners.as_slice() else { panic!("{name} belongs to {owners:?}") };
            bytes[usize::try_from(*owner).expect("small") - 1] += len;
        }
        assert!(bytes.iter().all(|sum| (4500..=5500).contains(sum)), "{bytes:?}");
    }

    #[test]
    fn files_that_are_not_listed_have_one_owner_too() {
        let has = |part| PartPlan::new(part, 3, Vec::new()).has(&pair("somewhere.pt", 0));
        assert_eq!((1..=3).filter(|part| has(*part)).count(), 1);
    }

    #[test]
    fn a_joined_book_answers_what_its_parts_measured() {
        let files = || vec![("a.pt".to_owned(), 10), ("b.pt".to_owned(), 10)];
        let mut noted = BTreeMap::new();
        for part in 1..=2 {
            let measurements = Measurements::for_part(Selection::default(), PartPlan::new(part, 2, files()));
            for (name, value) in [("a.pt", 1.5), ("b.pt", -0.0)] {
                measurements.get_or_measure(&pair(name, 0), || value);
            }
            noted.extend(measurements.into_results());
        }
        let measurements = Measurements::from_parts(Selection::default(), noted);
        let known = |name| measurements.get_or_measure(&pair(name, 0), || f64::NAN).map(f64::to_bits);
        assert_eq!((known("a.pt"), known("b.pt")), (Some(1.5f64.to_bits()), Some((-0.0f64).to_bits())));
        assert_eq!((known("c.pt"), measurements.partial_coverage().by_time), (None, 1));
    }

    #[test]
    fn time_and_operations_leave_pairs_out() {
        let ops = globset::Glob::new("Torch.mul.*").expect("a pattern").compile_matcher();
        let measurements = Measurements::new(Selection { ops: Some(ops), ..Selection::default() });
        assert_eq!(measurements.get_or_measure(&pair("a.pt", 0), || 1), None);
        let measurements = Measurements::new(Selection { stop: Some(Arc::new(|| true)), ..Selection::default() });
        assert_eq!(measurements.get_or_measure(&pair("a.pt", 0), || 1), None);
        assert_eq!(measurements.partial_coverage(), PartialCoverage { by_time: 1, ..PartialCoverage::default() });
    }
}
