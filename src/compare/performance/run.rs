//! Recordings of one rank: several recordings of different steps count as one run.

use std::collections::{BTreeMap, BTreeSet};

use super::recording::{Gaps, ProfileRecording, Usage};
use super::steps::{self, StepTimes};
use crate::read::performance::{
    CommunicationTimes, LoadingTime, OperatorKey, ProfileDamage, ProfileDevice, ProfilerSettings,
};

/// Source of the times of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeSource {
    /// Kernels: a step lasts from its first kernel to the first kernel of the next.
    Kernels,
    /// The table of steps.
    StepTable,
}

/// The recordings of one rank on one side.
#[derive(Debug)]
pub struct ProfileRun {
    /// The rank; `None` where a single process was recorded.
    pub rank: Option<u64>,
    /// Its recordings, in the order of their places; at least one.
    pub recordings: Vec<ProfileRecording>,
}

impl ProfileRun {
    /// The runs of a side, by rank.
    pub fn by_rank(recordings: Vec<ProfileRecording>) -> Vec<Self> {
        let mut ranks: BTreeMap<Option<u64>, Vec<ProfileRecording>> = BTreeMap::new();
        for recording in recordings {
            ranks.entry(recording.profile.rank).or_default().push(recording);
        }
        ranks.into_iter().map(|(rank, recordings)| Self { rank, recordings }).collect()
    }

    /// Places of two recordings that hold the same step, which cannot be told apart.
    pub(crate) fn places_of_same_step(&self) -> Option<[&str; 2]> {
        let mut seen: BTreeMap<u64, &str> = BTreeMap::new();
        for recording in &self.recordings {
            let numbers: BTreeSet<u64> = recording.recorded.iter().copied().collect();
            for step in numbers {
                if let Some(other) = seen.insert(step, &recording.profile.place) {
                    return Some([other, &recording.profile.place]);
                }
            }
        }
        // Recordings without step numbers cannot be joined at all.
        let unnumbered: Vec<&ProfileRecording> = self.recordings.iter().filter(|one| one.recorded.is_empty()).collect();
        match unnumbered.as_slice() {
            [first, second, ..] => Some([&first.profile.place, &second.profile.place]),
            _ => None,
        }
    }

    /// Kind of device.
    pub fn device(&self) -> ProfileDevice {
        self.recordings.first().map_or(ProfileDevice::Npu, |recording| recording.profile.device)
    }

    /// Name of the device; `None` where no file holds it.
    pub(crate) fn device_name(&self) -> Option<&str> {
        self.recordings.iter().find_map(|recording| recording.profile.device_name.as_deref())
    }

    /// Settings of the profiler; `None` where they are not recorded.
    pub fn settings(&self) -> Option<&ProfilerSettings> {
        self.recordings.iter().find_map(|recording| recording.profile.settings.as_ref())
    }

    /// Files that cannot be read to their end.
    pub fn damage(&self) -> impl Iterator<Item = &ProfileDamage> {
        self.recordings.iter().flat_map(|recording| &recording.profile.damage)
    }

    /// Whether every recording has an event of a device.
    pub(crate) fn has_device(&self) -> bool {
        self.recordings.iter().all(|recording| recording.profile.has_device)
    }

    /// Whether any step is known from kernels.
    pub(crate) fn has_kernel_steps(&self) -> bool {
        self.recordings.iter().all(|recording| recording.has_kernel_steps)
    }

    /// Whether there is a table of steps.
    pub(crate) fn has_step_table(&self) -> bool {
        self.recordings.iter().all(|recording| !recording.by_table.is_empty())
    }

    /// Whether the table of steps counts the pause between two steps.
    pub(crate) fn counts_pauses(&self) -> bool {
        self.recordings.iter().all(|recording| recording.profile.counts_pauses)
    }

    /// Whether the shapes of kernels' inputs are known.
    pub(crate) fn has_shapes(&self) -> bool {
        self.recordings.iter().all(|recording| recording.has_shapes)
    }

    /// Steps of all recordings, in the order of their numbers.
    pub fn steps(&self, source: TimeSource) -> Vec<StepTimes> {
        let of = |recording: &ProfileRecording| match source {
            TimeSource::Kernels => recording.by_kernels.clone(),
            TimeSource::StepTable => recording.by_table.clone(),
        };
        let mut all: Vec<StepTimes> = self.recordings.iter().flat_map(of).collect();
        all.sort_by_key(|times| times.step);
        all
    }

    /// Steps that are judged: without the first `warmup`.
    pub(crate) fn judged_steps(&self, source: TimeSource, warmup: usize) -> Vec<StepTimes> {
        steps::judged_steps(&self.steps(source), warmup).to_vec()
    }

    /// Number of steps that were recorded, with or without a period.
    pub(crate) fn step_count(&self) -> usize {
        self.recordings.iter().map(|recording| recording.step_count).sum::<usize>().max(1)
    }

    /// Usage of every kind of kernel by step.
    pub fn usage(&self) -> impl Iterator<Item = (&OperatorKey, &BTreeMap<u64, Usage>)> {
        self.recordings.iter().flat_map(|recording| &recording.usage)
    }

    /// Gaps between kernels of the first recording that has kernels.
    pub(crate) fn gaps(&self) -> Option<Gaps> {
        self.recordings.iter().find_map(|recording| recording.gaps)
    }

    /// Smallest allocated memory, which is held throughout, in MB.
    pub fn memory_least(&self) -> Option<f64> {
        self.recordings.iter().filter_map(|recording| recording.profile.memory_least).min_by(f64::total_cmp)
    }

    /// The largest memory in MB.
    pub fn memory_peak(&self) -> Option<f64> {
        self.recordings.iter().filter_map(|recording| recording.profile.memory_peak).max_by(f64::total_cmp)
    }

    /// Median clock of the cores in MHz.
    pub fn frequency(&self) -> Option<f64> {
        self.recordings.iter().find_map(|recording| recording.profile.frequency)
    }

    /// Time of waiting for the next batch, in microseconds per step; `None` where it was not recorded.
    #[allow(clippy::cast_precision_loss, reason = "a number of steps")]
    pub(crate) fn loading_time(&self) -> Option<f64> {
        let all: Vec<LoadingTime> = self.recordings.iter().filter_map(|recording| recording.profile.loading).collect();
        (!all.is_empty()).then(|| all.iter().map(|loading| loading.total).sum::<f64>() / self.step_count() as f64)
    }

    /// Times of collectives by type.
    pub fn communication(&self) -> BTreeMap<&str, CommunicationTimes> {
        let mut sums: BTreeMap<&str, CommunicationTimes> = BTreeMap::new();
        for (name, times) in self.recordings.iter().flat_map(|recording| &recording.profile.communication) {
            let sum = sums.entry(name).or_default();
            sum.count += times.count;
            sum.transit += times.transit;
            sum.wait += times.wait;
        }
        sums
    }
}
