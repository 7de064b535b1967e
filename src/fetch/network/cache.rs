//! The cache: downloads by their digest, shared by independent runs.
//!
//! ```text
//! <root>/sha256/ab/abcdef…      whole files, read-only
//! <root>/index/<identity>       which digest an address had, for addresses whose digest is not known beforehand
//! <root>/partial/<identity>     what a download has so far; `<identity>.lock` is held while one writes it
//! ```
//!
//! A file is renamed to its digest once its bytes are verified, so that a reader never sees an incomplete file. Only the run that
//! holds the lock of a download writes it; a killed run loses the lock and leaves its bytes, from which the next run continues. If
//! the cache exceeds its limit, the least recently used files are removed; a process that has one open can still read it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::error::{Error, Result};
use crate::fetch::digest::Digest;
use crate::output;

/// Time without a new byte after which an unfinished download is discarded.
const PARTIAL_AGE: Duration = Duration::from_secs(7 * 24 * 3600);

/// Advice if the cache cannot be written.
const HELP: &str = "give a folder that can be written with --cache";

/// A folder of downloads.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    root: PathBuf,
    limit: u64,
}

/// An unfinished download, locked.
pub(super) struct Partial {
    /// File of the bytes downloaded so far.
    pub(super) path: PathBuf,
    _lock: File,
}

impl Cache {
    /// The cache at `root`, up to `limit` bytes of whole files.
    pub(super) fn new(root: PathBuf, limit: u64) -> Self {
        Self { root, limit }
    }

    /// Opens the file with this digest; `None` if it is missing or its content has another digest.
    pub(super) fn open(&self, digest: &Digest) -> Option<File> {
        let path = self.place(digest);
        let mut file = File::open(&path).ok()?;
        if Digest::of_reader(&mut file).ok()? != *digest {
            let _gone = fs::remove_file(&path);
            return None;
        }
        // The time of the last use decides which files are removed first; a read-only cache can still be read.
        let _touched = file.set_modified(SystemTime::now());
        Some(file)
    }

    /// The digest that an address had in an earlier run.
    pub(super) fn known_digest(&self, identity: &Digest) -> Option<Digest> {
        let mut text = String::new();
        let file = File::open(self.root.join("index").join(identity.hex())).ok()?;
        file.take(100).read_to_string(&mut text).ok()?;
        Digest::parse(text.trim())
    }

    /// Waits for the lock on the download of `identity`, and returns the download with its bytes so far.
    pub(super) fn partial(&self, identity: &Digest) -> Result<Partial> {
        let folder = self.root.join("partial");
        let failed = |error: io::Error| unusable(&folder, &error);
        made(&folder)?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .custom_flags(output::no_link())
            .open(folder.join(format!("{}.lock", identity.hex())))
            .map_err(failed)?;
        // Without support for locks, two runs may download the same file; the rename keeps both correct.
        let _held = lock.lock();
        Ok(Partial { path: folder.join(identity.hex()), _lock: lock })
    }

    /// Verifies the digest of a complete download and moves it to its place.
    ///
    /// # Errors
    /// `Corrupt` where it is not the `expected` one; the download is deleted then.
    pub(super) fn adopt(
        &self,
        name: &str,
        partial: &Partial,
        identity: &Digest,
        expected: Option<Digest>,
    ) -> Result<File> {
        let failed = |error: io::Error| unusable(&self.root, &error);
        let mut file = File::open(&partial.path).map_err(failed)?;
        let digest = Digest::of_reader(&mut file).map_err(failed)?;
        if let Some(expected) = expected.filter(|expected| *expected != digest) {
            fs::remove_file(&partial.path).map_err(failed)?;
            let error = Error::corrupt(name, format!("has digest {digest}, expected {expected}"));
            return Err(
                error.with_help("it was replaced, or damaged during the transfer; find out which before you use it")
            );
        }
        let place = self.place(&digest);
        made(place.parent().unwrap_or(&self.root))?;
        let mut permissions = file.metadata().map_err(failed)?.permissions();
        permissions.set_readonly(true);
        file.set_permissions(permissions).map_err(failed)?;
        fs::rename(&partial.path, &place).map_err(failed)?;
        self.remember(identity, &digest)?;
        self.shrink(&place);
        Ok(file)
    }

    fn remember(&self, identity: &Digest, digest: &Digest) -> Result<()> {
        output::write_below(&self.root, &format!("index/{}", identity.hex()), digest.to_string().as_bytes())
    }

    fn place(&self, digest: &Digest) -> PathBuf {
        let hex = digest.hex();
        self.root.join("sha256").join(hex.get(..2).unwrap_or_default()).join(&hex)
    }

    /// Removes the least recently used files until the cache is within its limit; `newest` stays.
    fn shrink(&self, newest: &Path) {
        let mut files: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        for folder in entries(&self.root.join("sha256")) {
            for path in entries(&folder) {
                let Ok(metadata) = fs::metadata(&path) else { continue };
                files.push((metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH), metadata.len(), path));
            }
        }
        files.sort();
        let mut total: u64 = files.iter().map(|(_, len, _)| len).sum();
        for (_, len, path) in files {
            if total <= self.limit {
                break;
            }
            if path != newest && fs::remove_file(&path).is_ok() {
                total -= len;
            }
        }
        self.forget_old_partials();
    }

    fn forget_old_partials(&self) {
        for path in entries(&self.root.join("partial")) {
            let age = fs::metadata(&path).and_then(|metadata| metadata.modified()).map(|time| time.elapsed());
            let is_old = matches!(age, Ok(Ok(age)) if age > PARTIAL_AGE);
            if is_old && path.extension().is_none() {
                let _gone = fs::remove_file(&path);
            }
        }
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

fn unusable(path: &Path, error: &io::Error) -> Error {
    Error::io(path.display().to_string(), error).with_help(HELP)
}

fn made(folder: &Path) -> Result<()> {
    output::make_folder(folder).map_err(|error| error.with_help(HELP))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(cache: &Cache, bytes: &[u8]) -> Digest {
        let identity = Digest::of(&[bytes, b"address"].concat());
        let partial = cache.partial(&identity).expect("locked");
        fs::write(&partial.path, bytes).expect("written");
        let digest = Digest::of(bytes);
        cache.adopt("x", &partial, &identity, Some(digest)).expect("fits");
        assert_eq!(cache.known_digest(&identity), Some(digest));
        digest
    }

    #[test]
    fn a_file_is_found_by_its_digest_and_only_while_it_has_it() {
        let folder = tempfile::tempdir().expect("folder");
        let cache = Cache::new(folder.path().to_owned(), 1000);
        let digest = put(&cache, b"golden");
        assert!(cache.open(&digest).is_some());
        let place = cache.place(&digest);
        fs::remove_file(&place).expect("removed");
        fs::write(&place, b"forged").expect("written");
        assert!(cache.open(&digest).is_none(), "a file that changed is not used");
        assert!(!place.exists());
    }

    #[test]
    fn a_wrong_digest_is_thrown_away() {
        let folder = tempfile::tempdir().expect("folder");
        let cache = Cache::new(folder.path().to_owned(), 1000);
        let identity = Digest::of(b"address");
        let partial = cache.partial(&identity).expect("locked");
        fs::write(&partial.path, b"forged").expect("written");
        let error = cache.adopt("x", &partial, &identity, Some(Digest::of(b"golden"))).expect_err("refused");
        assert!(error.message().contains("expected sha256:"), "{error}");
        assert!(!partial.path.exists());
    }

    #[test]
    fn the_limit_holds_and_the_newest_stays() {
        let folder = tempfile::tempdir().expect("folder");
        let cache = Cache::new(folder.path().to_owned(), 10);
        let old = put(&cache, b"12345678");
        let open = cache.open(&old).expect("there");
        let new = put(&cache, b"abcdefghijkl");
        assert!(cache.open(&old).is_none() && cache.open(&new).is_some());
        assert_eq!(open.metadata().expect("still open").len(), 8);
    }
}
