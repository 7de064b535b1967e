//! Limit on the memory that a reader may use for the content of one file.

use std::ops::Range;
use std::sync::Arc;

use super::files::{FileEntry, Files, ReadAheadRoom};
use super::source::{ByteSource, Source};
use crate::error::{Error, ErrorKind, Result};

/// Divisor of the run's memory that gives the share of one file. The other side's file needs the same, and the program and its
/// findings need the rest.
const SHARE_OF_FILE: u64 = 4;

/// Memory that is left for the data that a reader keeps of one file; data is counted before it is kept.
#[derive(Debug)]
pub struct Budget {
    name: String,
    whole: u64,
    left: u64,
}

impl Budget {
    /// The whole memory that `source` grants its readers.
    pub(crate) fn from_source(source: &dyn ByteSource) -> Self {
        let whole = source.memory_limit();
        Self { name: source.name().to_owned(), whole, left: whole }
    }

    /// Counts `bytes` that are about to be kept.
    ///
    /// # Errors
    /// `LimitExceeded` where they do not fit.
    pub fn reserve(&mut self, bytes: usize) -> Result<()> {
        self.left = self.left.checked_sub(bytes as u64).ok_or_else(|| exceeded(&self.name, self.whole))?;
        Ok(())
    }

    /// Counts one value of the type `T` and `bytes` more.
    ///
    /// # Errors
    /// `LimitExceeded` where they do not fit.
    pub(crate) fn reserve_value<T>(&mut self, bytes: usize) -> Result<()> {
        self.reserve(size_of::<T>().saturating_add(bytes))
    }
}

/// Refuses to keep `bytes` of `source` if that is more than it grants.
///
/// # Errors
/// `LimitExceeded`.
pub(crate) fn check_memory(source: &dyn ByteSource, bytes: usize) -> Result<()> {
    let whole = source.memory_limit();
    if bytes as u64 > whole { Err(exceeded(source.name(), whole)) } else { Ok(()) }
}

fn exceeded(name: &str, whole: u64) -> Error {
    let message = format!("what it holds takes more than {whole} bytes of memory, a quarter of `--max-memory`");
    Error::new(ErrorKind::LimitExceeded, name, message)
        .with_help("raise `--max-memory` where the machine has more, or record less into one file")
}

/// Files of which each may use its share of a run's memory.
pub(super) struct Bounded {
    files: Arc<dyn Files>,
    memory: u64,
}

impl Bounded {
    /// Wraps `files` for a run that may use `memory` bytes.
    pub(super) fn within(memory: u64, files: Arc<dyn Files>) -> Arc<dyn Files> {
        Arc::new(Self { files, memory: memory / SHARE_OF_FILE })
    }
}

impl Files for Bounded {
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
        Ok(with_memory_limit(self.files.open(path)?, self.memory))
    }

    fn read_ahead_room(&self) -> ReadAheadRoom {
        self.files.read_ahead_room()
    }
}

/// Wraps `source` so that its readers may keep at most `memory` bytes.
pub(crate) fn with_memory_limit(source: Source, memory: u64) -> Source {
    Arc::new(BoundedFile { source, memory })
}

struct BoundedFile {
    source: Source,
    memory: u64,
}

impl ByteSource for BoundedFile {
    fn name(&self) -> &str {
        self.source.name()
    }

    fn len(&self) -> u64 {
        self.source.len()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.source.read_at(offset, buffer)
    }

    fn prefetch(&self, range: Range<u64>) {
        self.source.prefetch(range);
    }

    fn prefetch_end(&self) {
        self.source.prefetch_end();
    }

    fn in_memory(&self) -> Option<&[u8]> {
        self.source.in_memory()
    }

    fn memory_limit(&self) -> u64 {
        self.memory
    }
}
