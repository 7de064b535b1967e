//! Reading ahead in files that are not in the page cache yet.
//!
//! A read first takes the bytes that the page cache holds. If some are missing the file is cold, and the kernel is told the next
//! range, so that it is loaded while this block is processed; a warm file costs no more than its reads. Several workers may read
//! one file, each continuing where the last block was handed out: they share one window.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// Largest number of bytes that are read ahead: several requests of a fast disk, and little memory.
const WINDOW: u64 = 16 << 20;

/// Range in bytes that was requested already; at worst, racing readers request it twice.
#[derive(Debug, Default)]
pub(super) struct ReadAhead {
    from: AtomicU64,
    until: AtomicU64,
}

impl ReadAhead {
    /// Fills `buffer` from `offset` on.
    pub(super) fn read_exact_at(&self, file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        use std::os::unix::fs::FileExt;
        let cached = cached(file, buffer, offset);
        match buffer.get_mut(cached..) {
            None | Some([]) => Ok(()),
            Some(rest) => {
                let offset = offset + cached as u64;
                self.ask(file, offset, offset + rest.len() as u64);
                file.read_exact_at(rest, offset)
            }
        }
    }

    /// Requests the window from `offset` on, unless half of it is already requested beyond `end`.
    fn ask(&self, file: &File, offset: u64, end: u64) {
        let (from, until) = (self.from.load(Ordering::Relaxed), self.until.load(Ordering::Relaxed));
        if from <= offset && end.saturating_add(WINDOW / 2) <= until {
            return;
        }
        self.from.store(offset, Ordering::Relaxed);
        self.until.store(offset.saturating_add(WINDOW), Ordering::Relaxed);
        advise(file, offset);
    }
}

/// Number of bytes at `offset` that the page cache gave without waiting.
#[cfg(target_os = "linux")]
fn cached(file: &File, buffer: &mut [u8], offset: u64) -> usize {
    use rustix::io::{ReadWriteFlags, preadv2};
    let mut buffers = [io::IoSliceMut::new(buffer)];
    preadv2(file, &mut buffers, offset, ReadWriteFlags::NOWAIT).unwrap_or(0)
}

#[cfg(target_os = "linux")]
fn advise(file: &File, offset: u64) {
    use rustix::fs::{Advice, fadvise};
    // A refusal costs speed alone.
    let _refused = fadvise(file, offset, std::num::NonZeroU64::new(WINDOW), Advice::WillNeed);
}

#[cfg(not(target_os = "linux"))]
fn cached(_: &File, _: &mut [u8], _: u64) -> usize {
    0
}

#[cfg(not(target_os = "linux"))]
fn advise(_: &File, _: u64) {}
