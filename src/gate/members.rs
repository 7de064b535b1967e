//! Recognising dumps of other tools, by a file's name and by the names of its members.

use super::discover::{Extent, FileSample, RecognisedFile, Recogniser, RecognitionEvidence};
use crate::error::Result;
use crate::read::dump::{ToolPart, recognise_members, recognise_tool};
use crate::verdict::CheckId;

/// The recogniser of files whose members show that they are a dump, which is asked after those of all checks.
pub(super) const MEMBERS: Recogniser = Recogniser {
    check: CheckId::Dump,
    evidence: RecognitionEvidence::Signature,
    extent: Extent::Content,
    recognise: members,
};

fn members(sample: &FileSample<'_>) -> Option<RecognisedFile> {
    recognise_members(sample.path, sample.head, sample.source).map(part)
}

/// Recognises a part of a tool's dump by the file's name or first bytes; `None` for any other file.
pub(super) fn recognise_tool_part(sample: &FileSample<'_>) -> Option<RecognisedFile> {
    recognise_tool(sample.path, sample.head, sample.source).map(part)
}

fn part(part: Result<ToolPart>) -> RecognisedFile {
    RecognisedFile::from_result("dump", part)
}
