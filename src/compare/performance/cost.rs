//! Costs of operators per step on both sides, paired.

use std::collections::{BTreeMap, BTreeSet};

use super::recording::Usage;
use super::run::{ProfileRun, TimeSource};
use super::statistics::median_with_zeros;
use crate::pair::performance::across_devices;
use crate::read::performance::{COMMUNICATION, OperatorKey};

/// Calls and time of an operator in a step of each side: baseline, candidate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OperatorCost {
    /// Key of the pair; the name is the candidate's where it has the operator.
    pub key: OperatorKey,
    /// Calls per step.
    pub count: [f64; 2],
    /// Microseconds per step.
    pub total: [f64; 2],
}

impl OperatorCost {
    /// Difference of its time, candidate minus baseline, in microseconds per step.
    pub fn growth(&self) -> f64 {
        self.total[1] - self.total[0]
    }

    /// Whether a side (0: baseline, 1: candidate) runs it at all.
    pub fn is_on(&self, side: usize) -> bool {
        self.count.get(side).is_some_and(|count| *count > 0.0) || self.total.get(side).is_some_and(|time| *time > 0.0)
    }
}

/// Property by which operators are paired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairedBy {
    /// Type, shapes, element types and kind of core.
    Shapes,
    /// Type and kind of core.
    Type,
    /// Totals by type over all steps.
    Totals,
    /// Name of the framework's operator.
    Operator,
}

/// Property by which operators of two runs can be paired.
pub fn paired_by(baseline: &ProfileRun, candidate: &ProfileRun, source: TimeSource) -> PairedBy {
    let both = [baseline, candidate];
    if baseline.device() != candidate.device() {
        PairedBy::Operator
    } else if source == TimeSource::StepTable {
        PairedBy::Totals
    } else if both.iter().all(|run| run.has_shapes()) {
        PairedBy::Shapes
    } else {
        PairedBy::Type
    }
}

/// Costs of all operators, the largest difference first. The first `warmup` steps are left out where steps are known
/// from kernels.
pub fn costs(baseline: &ProfileRun, candidate: &ProfileRun, by: PairedBy, warmup: usize) -> Vec<OperatorCost> {
    let mut costs: BTreeMap<OperatorKey, OperatorCost> = BTreeMap::new();
    for (side, run) in [baseline, candidate].into_iter().enumerate() {
        for (key, name, usage) in run_costs(run, by, warmup) {
            let cost = costs.entry(key.clone()).or_insert_with(|| OperatorCost { key, ..OperatorCost::default() });
            cost.key.name = name;
            if let (Some(count), Some(total)) = (cost.count.get_mut(side), cost.total.get_mut(side)) {
                *count += usage.0;
                *total += usage.1;
            }
        }
    }
    let mut costs: Vec<OperatorCost> = costs.into_values().filter(|cost| cost.is_on(0) || cost.is_on(1)).collect();
    costs.sort_by(|a, b| b.growth().abs().total_cmp(&a.growth().abs()).then_with(|| a.key.cmp(&b.key)));
    costs
}

/// Key, name, and calls and time per step of every operator of a run.
#[allow(clippy::cast_precision_loss, reason = "numbers of calls and steps")]
fn run_costs(run: &ProfileRun, by: PairedBy, warmup: usize) -> Vec<(OperatorKey, String, (f64, f64))> {
    let steps = run.step_count() as f64;
    let named =
        |name: &str, core: &str| OperatorKey { name: name.to_owned(), core: core.to_owned(), ..OperatorKey::default() };
    match by {
        PairedBy::Totals => run
            .recordings
            .iter()
            .flat_map(|recording| &recording.profile.totals)
            .map(|total| {
                let key = named(&total.name, &total.core);
                (key, total.name.clone(), (total.count as f64 / steps, total.total / steps))
            })
            .collect(),
        PairedBy::Operator => {
            let recordings = run.recordings.iter().flat_map(|recording| &recording.profile.operators);
            recordings
                .map(|operator| {
                    let key = named(across_devices(&operator.name), "");
                    (key, operator.name.clone(), (operator.count as f64 / steps, operator.total / steps))
                })
                .collect()
        }
        PairedBy::Shapes | PairedBy::Type => {
            let judged: BTreeSet<u64> =
                run.judged_steps(TimeSource::Kernels, warmup).iter().map(|times| times.step).collect();
            let mut sums: BTreeMap<OperatorKey, BTreeMap<u64, Usage>> = BTreeMap::new();
            for (key, usage) in run.usage() {
                let key = if by == PairedBy::Shapes { key.clone() } else { named(&key.name, &key.core) };
                let sum = sums.entry(key).or_default();
                for (step, usage) in usage.iter().filter(|(step, _)| judged.contains(step)) {
                    let sum = sum.entry(*step).or_default();
                    sum.count += usage.count;
                    sum.time += usage.time;
                }
            }
            let per_step = |usage: &BTreeMap<u64, Usage>, of: fn(&Usage) -> f64| {
                let values: Vec<f64> = usage.values().map(of).collect();
                // A step without the operator counts as zero.
                median_with_zeros(&values, judged.len() - values.len())
            };
            let cost = |(key, usage): (OperatorKey, BTreeMap<u64, Usage>)| {
                let name = key.name.clone();
                let count = per_step(&usage, |usage| usage.count as f64);
                (key, name, (count, per_step(&usage, |usage| usage.time)))
            };
            sums.into_iter().map(cost).filter(|(_, _, (count, _))| !count.is_nan()).collect()
        }
    }
}

/// Kinds of core whose kernels' shapes identify the workload.
const MATRIX_CORES: [&str; 2] = ["AI_CORE", "MIX_AIC"];

/// Share of the baseline's time in matrix kernels, of the types that the candidate has too, for which the candidate has
/// the same shapes. Element types are ignored: another one is another way to do the same work. `None` where there is no
/// such time.
pub(crate) fn same_workload(costs: &[OperatorCost]) -> Option<f64> {
    let types: BTreeSet<&str> = costs.iter().filter(|cost| cost.is_on(1)).map(|cost| cost.key.name.as_str()).collect();
    let is_counted = |cost: &&OperatorCost| {
        MATRIX_CORES.contains(&cost.key.core.as_str())
            && !cost.key.shapes.is_empty()
            && cost.is_on(0)
            && types.contains(cost.key.name.as_str())
    };
    let same_elsewhere: BTreeSet<[&str; 2]> = costs.iter().filter(|cost| cost.is_on(1)).map(name_and_shapes).collect();
    let (mut same, mut all) = (0.0, 0.0);
    for cost in costs.iter().filter(is_counted) {
        all += cost.total[0];
        if same_elsewhere.contains(&name_and_shapes(cost)) {
            same += cost.total[0];
        }
    }
    (all > 0.0).then(|| same / all)
}

fn name_and_shapes(cost: &OperatorCost) -> [&str; 2] {
    [&cost.key.name, &cost.key.shapes]
}

/// Whether an operator is a collective.
pub(crate) fn is_communication(cost: &OperatorCost) -> bool {
    cost.key.core == COMMUNICATION || cost.key.name.starts_with("c10d::") || cost.key.name.starts_with("nccl")
}
