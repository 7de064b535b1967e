//! Steps on the device: the duration of each step and of its phases.

use std::collections::BTreeMap;

use super::coverage::CoveredTime;
use crate::read::performance::{Kernels, StepRow};

/// A step from its first kernel to the first kernel of the next, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepTimes {
    /// Number of the step; its position where the training did not number its steps.
    pub step: u64,
    /// The whole period.
    pub period: f64,
    /// Time with a compute kernel, in microseconds.
    pub computing: f64,
    /// Time with communication and without a compute kernel.
    pub communication: f64,
    /// Time with both.
    pub overlapped: f64,
    /// Time with neither.
    pub free: f64,
}

/// The steps known from kernels. The last step has no period, nor has one whose successor was not recorded.
pub(crate) fn steps_from_kernels(kernels: &Kernels) -> Vec<StepTimes> {
    let begins = begins(kernels);
    if begins.len() < 2 {
        return Vec::new();
    }
    let is_communication = |kind: u32| kernels.kinds().get(kind as usize).is_some_and(|kind| kind.is_communication());
    let spans = |communication: bool| {
        let kernels = kernels.list().iter().filter(|kernel| is_communication(kernel.kind) == communication);
        CoveredTime::new(kernels.map(|kernel| (kernel.start, kernel.end())).collect())
    };
    let (computing, communication) = (spans(false), spans(true));
    let both = computing.with(&communication);
    let next = begins.iter().skip(1);
    let times = begins.iter().zip(next).filter_map(|((step, start), (next, end))| {
        let is_period = *next == step.wrapping_add(1) && end > start;
        is_period.then(|| {
            let covered = both.within(*start, *end);
            let computing = computing.within(*start, *end);
            let exposed = covered - computing;
            StepTimes {
                step: *step,
                period: microseconds(end - start),
                computing: microseconds(computing),
                communication: microseconds(exposed),
                overlapped: microseconds(communication.within(*start, *end) - exposed),
                free: microseconds(end - start - covered),
            }
        })
    });
    times.collect()
}

/// Start of every step's first kernel, by number of the step.
fn begins(kernels: &Kernels) -> BTreeMap<u64, i64> {
    let mut begins: BTreeMap<u64, i64> = BTreeMap::new();
    for kernel in kernels.list() {
        let Some(step) = kernel.step().and_then(|place| kernels.steps().get(place)) else { continue };
        begins.entry(*step).and_modify(|start| *start = kernel.start.min(*start)).or_insert(kernel.start);
    }
    begins
}

/// The steps of a table; a period is the sum of computing, communication and free time. Of three or more rows the last
/// one, whose free time ends early, is left out.
pub(crate) fn steps_from_table(rows: &[StepRow]) -> Vec<StepTimes> {
    let count = if rows.len() >= 3 { rows.len() - 1 } else { rows.len() };
    let times = |(place, row): (usize, &StepRow)| StepTimes {
        step: row.step.unwrap_or(place as u64),
        period: row.computing + row.communication + row.free,
        computing: row.computing,
        communication: row.communication,
        overlapped: row.overlapped,
        free: row.free,
    };
    rows.iter().take(count).enumerate().map(times).filter(|times| times.period > 0.0).collect()
}

/// The steps that are judged: without the first `warmup`, where at least three remain.
pub(crate) fn judged_steps(steps: &[StepTimes], warmup: usize) -> &[StepTimes] {
    if steps.len() >= warmup.saturating_add(3) { steps.get(warmup..).unwrap_or_default() } else { steps }
}

#[allow(clippy::cast_precision_loss, reason = "a duration within a recording, far below 2^53 ns")]
pub(super) fn microseconds(nanoseconds: i64) -> f64 {
    nanoseconds as f64 / 1000.0
}
