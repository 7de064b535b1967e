//! Files in a store that supports ranges: they are read in place and never stored.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::pool::Pool;
use super::pooled::PooledObject;
use super::store::{Object, RetryingStore};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::files::{FileEntry, Files, ReadAheadRoom};
use crate::fetch::source::{ByteSource, Source, past_end};

/// Files at a remote location.
pub(super) struct RemoteFiles {
    location: String,
    entries: Vec<FileEntry>,
    objects: Vec<Arc<PooledObject>>,
    skipped: Vec<(String, String)>,
    pool: Arc<Pool>,
}

/// Result of a listing.
#[derive(Default)]
pub(super) struct Listing {
    /// Path below the location, and the object.
    pub(super) files: Vec<(String, Object)>,
    /// Entries that are not read, with the reason.
    pub(super) skipped: Vec<(String, String)>,
}

impl Listing {
    /// Adds an object under `path`; a path that leads out of its folder, or names it twice, is left out.
    pub(super) fn add(&mut self, path: &str, object: Object) {
        let odd = path.split('/').any(|part| matches!(part, "" | "." | "..")) || path.contains(['\\', '\0']);
        if odd {
            self.skipped.push((path.to_owned(), "its name is not a path below the location".to_owned()));
        } else {
            self.files.push((path.to_owned(), object));
        }
    }
}

impl RemoteFiles {
    /// The files of `listing`; ids from `first_id` on must be free in `pool`.
    pub(super) fn new(
        location: String,
        mut listing: Listing,
        store: &Arc<RetryingStore>,
        pool: Arc<Pool>,
        first_id: u64,
    ) -> Self {
        listing.files.sort_by(|a, b| a.0.cmp(&b.0));
        listing.files.dedup_by(|a, b| a.0 == b.0);
        listing.skipped.sort();
        let entries = listing.files.iter().map(|(path, object)| FileEntry { path: path.clone(), len: object.len });
        let entries = entries.collect();
        let objects = (first_id..)
            .zip(listing.files)
            .map(|(id, (_, object))| Arc::new(PooledObject::new(id, store.clone(), object)));
        Self { location, entries, objects: objects.collect(), skipped: listing.skipped, pool }
    }
}

impl Files for RemoteFiles {
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
        let found = self.entries.binary_search_by(|entry| entry.path.as_str().cmp(path)).ok();
        let object = found.and_then(|index| self.objects.get(index));
        let object = object.ok_or_else(|| Error::new(ErrorKind::NotFound, path, "is not at the location"))?;
        object.readers.fetch_add(1, Ordering::Relaxed);
        Ok(Arc::new(RemoteFile { name: path.to_owned(), object: object.clone(), pool: self.pool.clone() }))
    }

    fn read_ahead_room(&self) -> ReadAheadRoom {
        self.pool.read_ahead_room()
    }
}

/// One remote file, read by position through the pool.
struct RemoteFile {
    name: String,
    object: Arc<PooledObject>,
    pool: Arc<Pool>,
}

impl ByteSource for RemoteFile {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> u64 {
        self.object.object.len
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let end = offset.checked_add(buffer.len() as u64);
        if end.is_none_or(|end| end > self.len()) {
            return Err(past_end(self, offset, buffer.len()));
        }
        self.pool.read(&self.object, offset, buffer)
    }

    fn prefetch(&self, range: Range<u64>) {
        self.pool.prefetch(&self.object, range.start..range.end.min(self.len()));
    }

    fn prefetch_end(&self) {
        self.pool.prefetch_end(&self.object);
    }
}

impl Drop for RemoteFile {
    /// Releases the file's blocks, since nobody will read the bytes that are still on their way.
    fn drop(&mut self) {
        if self.object.readers.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.pool.release(&self.object);
        }
    }
}
