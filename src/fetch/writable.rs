//! Writable places: where small files go that never change once they are written.
//!
//! Reading goes through [`Files`](super::Files), as everywhere; writing is one call, because a file's name stands for its
//! content: whoever writes the same name writes the same bytes, and nothing is ever replaced. So writers need no lock.

mod branch;
#[cfg(feature = "network")]
mod bucket;
mod commits;
mod folder;
mod git;
mod place;

pub use commits::{Blobs, ChangedFile, Commits, Entry, EntryKind, change_since};
pub use git::{commits_between, origin_of};
pub use place::{BRANCH, Writable};

use super::fetcher::Fetcher;
use super::location::Location;
use crate::error::Result;
use branch::Branch;
#[cfg(feature = "network")]
use bucket::Prefix;
use folder::Folder;

/// Opens a place to write: a folder, a prefix in a bucket, or `branch:NAME` of the repository.
///
/// # Errors
/// `Usage` where it cannot be written by its nature.
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
