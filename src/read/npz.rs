//! NumPy `.npz` archives: a zip archive with an array per member.

use std::ops::Range;
use std::sync::Arc;

use super::archive::{self, Archive, ArchiveLimits, ArchiveMember};
use super::npy;
use super::tensor::{StoredValue, TensorData};
use crate::error::Result;
use crate::fetch::{ByteSource, MemorySource, Source, past_end};

/// Limits of an archive: number of members, and bytes that they expand to.
const LIMITS: ArchiveLimits = ArchiveLimits { members: 1 << 20, total_bytes: 1 << 36 };

/// Whether the file that starts with `head` is an archive whose first member is an array.
pub(crate) fn recognise(head: &[u8], source: &dyn ByteSource) -> bool {
    head.starts_with(b"PK") && archive::first_member_name(source).is_some_and(|name| name.ends_with(".npy"))
}

/// The arrays of an archive by their names without the ending `.npy`, in its order. A member that is no array has the reason instead.
///
/// # Errors
/// `Corrupt` where the directory cannot be read.
pub(crate) fn open(source: Source) -> Result<Vec<(String, StoredValue)>> {
    let archive = Archive::open(source.clone(), LIMITS)?;
    let member = |member: &ArchiveMember| {
        let name = member.name().strip_suffix(".npy").unwrap_or(member.name()).to_owned();
        (
            name,
            array(&archive, member, &source)
                .map_or_else(|error| StoredValue::Unsupported(error.to_string()), StoredValue::Tensor),
        )
    };
    let mut stored: Vec<(String, StoredValue)> = archive.members().iter().map(member).collect();
    stored.extend(
        archive.refused().iter().map(|refused| (refused.name.clone(), StoredValue::Unsupported(refused.reason.into()))),
    );
    Ok(stored)
}

/// The array of a member.
///
/// # Errors
/// Where the member cannot be read, or is no array.
pub(crate) fn array(archive: &Archive, member: &ArchiveMember, source: &Source) -> Result<TensorData> {
    bytes_of(archive, member, source).and_then(npy::open)
}

/// The bytes of a member: in the file where they are stored uncompressed, or expanded in memory.
fn bytes_of(archive: &Archive, member: &ArchiveMember, source: &Source) -> Result<Source> {
    let name = archive.full_name(member);
    match member.stored_range(source)? {
        Some((offset, len)) => Ok(Arc::new(Window { name, source: source.clone(), offset, len })),
        None => Ok(Arc::new(MemorySource::new(name, archive.read(member, source.memory_limit())?))),
    }
}

/// A part of a file.
struct Window {
    name: String,
    source: Source,
    offset: u64,
    len: u64,
}

impl ByteSource for Window {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        match offset.checked_add(buffer.len() as u64) {
            Some(end) if end <= self.len => self.source.read_at(self.offset + offset, buffer),
            _ => Err(past_end(self, offset, buffer.len())),
        }
    }

    fn prefetch(&self, range: Range<u64>) {
        let shifted = |at: u64| self.offset.saturating_add(at.min(self.len));
        self.source.prefetch(shifted(range.start)..shifted(range.end));
    }

    fn memory_limit(&self) -> u64 {
        self.source.memory_limit()
    }

    fn in_memory(&self) -> Option<&[u8]> {
        let start = usize::try_from(self.offset).ok()?;
        let end = start.checked_add(usize::try_from(self.len).ok()?)?;
        self.source.in_memory()?.get(start..end)
    }
}
