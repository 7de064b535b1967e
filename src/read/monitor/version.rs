//! The two tools that write tables.

/// The tool that wrote a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// `TrainerMon`: rounded decimals, a file per kind.
    V1,
    /// `TrainerMonitorV2`: full numbers, a file per monitor.
    V2,
}
