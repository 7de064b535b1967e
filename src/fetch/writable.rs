//! Writable places: where small files go that never change once they are written.
//!
//! Reading goes through [`Files`], as everywhere; writing is one call, because a file's name stands for its content: whoever
//! writes the same name writes the same bytes, and nothing is ever replaced. So writers need no lock.

mod branch;
#[cfg(feature = "network")]
mod bucket;
mod folder;
mod git;

pub use git::{change_since, commits_between, origin_of};

use std::sync::Arc;

use super::location::Location;
use super::{Fetcher, Files};
use crate::error::Result;
use branch::Branch;
#[cfg(feature = "network")]
use bucket::Prefix;
use folder::Folder;

/// Prefix of a branch of the repository as a writable place: `branch:NAME`.
pub const BRANCH: &str = "branch:";

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

/// A place to write.
pub trait Writable: Send + Sync {
    /// The place as it may be printed.
    fn location(&self) -> &str;

    /// Files in `folder`, `/`-separated; in the place as a whole where it is empty.
    ///
    /// # Errors
    /// `NotFound` where there is no such place or folder (yet), `Denied`, `Unavailable`.
    fn files(&self, folder: &str) -> Result<Arc<dyn Files>>;

    /// Writes a file as a whole, unless one of that name is there.
    ///
    /// # Errors
    /// `Denied`, and `Unavailable` after retries.
    fn put(&self, path: &str, bytes: &[u8]) -> Result<()>;

    /// Removes files; one that is not there is no error.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    fn remove(&self, paths: &[String]) -> Result<()>;
}
