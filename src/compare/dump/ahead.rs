//! Ordered parallel work that fetches the files of the next pieces ahead of time.
//!
//! Workers that wait for one small network answer after another use little of the network's speed. So the pieces after
//! those in progress are prepared early: their files are opened and requested, as many as there is room for.

use std::collections::VecDeque;
use std::iter::Enumerate;
use std::slice::Iter;
use std::sync::{Mutex, PoisonError};

use crate::fetch::{ReadAheadRoom, Source};
use crate::read::tensor_file;

/// A piece of work whose files can be requested ahead of time.
pub(super) trait Prepared: Send {
    /// The files it reads.
    fn sources(&self) -> impl Iterator<Item = &Source>;
}

/// Results of `work` on `items`, in their order. Items are prepared in that order too, up to `room` ahead of the
/// workers.
pub(super) fn run_in_order<T: Sync, P: Prepared, R: Send>(
    items: &[T],
    room: ReadAheadRoom,
    prepare: impl Fn(&T) -> P + Sync,
    work: impl Fn(P) -> R + Sync,
) -> Vec<R> {
    let items = items.iter().enumerate();
    let count = items.len();
    let queue = Mutex::new(Queue { items, pieces: VecDeque::new(), files: 0, coming: 0, bytes: 0 });
    let done = Mutex::new(Vec::with_capacity(count));
    let worker = || {
        // The lock is released before the work begins.
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next(room, &prepare);
        while let Some((index, piece)) = next() {
            let result = work(piece);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
        }
    };
    rayon::scope(|scope| (0..rayon::current_num_threads()).for_each(|_| scope.spawn(|_| worker())));
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

struct Queue<'a, T, P> {
    items: Enumerate<Iter<'a, T>>,
    /// Prepared pieces that no worker has taken yet.
    pieces: VecDeque<(usize, P)>,
    /// Number of their files.
    files: usize,
    /// Number of pieces at the front whose whole files have been requested.
    coming: usize,
    bytes: u64,
}

impl<T, P: Prepared> Queue<'_, T, P> {
    /// The next piece, after the files of those behind it have been requested.
    fn next(&mut self, room: ReadAheadRoom, prepare: impl Fn(&T) -> P) -> Option<(usize, P)> {
        while self.pieces.is_empty() || self.files < room.files {
            let Some((index, item)) = self.items.next() else { break };
            let piece = prepare(item);
            piece.sources().for_each(tensor_file::expect_directory);
            self.files += piece.sources().count();
            self.pieces.push_back((index, piece));
        }
        while let Some((_, piece)) = self.pieces.get(self.coming) {
            // The piece that is worked on next is requested in any case.
            if self.coming > 0 && self.bytes + bytes_of(piece) > room.bytes {
                break;
            }
            piece.sources().for_each(|source| source.prefetch(0..source.len()));
            self.bytes += bytes_of(piece);
            self.coming += 1;
        }
        let (index, piece) = self.pieces.pop_front()?;
        self.files -= piece.sources().count();
        self.bytes -= bytes_of(&piece);
        self.coming -= 1;
        Some((index, piece))
    }
}

fn bytes_of(piece: &impl Prepared) -> u64 {
    piece.sources().map(|source| source.len()).sum()
}
