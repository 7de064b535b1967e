//! A file that is being written: it has a temporary name until it is complete.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::dir::Dir;
use crate::error::{Error, ErrorKind, Result};

/// Start of every temporary name; only this program uses such names.
const START: &str = ".precision-gate.";
/// End of every temporary name.
const END: &str = ".tmp";

/// A file under a temporary name. Writes are not buffered.
#[derive(Debug)]
pub struct Draft {
    dir: Arc<Dir>,
    file: File,
    name: String,
    temporary: String,
    is_done: bool,
}

/// Whether `name` is a temporary name, of this process or of another one.
pub(super) fn is_draft_name(name: &str) -> bool {
    name.len() > START.len() + END.len() && name.starts_with(START) && name.ends_with(END)
}

impl Draft {
    /// Begins a file that appears as `name` in `dir`.
    ///
    /// # Errors
    /// `Usage` where something else than a regular file has that name; and what creating gives.
    pub fn create(dir: Arc<Dir>, name: &str) -> Result<Self> {
        if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
            return Err(Error::new(ErrorKind::Internal, name, "is not a file name"));
        }
        dir.check(name)?;
        // Only the last part of the path is used: the folder's handle creates and removes the file.
        let create = |path: &Path| {
            let temporary = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
            Ok((dir.create(temporary)?, temporary.to_owned()))
        };
        let start = format!("{START}{name}.");
        let mut names = tempfile::Builder::new();
        let made = names.prefix(&start).suffix(END).disable_cleanup(true).make_in("/", create);
        let made = made.map_err(|error| Error::io(dir.place(name).display().to_string(), &error))?;
        let ((file, temporary), _) = made.into_parts();
        Ok(Self { dir, file, name: name.to_owned(), temporary, is_done: false })
    }

    /// The name it will have.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The path that it will have, for messages.
    pub fn place(&self) -> PathBuf {
        self.dir.place(&self.name)
    }

    /// Writes everything at once.
    ///
    /// # Errors
    /// Where the bytes cannot be written.
    pub(crate) fn write_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|error| Error::io(self.place().display().to_string(), &error))
    }

    /// Checks that its name is free, or that of a regular file.
    pub(super) fn check(&self) -> Result<()> {
        self.dir.check(&self.name)
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// `Usage` where something else than a regular file has it; and what renaming gives.
    pub fn commit(mut self) -> Result<()> {
        self.check()?;
        self.dir.rename(&self.temporary, &self.name)?;
        self.is_done = true;
        Ok(())
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.is_done {
            // The next run removes it where this one cannot.
            let _gone = self.dir.remove(&self.temporary);
        }
    }
}
