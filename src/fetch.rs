//! Stage 1, *fetch*: locations to bytes.
//!
//! Everything later reads through the two traits here, so that a file, an archive member or a range in an
//! object store serves alike. This stage does not depend on formats or verdicts.
//!
//! [`open`] knows paths on this machine; a [`Fetcher`] knows every [`Location`], with one transport per file of
//! `network`. What gives ranges (object stores, most web servers) is read where it lies through a pool of blocks in bounded
//! memory; the rest (forges' artifacts, demanded digests) is downloaded into a cache. Nothing outside of that folder is
//! asynchronous: [`ByteSource::read_at`] returns when the bytes are there.

pub(crate) mod asked;
mod digest;
mod disk;
mod environment;
mod fetcher;
pub mod local;
mod location;
#[cfg(feature = "network")]
mod network;
#[cfg(not(feature = "network"))]
mod offline;
mod origin;
pub mod permission;
pub mod progress;
#[cfg_attr(not(feature = "network"), expect(dead_code, reason = "what fails and is repeated is the network"))]
pub(crate) mod retry;
mod room;
mod settings;
pub mod writable;

pub use digest::Digest;
pub use disk::Disk;
pub use environment::Environment;
pub use fetcher::Fetcher;
#[cfg(feature = "network")]
pub(crate) use location::encode;
pub use location::{BucketLocation, GitHubLocation, GitLabLocation, HttpLocation, Location, without_secrets};
#[cfg(feature = "network")]
pub(crate) use network::limited;
pub use origin::{Origin, Trust};
pub use retry::Retry;
pub use room::Room;
pub use settings::{CacheSettings, Patience, Settings};
pub use writable::Writable;

use std::ops::Range;
use std::sync::Arc;

use crate::error::{Error, Result};

/// Bytes that can be read at any position.
pub trait ByteSource: Send + Sync {
    /// The name used in messages: the path or location a user would recognise.
    fn name(&self) -> &str;

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

    /// All bytes, where they lie in memory anyway and need no copy.
    fn in_memory(&self) -> Option<&[u8]> {
        None
    }
}

/// A shared byte source.
pub type Source = Arc<dyn ByteSource>;

/// One file of an artifact folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEntry {
    /// Path below the folder, `/`-separated.
    pub path: String,
    /// Length in bytes.
    pub len: u64,
}

/// Files at a location: one file, or a folder of files.
pub trait Files: Send + Sync {
    /// The location as the user gave it.
    fn location(&self) -> &str;

    /// All files, sorted by path. A single file is listed under its own name.
    fn list(&self) -> &[FileEntry];

    /// Entries that were left out, with the reason (a link that leads out of the folder, an unreadable folder).
    fn skipped(&self) -> &[(String, String)] {
        &[]
    }

    /// Opens one listed file.
    fn open(&self, path: &str) -> Result<Source>;

    /// Room for what may be [expected](ByteSource::expect) long before it is read; none where the files lie on this machine,
    /// which gains nothing by it.
    fn room_ahead(&self) -> RoomAhead {
        RoomAhead::default()
    }
}

/// An open location.
pub struct Opened {
    /// Files at the location.
    pub files: Arc<dyn Files>,
    /// Origin of a forge's artifact; `None` for other locations.
    pub origin: Option<Origin>,
}

/// Room for files that are on their way before anybody reads them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoomAhead {
    /// Number of files.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
}

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
        return Err(Error::new(crate::error::ErrorKind::LimitExceeded, source.name(), message));
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

/// Opens a path on this machine; a [`Fetcher`] opens every location.
pub fn open(location: &str) -> Result<Arc<dyn Files>> {
    Ok(Arc::new(local::LocalFiles::open(location)?))
}
