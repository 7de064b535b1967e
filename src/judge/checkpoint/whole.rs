//! Judges faults that only files of several ranks can have: missing files, differing copies, and padding that holds numbers.

use std::collections::BTreeMap;

use super::rules;
use super::told::CheckpointFindings;
use crate::compare::checkpoint::ReplicaComparison;
use crate::compare::tensor::PairStats;
use crate::judge::run::rules::REPLICAS_DIFFER;
use crate::pair::checkpoint::Padding;
use crate::result::finding::Finding;
use crate::verdict::{CheckId, PerSide, Side};

/// Relative L2 error up to which copies count as equal: every rank applies the same update.
const COPIES: f64 = 1e-6;

/// Facts about the ranks of both runs.
#[derive(Debug, Default)]
pub struct WholeModel<'a> {
    /// Paths of files that other files refer to and that are missing.
    pub missing: PerSide<&'a [String]>,
    /// Comparisons of copies within one run.
    pub replicas: Vec<ReplicaComparison<'a>>,
    /// Paddings that hold numbers.
    pub paddings: Vec<&'a Padding>,
    /// Number of tensors of the optimizer that were not compared.
    pub unread_states: PerSide<u64>,
}

/// Judges the ranks of both runs in checkpoint `name`.
pub(crate) fn judge_whole(name: &str, whole: &WholeModel<'_>) -> Vec<Finding> {
    let mut told = CheckpointFindings::new(name);
    for side in Side::BOTH {
        for path in whole.missing[side] {
            told.add(Finding::new(&rules::SHARD_MISSING, path.as_str()).with("side", side.as_str()));
        }
        if whole.unread_states[side] > 0 {
            let finding = Finding::new(&rules::OPTIMIZER_UNREAD, name).with("side", side.as_str());
            told.add(finding.with("count", whole.unread_states[side]));
        }
    }
    copies(&whole.replicas).into_iter().for_each(|finding| told.add(finding));
    for padding in &whole.paddings {
        let rows = padding.tensor.shape.first().copied().unwrap_or(0);
        let finding = Finding::new(&rules::PADDING, padding.name.as_str()).with("side", padding.side.as_str());
        told.add(finding.with("rows", rows));
    }
    told.finish()
}

/// Findings about copies that differ, one for each tensor of a side, with the first two holders.
fn copies(replicas: &[ReplicaComparison<'_>]) -> Vec<Finding> {
    let mut differing: BTreeMap<(&str, &str), (usize, Finding)> = BTreeMap::new();
    let mut unread = Vec::new();
    for comparison in replicas {
        let (name, side) = (comparison.replica.name.as_str(), comparison.replica.side.as_str());
        let error = match &comparison.outcome {
            Ok(stats) => error_of(stats),
            Err(reason) => {
                let finding = Finding::new(&rules::UNREAD, name).with("side", side);
                unread.push(finding.with("reason", reason.as_str()));
                continue;
            }
        };
        if error <= COPIES {
            continue;
        }
        let [first, copy] = &comparison.replica.holders;
        let finding = || {
            let finding = Finding::new(&REPLICAS_DIFFER, name).of_check(CheckId::Checkpoint).with("side", side);
            finding.with("error", error).with("first", first.as_str()).with("copy", copy.as_str())
        };
        differing.entry((side, name)).or_insert_with(|| (0, finding())).0 += 1;
    }
    let differing = differing.into_values().map(|(count, finding)| finding.with("count", count));
    differing.chain(unread).collect()
}

/// ‖c−b‖₂ over the larger norm; infinite where places of NaN and infinity differ.
fn error_of(stats: &PairStats) -> f64 {
    if stats.nonfinite_mismatches > 0 {
        return f64::INFINITY;
    }
    let scale = stats.sum_sq_baseline.max(stats.sum_sq_candidate).sqrt();
    if scale > 0.0 { stats.sum_sq_diff.sqrt() / scale } else { 0.0 }
}
