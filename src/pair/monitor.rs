//! Rows of a step of two monitors, paired by kind, stage, name and micro step.

pub mod models;

use std::collections::{BTreeSet, HashSet};

use crate::hash::FastMap;
use crate::kind::MonitorKind;
use crate::read::monitor::{KeyedRow, MonitorKey, MonitorRow, MonitorStep};
use crate::verdict::Side;

/// A row of both sides.
#[derive(Debug)]
pub struct MonitorRowPair {
    /// Key of both.
    pub key: MonitorKey,
    /// Place among the baseline's rows of its kind.
    pub order: u64,
    /// The baseline's row.
    pub baseline: MonitorRow,
    /// The candidate's row.
    pub candidate: MonitorRow,
    /// Whether this pair comes from a place that one side wrote twice with different numbers.
    pub is_repeat: bool,
    /// Whether the candidate's ranks hold copies of it that differ.
    pub is_parted: bool,
}

/// The rows of a step.
#[derive(Debug, Default)]
pub(crate) struct PairedMonitorRows {
    /// Rows of both sides, in the order in which the step computes them.
    pub matched: Vec<MonitorRowPair>,
    /// Rows of the baseline alone.
    pub only_baseline: Vec<MonitorKey>,
    /// Rows of the candidate alone.
    pub only_candidate: Vec<MonitorKey>,
    /// Rows among these whose place has a paired row already.
    pub again: Vec<MonitorKey>,
    /// Rows of the whole model that cannot be merged from the ranks of one side, so that they are not compared.
    pub unmerged: Vec<MonitorKey>,
}

/// Pairs the rows of a step; kinds other than `kinds` are left out. A row that only one side wrote twice is compared with the
/// other side's row of that place too, so that the worse of both is judged. This is not done where the versions differ,
/// because then one side writes micro steps that the other does not.
pub(crate) fn pair_monitor_rows(
    baseline: MonitorStep,
    candidate: MonitorStep,
    kinds: &BTreeSet<MonitorKind>,
    versions_differ: bool,
) -> PairedMonitorRows {
    let unmerged: BTreeSet<MonitorKey> = baseline.unmerged.iter().chain(&candidate.unmerged).cloned().collect();
    let parted: HashSet<MonitorKey> = candidate.differing.iter().map(|differing| differing.key.clone()).collect();
    let of_kinds = |step: MonitorStep| {
        let counts = |row: &KeyedRow| kinds.contains(&row.key.kind) && !unmerged.contains(&row.key);
        step.rows.into_iter().filter(counts)
    };
    let most = baseline.rows.len().min(candidate.rows.len());
    let mut paired = PairedMonitorRows { matched: Vec::with_capacity(most), ..PairedMonitorRows::default() };
    let mut candidate_rows = of_kinds(candidate).peekable();
    // Both sides mostly write the same rows in the same order; other rows are looked up by key.
    let mut elsewhere = Vec::new();
    for row in of_kinds(baseline) {
        match candidate_rows.next_if(|other| other.key == row.key) {
            Some(other) => paired.matched.push(pair(row, other)),
            None => elsewhere.push(row),
        }
    }
    let mut left: FastMap<MonitorKey, KeyedRow> = candidate_rows.map(|row| (row.key.clone(), row)).collect();
    let mut alone = Vec::new();
    for row in elsewhere {
        match left.remove(&row.key) {
            Some(other) => paired.matched.push(pair(row, other)),
            None => alone.push((Side::Baseline, row)),
        }
    }
    alone.extend(left.into_values().map(|row| (Side::Candidate, row)));
    if !versions_differ && alone.iter().any(|(_, row)| row.first_key().is_some()) {
        let places: FastMap<MonitorKey, usize> = paired.matched.iter().map(|pair| pair.key.clone()).zip(0..).collect();
        let repeats = repeats(&paired.matched, &places, &alone);
        paired.matched.extend(repeats);
        let is_again = |row: &KeyedRow| row.first_key().is_some_and(|first| places.contains_key(&first));
        let repeated = alone.iter().filter(|(side, row)| *side == Side::Candidate && is_again(row));
        paired.again = repeated.map(|(_, row)| row.key.clone()).collect();
    }
    for (side, row) in alone {
        let names = if side == Side::Baseline { &mut paired.only_baseline } else { &mut paired.only_candidate };
        names.push(row.key);
    }
    paired.matched.iter_mut().for_each(|pair| pair.is_parted = parted.contains(&pair.key));
    paired.unmerged = unmerged.into_iter().filter(|key| kinds.contains(&key.kind)).collect();
    paired.only_baseline.sort_unstable();
    paired.only_candidate.sort_unstable();
    paired.matched = in_order(paired.matched);
    paired
}

/// Sorts the rows into the order in which the step computes them. Rows are large, so indices are sorted and each row moves
/// once.
fn in_order(matched: Vec<MonitorRowPair>) -> Vec<MonitorRowPair> {
    let place = |pair: &MonitorRowPair| (pair.key.kind, pair.key.micro_step, pair.order);
    let by_place = |a: &MonitorRowPair, b: &MonitorRowPair| place(a).cmp(&place(b)).then_with(|| a.key.cmp(&b.key));
    if matched.is_sorted_by(|a, b| by_place(a, b).is_le()) {
        return matched;
    }
    let mut order: Vec<(usize, &MonitorRowPair)> = matched.iter().enumerate().collect();
    order.sort_by(|(_, a), (_, b)| by_place(a, b));
    let order: Vec<usize> = order.into_iter().map(|(at, _)| at).collect();
    let mut matched: Vec<Option<MonitorRowPair>> = matched.into_iter().map(Some).collect();
    order.into_iter().filter_map(|at| matched.get_mut(at)?.take()).collect()
}

fn pair(baseline: KeyedRow, candidate: KeyedRow) -> MonitorRowPair {
    MonitorRowPair {
        key: baseline.key,
        order: baseline.order,
        baseline: baseline.row,
        candidate: candidate.row,
        is_repeat: false,
        is_parted: false,
    }
}

/// Rows of one side that repeat a place with other numbers, each beside the other side's row of that place.
fn repeats(
    matched: &[MonitorRowPair],
    places: &FastMap<MonitorKey, usize>,
    alone: &[(Side, KeyedRow)],
) -> Vec<MonitorRowPair> {
    let beside = |(side, row): &(Side, KeyedRow)| {
        let pair = matched.get(*places.get(&row.first_key()?)?)?;
        let (own, other) = match side {
            Side::Baseline => (&pair.baseline, &pair.candidate),
            Side::Candidate => (&pair.candidate, &pair.baseline),
        };
        let (baseline, candidate) = if *side == Side::Baseline { (&row.row, other) } else { (other, &row.row) };
        let of_pair = || MonitorRowPair {
            key: row.key.clone(),
            order: row.order,
            baseline: baseline.clone(),
            candidate: candidate.clone(),
            is_repeat: true,
            is_parted: false,
        };
        (!own.statistics.is_same(&row.row.statistics)).then(of_pair)
    };
    alone.iter().filter_map(beside).collect()
}
