//! The artifacts that an untrusted job uploaded: how much they are, before anything in them is read.

use std::fs;
use std::path::{Path, PathBuf};

use precision_gate::error::{Error, ErrorKind, Result};

/// Bytes that are judged without being asked for: what a hosted runner of GitHub has room for beside its own files.
pub(super) const MOST_BYTES: u64 = 10 << 30;
/// Files: those of a dump of sixteen ranks with twenty thousand tensors each are more than a pull request's job writes.
const MOST_FILES: u64 = 300_000;
/// Folders within folders.
const DEEPEST: usize = 64;

/// An uploaded folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Upload {
    /// Number of files.
    pub(super) files: u64,
    bytes: u64,
}

impl Upload {
    /// Looks at every entry of `folder`, and opens none. A folder that is not there holds nothing.
    ///
    /// # Errors
    /// `Usage` for a link and whatever else is neither a file nor a folder; `LimitExceeded` for more than `most` bytes, or
    /// too many files.
    pub(super) fn measure(folder: &Path, most: u64) -> Result<Self> {
        let mut upload = Self::default();
        if fs::symlink_metadata(folder).is_ok() {
            upload.add(folder, most, 0)?;
        }
        Ok(upload)
    }

    fn add(&mut self, path: &Path, most: u64, depth: usize) -> Result<()> {
        let shown = || path.display().to_string();
        let failed = |error: std::io::Error| Error::io(shown(), &error);
        let metadata = fs::symlink_metadata(path).map_err(failed)?;
        if metadata.is_dir() {
            if depth > DEEPEST {
                return Err(too_much(&shown(), format!("lies more than {DEEPEST} folders deep")));
            }
            let entries = fs::read_dir(path).map_err(failed)?;
            return entries.into_iter().try_for_each(|entry| self.add(&entry.map_err(failed)?.path(), most, depth + 1));
        }
        if !metadata.is_file() || depth == 0 {
            let what = if metadata.is_symlink() { "is a link" } else { "is neither a file nor a folder" };
            let what = if depth == 0 { "is no folder" } else { what };
            return Err(Error::new(ErrorKind::Usage, shown(), what)
                .with_help("upload plain files, and unpack them into a folder of its own: links are not followed"));
        }
        self.files += 1;
        self.bytes = self.bytes.saturating_add(metadata.len());
        if self.bytes > most {
            return Err(too_much(&shown(), format!("with it the upload has more than {most} bytes")));
        }
        if self.files > MOST_FILES {
            return Err(too_much(&shown(), format!("with it the upload has more than {MOST_FILES} files")));
        }
        Ok(())
    }
}

fn too_much(subject: &str, message: String) -> Error {
    Error::new(ErrorKind::LimitExceeded, subject, message)
        .with_help("upload fewer steps, ranks or operations; `--max-input SIZE` takes more bytes")
}

/// Refuses a `path` that decides about the upload and lies in it.
pub(super) fn refuse_inside(folder: &Path, path: &Path, what: &str) -> Result<()> {
    let real = |path: &Path| -> Option<PathBuf> { path.canonicalize().ok() };
    match real(folder).zip(real(path)) {
        Some((folder, inside)) if inside.starts_with(&folder) => {
            let message = format!("the {what} lies in the uploaded folder");
            Err(Error::new(ErrorKind::Usage, path.display().to_string(), message)
                .with_help("unpack the upload into a folder of its own, beside what the target branch brings"))
        }
        _ => Ok(()),
    }
}
