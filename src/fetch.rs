//! Stage 1, *fetch*: locations to bytes.
//!
//! All later stages read through the two traits here, so that a file, an archive member and a range in an object store look the
//! same to them. This stage does not depend on formats or verdicts.
//!
//! [`open`] opens paths on this machine; a [`Fetcher`] opens every [`Location`], with one transport per file of `network`. Servers
//! that support ranges (object stores, most web servers) are read in place through a pool of blocks in bounded memory; everything
//! else (forges' artifacts, files with a demanded digest) is downloaded into a cache. Only `network` is asynchronous:
//! [`ByteSource::read_at`] returns when the bytes are there.

pub(crate) mod asked;
mod budget;
mod digest;
mod disk;
mod environment;
mod fetcher;
mod files;
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
mod source;
pub mod writable;

pub use budget::Budget;
pub(crate) use budget::{check_memory, with_memory_limit};
pub use digest::Digest;
pub use disk::Disk;
pub use environment::Environment;
pub use fetcher::Fetcher;
pub use files::{FileEntry, Files, Opened, ReadAheadRoom};
#[cfg(feature = "network")]
pub(crate) use location::encode_segment;
pub use location::{BucketLocation, GitHubLocation, GitLabLocation, HttpLocation, Location};
#[cfg(feature = "network")]
pub(crate) use network::limited;
pub use origin::{ArtifactOrigin, Trust};
pub use retry::Retry;
pub use room::Room;
pub use settings::{CacheSettings, Patience, Settings};
pub(crate) use source::past_end;
pub use source::{ByteSource, MemorySource, Source, read_all};
pub use writable::Writable;

use std::sync::Arc;

use crate::error::Result;

/// Opens a path on this machine; a [`Fetcher`] opens every location.
pub fn open(location: &str) -> Result<Arc<dyn Files>> {
    Ok(Arc::new(local::LocalFiles::open(location)?))
}
