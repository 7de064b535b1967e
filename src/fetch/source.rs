//! Bytes that can be read at any position, whatever they lie in.

use std::ops::Range;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};

/// Bytes that can be read at any position.
pub trait ByteSource: Send + Sync {
    /// The name used in messages: the path or location a user would recognise.
    fn name(&self) -> &str;

    /// Name of the file that the byte at `offset` lies in: its own, but for what is put together from several.
    fn holder(&self, _offset: u64) -> &str {
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

    /// Says that `range` is about to be read from front to back, so that what comes over a network is on its way by
    /// then. Nothing has to follow, and what lies beyond the end does not count.
    fn expect(&self, _range: Range<u64>) {}

    /// Says that the end, where archives have their directory, is about to be read before anything else.
    fn expect_end(&self) {}

    /// Bytes of memory that a reader may fill with what it keeps of this file; see [`Budget`](super::Budget).
    fn memory(&self) -> u64 {
        u64::MAX
    }

    /// All bytes, where they lie in memory anyway and need no copy.
    fn in_memory(&self) -> Option<&[u8]> {
        None
    }
}

/// A shared byte source.
pub type Source = Arc<dyn ByteSource>;

/// Bytes in memory, named after where they came from.
#[derive(Debug)]
pub struct Memory {
    name: String,
    bytes: Vec<u8>,
}

impl Memory {
    /// Wraps `bytes` under `name`.
    pub fn new(name: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self { name: name.into(), bytes }
    }
}

impl ByteSource for Memory {
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
