//! The digest of a side, which identifies what was judged without reading tensor data.
//!
//! It covers every file's path and length; the content of records, packs and curves; and of tensor archives the central
//! directory, which holds a checksum of every member.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;
use sha2::{Digest, Sha256};

use crate::error::Result;
use crate::fetch::{ByteSource, FileEntry, Files, ReadAheadRoom, Source};

/// Bytes of a local file that are read at once: few enough to be hashed before they leave a core's own cache.
const LOCAL_BLOCK: usize = 128 << 10;
/// Bytes of a remote file that are read at once, by one request.
const REMOTE_BLOCK: usize = 1 << 20;
/// A tensor archive's central directory lies in its last bytes.
const TAIL: usize = 4096;
/// Start of the record that ends a zip archive.
const END_OF_DIRECTORY: &[u8] = b"PK\x05\x06";

/// Part of a file that a digest covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Path and length.
    Name,
    /// Path, length and an archive's directory.
    Directory,
    /// Path, length and all content.
    Content,
}

/// The digest of a file's path, its length, and as much of its content as `extent` says.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileDigest {
    pub(super) extent: Extent,
    pub(super) digest: [u8; 32],
}

/// The files of a side, with the digest of each, which is computed once.
pub(super) struct DigestedFiles {
    files: Arc<dyn Files>,
    /// By index of the file.
    digests: Box<[OnceLock<FileDigest>]>,
    /// Digests of path, length and directory of remote files, by index. Each is computed when a reader fetches the file's end,
    /// which saves a request per file.
    ends: Arc<[OnceLock<[u8; 32]>]>,
}

impl DigestedFiles {
    /// Wraps `files`, before any digest is computed.
    pub(super) fn new(files: Arc<dyn Files>) -> Self {
        let count = files.list().len();
        let digests = (0..count).map(|_| OnceLock::new()).collect();
        Self { files, digests, ends: (0..count).map(|_| OnceLock::new()).collect() }
    }

    /// Computes the digests that reading the files later does not yield by itself; `extent` says how much of each file counts.
    pub(super) fn take_unread_digests(&self, extent: impl Fn(&FileEntry) -> Extent + Sync) {
        self.take(|entry| Some(extent(entry)).filter(|extent| *extent != Extent::Directory || !self.is_remote()));
    }

    /// `sha256:…` over all files; `extent` says how much of each counts.
    pub(super) fn overall_digest(&self, extent: impl Fn(&FileEntry) -> Extent + Sync) -> String {
        self.take(|entry| Some(extent(entry)));
        let mut hash = Sha256::new();
        self.digests.iter().filter_map(OnceLock::get).for_each(|file| hash.update(file.digest));
        format!("sha256:{:x}", hash.finalize())
    }

    /// The digest of the file at `path`, where one was computed.
    pub(super) fn known_digest(&self, path: &str) -> Option<FileDigest> {
        let index = self.index(path)?;
        let end = || Some(FileDigest { extent: Extent::Directory, digest: *self.ends.get(index)?.get()? });
        self.digests.get(index)?.get().copied().or_else(end)
    }

    fn take(&self, extent: impl Fn(&FileEntry) -> Option<Extent> + Sync) {
        let files = self.files.list().par_iter().zip(self.digests.par_iter()).zip(self.ends.par_iter());
        files.for_each(|((entry, digest), end)| {
            if let Some(extent) = extent(entry) {
                digest.get_or_init(|| FileDigest { extent, digest: self.file_digest(entry, extent, end.get()) });
            }
        });
    }

    fn file_digest(&self, entry: &FileEntry, extent: Extent, end: Option<&[u8; 32]>) -> [u8; 32] {
        let opened = || self.files.open(&entry.path).ok();
        match (extent, end) {
            (Extent::Directory, Some(end)) => *end,
            (Extent::Directory, None) => opened()
                .and_then(|source| with_directory(entry, &source))
                .unwrap_or_else(|| named(entry).finalize().into()),
            (Extent::Name, _) => named(entry).finalize().into(),
            (Extent::Content, _) => opened()
                .map_or_else(|| named(entry), |source| with_content(entry, &source, self.block()))
                .finalize()
                .into(),
        }
    }

    fn index(&self, path: &str) -> Option<usize> {
        self.files.list().binary_search_by(|entry| entry.path.as_str().cmp(path)).ok()
    }

    /// Bytes of a file that are read at once.
    fn block(&self) -> usize {
        if self.is_remote() { REMOTE_BLOCK } else { LOCAL_BLOCK }
    }

    fn is_remote(&self) -> bool {
        self.files.read_ahead_room() != ReadAheadRoom::default()
    }
}

impl Files for DigestedFiles {
    fn location(&self) -> &str {
        self.files.location()
    }

    fn list(&self) -> &[FileEntry] {
        self.files.list()
    }

    fn skipped(&self) -> &[(String, String)] {
        self.files.skipped()
    }

    fn open(&self, path: &str) -> Result<Source> {
        let source = self.files.open(path)?;
        Ok(match self.index(path) {
            Some(index) if self.is_remote() => Arc::new(Digested {
                entry: FileEntry { path: path.to_owned(), len: source.len() },
                source,
                index,
                ends: self.ends.clone(),
            }),
            _ => source,
        })
    }

    fn read_ahead_room(&self) -> ReadAheadRoom {
        self.files.read_ahead_room()
    }
}

/// A remote file. The first reader that fetches its end adds the file's digest.
struct Digested {
    source: Source,
    entry: FileEntry,
    index: usize,
    ends: Arc<[OnceLock<[u8; 32]>]>,
}

impl ByteSource for Digested {
    fn name(&self) -> &str {
        self.source.name()
    }

    fn len(&self) -> u64 {
        self.source.len()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.source.read_at(offset, buffer)?;
        let is_end = offset + buffer.len() as u64 == self.len();
        if let Some(end) = self.ends.get(self.index).filter(|end| is_end && end.get().is_none())
            && let Some(digest) = with_directory(&self.entry, &self.source)
        {
            let _first = end.set(digest);
        }
        Ok(())
    }

    fn prefetch(&self, range: Range<u64>) {
        self.source.prefetch(range);
    }

    fn prefetch_end(&self) {
        self.source.prefetch_end();
    }

    fn memory_limit(&self) -> u64 {
        self.source.memory_limit()
    }

    fn in_memory(&self) -> Option<&[u8]> {
        self.source.in_memory()
    }
}

/// A hash of the path and the length.
fn named(entry: &FileEntry) -> Sha256 {
    let mut hash = Sha256::new();
    hash.update(entry.path.as_bytes());
    hash.update([0]);
    hash.update(entry.len.to_le_bytes());
    hash
}

/// Digest of path, length and an archive's directory; `None` where the end of the file cannot be read.
fn with_directory(entry: &FileEntry, source: &Source) -> Option<[u8; 32]> {
    let mut hash = named(entry);
    if !source.is_empty() {
        let mut end = Vec::new();
        if !read_block(source, source.len().saturating_sub(TAIL as u64), &mut end, TAIL) {
            return None;
        }
        if memchr::memmem::find(&end, END_OF_DIRECTORY).is_some() {
            hash.update(&end);
        }
    }
    Some(hash.finalize().into())
}

/// Hash of path, length and all bytes, `most` of which are read at once. Bytes that cannot be read add nothing; the check that reads
/// the file reports them.
fn with_content(entry: &FileEntry, source: &Source, most: usize) -> Sha256 {
    let (mut hash, mut block) = (named(entry), Vec::new());
    let mut offset = 0;
    while read_block(source, offset, &mut block, most) {
        hash.update(&block);
        offset += block.len() as u64;
    }
    hash
}

/// Reads the bytes from `offset` on into `block`, at most `most`; false at the end, or where they cannot be read.
fn read_block(source: &Source, offset: u64, block: &mut Vec<u8>, most: usize) -> bool {
    let left = source.len().saturating_sub(offset);
    block.resize(usize::try_from(left).map_or(most, |left| left.min(most)), 0);
    !block.is_empty() && source.read_at(offset, block).is_ok()
}
