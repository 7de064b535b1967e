//! A folder as a writable place.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Writable;
use crate::error::{Error, Result};
use crate::fetch::Files;
use crate::fetch::local::LocalFiles;

/// A folder of this machine, or one that several machines share.
pub(in crate::fetch) struct Folder {
    location: String,
    root: PathBuf,
}

impl Folder {
    /// The folder at `path`, which need not be there yet.
    pub(in crate::fetch) fn new(path: &str) -> Self {
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
        // The help of an artifact's folder is not that of this one.
        let files = LocalFiles::open(&name).map_err(|error| Error::new(error.kind(), &name, error.message()))?;
        Ok(Arc::new(files))
    }

    fn put(&self, path: &str, bytes: &[u8]) -> Result<()> {
        let target = self.root.join(path);
        let failed = |error: io::Error| Error::io(self.name(path), &error);
        if target.exists() {
            return Ok(());
        }
        fs::create_dir_all(target.parent().unwrap_or(&self.root)).map_err(failed)?;
        write_whole(&target, bytes).map_err(failed)
    }

    fn remove(&self, paths: &[String]) -> Result<()> {
        for path in paths {
            match fs::remove_file(self.root.join(path)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::io(self.name(path), &error));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Writes beside the target and moves it there, so that nobody reads half a file. Two writers of one target say the same;
/// whoever comes second finds it there.
fn write_whole(target: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut beside = target.as_os_str().to_owned();
    beside.push(format!(".{}.tmp", std::process::id()));
    let beside = PathBuf::from(beside);
    let mut file = File::create(&beside)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all()).and_then(|()| fs::rename(&beside, target));
    match written {
        Err(_) if target.exists() => Ok(()),
        other => other,
    }
}
