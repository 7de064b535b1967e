//! Rows of a step of two monitors, paired by kind, stage, name and micro step.

use std::collections::BTreeSet;

use crate::read::monitor::{Keys, Kind, Row, Step};

/// A row of both sides.
#[derive(Debug)]
pub struct RowPair {
    /// Key of both.
    pub key: Keys,
    /// Place among the baseline's rows of its kind.
    pub order: u64,
    /// The baseline's row.
    pub baseline: Row,
    /// The candidate's row.
    pub candidate: Row,
}

/// The rows of a step.
#[derive(Debug, Default)]
pub struct Paired {
    /// Rows of both sides, in the order in which the step computes them.
    pub matched: Vec<RowPair>,
    /// Rows of the baseline alone.
    pub only_baseline: Vec<Keys>,
    /// Rows of the candidate alone.
    pub only_candidate: Vec<Keys>,
}

/// Pairs the rows of a step; those of other kinds than `kinds` are left out.
pub fn rows(baseline: Step, mut candidate: Step, kinds: &BTreeSet<Kind>) -> Paired {
    let mut paired = Paired::default();
    for (key, ours) in baseline.rows {
        if !kinds.contains(&key.kind) {
            candidate.rows.remove(&key);
            continue;
        }
        match candidate.rows.remove(&key) {
            Some(theirs) => {
                let order = ours.order;
                paired.matched.push(RowPair { key, order, baseline: ours.row, candidate: theirs.row });
            }
            None => paired.only_baseline.push(key),
        }
    }
    paired.only_candidate.extend(candidate.rows.into_keys().filter(|key| kinds.contains(&key.kind)));
    paired.only_baseline.sort_unstable();
    paired.only_candidate.sort_unstable();
    paired.matched.sort_by(|a, b| {
        let place = |pair: &RowPair| (pair.key.kind, pair.key.micro_step, pair.order);
        place(a).cmp(&place(b)).then_with(|| a.key.cmp(&b.key))
    });
    paired
}
