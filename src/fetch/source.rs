//! Bytes that can be read at any position, wherever they are stored.

use std::ops::Range;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};

/// Bytes that can be read at any position.
pub trait ByteSource: Send + Sync {
    /// The name for messages: the path or location that a user would recognise.
    fn name(&self) -> &str;

    /// Name of the file that contains the byte at `offset`: the source's own name, unless it is put together from several files.
    fn file_name_at(&self, _offset: u64) -> &str {
        self.name()
    }

    /// Length in bytes.
    fn len(&self) -> u64;

    /// Whether there is nothing to read.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills `buffer` from `offset` on; reading past the end is an error.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()>;

    /// Announces that `range` will soon be read from front to back, so that a network can deliver it in time. The read need not follow,
    /// and bytes beyond the end are ignored.
    fn prefetch(&self, _range: Range<u64>) {}

    /// Announces that the end, where archives have their directory, will be read before anything else.
    fn prefetch_end(&self) {}

    /// Bytes of memory that a reader may use for data of this file; see [`Budget`](super::Budget).
    fn memory_limit(&self) -> u64 {
        u64::MAX
    }

    /// All bytes, if they are in memory already and need no copy.
    fn in_memory(&self) -> Option<&[u8]> {
        None
    }
}

/// A shared byte source.
pub type Source = Arc<dyn ByteSource>;

/// Bytes in memory, named after where they came from.
#[derive(Debug)]
pub struct MemorySource {
    name: String,
    bytes: Vec<u8>,
}

impl MemorySource {
    /// Wraps `bytes` under `name`.
    pub fn new(name: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self { name: name.into(), bytes }
    }
}

impl ByteSource for MemorySource {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let bytes = start.checked_add(buffer.len()).and_then(|end| self.bytes.get(start..end));
        buffer.copy_from_slice(bytes.ok_or_else(|| past_end(self, offset, buffer.len()))?);
        Ok(())
    }

    fn in_memory(&self) -> Option<&[u8]> {
        Some(&self.bytes)
    }
}

/// Reads a whole source into memory, refusing more than `limit` bytes.
pub fn read_all(source: &dyn ByteSource, limit: u64) -> Result<Vec<u8>> {
    if source.len() > limit {
        let message = format!("{} bytes, and this kind of file is read up to {limit}", source.len());
        return Err(Error::new(ErrorKind::LimitExceeded, source.name(), message));
    }
    let len = usize::try_from(source.len()).map_err(|_| Error::corrupt(source.name(), "too large for this machine"))?;
    let mut bytes = vec![0; len];
    source.read_at(0, &mut bytes)?;
    Ok(bytes)
}

/// The error of a read beyond the end of `source`.
pub(crate) fn past_end(source: &dyn ByteSource, offset: u64, len: usize) -> Error {
    Error::corrupt(source.name(), format!("needs {len} bytes at offset {offset}, the file has {}", source.len()))
}
