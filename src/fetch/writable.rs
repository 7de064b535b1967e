//! Writable places for small files that never change once they are written.
//!
//! Reading uses [`Files`](super::Files), as everywhere. Writing is a single call, because a file's name determines its content:
//! writers of the same name write the same bytes, and nothing is ever replaced. Writers therefore need no lock.

mod branch;
#[cfg(feature = "network")]
mod bucket;
mod commits;
mod folder;
mod git;
mod place;

pub use commits::{Blobs, ChangedFile, CommitEntry, Commits, EntryKind, change_since};
pub use git::{commits_between, origin_of};
pub use place::{BRANCH, Writable};

use super::fetcher::Fetcher;
use super::location::Location;
use crate::error::Result;
use branch::Branch;
#[cfg(feature = "network")]
use bucket::Prefix;
use folder::Folder;

/// Opens a writable place: a folder, a prefix in a bucket, or `branch:NAME` of the repository.
///
/// # Errors
/// `Usage` where the kind of location cannot be written.
pub fn open<'a>(location: &str, fetcher: &'a Fetcher) -> Result<Box<dyn Writable + 'a>> {
    if let Some(name) = location.strip_prefix(BRANCH) {
        return Ok(Box::new(Branch::open(fetcher.repository(), name, *fetcher.retry())?));
    }
    match Location::parse(location)? {
        Location::Local(path) => Ok(Box::new(Folder::new(&path))),
        #[cfg(feature = "network")]
        elsewhere => Ok(Box::new(Prefix::new(fetcher, elsewhere)?)),
        #[cfg(not(feature = "network"))]
        elsewhere => Err(super::offline::refused(&elsewhere)),
    }
}
