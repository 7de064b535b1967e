//! A writable place of any kind.

use std::sync::Arc;

use crate::error::Result;
use crate::fetch::files::Files;

/// Prefix of a branch of the repository as a writable place: `branch:NAME`.
pub const BRANCH: &str = "branch:";

/// A writable place.
pub trait Writable: Send + Sync {
    /// The place in printable form.
    fn location(&self) -> &str;

    /// Files in `folder`, `/`-separated; in the whole place if it is empty.
    ///
    /// # Errors
    /// `NotFound` where there is no such place or folder (yet), `Denied`, `Unavailable`.
    fn files(&self, folder: &str) -> Result<Arc<dyn Files>>;

    /// Writes a whole file, unless a file of that name exists.
    ///
    /// # Errors
    /// `Denied`, and `Unavailable` after retries.
    fn put(&self, path: &str, bytes: &[u8]) -> Result<()>;

    /// Removes files; a missing file is not an error.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    fn remove(&self, paths: &[String]) -> Result<()>;
}
