//! Tables of msprobe's training monitor: statistics of activations, gradients, moments and parameters of every step.
//!
//! `TrainerMon` (here V1) writes a file per kind of tensor, `TrainerMonitorV2` a file per monitor with the kind in the column
//! `scope`. Both are recognised by their header; the rank stands in the folder's name. docs/formats/msprobe-monitor.md has
//! both layouts.

mod alerts;
mod cells;
mod kept;
mod name;
mod place;
mod rank;
mod row;
mod side;
mod table;
mod texts;
mod version;
mod whole;

pub use alerts::{Alerts, read as read_alerts, recognise as recognise_alerts};
pub use cells::MonitorHeader;
pub use kept::RowMemory;
pub use name::decimals;
pub use place::MonitorPlace;
pub use rank::{DifferingRow, KeyedRow, MonitorKey, MonitorParameter, MonitorStep, RankTables};
pub use row::{MonitorRow, MonitorStatistics};
pub use side::MonitorTables;
pub use table::{MonitorDamage, MonitorTable};
pub use version::MonitorVersion;
