//! Recognising dumps of other tools, by a file's name and by the names of its members.

use super::discover::{Evidence, Extent, Recognised, Recogniser, Sample};
use crate::error::Result;
use crate::read::dump::{ToolPart, recognise_members, recognise_tool};
use crate::verdict::CheckId;

/// The recogniser of files whose members show that they are a dump, which is asked after those of all checks.
pub(super) const MEMBERS: Recogniser =
    Recogniser { check: CheckId::Dump, by: Evidence::Signature, extent: Extent::Content, look: members };

fn members(sample: &Sample<'_>) -> Option<Recognised> {
    recognise_members(sample.path, sample.head, sample.source).map(part)
}

/// Recognises a part of a tool's dump by the file's name or first bytes; `None` for any other file.
pub(super) fn of_tool(sample: &Sample<'_>) -> Option<Recognised> {
    recognise_tool(sample.path, sample.head, sample.source).map(part)
}

fn part(part: Result<ToolPart>) -> Recognised {
    Recognised::of("dump", part)
}
