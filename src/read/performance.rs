//! Profiles of training steps: which kernels ran when, on an Ascend NPU or a GPU.
//!
//! Three forms are read: the tables and the databases that the Ascend PyTorch Profiler writes, and PyTorch's own traces.
//! Columns are found by their titles. Files may be as large as a disk holds; all of them are read from front to back, and
//! memory grows only with the number of kernels. docs/formats/profiles.md describes the parts that are read.

mod assemble;
mod communication;
mod database;
mod event;
mod gpu_trace;
mod kernels;
mod launches;
mod npu_trace;
mod number;
mod operator_times;
mod place;
mod profile;
mod scanner;
mod settings;
mod stream;
mod table;
mod tables;

pub use assemble::{ProfileFiles, read_profile};
pub use kernels::{COMMUNICATION, Kernel, Kernels, OperatorKey};
pub use place::{ProfileFile, ProfileFileKind};
pub use profile::{
    CommunicationTimes, LoadingTime, OperatorTime, OperatorTotal, Profile, ProfileDamage, ProfileDevice,
    ProfilerSettings, StepRow,
};
