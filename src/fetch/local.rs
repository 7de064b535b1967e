//! Local files and folders.

mod ahead;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ahead::ReadAhead;

use super::files::{FileEntry, Files};
use super::source::{ByteSource, Source, past_end};
use crate::error::{Error, ErrorKind, Result};

/// A file or folder on this machine.
pub(crate) struct LocalFiles {
    location: String,
    root: PathBuf,
    entries: Vec<FileEntry>,
    skipped: Vec<(String, String)>,
}

impl LocalFiles {
    /// Lists `location`; a link is followed only if it stays inside the location.
    pub(crate) fn open(location: &str) -> Result<Self> {
        let path = Path::new(location);
        let metadata = fs::metadata(path).map_err(|error| {
            Error::io(location, &error).with_help("give a file or folder that a training run left behind")
        })?;
        let mut files =
            Self { location: location.to_owned(), root: path.to_owned(), entries: Vec::new(), skipped: Vec::new() };
        if metadata.is_dir() {
            let root = path.canonicalize().map_err(|error| Error::io(location, &error))?;
            fs::read_dir(path).map_err(|error| Error::io(location, &error))?;
            let mut visited = BTreeSet::from([root.clone()]);
            files.walk(&root, &root, "", &mut visited);
            files.root = root;
            files.entries.sort_by(|a, b| a.path.cmp(&b.path));
            files.skipped.sort();
        } else {
            if !metadata.is_file() {
                return Err(endless(location).with_help("write what it gives into a file, and give that file"));
            }
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            files.root = path.parent().map(Path::to_path_buf).unwrap_or_default();
            files.entries.push(FileEntry { path: name, len: metadata.len() });
        }
        Ok(files)
    }

    fn walk(&mut self, root: &Path, folder: &Path, prefix: &str, visited: &mut BTreeSet<PathBuf>) {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => return self.skipped.push((prefix.trim_end_matches('/').to_owned(), error.to_string())),
        };
        for entry in entries.flatten() {
            let Some(name) = entry.file_name().to_str().map(str::to_owned) else {
                self.skipped
                    .push((format!("{prefix}{}", entry.file_name().to_string_lossy()), "name is not UTF-8".into()));
                continue;
            };
            let path = format!("{prefix}{name}");
            match self.resolve(root, &entry.path(), visited) {
                Ok(Some((target, metadata))) if metadata.is_dir() => {
                    self.walk(root, &target, &format!("{path}/"), visited)
                }
                Ok(Some((_, metadata))) if metadata.is_file() => {
                    self.entries.push(FileEntry { path, len: metadata.len() })
                }
                Ok(Some(_)) => self.skipped.push((path, "neither a file nor a folder".into())),
                Ok(None) => self.skipped.push((path, "a link that leads out of the folder, or back into it".into())),
                Err(error) => self.skipped.push((path, error.to_string())),
            }
        }
    }

    /// The real path of an entry, or `None` for a link that leaves the folder or closes a loop.
    fn resolve(
        &self,
        root: &Path,
        path: &Path,
        visited: &mut BTreeSet<PathBuf>,
    ) -> std::io::Result<Option<(PathBuf, fs::Metadata)>> {
        let link = fs::symlink_metadata(path)?;
        if !link.file_type().is_symlink() {
            return Ok(Some((path.to_owned(), link)));
        }
        let target = path.canonicalize()?;
        let metadata = fs::metadata(&target)?;
        let inside = target.starts_with(root) && (metadata.is_file() || visited.insert(target.clone()));
        Ok(inside.then_some((target, metadata)))
    }
}

impl Files for LocalFiles {
    fn location(&self) -> &str {
        &self.location
    }

    fn list(&self) -> &[FileEntry] {
        &self.entries
    }

    fn skipped(&self) -> &[(String, String)] {
        &self.skipped
    }

    fn open(&self, path: &str) -> Result<Source> {
        Ok(Arc::new(LocalFile::open(&self.root.join(path), path)?))
    }
}

/// The error for a pipe, a socket or a device: opening a pipe waits for a writer, and a device may be endless.
fn endless(name: &str) -> Error {
    Error::unsupported(name, "is neither a file nor a folder; a pipe, a socket or a device is not read")
}

/// One open file, read by position.
#[derive(Debug)]
pub struct LocalFile {
    name: String,
    file: File,
    len: u64,
    ahead: ReadAhead,
}

impl LocalFile {
    /// Wraps an open file of `len` bytes; messages call it `name`.
    pub(super) fn from_open_file(file: File, name: &str, len: u64) -> Self {
        Self { name: name.to_owned(), file, len, ahead: ReadAhead::default() }
    }

    /// Opens `path`; messages call it `name`.
    pub fn open(path: &Path, name: &str) -> Result<Self> {
        let io = |error: std::io::Error| Error::io(name, &error);
        let metadata = fs::metadata(path).map_err(io)?;
        if metadata.is_dir() {
            return Err(Error::new(ErrorKind::Corrupt, name, "is a folder, expected a file"));
        }
        if !metadata.is_file() {
            return Err(endless(name));
        }
        let file = File::open(path).map_err(io)?;
        let metadata = file.metadata().map_err(io)?;
        Ok(Self { name: name.to_owned(), file, len: metadata.len(), ahead: ReadAhead::default() })
    }
}

impl ByteSource for LocalFile {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.ahead.read_exact_at(&self.file, buffer, offset).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => past_end(self, offset, buffer.len()),
            _ => Error::io(&self.name, &error),
        })
    }
}
