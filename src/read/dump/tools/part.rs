//! Parts of a tool's dump: a file of a tensor, of several or of a tree, or a table that was read.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::table::Row;
use crate::read::dump::precision::Precision;
use crate::read::dump::tool::Tool;

/// A file of a tool's dump.
#[derive(Clone, Debug)]
pub enum ToolPart {
    /// Of one step and rank, which is read when that is.
    File(ToolFile),
    /// Of any number of them.
    Table(Arc<Tables>),
}

impl ToolPart {
    /// A table.
    pub(super) fn of(tables: Tables) -> Self {
        Self::Table(Arc::new(tables))
    }
}

/// A file of one step and rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolFile {
    /// The tool.
    pub(super) tool: Tool,
    /// Its path below the side's root.
    pub(super) path: String,
    /// The folder of the dump it belongs to, without those of step and rank.
    pub(super) group: String,
    /// The step; 0 where nothing says it.
    pub(super) step: u64,
    /// The rank, where something says it.
    pub(super) rank: Option<u64>,
    /// Its place in the order of execution, where the tool says it.
    pub(super) order: Option<u64>,
    /// Name of the record that it is; `None` where it holds any number of them under names of their own.
    pub(super) name: Option<String>,
}

/// Rows of a table or log, by step and rank.
#[derive(Debug)]
pub struct Tables {
    pub(super) tool: Tool,
    pub(super) path: String,
    pub(super) group: String,
    pub(super) units: BTreeMap<(u64, Option<u64>), Vec<Row>>,
    pub(super) precision: Precision,
    /// Places that could not be read, the first of them with its reason, and their number.
    pub(super) damage: Option<(String, u64)>,
}
