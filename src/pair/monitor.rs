//! Rows of a step of two monitors, paired by kind, stage, name and micro step.

use std::collections::{BTreeSet, HashMap};

use crate::kind::MonitorKind;
use crate::read::monitor::{Keyed, Keys, Row, Step};

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
pub fn rows(baseline: Step, candidate: Step, kinds: &BTreeSet<MonitorKind>) -> Paired {
    let of_kinds = |step: Step| step.rows.into_iter().filter(|row| kinds.contains(&row.key.kind));
    let mut paired = Paired::default();
    let mut theirs = of_kinds(candidate).peekable();
    // Both sides mostly write the same rows in the same order; what stands elsewhere is looked up.
    let mut elsewhere = Vec::new();
    for ours in of_kinds(baseline) {
        match theirs.next_if(|theirs| theirs.key == ours.key) {
            Some(theirs) => paired.matched.push(pair(ours, theirs)),
            None => elsewhere.push(ours),
        }
    }
    let mut left: HashMap<Keys, Keyed> = theirs.map(|row| (row.key.clone(), row)).collect();
    for ours in elsewhere {
        match left.remove(&ours.key) {
            Some(theirs) => paired.matched.push(pair(ours, theirs)),
            None => paired.only_baseline.push(ours.key),
        }
    }
    paired.only_candidate.extend(left.into_keys());
    paired.only_baseline.sort_unstable();
    paired.only_candidate.sort_unstable();
    paired.matched.sort_by(|a, b| {
        let place = |pair: &RowPair| (pair.key.kind, pair.key.micro_step, pair.order);
        place(a).cmp(&place(b)).then_with(|| a.key.cmp(&b.key))
    });
    paired
}

fn pair(ours: Keyed, theirs: Keyed) -> RowPair {
    RowPair { key: ours.key, order: ours.order, baseline: ours.row, candidate: theirs.row }
}
