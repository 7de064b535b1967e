//! Dumps of tools other than msprobe (`docs/other-dumps.md`): which files are theirs, and reading a step and rank of them.
//!
//! A tool either writes one file per tensor, or a table or log with a row per statistic, or a tree of modules. [`recognise`]
//! looks at one file; files of one step and rank are put together by [`ToolDump`].

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

/// The part of a tool's dump that the file at `path` is, which begins with `head`; `None` for any other file.
pub fn recognise(path: &str, head: &[u8], source: &Source) -> Option<Result<ToolPart>> {
    if let Some(file) = dumper::recognise(path).or_else(|| saved::recognise(path, head)) {
        return Some(Ok(ToolPart::File(file)));
    }
    if trace::recognise(path, head) {
        return Some(Ok(ToolPart::File(trace::file(path))));
    }
    if atb::recognise(head) {
        return Some(atb::read(path, source).map(ToolPart::of));
    }
    if inspect::recognise(path, head) {
        return Some(inspect::read(path, source).map(ToolPart::of));
    }
    unknown::recognise(path, head, source).map(|file| Ok(ToolPart::File(file)))
}

/// The dump of an unknown tool that the members of the file at `path` are; `None` where they are something else.
pub fn recognise_members(path: &str, head: &[u8], source: &Source) -> Option<Result<ToolPart>> {
    unknown::recognise_members(path, head, source).map(|file| Ok(ToolPart::File(file)))
}
