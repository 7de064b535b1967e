//! The lock of an output folder: an advisory lock on a file in it, which the system releases when the process ends.

use std::fs::{File, TryLockError};
use std::io;
use std::sync::Arc;

use super::dir::{Dir, system_error};
use crate::error::{Error, ErrorKind, Result};

/// Name of the locked file. The run that holds the lock removes it; a killed run leaves it, unlocked.
const NAME: &str = ".precision-gate.lock";
/// Most attempts to lock a file that the previous run is just removing.
const MOST_TRIES: u32 = 100;

/// A lock that is held, or a stand-in on a file system without locks.
#[derive(Debug)]
pub(super) struct Lock {
    dir: Arc<Dir>,
    _file: File,
}

impl Lock {
    /// Takes the lock of a folder without waiting.
    ///
    /// # Errors
    /// `Usage` where another process holds it, or where something else than a file has its name.
    pub(super) fn acquire(dir: Arc<Dir>) -> Result<Self> {
        for _ in 0..MOST_TRIES {
            dir.check(NAME)?;
            let file = dir.open_lock(NAME).map_err(|error| system_error(&dir.place(NAME), error))?;
            match file.try_lock() {
                // Some network file systems have no locks; there the renames alone keep documents whole.
                Err(TryLockError::Error(error)) if is_unsupported(&error) => return Ok(Self { dir, _file: file }),
                Err(TryLockError::Error(error)) => {
                    return Err(Error::io(dir.place(NAME).display().to_string(), &error));
                }
                Err(TryLockError::WouldBlock) => return Err(busy(&dir)),
                // The run that had it may have removed it since it was opened here.
                Ok(()) if dir.is_same_file(NAME, &file) => return Ok(Self { dir, _file: file }),
                Ok(()) => {}
            }
        }
        Err(busy(&dir))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // The file is removed before it is closed: a run that opened it meanwhile notices that and creates another.
        let _gone = self.dir.remove(NAME);
    }
}

fn is_unsupported(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let known = [Errno::NOLCK, Errno::NOSYS, Errno::OPNOTSUPP, Errno::NOTSUP];
    error.kind() == io::ErrorKind::Unsupported
        || known.iter().any(|known| error.raw_os_error() == Some(known.raw_os_error()))
}

fn busy(dir: &Dir) -> Error {
    let error = Error::new(ErrorKind::Usage, dir.shown_path(), "another run is writing into this folder");
    error.with_help("wait for it, or give this run another folder with --out")
}
