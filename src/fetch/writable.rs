//! Writable places: where small files go that never change once they are written.
//!
//! Reading goes through [`Files`], as everywhere; writing is one call, because a file's name stands for its content: whoever
//! writes the same name writes the same bytes, and nothing is ever replaced. So writers need no lock.

mod branch;
mod bucket;
mod folder;
mod git;

pub use git::{commits_between, origin_of};

pub(super) use branch::Branch;
pub(super) use bucket::Prefix;
pub(super) use folder::Folder;

use std::sync::Arc;

use super::Files;
use crate::error::Result;

/// What a branch of the repository is called as a writable place: `branch:NAME`.
pub const BRANCH: &str = "branch:";

/// A place to write.
pub trait Writable: Send + Sync {
    /// The place as it may be printed.
    fn location(&self) -> &str;

    /// What lies in `folder`, `/`-separated; in the place as a whole where it is empty.
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
