//! Tar archives, read in place.
//!
//! Listing an archive reads only the headers; a member's bytes are a range of the archive. Nothing is unpacked to disk, so no
//! member name can overwrite a file. Links, devices, and names that lead out of the archive are skipped, each with a reason.

use std::io;
use std::path::Component;

use tar::EntryType;

use super::{Refused, SourceCursor};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::Source;

/// Most members of an archive.
const MAX_MEMBERS: usize = 2_000_000;
/// Offset of the format's magic word in bytes, and the word itself.
const MAGIC: (usize, &[u8]) = (257, b"ustar");

/// Range of a member's bytes in its archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) offset: u64,
    pub(super) len: u64,
}

/// Whether a file that starts with `head` is a tar archive (POSIX or GNU; the format before 1988 has no magic word).
pub(super) fn recognise(head: &[u8]) -> bool {
    head.get(MAGIC.0..).is_some_and(|rest| rest.starts_with(MAGIC.1))
}

/// Directory of a tar archive.
#[derive(Default)]
pub(super) struct Listed {
    /// Members with their names, in the archive's order. If a name is repeated, the last member counts.
    pub(super) members: Vec<(String, Range)>,
    /// Skipped members, each with the reason.
    pub(super) refused: Vec<Refused>,
}

/// Lists an archive.
pub(super) fn list(source: &Source) -> Result<Listed> {
    let damaged = |error: io::Error| {
        Error::corrupt(source.name(), format!("is not a complete tar archive: {error}"))
            .with_help("the archive was cut short, as when a job is killed or a copy is stopped: pack or copy it again")
    };
    let mut listed = Listed::default();
    let mut archive = tar::Archive::new(SourceCursor::new(source.as_ref()));
    for entry in archive.entries_with_seek().map_err(damaged)? {
        let entry = entry.map_err(damaged)?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let kind = entry.header().entry_type();
        if matches!(kind, EntryType::Directory | EntryType::XGlobalHeader) {
            continue;
        }
        match refusal(&name, kind) {
            Some(reason) => listed.refused.push(Refused { name, reason }),
            None => {
                let range = Range { offset: entry.raw_file_position(), len: entry.size() };
                if range.offset.checked_add(range.len).is_none_or(|end| end > source.len()) {
                    return Err(damaged(io::Error::from(io::ErrorKind::UnexpectedEof)));
                }
                listed.members.push((plain(&name), range));
            }
        }
        if listed.members.len() > MAX_MEMBERS {
            let message = format!("more than {MAX_MEMBERS} members");
            return Err(Error::new(ErrorKind::LimitExceeded, source.name(), message));
        }
    }
    Ok(listed)
}

/// Reason for skipping an entry; `None` if it is read.
fn refusal(name: &str, kind: EntryType) -> Option<&'static str> {
    match kind {
        EntryType::Regular | EntryType::Continuous => {}
        EntryType::Link | EntryType::Symlink => return Some("a link"),
        EntryType::Block | EntryType::Char => return Some("a device"),
        EntryType::Fifo => return Some("a pipe"),
        EntryType::GNUSparse => return Some("a sparse file, which is not read"),
        _ => return Some("neither a file nor a folder"),
    }
    let mut parts = std::path::Path::new(name).components();
    if name.starts_with('\\') || parts.clone().any(|part| matches!(part, Component::RootDir | Component::Prefix(_))) {
        Some("an absolute path")
    } else if name.split(['/', '\\']).any(|part| part == "..") {
        Some("a path that leads out of the archive")
    } else if name.contains('\0') || parts.all(|part| part == Component::CurDir) {
        Some("a name that is none")
    } else {
        None
    }
}

/// Normalizes a path: `./a//b` becomes `a/b`.
fn plain(name: &str) -> String {
    name.split('/').filter(|part| !matches!(*part, "" | ".")).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_inside_are_read() {
        for (name, kind, reason) in [
            ("a/b", EntryType::Regular, None),
            ("./a", EntryType::Regular, None),
            ("/etc/passwd", EntryType::Regular, Some("an absolute path")),
            ("a/../../b", EntryType::Regular, Some("a path that leads out of the archive")),
            ("a\\..\\b", EntryType::Regular, Some("a path that leads out of the archive")),
            ("a", EntryType::Symlink, Some("a link")),
            ("a", EntryType::Link, Some("a link")),
            ("a", EntryType::Block, Some("a device")),
            ("a", EntryType::Char, Some("a device")),
            ("a", EntryType::Fifo, Some("a pipe")),
            (".", EntryType::Regular, Some("a name that is none")),
        ] {
            assert_eq!(refusal(name, kind), reason, "{name} {kind:?}");
        }
        assert_eq!(plain("./a//b/./c"), "a/b/c");
    }
}
