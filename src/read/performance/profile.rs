//! A profile as it was read: one process, one recording.

use std::collections::BTreeMap;

use super::kernels::Kernels;

/// Kind of device that a profile is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Device {
    /// Ascend NPU.
    Npu,
    /// GPU.
    Gpu,
}

/// One recording of one process.
#[derive(Debug)]
pub struct Profile {
    /// Folder of the profile, or file of the trace.
    pub place: String,
    /// The rank; `None` where a single process was recorded.
    pub rank: Option<u64>,
    /// Kind of device.
    pub device: Device,
    /// Name of the device: `Ascend910B`, `NVIDIA A100-SXM4-80GB`; `None` where no file tells it.
    pub device_name: Option<String>,
    /// Settings of the profiler; `None` where they are not recorded.
    pub settings: Option<Settings>,
    /// Every kernel; `None` where no file lists them.
    pub kernels: Option<Kernels>,
    /// The table of steps, in its own order; empty where there is none.
    pub steps: Vec<StepRow>,
    /// Whether the table of steps counts the pause between two steps, as text does and a database does not.
    pub counts_pauses: bool,
    /// Time by type of operator over the whole recording; empty where it was not recorded.
    pub totals: Vec<OperatorTotal>,
    /// Time on the device by operator of the framework, over the whole recording; empty where it was not recorded.
    pub operators: Vec<OperatorTime>,
    /// Time that the training waited for its next batch; `None` where no file tells it.
    pub loading: Option<LoadingTime>,
    /// The largest memory that was allocated, in MB of 1024 * 1024 bytes; `None` where it was not recorded.
    pub memory_peak: Option<f64>,
    /// Times of collectives by type, over the whole recording; empty where they were not recorded.
    pub communication: BTreeMap<String, CommunicationTimes>,
    /// Median clock of the cores in MHz; `None` where it was not recorded.
    pub frequency: Option<f64>,
    /// Whether the recording has any event of a device.
    pub has_device: bool,
    /// Files that cannot be read to their end.
    pub damage: Vec<Damage>,
}

impl Profile {
    /// A profile of which nothing has been read.
    pub(super) fn new(place: String, device: Device) -> Self {
        Self {
            place,
            rank: None,
            device,
            device_name: None,
            settings: None,
            kernels: None,
            steps: Vec::new(),
            counts_pauses: true,
            totals: Vec::new(),
            operators: Vec::new(),
            loading: None,
            memory_peak: None,
            communication: BTreeMap::new(),
            frequency: None,
            has_device: true,
            damage: Vec::new(),
        }
    }

    /// Steps that were recorded.
    pub fn recorded_steps(&self) -> usize {
        let of_kernels = self.kernels.as_ref().map_or(0, |kernels| kernels.steps().len());
        of_kernels.max(self.steps.len())
    }
}

/// A file that cannot be read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Its path below the side's folder.
    pub path: String,
    /// Expectation, and what was found.
    pub reason: String,
    /// Next step for the user.
    pub help: String,
}

/// Settings that change the profiler's own cost, as its files spell them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings(pub BTreeMap<String, String>);

/// A row of the table of steps, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepRow {
    /// Number of the step; `None` where the training did not count them.
    pub step: Option<u64>,
    /// Time with a computing kernel.
    pub computing: f64,
    /// Time with communication and without computing.
    pub communication: f64,
    /// Time with both.
    pub overlapped: f64,
    /// Time with neither.
    pub free: f64,
}

/// Time of a type of operator over a whole recording.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatorTotal {
    /// The type.
    pub name: String,
    /// Kind of core.
    pub core: String,
    /// Calls.
    pub count: u64,
    /// Time of all calls, in microseconds.
    pub total: f64,
}

/// Time on the device of an operator of the framework, over a whole recording.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatorTime {
    /// Its name: `aten::mm`.
    pub name: String,
    /// Calls that ran something on the device.
    pub count: u64,
    /// Time without that of operators it called, in microseconds.
    pub total: f64,
}

/// Time that the training waited for its next batch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LoadingTime {
    /// Batches.
    pub count: u64,
    /// Time of all of them, in microseconds.
    pub total: f64,
}

/// Times of the collectives of one type.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CommunicationTimes {
    /// Calls.
    pub count: u64,
    /// Time of moving data, in milliseconds.
    pub transit: f64,
    /// Time of waiting for other ranks, in milliseconds.
    pub wait: f64,
}
