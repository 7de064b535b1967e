//! The digest of a side: what was judged, told from anything else without reading tensor data.
//!
//! It covers every file's path and length; the content of records, packs and curves; and of tensor archives the central
//! directory, which holds a checksum of every member.

use rayon::prelude::*;
use sha2::{Digest, Sha256};

use crate::fetch::{FileEntry, Files, Source};

/// Bytes read at once.
const BLOCK: usize = 1 << 20;
/// A tensor archive's central directory lies in its last bytes.
const TAIL: u64 = 4096;
/// Start of the record that ends a zip archive.
const END_OF_DIRECTORY: &[u8] = b"PK\x05\x06";

/// Part of a file that a digest covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Path and length.
    Name,
    /// And an archive's directory.
    Directory,
    /// And all content.
    Content,
}

/// The digest of a file: its path, its length, and as much of its content as `extent` says.
#[derive(Clone, Copy, Debug)]
pub(super) struct OfFile {
    pub(super) extent: Extent,
    pub(super) digest: [u8; 32],
}

/// Digests of the listed files, in their order; `extent` says how much of each counts.
pub(super) fn of_files(files: &dyn Files, extent: impl Fn(&FileEntry) -> Extent + Sync) -> Vec<OfFile> {
    let of = |entry: &FileEntry| {
        let mut hash = Sha256::new();
        hash.update(entry.path.as_bytes());
        hash.update([0]);
        hash.update(entry.len.to_le_bytes());
        let extent = extent(entry);
        match extent {
            Extent::Name => {}
            Extent::Directory => add_from(files, entry, entry.len.saturating_sub(TAIL), true, &mut hash),
            Extent::Content => add_from(files, entry, 0, false, &mut hash),
        }
        OfFile { extent, digest: hash.finalize().into() }
    };
    files.list().par_iter().map(of).collect()
}

/// `sha256:…` over all files of a side.
pub(super) fn of_all(files: &[OfFile]) -> String {
    let mut hash = Sha256::new();
    files.iter().for_each(|file| hash.update(file.digest));
    format!("sha256:{:x}", hash.finalize())
}

/// Adds the bytes from `start` on. What cannot be read adds nothing: its finding says so elsewhere.
fn add_from(files: &dyn Files, entry: &FileEntry, start: u64, only_archives: bool, hash: &mut Sha256) {
    let Ok(source) = files.open(&entry.path) else { return };
    let mut offset = start;
    while let Some(block) = block_at(&source, offset) {
        if only_archives && memchr::memmem::find(&block, END_OF_DIRECTORY).is_none() {
            return;
        }
        hash.update(&block);
        offset += block.len() as u64;
    }
}

fn block_at(source: &Source, offset: u64) -> Option<Vec<u8>> {
    let left = source.len().saturating_sub(offset);
    let mut block = vec![0; usize::try_from(left).map_or(BLOCK, |left| left.min(BLOCK))];
    (!block.is_empty() && source.read_at(offset, &mut block).is_ok()).then_some(block)
}
