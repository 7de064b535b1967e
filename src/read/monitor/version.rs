//! The two tools that write monitor tables.

/// The tool that wrote a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MonitorVersion {
    /// `TrainerMon`, which rounds numbers and writes one file per kind.
    V1,
    /// `TrainerMonitorV2`, which does not round numbers and writes one file per monitor.
    V2,
}
