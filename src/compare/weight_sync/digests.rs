//! Digests of two stages of a synchronisation.

use std::collections::{HashMap, HashSet};

use super::outcome::{SyncChange, SyncComparison, SyncOutcome};
use crate::dtype::Dtype;
use crate::pair::weight_sync::{is_embedding, is_output};
use crate::read::weight_sync::TensorDigest;

/// Compares digests; `earlier` are those of the earlier stage of the steps before, the newest first.
pub(crate) fn sync_digests(
    pairs: &[(&TensorDigest, &TensorDigest)],
    earlier: &[(u64, &[TensorDigest])],
) -> Vec<SyncComparison> {
    let by_name = |(step, rows): &(u64, &'_ [TensorDigest])| -> (u64, HashMap<String, String>) {
        (*step, rows.iter().map(|row| (row.name.clone(), kind_and_digest(row))).collect())
    };
    let earlier: Vec<(u64, HashMap<String, String>)> = earlier.iter().map(by_name).collect();
    // A digest that many tensors share, such as that of zeros, identifies none of them.
    let mut holders: HashMap<String, Option<usize>> = HashMap::new();
    for (place, (from, _)) in pairs.iter().enumerate() {
        holders.entry(kind_and_digest(from)).and_modify(|holder| *holder = None).or_insert(Some(place));
    }
    let mut outcomes: Vec<SyncOutcome> = pairs.iter().map(|(from, to)| outcome(from, to, &earlier)).collect();
    let holder = |to: &TensorDigest, own: usize| {
        holders.get(&kind_and_digest(to)).copied().flatten().filter(|holder| *holder != own)
    };
    let is_open = |outcome: &SyncOutcome| matches!(outcome, SyncOutcome::Wrong(SyncChange::Other));
    let open = outcomes.iter().zip(pairs).enumerate().filter(|(_, (outcome, _))| is_open(outcome));
    let holds: Vec<(usize, usize)> = open.filter_map(|(own, (_, (_, to)))| Some((own, holder(to, own)?))).collect();
    let elsewhere: HashSet<usize> = holds.iter().map(|(_, other)| *other).collect();
    for (own, other) in holds {
        let (Some(outcome), Some((from, _))) = (outcomes.get_mut(own), pairs.get(other)) else { continue };
        let with = from.name.clone();
        let is_swapped = elsewhere.contains(&own);
        let change = if is_swapped { SyncChange::Swapped { with } } else { SyncChange::Copied { of: with } };
        *outcome = SyncOutcome::Wrong(change);
    }
    let comparison = |((from, _), outcome): (&(&TensorDigest, &TensorDigest), SyncOutcome)| SyncComparison {
        name: from.name.clone(),
        is_matrix: from.shape.as_ref().is_some_and(|shape| shape.len() > 1),
        outcome,
    };
    pairs.iter().zip(outcomes).map(comparison).collect()
}

/// Text of a digest with its kind.
fn kind_and_digest(row: &TensorDigest) -> String {
    format!("{}:{}", row.kind.key(), row.value)
}

fn outcome(from: &TensorDigest, to: &TensorDigest, earlier: &[(u64, HashMap<String, String>)]) -> SyncOutcome {
    let dtype = |row: &TensorDigest| row.dtype.as_deref().map(|name| Dtype::parse(name).ok_or(name.to_owned()));
    let written = |row: &TensorDigest| row.dtype.clone().unwrap_or_default();
    let incomparable = |from: String, to: String| SyncOutcome::Incomparable { from, to };
    if from.kind != to.kind {
        return incomparable(from.kind.key().to_owned(), to.kind.key().to_owned());
    }
    if let (Some(one), Some(other)) = (dtype(from), dtype(to))
        && one != other
    {
        return incomparable(written(from), written(to));
    }
    if from.value == to.value {
        return SyncOutcome::Equal { is_trivial: from.shape.as_ref().is_some_and(|shape| shape.contains(&0)) };
    }
    let is_before = |(_, rows): &&(u64, HashMap<String, String>)| rows.get(&from.name) == Some(&kind_and_digest(to));
    if let Some((step, _)) = earlier.iter().find(is_before) {
        return SyncOutcome::Wrong(SyncChange::Stale { step: *step });
    }
    match (&from.shape, &to.shape) {
        (Some(one), Some(other)) if one != other => {
            // Rows of padding change a digest, and only the data could show that.
            let is_table = is_embedding(&from.name) || is_output(&from.name);
            if is_table && one.get(1..) == other.get(1..) {
                return incomparable(format!("{one:?}"), format!("{other:?}"));
            }
            SyncOutcome::Wrong(SyncChange::Shapes { from: one.clone(), to: other.clone() })
        }
        _ => SyncOutcome::Wrong(SyncChange::Other),
    }
}
