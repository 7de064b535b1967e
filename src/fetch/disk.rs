//! The disk space that a run may use, and the temporary files it keeps there.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::local::LocalFile;
use super::source::{ByteSource, MemorySource, Source};
use crate::error::{Error, ErrorKind, Result};
use crate::output;

/// Largest size in bytes of data that stays in memory.
const IN_MEMORY: u64 = 4 << 20;
/// Bytes that are copied at once.
const BLOCK: usize = 256 << 10;

/// The disk space that a run may use.
#[derive(Debug)]
pub struct Disk {
    folder: PathBuf,
    limit: u64,
    used: AtomicU64,
}

impl Disk {
    /// Disk space of `limit` bytes, with temporary files in `folder`.
    pub fn new(folder: PathBuf, limit: u64) -> Arc<Self> {
        Arc::new(Self { folder, limit, used: AtomicU64::new(0) })
    }

    /// Reserves `len` more bytes for `name`.
    ///
    /// # Errors
    /// `LimitExceeded` where that would be more than the run may use.
    pub fn reserve(&self, name: &str, len: u64) -> Result<()> {
        let used = self.used.fetch_add(len, Ordering::Relaxed).saturating_add(len);
        if used <= self.limit {
            return Ok(());
        }
        self.give_back(len);
        let message = format!("needs more than the {} bytes of disk this run may use", self.limit);
        let help = "raise --max-disk, or store it uncompressed where ranges can be read (a folder, .tar, stored .zip)";
        Err(Error::new(ErrorKind::LimitExceeded, name, message).with_help(help))
    }

    /// Returns reserved bytes.
    pub(crate) fn give_back(&self, len: u64) {
        self.used.fetch_sub(len, Ordering::Relaxed);
    }

    /// Keeps all data of `reader` for as long as the source lives: small data in memory, other data in an unnamed file, so that nothing
    /// is left behind however the run ends. More than `largest` bytes are refused.
    pub fn keep(self: &Arc<Self>, name: &str, reader: &mut dyn Read, largest: u64) -> Result<Source> {
        let failed = |error: io::Error| Error::corrupt(name, format!("cannot be expanded: {error}"));
        let too_large = || {
            let error = Error::new(ErrorKind::LimitExceeded, name, format!("expands to more than {largest} bytes"));
            error.with_help("an archive that grows this much is taken for a bomb; pack it without compression")
        };
        let mut head = Vec::new();
        Read::take(&mut *reader, IN_MEMORY + 1).read_to_end(&mut head).map_err(failed)?;
        if head.len() as u64 > largest {
            return Err(too_large());
        }
        if head.len() as u64 <= IN_MEMORY {
            return Ok(Arc::new(MemorySource::new(name, head)));
        }
        let mut kept = Kept { disk: self.clone(), file: self.nameless(name)?, len: 0 };
        kept.write(name, &head)?;
        let mut block = vec![0; BLOCK];
        loop {
            let len = match reader.read(&mut block) {
                Ok(0) => break,
                Ok(len) => len,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(failed(error)),
            };
            if kept.len + len as u64 > largest {
                return Err(too_large());
            }
            kept.write(name, block.get(..len).unwrap_or_default())?;
        }
        kept.into_source(name)
    }

    /// An open temporary file without a name.
    pub(super) fn nameless(&self, name: &str) -> Result<File> {
        const HELP: &str = "temporary files go to the cache folder (--cache)";
        output::make_folder(&self.folder).map_err(|error| error.with_help(HELP))?;
        tempfile::tempfile_in(&self.folder).map_err(|error| Error::io(name, &error).with_help(HELP))
    }
}

/// A file without a name, and the bytes it took.
struct Kept {
    disk: Arc<Disk>,
    file: File,
    len: u64,
}

impl Kept {
    fn write(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        self.disk.reserve(name, bytes.len() as u64)?;
        self.len += bytes.len() as u64;
        self.file.write_all(bytes).map_err(|error| Error::io(name, &error))
    }

    fn into_source(self, name: &str) -> Result<Source> {
        let handle = self.file.try_clone().map_err(|error| Error::io(name, &error))?;
        Ok(Arc::new(KeptFile { file: LocalFile::from_open_file(handle, name, self.len), _kept: self }))
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.disk.give_back(self.len);
    }
}

struct KeptFile {
    file: LocalFile,
    _kept: Kept,
}

impl ByteSource for KeptFile {
    fn name(&self) -> &str {
        self.file.name()
    }

    fn len(&self) -> u64 {
        self.file.len()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.file.read_at(offset, buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_back_and_its_disk_given_back() {
        let folder = tempfile::tempdir().expect("folder");
        let disk = Disk::new(folder.path().to_owned(), 16 << 20);
        let bytes: Vec<u8> = (0..9_000_000_u32).map(|value| value.to_le_bytes()[1]).collect();
        let source = disk.keep("x", &mut &bytes[..], 1 << 30).expect("fits");
        assert_eq!(super::super::read_all(source.as_ref(), 1 << 30).expect("readable"), bytes);
        assert_eq!(std::fs::read_dir(folder.path()).expect("folder").count(), 0, "no name is left");
        assert_eq!(disk.keep("y", &mut &bytes[..], 1 << 30).err().expect("too much").kind(), ErrorKind::LimitExceeded);
        drop(source);
        disk.keep("y", &mut &bytes[..], 1 << 30).expect("fits now");
        assert_eq!(disk.keep("z", &mut &bytes[..], 5_000_000).err().expect("a bomb").kind(), ErrorKind::LimitExceeded);
    }
}
