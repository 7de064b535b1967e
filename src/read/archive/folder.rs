//! An archive as a folder: zip, and tar, also packed by gzip, Zstandard or xz.
//!
//! Stored members are ranges of the archive and cost no space. A compressed member is expanded when it is first read, into
//! memory or a nameless file, under the run's disk limit. An expanded size of more than `RATIO` times the packed size is
//! treated as a decompression bomb.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::ops;
use std::sync::{Arc, OnceLock};

use super::zstd::Zstd;
use super::{Archive, ArchiveLimits, ArchiveMember, SourceCursor, tar};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{self, ByteSource, Disk, FileEntry, Files, MemorySource, Source, past_end};

/// Largest allowed ratio of an archive's expanded size to its packed size. Deflate can reach 1032; real dumps reach 20, and more
/// where they hold many zeros.
const RATIO: u64 = 200;
/// Bytes that may always be expanded, whatever the ratio is.
const FREE: u64 = 256 << 20;
/// Bytes at the start of a compressed member that can be read without expanding all of it.
const HEAD: usize = 64 << 10;
/// Most members of a zip archive.
const MAX_MEMBERS: usize = 2_000_000;

/// The members of an archive.
pub struct Folder {
    location: String,
    archive: Packed,
    entries: Vec<FileEntry>,
    places: BTreeMap<String, Place>,
    skipped: Vec<(String, String)>,
}

/// The archive itself.
enum Packed {
    Tar(Source),
    Zip(Arc<Zip>),
}

struct Zip {
    archive: Archive,
    source: Source,
    disk: Arc<Disk>,
}

/// Location of a member's bytes.
#[derive(Clone, Copy)]
enum Place {
    Range(tar::Range),
    /// A compressed member: its index in the zip archive, and its expanded length in bytes.
    Deflated(usize, u64),
}

/// Whether a file that starts with `head` is an archive that can be opened as a folder.
pub fn recognise(head: &[u8]) -> bool {
    head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") || is_compressed(head) || tar::recognise(head)
}

/// Whether a file starts with the magic bytes of gzip, zstd or xz.
pub(crate) fn is_compressed(head: &[u8]) -> bool {
    [GZIP, ZSTD, XZ].iter().any(|magic| head.starts_with(magic))
}

/// Whether a compressed file holds only text, for example a log that was packed after its run. Such a file is read as one file,
/// not as a folder.
pub(crate) fn is_packed_text(source: &Source, head: &[u8]) -> bool {
    if !is_compressed(head) {
        return false;
    }
    let mut first = Vec::new();
    let begun = Read::take(&mut *expanding_reader(source, head), HEAD as u64).read_to_end(&mut first);
    let is_readable = begun.err().is_none_or(|error| ends_early(&error));
    is_readable && !first.is_empty() && !first.contains(&0) && !tar::recognise(&first)
}

/// Whether a reader failed because its input ends too early, not because the bytes are wrong.
pub(crate) fn ends_early(error: &io::Error) -> bool {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        return true;
    }
    let mut cause = error.get_ref().map(|cause| cause as &(dyn std::error::Error + 'static));
    while let Some(inner) = cause {
        if inner.downcast_ref::<io::Error>().is_some_and(ends_early) {
            return true;
        }
        cause = inner.source();
    }
    false
}

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const XZ: &[u8] = &[0xfd, b'7', b'z', b'X', b'Z', 0];
/// Memory limit of the xz decoder, in KiB. The strongest xz setting needs 65 MiB.
const XZ_MEMORY: u32 = 128 << 10;

/// Opens the archive `source`, which was found at `location`. Expanded data goes to `disk`.
///
/// # Errors
/// `Corrupt` if the archive is cut short, `Unsupported` if a compressed file does not hold a tar archive, `LimitExceeded` for a
/// decompression bomb or if the run may not use that much disk.
pub fn open(source: Source, location: &str, disk: &Arc<Disk>) -> Result<Folder> {
    let head = head(&source)?;
    if is_compressed(&head) {
        source.prefetch(0..source.len());
        let mut first = Vec::new();
        let begun = Read::take(&mut *expanding_reader(&source, &head), HEAD as u64).read_to_end(&mut first);
        if begun.is_ok() && !tar::recognise(&first) {
            let error = Error::unsupported(source.name(), "is compressed, but does not hold a tar archive");
            return Err(
                error.with_help("give the file uncompressed, or a folder packed as .tar.gz, .tar.zst or .tar.xz")
            );
        }
        let inner = disk.keep(source.name(), &mut *expanding_reader(&source, &head), largest(source.len()))?;
        return open_tar(fetch::with_memory_limit(inner, source.memory_limit()), location);
    }
    if tar::recognise(&head) { open_tar(source, location) } else { open_zip(source, location, disk) }
}

fn head(source: &Source) -> Result<Vec<u8>> {
    let mut head = vec![0; usize::try_from(source.len().min(512)).unwrap_or(0)];
    source.read_at(0, &mut head)?;
    Ok(head)
}

/// Returns a reader of the expanded bytes of a file packed by gzip, zstd or xz.
pub(crate) fn expanding_reader<'a>(source: &'a Source, head: &[u8]) -> Box<dyn Read + 'a> {
    let packed = io::BufReader::with_capacity(1 << 20, SourceCursor::new(source.as_ref()));
    if head.starts_with(GZIP) {
        Box::new(flate2::bufread::MultiGzDecoder::new(packed))
    } else if head.starts_with(XZ) {
        Box::new(lzma_rust2::XzReader::new_mem_limit(packed, true, XZ_MEMORY))
    } else {
        Box::new(Zstd::new(packed))
    }
}

fn largest(packed: u64) -> u64 {
    packed.saturating_mul(RATIO).max(FREE)
}

fn open_tar(source: Source, location: &str) -> Result<Folder> {
    let tar::Listed { members, refused } = tar::list(&source)?;
    let places = members.into_iter().map(|(name, range)| (name, Place::Range(range))).collect();
    Ok(folder(location, Packed::Tar(source), places, refused))
}

fn open_zip(source: Source, location: &str, disk: &Arc<Disk>) -> Result<Folder> {
    let limits = ArchiveLimits { members: MAX_MEMBERS, total_bytes: largest(source.len()) };
    let archive = Archive::open(source.clone(), limits)?;
    let mut places = BTreeMap::new();
    for (number, member) in archive.members().iter().enumerate() {
        let place = match member.stored_range(&source)? {
            Some((offset, len)) => Place::Range(tar::Range { offset, len }),
            None => Place::Deflated(number, member.len()),
        };
        places.insert(member.name().replace('\\', "/"), place);
    }
    let refused = archive.refused().to_vec();
    let zip = Zip { archive, source, disk: disk.clone() };
    Ok(folder(location, Packed::Zip(Arc::new(zip)), places, refused))
}

fn folder(location: &str, archive: Packed, places: BTreeMap<String, Place>, refused: Vec<super::Refused>) -> Folder {
    let len = |place: &Place| match place {
        Place::Range(range) => range.len,
        Place::Deflated(_, len) => *len,
    };
    let entries = places.iter().map(|(path, place)| FileEntry { path: path.clone(), len: len(place) }).collect();
    let mut skipped: Vec<_> = refused.into_iter().map(|refused| (refused.name, refused.reason.to_owned())).collect();
    skipped.sort();
    Folder { location: location.to_owned(), archive, entries, places, skipped }
}

impl Files for Folder {
    fn location(&self) -> &str {
        &self.location
    }

    fn list(&self) -> &[FileEntry] {
        &self.entries
    }

    fn skipped(&self) -> &[(String, String)] {
        &self.skipped
    }

    fn open(&self, path: &str) -> Result<Source> {
        let missing = || Error::new(ErrorKind::NotFound, path, "is not in the archive");
        let name = path.to_owned();
        Ok(match (&self.archive, *self.places.get(path).ok_or_else(missing)?) {
            (Packed::Tar(source), Place::Range(range)) => Arc::new(Part { name, source: source.clone(), range }),
            (Packed::Zip(zip), Place::Range(range)) => Arc::new(Part { name, source: zip.source.clone(), range }),
            (Packed::Zip(zip), Place::Deflated(number, len)) => {
                let (head, whole) = (OnceLock::new(), OnceLock::new());
                Arc::new(Deflated { name, zip: zip.clone(), number, len, head, whole })
            }
            (Packed::Tar(_), Place::Deflated(..)) => return Err(missing()),
        })
    }
}

/// A range of another source.
struct Part {
    name: String,
    source: Source,
    range: tar::Range,
}

impl ByteSource for Part {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> u64 {
        self.range.len
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        if offset.checked_add(buffer.len() as u64).is_none_or(|end| end > self.range.len) {
            return Err(past_end(self, offset, buffer.len()));
        }
        self.source.read_at(self.range.offset + offset, buffer)
    }

    fn prefetch(&self, range: ops::Range<u64>) {
        let [start, end] = [range.start, range.end].map(|at| self.range.offset + at.min(self.range.len));
        self.source.prefetch(start..end);
    }

    fn in_memory(&self) -> Option<&[u8]> {
        let start = usize::try_from(self.range.offset).ok()?;
        let len = usize::try_from(self.range.len).ok()?;
        self.source.in_memory()?.get(start..start.checked_add(len)?)
    }

    fn memory_limit(&self) -> u64 {
        self.source.memory_limit()
    }
}

/// A compressed member. Its first bytes are expanded first, and all of it once a later byte is read.
struct Deflated {
    name: String,
    zip: Arc<Zip>,
    number: usize,
    len: u64,
    head: OnceLock<Result<Source>>,
    whole: OnceLock<Result<Source>>,
}

impl Deflated {
    fn member(&self) -> Result<&ArchiveMember> {
        let members = self.zip.archive.members();
        members.get(self.number).ok_or_else(|| Error::new(ErrorKind::Internal, &self.name, "its member is gone"))
    }

    fn head(&self) -> Result<Source> {
        let mut bytes = Vec::new();
        let mut expand = |reader: &mut dyn Read| Read::take(reader, HEAD as u64).read_to_end(&mut bytes).map(|_| ());
        self.zip.archive.expand(self.member()?, &mut expand)?;
        Ok(Arc::new(MemorySource::new(self.name.clone(), bytes)))
    }

    fn whole(&self) -> Result<Source> {
        let mut kept = None;
        let mut expand = |reader: &mut dyn Read| {
            kept = Some(self.zip.disk.keep(&self.name, reader, largest(self.zip.source.len()).min(self.len)));
            Ok(())
        };
        self.zip.archive.expand(self.member()?, &mut expand)?;
        let kept = kept.unwrap_or_else(|| Err(Error::corrupt(&self.name, "cannot be expanded")))?;
        if kept.len() != self.len {
            let message = format!("its size is not the {} bytes the archive's directory says", self.len);
            return Err(Error::corrupt(&self.name, message));
        }
        Ok(kept)
    }
}

impl ByteSource for Deflated {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let end = offset.checked_add(buffer.len() as u64).filter(|end| *end <= self.len);
        let Some(end) = end else { return Err(past_end(self, offset, buffer.len())) };
        let cell = if end <= HEAD as u64 && self.whole.get().is_none() { &self.head } else { &self.whole };
        let is_head = std::ptr::eq(cell, &self.head);
        let source = cell.get_or_init(|| if is_head { self.head() } else { self.whole() });
        source.as_ref().map_err(Clone::clone)?.read_at(offset, buffer)
    }

    fn memory_limit(&self) -> u64 {
        self.zip.source.memory_limit()
    }
}
