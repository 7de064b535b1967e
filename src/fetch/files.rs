//! Files at an open location.

use std::sync::Arc;

use super::origin::ArtifactOrigin;
use super::source::Source;
use crate::error::Result;

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

    /// Entries that were skipped, with the reason (a link that leads out of the folder, an unreadable folder).
    fn skipped(&self) -> &[(String, String)] {
        &[]
    }

    /// Opens one listed file.
    fn open(&self, path: &str) -> Result<Source>;

    /// Room for data that may be requested long before it is read. There is none for files on this machine, which would gain nothing.
    fn read_ahead_room(&self) -> ReadAheadRoom {
        ReadAheadRoom::default()
    }
}

/// An open location.
pub struct Opened {
    /// Files at the location.
    pub files: Arc<dyn Files>,
    /// Origin of a forge's artifact; `None` for other locations.
    pub origin: Option<ArtifactOrigin>,
}

/// Room for files that are requested before anybody reads them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadAheadRoom {
    /// Number of files.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
}
