//! Numbers of a profile: its steps, and the time of every kind of kernel in each step. Single kernels are not kept.

use std::collections::{BTreeMap, HashMap};

use super::steps::{self, StepTimes, microseconds};
use crate::median::upper_median;
use crate::read::performance::{Kernels, OperatorKey, Profile};

/// Calls and time of a kind of kernel in one step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Calls.
    pub count: u64,
    /// Time of all of them, in microseconds.
    pub time: f64,
}

/// One recording of one process.
#[derive(Debug)]
pub struct ProfileRecording {
    /// The profile as it was read, without its kernels and without its table of steps.
    pub profile: Profile,
    /// Steps that were recorded, whether they have a period or not.
    pub recorded: Vec<u64>,
    /// Number of rows of the table of steps or of steps of kernels, the larger.
    pub step_count: usize,
    /// Whether any step is known from kernels.
    pub has_kernel_steps: bool,
    /// Whether the shapes of kernels' inputs are known.
    pub has_shapes: bool,
    /// Steps known from kernels.
    pub by_kernels: Vec<StepTimes>,
    /// Steps of the table.
    pub by_table: Vec<StepTimes>,
    /// Usage of every kind of kernel by step; none outside steps.
    pub usage: BTreeMap<OperatorKey, BTreeMap<u64, Usage>>,
    /// Gaps of its steps in which no kernel runs.
    pub gaps: Option<Gaps>,
}

/// Gaps between kernels that are long enough to be waits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gaps {
    /// Number of them in a step, on average.
    pub per_step: f64,
    /// Their median length, in microseconds.
    pub median: f64,
}

impl ProfileRecording {
    /// Measures a profile.
    pub fn from_profile(mut profile: Profile) -> Self {
        let step_count = profile.recorded_steps();
        let (kernels, rows) = (profile.kernels.take(), std::mem::take(&mut profile.steps));
        let kernels = kernels.as_ref();
        let of_kernels = kernels.map(|kernels| kernels.steps().to_vec()).unwrap_or_default();
        let of_table = rows.iter().filter_map(|row| row.step).collect();
        Self {
            profile,
            recorded: if of_kernels.is_empty() { of_table } else { of_kernels },
            step_count,
            has_kernel_steps: kernels.is_some_and(|kernels| !kernels.steps().is_empty()),
            has_shapes: kernels.is_some_and(Kernels::has_shapes),
            by_kernels: kernels.map(steps::steps_from_kernels).unwrap_or_default(),
            by_table: steps::steps_from_table(&rows),
            usage: kernels.map(usage).unwrap_or_default(),
            gaps: kernels.and_then(gaps),
        }
    }
}

/// The gaps between kernels of the same step, in one pass over a list in the order of time; `None` where it is in another order, or holds no
/// step.
fn gaps(kernels: &Kernels) -> Option<Gaps> {
    /// Shortest gap that is a wait, in microseconds: several times what a device needs between two kernels.
    const LEAST: f64 = 20.0;
    // Start of the last kernel of a step, and the end of all of them.
    let mut reached: Vec<Option<(i64, i64)>> = vec![None; kernels.steps().len()];
    let mut waits = Vec::new();
    for kernel in kernels.list() {
        let Some(place) = kernel.step().and_then(|step| reached.get_mut(step)) else { continue };
        let (last, end) = place.unwrap_or((kernel.start, kernel.start));
        if kernel.start < last {
            return None;
        }
        waits.extend(Some(microseconds(kernel.start.saturating_sub(end))).filter(|gap| *gap >= LEAST));
        *place = Some((kernel.start, end.max(kernel.end())));
    }
    let steps = reached.iter().flatten().count();
    #[allow(clippy::cast_precision_loss, reason = "counts of gaps and steps")]
    let per_step = waits.len() as f64 / steps.max(1) as f64;
    (steps > 0).then(|| Gaps { per_step, median: upper_median(waits).unwrap_or(0.0) })
}

/// Usage of every kind of kernel by step.
fn usage(kernels: &Kernels) -> BTreeMap<OperatorKey, BTreeMap<u64, Usage>> {
    let mut sums: HashMap<(u32, usize), (u64, i64), foldhash::fast::RandomState> = HashMap::default();
    for kernel in kernels.list() {
        let Some(step) = kernel.step() else { continue };
        let (count, time) = sums.entry((kernel.kind, step)).or_default();
        (*count, *time) = (*count + 1, time.saturating_add(kernel.duration));
    }
    let mut usage: Vec<BTreeMap<u64, Usage>> = vec![BTreeMap::new(); kernels.kinds().len()];
    for ((kind, step), (count, time)) in sums {
        if let (Some(of_kind), Some(step)) = (usage.get_mut(kind as usize), kernels.steps().get(step)) {
            of_kind.insert(*step, Usage { count, time: microseconds(time) });
        }
    }
    // Long keys are compared once for each kind of kernel, not once for each step.
    kernels.kinds().iter().cloned().zip(usage).filter(|(_, of_kind)| !of_kind.is_empty()).collect()
}
