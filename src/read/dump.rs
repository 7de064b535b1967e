//! Dumps: the values that msprobe recorded in one step on one rank.
//!
//! Every dump format is read into the same records: msprobe's `dump.json` and `debug.json`
//! (`docs/formats/msprobe-dump.md`) and ptdbg_ascend's line-JSON `.pkl` (`docs/formats/ptdbg.md`), and
//! those of other tools (`docs/other-dumps.md`).

mod assembled;
mod builder;
mod calls;
mod compact;
mod content;
mod elements;
mod find;
mod folder;
mod masks;
mod merge;
mod mindspore;
mod msprobe;
pub mod name;
mod plan;
mod precision;
mod ptdbg;
mod records;
mod shard;
mod stack;
mod statistics;
mod tool;
mod tools;

pub use assembled::AssembledDump;
pub use calls::{KnownCalls, RankCalls};
pub use compact::ByName;
pub(crate) use content::COPIES;
pub use content::{AssembledParts, DamageKind, DifferingCopies, Dump, DumpDamage, SharedMask};
pub use find::recognise;
pub(crate) use find::{data_folders, is_part_of_dump, tool_dumps};
pub(crate) use folder::read_each;
pub use folder::{DumpFolder, DumpFormat, WholeModel};
pub use plan::AssemblyPlan;
pub use precision::Precision;
pub use records::{Leaf, LeafValue, Leaves, Operation, Operations, RowName, Statistic, TensorRecord};
pub use shard::Shard;
pub use tool::Tool;
pub(crate) use tools::recognise_members;
pub use tools::{Activations, ToolDump, ToolPart, activations, recognise as recognise_tool};
