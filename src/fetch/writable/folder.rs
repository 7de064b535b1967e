//! A folder as a writable place.

use std::path::PathBuf;
use std::sync::Arc;

use super::place::Writable;
use crate::error::{Error, Result};
use crate::fetch::files::Files;
use crate::fetch::local::LocalFiles;
use crate::output;

/// A folder of this machine, or one that several machines share.
pub(super) struct Folder {
    location: String,
    root: PathBuf,
}

impl Folder {
    /// The folder at `path`, which need not exist yet.
    pub(super) fn new(path: &str) -> Self {
        Self { location: path.to_owned(), root: PathBuf::from(path) }
    }

    fn name(&self, path: &str) -> String {
        self.root.join(path).display().to_string()
    }
}

impl Writable for Folder {
    fn location(&self) -> &str {
        &self.location
    }

    fn files(&self, folder: &str) -> Result<Arc<dyn Files>> {
        let name = self.name(folder);
        // The help of errors about an artifact's folder does not apply here.
        let files = LocalFiles::open(&name).map_err(|error| Error::new(error.kind(), &name, error.message()))?;
        Ok(Arc::new(files))
    }

    fn put(&self, path: &str, bytes: &[u8]) -> Result<()> {
        // Two writers of one file write the same bytes, so that replacing the file is harmless.
        if self.root.join(path).is_file() { Ok(()) } else { output::write_below(&self.root, path, bytes) }
    }

    fn remove(&self, paths: &[String]) -> Result<()> {
        paths.iter().try_for_each(|path| output::remove_below(&self.root, path))
    }
}
