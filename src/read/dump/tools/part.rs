//! Parts of a tool's dump: a file with one tensor, with several tensors or with a tree, or a table that was read.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::table::ToolRow;
use crate::read::dump::precision::Precision;
use crate::read::dump::tool::Tool;

/// A file of a tool's dump.
#[derive(Clone, Debug)]
pub enum ToolPart {
    /// A file of one step and rank, which is read together with its dump.
    File(ToolFile),
    /// A table with any number of steps and ranks.
    Table(Arc<ToolTables>),
}

impl ToolPart {
    /// Wraps the tables of one file.
    pub(super) fn from_tables(tables: ToolTables) -> Self {
        Self::Table(Arc::new(tables))
    }
}

/// A file of one step and rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolFile {
    /// The tool.
    pub(super) tool: Tool,
    /// Path of the file, relative to the side's root.
    pub(super) path: String,
    /// Folder of the dump that it belongs to, without the folders of step and rank.
    pub(super) group: String,
    /// Step; 0 if it is unknown.
    pub(super) step: u64,
    /// Rank; `None` if it is unknown.
    pub(super) rank: Option<u64>,
    /// Position in the order of execution, if the tool records it.
    pub(super) order: Option<u64>,
    /// Name of its record; `None` if the file holds several named records.
    pub(super) name: Option<String>,
}

/// Rows of a table or log, by step and rank.
#[derive(Debug)]
pub struct ToolTables {
    pub(super) tool: Tool,
    pub(super) path: String,
    pub(super) group: String,
    pub(super) units: BTreeMap<(u64, Option<u64>), Vec<ToolRow>>,
    pub(super) precision: Precision,
    /// Reason for the first unreadable place, and the number of such places.
    pub(super) damage: Option<(String, u64)>,
}
