//! Content of a profile, which is one recording of one process.

use std::collections::BTreeMap;

use super::kernels::Kernels;

/// Kind of device of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProfileDevice {
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
    /// Rank; `None` if a single process was recorded.
    pub rank: Option<u64>,
    /// Kind of device.
    pub device: ProfileDevice,
    /// Name of the device: `Ascend910B`, `NVIDIA A100-SXM4-80GB`; `None` if no file has it.
    pub device_name: Option<String>,
    /// Settings of the profiler; `None` if they are not recorded.
    pub settings: Option<ProfilerSettings>,
    /// All kernels; `None` if no file lists them.
    pub kernels: Option<Kernels>,
    /// Rows of the table of steps, in its order; empty if there is none.
    pub steps: Vec<StepRow>,
    /// Whether the table of steps includes the pause between two steps. The text file does, the database does not.
    pub counts_pauses: bool,
    /// Time by type of operator over the whole recording; empty if it was not recorded.
    pub totals: Vec<OperatorTotal>,
    /// Time on the device by operator of the framework, over the whole recording; empty if it was not recorded.
    pub operators: Vec<OperatorTime>,
    /// Time that the training waited for its next batch; `None` if no file has it.
    pub loading: Option<LoadingTime>,
    /// Smallest allocated memory, which is held throughout, in MB of 1024 * 1024 bytes; `None` if it was not recorded.
    pub memory_least: Option<f64>,
    /// Largest allocated memory, in MB of 1024 * 1024 bytes; `None` if it was not recorded.
    pub memory_peak: Option<f64>,
    /// Times of collectives by type, over the whole recording; empty if they were not recorded.
    pub communication: BTreeMap<String, CommunicationTimes>,
    /// Median clock of the cores in MHz; `None` if it was not recorded.
    pub frequency: Option<f64>,
    /// Whether the recording has any event of a device.
    pub has_device: bool,
    /// Files that cannot be read to their end.
    pub damage: Vec<ProfileDamage>,
}

impl Profile {
    /// Creates an empty profile.
    pub(super) fn new(place: String, device: ProfileDevice) -> Self {
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
            memory_least: None,
            memory_peak: None,
            communication: BTreeMap::new(),
            frequency: None,
            has_device: true,
            damage: Vec::new(),
        }
    }

    /// Number of recorded steps.
    pub(crate) fn recorded_steps(&self) -> usize {
        let of_kernels = self.kernels.as_ref().map_or(0, |kernels| kernels.steps().len());
        of_kernels.max(self.steps.len())
    }
}

/// A file that cannot be read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileDamage {
    /// Its path below the side's folder.
    pub path: String,
    /// Reason for the damage.
    pub reason: String,
    /// Advice for the user.
    pub help: String,
}

/// Settings that change the overhead of the profiler, in the spelling of its files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfilerSettings(pub BTreeMap<String, String>);

/// A row of the table of steps, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepRow {
    /// Number of the step; `None` if the training did not count steps.
    pub step: Option<u64>,
    /// Time with a computing kernel.
    pub computing: f64,
    /// Time with communication and without computing.
    pub communication: f64,
    /// Time with both communication and computing.
    pub overlapped: f64,
    /// Time with neither communication nor computing.
    pub free: f64,
}

/// Time of a type of operator over a whole recording.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatorTotal {
    /// The type.
    pub name: String,
    /// Type of core.
    pub core: String,
    /// Number of calls.
    pub count: u64,
    /// Time of all calls, in microseconds.
    pub total: f64,
    /// Time of the fastest and of the slowest call, in microseconds; `None` where the table lacks them.
    pub extremes: Option<[f64; 2]>,
}

/// Time on the device of an operator of the framework, over a whole recording.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatorTime {
    /// Its name: `aten::mm`.
    pub name: String,
    /// Number of calls that ran something on the device.
    pub count: u64,
    /// Time in microseconds, without the time of operators that it called.
    pub total: f64,
}

/// Time that the training waited for its next batch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LoadingTime {
    /// Number of batches.
    pub count: u64,
    /// Time for all batches, in microseconds.
    pub total: f64,
}

/// Times of the collectives of one type.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CommunicationTimes {
    /// Number of calls.
    pub count: u64,
    /// Time of moving data, in milliseconds.
    pub transit: f64,
    /// Time of waiting for other ranks, in milliseconds.
    pub wait: f64,
}
