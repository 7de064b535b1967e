//! Memory that a run may use for data that it has read, and the file for data that does not fit.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use super::disk::Disk;
use crate::error::{Error, ErrorKind, Result};

/// Memory of a run, and its overflow on disk.
///
/// Callers count the bytes that they keep; once the room is full, they write to the file on disk instead. The file
/// has no name, so that nothing is left behind however the run ends, and its space is returned with the room.
#[derive(Debug)]
pub struct Room {
    limit: u64,
    used: AtomicU64,
    overflow: Option<Overflow>,
}

#[derive(Debug)]
struct Overflow {
    disk: Arc<Disk>,
    file: OnceLock<File>,
    len: AtomicU64,
}

impl Room {
    /// A room of `limit` bytes of memory; the rest goes to `disk`.
    pub fn new(disk: Arc<Disk>, limit: u64) -> Arc<Self> {
        let overflow = Overflow { disk, file: OnceLock::new(), len: AtomicU64::new(0) };
        Arc::new(Self { limit, used: AtomicU64::new(0), overflow: Some(overflow) })
    }

    /// A room with all memory of the machine, and no file.
    pub fn unlimited() -> Arc<Self> {
        Arc::new(Self { limit: u64::MAX, used: AtomicU64::new(0), overflow: None })
    }

    /// Bytes of memory in all.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Whether the kept bytes use up the memory.
    pub(crate) fn is_full(&self) -> bool {
        self.used.load(Ordering::Relaxed) >= self.limit
    }

    /// Counts `len` bytes that are kept in memory.
    pub(crate) fn count_bytes(&self, len: u64) {
        self.used.fetch_add(len, Ordering::Relaxed);
    }

    /// Counts `len` bytes that are no longer kept in memory.
    pub(crate) fn give_back(&self, len: u64) {
        self.used.fetch_sub(len, Ordering::Relaxed);
    }

    /// Appends bytes of `name` to the file on disk, and returns their offset.
    ///
    /// # Errors
    /// `LimitExceeded` where the run may not use as much disk, and errors of the disk itself.
    pub fn store(&self, name: &str, bytes: &[u8]) -> Result<u64> {
        let overflow = self.overflow(name)?;
        let file = overflow.file(name)?;
        overflow.disk.reserve(name, bytes.len() as u64)?;
        let offset = overflow.len.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        file.write_all_at(bytes, offset).map_err(|error| Error::io(name, &error))?;
        Ok(offset)
    }

    /// Fills `buffer` with the bytes at `offset` that [`store`](Self::store) wrote.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn get(&self, name: &str, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let file = self.overflow(name)?.file(name)?;
        file.read_exact_at(buffer, offset).map_err(|error| Error::io(name, &error))
    }

    fn overflow(&self, name: &str) -> Result<&Overflow> {
        let missing = || Error::new(ErrorKind::Internal, name, "memory without a limit has no file beside it");
        self.overflow.as_ref().ok_or_else(missing)
    }
}

impl Overflow {
    fn file(&self, name: &str) -> Result<&File> {
        if self.file.get().is_none() {
            let _first = self.file.set(self.disk.nameless(name)?);
        }
        Ok(self.file.get().expect("invariant: it was set above, here or by another thread"))
    }
}

impl Drop for Overflow {
    fn drop(&mut self) {
        self.disk.give_back(self.len.load(Ordering::Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_comes_back_from_disk_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().expect("folder");
        let disk = Disk::new(folder.path().to_owned(), 100);
        let room = Room::new(disk.clone(), 16);
        room.count_bytes(10);
        assert!(!room.is_full());
        room.count_bytes(6);
        assert!(room.is_full());
        let places = [b"first".as_slice(), b"second"].map(|bytes| room.store("x", bytes).expect("fits"));
        assert_eq!(places, [0, 5]);
        let mut read = [0; 6];
        room.get("x", places[1], &mut read).expect("readable");
        assert_eq!(&read, b"second");
        assert_eq!(std::fs::read_dir(folder.path()).expect("folder").count(), 0, "no name is left");
        assert_eq!(room.store("x", &[0; 90]).expect_err("too much").kind(), ErrorKind::LimitExceeded);
        drop(room);
        disk.reserve("y", 100).expect("all of it was given back");
    }
}
