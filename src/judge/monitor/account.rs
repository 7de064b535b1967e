//! Account of the rows of a rank: which were compared, and which agree trivially.

use std::collections::BTreeMap;

use super::measure;
use crate::hash::{self, ByHash, Hashes};
use crate::kind::{MonitorKind, Statistic};
use crate::pair::monitor::MonitorRowPair;
use crate::read::monitor::{MonitorKey, MonitorRow, MonitorStatistics};
use crate::result::unit::Evidence;

/// Kind and micro step of a row.
type Group = (MonitorKind, u64);

/// Account of paired rows while they are walked over.
#[derive(Debug, Default)]
pub(crate) struct RowAccount {
    evidence: Evidence,
    /// Rows that are finite on the candidate side only.
    pub(super) blind: u64,
    /// Rows that are finite on neither side although the tensor was there.
    pub(super) broken: u64,
    /// Name and step of the first of them.
    pub(super) first_broken: Option<(String, u64)>,
    /// Kind and number of rows of nothing but NaN, for which no column says whether there was a tensor. The key is a hash of kind, stage and
    /// name.
    undecided: ByHash<(MonitorKind, u64)>,
    /// Tensors that were compared at some step, by the same hash.
    known: Hashes,
}

/// State of a pair of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Comparable: agreement or difference says something.
    Telling,
    /// Equal, but of one number throughout, so that equality says nothing.
    Trivial,
    /// Finite on the candidate side only.
    Blind,
    /// Finite on neither side.
    Broken,
    /// Nothing but NaN: perhaps there was no tensor.
    Undecided,
    /// No statistic was recorded.
    Unmeasured,
}

impl RowAccount {
    /// Counts the rows of a step, which come in the order in which the step computes them.
    pub(crate) fn step(&mut self, pairs: &[MonitorRowPair]) {
        let last = last_finite(pairs);
        for (place, pair) in pairs.iter().enumerate() {
            if pair.is_repeat {
                self.evidence.contradicting += 1;
                self.evidence.example("contradicting", &*pair.key.name);
                continue;
            }
            // A later finite value was computed from this one, so something between them, such as a mask, removed the NaN.
            let is_masked = last.get(&group(pair)).is_some_and(|last| place < *last);
            self.row(pair, is_masked);
        }
    }

    fn row(&mut self, pair: &MonitorRowPair, is_masked: bool) {
        let state = state(pair);
        self.count(state, &pair.key, is_masked);
        if state == State::Broken {
            self.first_broken.get_or_insert_with(|| (pair.candidate.name.to_string(), pair.candidate.step));
        }
    }

    /// Counts a row of a run without a baseline.
    pub(super) fn count_lone_row(&mut self, row: &MonitorRow, key: &MonitorKey) {
        let state = state_alone(row);
        self.count(state, key, false);
    }

    fn count(&mut self, state: State, key: &MonitorKey, is_masked: bool) {
        let tensor = || hash::hash_of(&(key.kind, key.stage, &*key.name));
        if state == State::Undecided {
            self.undecided.entry(tensor()).or_insert((key.kind, 0)).1 += 1;
            return;
        }
        if matches!(state, State::Telling | State::Trivial) {
            self.evidence.compared += 1;
            self.evidence.equal_trivially += u64::from(state == State::Trivial);
            self.known.insert(tensor());
        } else {
            self.evidence.not_compared += u64::from(!is_masked || state != State::Broken);
            self.evidence.example("not-compared", &*key.name);
        }
        self.blind += u64::from(state == State::Blind);
        self.broken += u64::from(state == State::Broken);
    }

    /// Returns the account of all rows. Rows of nothing but NaN count as not compared where their tensor is known from another step.
    pub(crate) fn finish(&mut self) -> Evidence {
        let known =
            self.undecided.iter().filter(|(tensor, (kind, _))| self.known.contains(*tensor) || kind.is_parameter());
        let undecided: u64 = known.map(|(_, (_, rows))| rows).sum();
        let mut evidence = std::mem::take(&mut self.evidence);
        self.broken += undecided;
        evidence.not_compared += undecided;
        evidence.offered = evidence.compared + evidence.not_compared;
        evidence
    }
}

/// Index of the last finite row of each kind and micro step, for kinds whose values are computed from one another.
fn last_finite(pairs: &[MonitorRowPair]) -> BTreeMap<Group, usize> {
    let flows = |kind: MonitorKind| matches!(kind, MonitorKind::Actv | MonitorKind::ActvGrad);
    let finite = |row: &MonitorRow| row.statistics.written().next().is_some() && row.statistics.are_finite();
    let places = pairs.iter().enumerate().filter(|(_, pair)| flows(pair.key.kind));
    places
        .filter(|(_, pair)| finite(&pair.baseline) && finite(&pair.candidate))
        .map(|(place, pair)| (group(pair), place))
        .collect()
}

fn group(pair: &MonitorRowPair) -> Group {
    (pair.key.kind, pair.key.micro_step)
}

/// Whether a row is finite on the candidate side only, so that there is no baseline to compare with.
pub(super) fn is_only_candidate_finite(pair: &MonitorRowPair) -> bool {
    pair.candidate.statistics.are_finite() && !pair.baseline.statistics.are_finite()
}

fn state(pair: &MonitorRowPair) -> State {
    let (baseline, candidate) = (&pair.baseline.statistics, &pair.candidate.statistics);
    let mut both = baseline.written().filter_map(|(one, baseline)| Some((baseline, candidate.get(one)?))).peekable();
    if both.peek().is_none() {
        return State::Unmeasured;
    }
    if is_only_candidate_finite(pair) {
        return State::Blind;
    }
    if pair.baseline.is_undecided() && pair.candidate.is_undecided() {
        return State::Undecided;
    }
    // A value that is finite on the baseline side only is a difference, and judged.
    if !both.any(|(baseline, _)| baseline.is_finite()) {
        return State::Broken;
    }
    let says_nothing = |row: &MonitorRow| is_one_number(&row.statistics, row.shape.as_deref());
    let same = measure::error(pair, |_| 0.0).is_none_or(|measured| measured.error <= 0.0) && candidate.are_finite();
    if same && says_nothing(&pair.baseline) && says_nothing(&pair.candidate) { State::Trivial } else { State::Telling }
}

/// State of a row by itself: each recorded number shows whether it is finite.
fn state_alone(row: &MonitorRow) -> State {
    match row.statistics.written().next() {
        None => State::Unmeasured,
        Some(_) if row.is_undecided() => State::Undecided,
        Some(_) if row.statistics.are_finite() && is_one_number(&row.statistics, row.shape.as_deref()) => {
            State::Trivial
        }
        Some(_) => State::Telling,
    }
}

/// Whether a tensor holds only zeros, or one number throughout. A nonzero tensor of a single element does not count.
fn is_one_number(statistics: &MonitorStatistics, shape: Option<&str>) -> bool {
    let sizes = |shape: &str| {
        let mut sizes = shape.split(|letter: char| !letter.is_ascii_digit()).filter(|size| !size.is_empty());
        sizes.all(|size| size == "1")
    };
    let is_zero = statistics.written().all(|(_, value)| value.abs() <= 0.0);
    let ends = statistics.get(Statistic::Min).zip(statistics.get(Statistic::Max));
    is_zero || ends.is_some_and(|(min, max)| min.to_bits() == max.to_bits()) && !shape.is_some_and(sizes)
}
