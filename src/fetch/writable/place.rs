//! A place to write, whatever it lies in.

use std::sync::Arc;

use crate::error::Result;
use crate::fetch::files::Files;

/// Prefix of a branch of the repository as a writable place: `branch:NAME`.
pub const BRANCH: &str = "branch:";

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
