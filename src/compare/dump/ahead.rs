//! Work in order, with what the next pieces need on its way.
//!
//! Workers that wait for answers of a network one after the other get little of its speed where the answers are small. So
//! the pieces after those under way are prepared early: their files are opened and asked for, as many as there is room for.

use std::collections::VecDeque;
use std::iter::Enumerate;
use std::slice::Iter;
use std::sync::{Mutex, PoisonError};

use crate::fetch::{RoomAhead, Source};

/// A piece of work whose files are on their way.
pub(super) trait Prepared: Send {
    /// The files it reads.
    fn sources(&self) -> impl Iterator<Item = &Source>;
}

/// Results of `work` on `items`, in their order; each is prepared in that order, up to `room` ahead of the workers.
pub(super) fn in_order<T: Sync, P: Prepared, R: Send>(
    items: &[T],
    room: RoomAhead,
    prepare: impl Fn(&T) -> P + Sync,
    work: impl Fn(P) -> R + Sync,
) -> Vec<R> {
    let (coming, used) = (VecDeque::new(), RoomAhead::default());
    let queue = Mutex::new(Queue { items: items.iter().enumerate(), coming, used, waiting: None });
    let done = Mutex::new(Vec::with_capacity(items.len()));
    let worker = || {
        // Let go before the work begins.
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
    /// Items that were not prepared yet.
    items: Enumerate<Iter<'a, T>>,
    /// Those whose files are on their way and that nobody works on yet.
    coming: VecDeque<(usize, P)>,
    /// Files and bytes of these.
    used: RoomAhead,
    /// The one behind them, where there was no room for it.
    waiting: Option<(usize, P)>,
}

impl<T, P: Prepared> Queue<'_, T, P> {
    /// The next piece, once those behind it are on their way.
    fn next(&mut self, room: RoomAhead, prepare: impl Fn(&T) -> P) -> Option<(usize, P)> {
        let mut prepared = || self.items.next().map(|(index, item)| (index, prepare(item)));
        while let Some((index, piece)) = self.waiting.take().or_else(&mut prepared) {
            let used = sum(self.used, weight(&piece));
            // The one that is worked on next is asked for in any case.
            if !self.coming.is_empty() && (used.files > room.files || used.bytes > room.bytes) {
                self.waiting = Some((index, piece));
                break;
            }
            piece.sources().for_each(|source| source.expect(0..source.len()));
            self.used = used;
            self.coming.push_back((index, piece));
        }
        let (index, piece) = self.coming.pop_front()?;
        let RoomAhead { files, bytes } = weight(&piece);
        self.used = RoomAhead { files: self.used.files - files, bytes: self.used.bytes - bytes };
        Some((index, piece))
    }
}

fn weight(piece: &impl Prepared) -> RoomAhead {
    let of = |source: &Source| RoomAhead { files: 1, bytes: source.len() };
    piece.sources().map(of).fold(RoomAhead::default(), sum)
}

fn sum(a: RoomAhead, b: RoomAhead) -> RoomAhead {
    RoomAhead { files: a.files + b.files, bytes: a.bytes + b.bytes }
}
