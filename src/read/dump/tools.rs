//! Dumps of tools other than msprobe (`docs/other-dumps.md`): recognition of their files, and reading of a step and rank.
//!
//! A tool writes one file per tensor, or a table or log with a row per statistic, or a tree of modules. [`recognise`] looks at
//! one file; [`ToolDump`] combines the files of one step and rank.

mod atb;
mod cell;
mod dumper;
mod inspect;
mod names;
mod part;
mod place;
mod saved;
mod table;
mod tensors;
mod trace;
mod unit;
mod unknown;

use crate::error::Result;
use crate::fetch::Source;

pub use names::{Activations, activations};
pub use part::ToolPart;
pub use unit::ToolDump;

/// Part of a tool's dump in the file at `path`, which begins with `head`; `None` for any other file.
pub fn recognise(path: &str, head: &[u8], source: &Source) -> Option<Result<ToolPart>> {
    if let Some(file) = dumper::recognise(path).or_else(|| saved::recognise(path, head)) {
        return Some(Ok(ToolPart::File(file)));
    }
    if trace::recognise(path, head) {
        return Some(Ok(ToolPart::File(trace::tool_file(path))));
    }
    if atb::recognise(head) {
        return Some(atb::read(path, source).map(ToolPart::from_tables));
    }
    if inspect::recognise(path, head) {
        return Some(inspect::read(path, source).map(ToolPart::from_tables));
    }
    unknown::recognise(path, head, source).map(|file| Ok(ToolPart::File(file)))
}

/// Dump of an unknown tool, if the members of the file at `path` are one; `None` if they are something else.
pub(crate) fn recognise_members(path: &str, head: &[u8], source: &Source) -> Option<Result<ToolPart>> {
    unknown::recognise_members(path, head, source).map(|file| Ok(ToolPart::File(file)))
}
