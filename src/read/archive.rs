//! Zip archives with limits, read in place.
//!
//! Nothing is unpacked to disk. The directory decides what is read: the last entry of a repeated name counts (as
//! with every extractor), and names that lead out of the archive, links and encrypted entries are refused
//! one by one. Sizes are claimed by the directory and enforced while reading, so that a small archive cannot
//! expand without bound. Checksums are verified.

pub mod folder;
mod tar;
pub mod zstd;

use std::collections::BTreeMap;
use std::io::{self, Read, Seek, SeekFrom};

use zip::read::{ArchiveOffset, Config, OwnedZipFileEntry};
use zip::result::ZipError;
use zip::unstable::read::ZipIterable;
use zip::{CompressionMethod, ZipReadOptions};

use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{ByteSource, Source};

/// Configuration for an archive that begins at the start of its file, as all do except those appended to a script. The directory is
/// read at its recorded offset. Searching for it backwards from its size would take the second entry of a torch file for the first,
/// where the first has the length of the ZIP64 records at the end, 76 bytes.
pub(crate) const AT_START: Config = Config { archive_offset: ArchiveOffset::Known(0) };

/// Limits for what an archive may claim to hold.
#[derive(Clone, Copy, Debug)]
pub struct ArchiveLimits {
    /// Largest number of entries in the directory.
    pub members: usize,
    /// Largest size in bytes of all members together, expanded.
    pub total_bytes: u64,
}

/// One member that may be read.
pub struct ArchiveMember {
    name: String,
    entry: OwnedZipFileEntry,
    /// Bytes of this and all earlier members, expanded, as the directory claims them.
    claimed_up_to: u64,
}

impl ArchiveMember {
    /// Its name, `/`-separated.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its length, expanded, as the directory claims it.
    pub fn len(&self) -> u64 {
        self.entry.size()
    }

    /// Whether the directory claims that it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Offset and length of its bytes in `source`, where they are stored as they are.
    ///
    /// # Errors
    /// `Corrupt` where it has no header at its offset, or reaches beyond the end of the file.
    pub(crate) fn stored_range(&self, source: &Source) -> Result<Option<(u64, u64)>> {
        /// Length of a header without its name and extra field. Its last two numbers are the lengths of those.
        const HEADER: usize = 30;
        if self.entry.compression() != CompressionMethod::Stored {
            return Ok(None);
        }
        let damaged =
            || Error::corrupt(format!("{}:{}", source.name(), self.name), "is not at the offset in the directory");
        let mut header = [0_u8; HEADER];
        let start = self.entry.header_start();
        if start.checked_add(HEADER as u64).is_none_or(|end| end > source.len()) {
            return Err(damaged());
        }
        source.read_at(start, &mut header)?;
        let [b'P', b'K', 3, 4, .., name_low, name_high, extra_low, extra_high] = header else { return Err(damaged()) };
        let number = |low, high| u64::from(u16::from_le_bytes([low, high]));
        let variable = number(name_low, name_high) + number(extra_low, extra_high);
        let (offset, len) = (start + HEADER as u64 + variable, self.entry.size());
        if len != self.entry.compressed_size() || offset.checked_add(len).is_none_or(|end| end > source.len()) {
            return Err(damaged());
        }
        Ok(Some((offset, len)))
    }
}

/// An entry that is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Its name.
    pub name: String,
    /// Reason why it is not read, as a noun phrase.
    pub reason: &'static str,
}

/// An open archive.
pub struct Archive {
    source: Source,
    limits: ArchiveLimits,
    members: Vec<ArchiveMember>,
    refused: Vec<Refused>,
    repeated: BTreeMap<String, usize>,
}

impl Archive {
    /// Reads the directory of `source`.
    ///
    /// An archive without a readable directory is an error: it was cut short, or is not a zip archive.
    pub fn open(source: Source, limits: ArchiveLimits) -> Result<Self> {
        let damaged = |error: ZipError| no_directory(source.as_ref(), &error);
        let open = |config| ZipIterable::try_new(SourceCursor::new(source.as_ref()), config);
        let mut entries = open(AT_START).or_else(|_| open(Config::default())).map_err(damaged)?;
        if entries.len() > limits.members {
            let message = format!("{} members, and archives are read up to {}", entries.len(), limits.members);
            return Err(Error::new(ErrorKind::LimitExceeded, source.name(), message));
        }
        let mut last: BTreeMap<String, (usize, OwnedZipFileEntry)> = BTreeMap::new();
        let mut repeated: BTreeMap<String, usize> = BTreeMap::new();
        let mut refused = Vec::new();
        for (position, entry) in entries.files().map_err(damaged)?.enumerate() {
            let entry = OwnedZipFileEntry::from(entry.map_err(damaged)?);
            let name = entry.name().map_or_else(|_| String::from_utf8_lossy(entry.name_raw()).into_owned(), Into::into);
            if entry.is_dir() {
                continue;
            }
            if let Some(reason) = refusal(&name, &entry) {
                refused.push(Refused { name, reason });
                continue;
            }
            if last.insert(name.clone(), (position, entry)).is_some() {
                *repeated.entry(name).or_insert(1) += 1;
            }
        }
        Ok(Self { source, limits, members: in_order(last), refused, repeated })
    }

    /// Members that may be read, in archive order.
    pub fn members(&self) -> &[ArchiveMember] {
        &self.members
    }

    /// Members that are not read, each with its reason.
    pub fn refused(&self) -> &[Refused] {
        &self.refused
    }

    /// Names that occur more than once, with their number of entries.
    pub fn repeated(&self) -> &BTreeMap<String, usize> {
        &self.repeated
    }

    /// A member's name in messages: `archive:member`.
    pub fn full_name(&self, member: &ArchiveMember) -> String {
        format!("{}:{}", self.source.name(), member.name)
    }

    /// Passes a reader of one member's expanded bytes to `read`, which decides how many of them it takes.
    pub(super) fn expand(
        &self,
        member: &ArchiveMember,
        read: &mut dyn FnMut(&mut dyn Read) -> io::Result<()>,
    ) -> Result<()> {
        let name = self.full_name(member);
        let mut cursor = SourceCursor::new(self.source.as_ref());
        let options = ZipReadOptions::new();
        let mut reader =
            member.entry.as_ref().with_reader(&mut cursor, options).map_err(|error| broken(&name, &error))?;
        read(&mut reader).map_err(|error| broken(&name, &ZipError::Io(error)))
    }

    /// Expands one member of up to `limit` bytes.
    pub fn read(&self, member: &ArchiveMember, limit: u64) -> Result<Vec<u8>> {
        let name = self.full_name(member);
        let claimed = member.entry.size();
        if claimed > limit {
            let message = format!("{claimed} bytes, and this kind of member is read up to {limit}");
            return Err(Error::new(ErrorKind::LimitExceeded, name, message));
        }
        if member.claimed_up_to > self.limits.total_bytes {
            let message = format!("the archive expands to more than {} bytes", self.limits.total_bytes);
            return Err(Error::new(ErrorKind::LimitExceeded, name, message));
        }
        let mut bytes = Vec::new();
        // The reader itself stops at the claimed length only for stored members: a deflated one could go on.
        let mut read =
            |reader: &mut dyn Read| reader.take(claimed.saturating_add(1)).read_to_end(&mut bytes).map(|_| ());
        self.expand(member, &mut read)?;
        if bytes.len() as u64 != claimed {
            return Err(Error::corrupt(
                name,
                format!("its size is not the {claimed} bytes the archive's directory says"),
            ));
        }
        Ok(bytes)
    }
}

/// Members by their place in the directory, with the running total of what they claim.
fn in_order(last: BTreeMap<String, (usize, OwnedZipFileEntry)>) -> Vec<ArchiveMember> {
    let mut entries: Vec<_> = last.into_iter().map(|(name, (position, entry))| (position, name, entry)).collect();
    entries.sort_by_key(|(position, ..)| *position);
    let mut claimed_up_to = 0_u64;
    let with_total = |(_, name, entry): (usize, String, OwnedZipFileEntry)| {
        claimed_up_to = claimed_up_to.saturating_add(entry.size());
        ArchiveMember { name, entry, claimed_up_to }
    };
    entries.into_iter().map(with_total).collect()
}

/// Reason why an entry is not read; `None` where it is.
fn refusal(name: &str, entry: &OwnedZipFileEntry) -> Option<&'static str> {
    let windows_drive = name.as_bytes().get(1) == Some(&b':');
    if name.starts_with(['/', '\\']) || windows_drive {
        Some("an absolute path")
    } else if name.split(['/', '\\']).any(|part| part == "..") {
        Some("a path that leads out of the archive")
    } else if name.contains('\0') {
        Some("a name with a zero byte")
    } else if entry.is_symlink() {
        Some("a link")
    } else if entry.encrypted() {
        Some("encrypted")
    } else {
        None
    }
}

fn no_directory(source: &dyn ByteSource, error: &ZipError) -> Error {
    let message = if source.is_empty() {
        "is empty, expected a zip archive".to_owned()
    } else {
        format!("is not a complete zip archive: {error}")
    };
    Error::corrupt(source.name(), message)
        .with_help("the archive was cut short, as when a job is killed or a copy is stopped: collect or copy it again")
}

fn broken(name: &str, error: &ZipError) -> Error {
    match error {
        ZipError::UnsupportedArchive(_) | ZipError::CompressionMethodNotSupported(_) => Error::unsupported(name, error),
        _ => Error::corrupt(name, format!("cannot be expanded: {error}")),
    }
    .with_help("collect the archive again; the other members are read as usual")
}

/// The name of the first member according to its own header, for archives whose directory is lost.
pub(crate) fn first_member_name(source: &dyn ByteSource) -> Option<String> {
    let mut header = [0_u8; 30];
    source.read_at(0, &mut header).ok()?;
    let [b'P', b'K', 3, 4, .., low, high, _, _] = header else { return None };
    let mut name = vec![0; usize::from(u16::from_le_bytes([low, high]))];
    source.read_at(header.len() as u64, &mut name).ok()?;
    String::from_utf8(name).ok()
}

/// A byte source as a seekable reader.
pub(crate) struct SourceCursor<'a> {
    source: &'a dyn ByteSource,
    position: u64,
}

impl<'a> SourceCursor<'a> {
    /// Starts at the beginning of `source`.
    pub(crate) fn new(source: &'a dyn ByteSource) -> Self {
        Self { source, position: 0 }
    }
}

impl Read for SourceCursor<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.source.len().saturating_sub(self.position);
        let len = usize::try_from(left).map_or(buffer.len(), |left| left.min(buffer.len()));
        if let Some(part) = buffer.get_mut(..len).filter(|part| !part.is_empty()) {
            self.source.read_at(self.position, part).map_err(io::Error::other)?;
        }
        self.position += len as u64;
        Ok(len)
    }
}

impl Seek for SourceCursor<'_> {
    fn seek(&mut self, target: SeekFrom) -> io::Result<u64> {
        let position = match target {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::End(delta) => self.source.len().checked_add_signed(delta),
            SeekFrom::Current(delta) => self.position.checked_add_signed(delta),
        };
        self.position = position.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.position)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Archive, ArchiveLimits};
    use crate::fetch::MemorySource;

    /// An archive as `torch.save` writes it: stored entries below a folder, and ZIP64 records at the end that none needs.
    #[allow(clippy::cast_possible_truncation, reason = "a few hundred bytes")]
    fn of_torch(folder: &str) -> Vec<u8> {
        let u16s = |values: &[u16]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>();
        let u32s = |values: &[u32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>();
        let u64s = |values: &[u64]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>();
        let (mut archive, mut directory) = (Vec::new(), Vec::new());
        let names = ["data.pkl", "byteorder", "data/0", "version"].map(|name| format!("{folder}/{name}"));
        for name in &names {
            let (at, len) = (archive.len() as u32, name.len() as u16);
            // Version, flags, method and time; checksum and both sizes of no bytes; lengths of the name and of nothing else.
            let about = [u16s(&[0, 0, 0, 0, 0]), u32s(&[0, 0, 0]), u16s(&[len, 0])].concat();
            archive.extend([b"PK\x03\x04".as_slice(), &about, name.as_bytes()].concat());
            let place = [u16s(&[0, 0, 0]), u32s(&[0, at])].concat();
            directory.extend([b"PK\x01\x02\0\0".as_slice(), &about, &place, name.as_bytes()].concat());
        }
        let (start, size, count) = (archive.len(), directory.len(), names.len());
        archive.extend(directory);
        let end = archive.len() as u64;
        let (start, size) = ([start as u64], [size as u64]);
        let whole = [u64s(&[count as u64, count as u64]), u64s(&size), u64s(&start)].concat();
        archive.extend([b"PK\x06\x06".as_slice(), &u64s(&[44]), &u16s(&[0x31e, 45]), &u32s(&[0, 0]), &whole].concat());
        archive.extend([b"PK\x06\x07".as_slice(), &u32s(&[0]), &u64s(&[end]), &u32s(&[1])].concat());
        let counts = u16s(&[0, 0, count as u16, count as u16]);
        let places = u32s(&[size[0] as u32, start[0] as u32]);
        archive.extend([b"PK\x05\x06".as_slice(), &counts, &places, &u16s(&[0])].concat());
        archive
    }

    #[test]
    fn a_directory_lies_where_the_archive_says_whatever_the_length_of_a_name() {
        for len in 1..100 {
            let bytes = of_torch(&"x".repeat(len));
            let limits = ArchiveLimits { members: 10, total_bytes: 1000 };
            let archive = Archive::open(Arc::new(MemorySource::new("x.pt", bytes)), limits);
            assert_eq!(archive.map(|archive| archive.members().len()).ok(), Some(4), "a folder of {len} letters");
        }
    }
}
