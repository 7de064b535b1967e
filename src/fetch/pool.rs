//! Blocks of remote objects in bounded memory.
//!
//! Readers ask for bytes at any position; the pool fetches whole blocks on the network's threads, each block once
//! however many ask for it, keeps what memory allows, and reads ahead where a reader moves forward. Two shelves: large
//! blocks for data that is read through, small pages for headers and directories, so that looking at the ends of a large
//! file does not fetch it.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::runtime::Background;
use super::store::{Object, PatientStore};
use crate::error::{Error, Result};

/// A page: what one look at a header or a directory costs.
const PAGE: u64 = 64 << 10;
/// Longest read that is served from pages.
const SMALL_READ: usize = 64 << 10;
/// A block is at most this long: fewer requests gain nothing from there on.
const LARGEST_BLOCK: u64 = 8 << 20;
/// And at least this long.
const SMALLEST_BLOCK: u64 = 256 << 10;
/// How many blocks the memory is cut into at least: both sides of eight tensors. Few long blocks beat many short ones:
/// every request costs the server a look for its object.
const BLOCKS: u64 = 16;

/// An object of a location, ready to be read.
pub(super) struct PooledObject {
    /// Distinguishes it from all others of this pool.
    pub(super) id: u64,
    /// Where it comes from.
    pub(super) store: Arc<PatientStore>,
    /// What it is.
    pub(super) object: Object,
}

/// The blocks of all remote objects of a run.
pub(super) struct Pool {
    background: Background,
    pages: Shelf,
    blocks: Shelf,
}

impl Pool {
    /// A pool that keeps up to `memory` bytes and fetches on `background`.
    pub(super) fn new(background: Background, memory: u64) -> Arc<Self> {
        let for_pages = memory / 16;
        let largest = ((memory - for_pages) / BLOCKS).clamp(SMALLEST_BLOCK, LARGEST_BLOCK);
        // A power of two: tensors' own blocks then lie within one of ours.
        let block = 1 << largest.ilog2();
        Arc::new(Self {
            background,
            pages: Shelf::new(PAGE, for_pages / PAGE),
            blocks: Shelf::new(block, (memory - for_pages) / block),
        })
    }

    /// Fills `buffer` from `offset` on; the range lies within the object.
    pub(super) fn read(self: &Arc<Self>, object: &Arc<PooledObject>, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let (mut at, mut rest) = (offset, buffer);
        while !rest.is_empty() {
            let shelf = self.shelf(object, at, rest.len());
            let index = at / shelf.block_len;
            let block = self.block(shelf, object, index)?;
            let skip = usize::try_from(at - index * shelf.block_len).unwrap_or(usize::MAX);
            let from = block.get(skip..).filter(|from| !from.is_empty());
            let from = from.ok_or_else(|| Error::corrupt(&object.object.key, "is shorter than it was listed"))?;
            let len = from.len().min(rest.len());
            let (now, later) = rest.split_at_mut(len);
            now.copy_from_slice(from.get(..len).unwrap_or_default());
            shelf.consumed((object.id, index), len);
            at += len as u64;
            rest = later;
        }
        Ok(())
    }

    /// Small reads go to pages, unless the block they lie in is there, or is no longer than a page.
    fn shelf(&self, object: &PooledObject, at: u64, len: usize) -> &Shelf {
        let is_small = len <= SMALL_READ && object.object.len > PAGE;
        if is_small && !self.blocks.has((object.id, at / self.blocks.block_len)) { &self.pages } else { &self.blocks }
    }

    /// The block at `index`, fetched where it is not there; the one behind it is fetched ahead where there is room.
    fn block(self: &Arc<Self>, shelf: &Shelf, object: &Arc<PooledObject>, index: u64) -> Result<Arc<Vec<u8>>> {
        let key = (object.id, index);
        let mut state = shelf.lock();
        loop {
            state.tick += 1;
            let tick = state.tick;
            match state.slots.get_mut(&key) {
                Some(Slot::Ready(ready)) => {
                    ready.awaited = false;
                    ready.used = tick;
                    let bytes = ready.bytes.clone();
                    if shelf.block_len > PAGE {
                        self.ahead(&mut state, shelf, object, index + 1);
                    }
                    return Ok(bytes);
                }
                Some(Slot::Failed(_)) => {
                    if let Some(Slot::Failed(error)) = state.slots.remove(&key) {
                        shelf.changed.notify_all();
                        return Err(error);
                    }
                }
                Some(Slot::Fetching { awaited }) => *awaited = true,
                None => {
                    if state.make_room(shelf.limit, false) {
                        self.fetch(&mut state, shelf, object, index, true);
                    }
                }
            }
            state = shelf.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Fetches a block that nobody waits for yet, where it costs no other its place.
    fn ahead(self: &Arc<Self>, state: &mut State, shelf: &Shelf, object: &Arc<PooledObject>, index: u64) {
        let is_there = index * shelf.block_len < object.object.len;
        if is_there && !state.slots.contains_key(&(object.id, index)) && state.make_room(shelf.limit, true) {
            self.fetch(state, shelf, object, index, false);
        }
    }

    fn fetch(
        self: &Arc<Self>,
        state: &mut State,
        shelf: &Shelf,
        object: &Arc<PooledObject>,
        index: u64,
        awaited: bool,
    ) {
        let start = index * shelf.block_len;
        let range = start..object.object.len.min(start + shelf.block_len);
        let mut bytes = state.free.pop().unwrap_or_default();
        bytes.clear();
        // To the full block at once: a buffer that grows by and by leaves holes behind.
        bytes.reserve_exact(usize::try_from(shelf.block_len.min(object.object.len)).unwrap_or(0));
        state.slots.insert((object.id, index), Slot::Fetching { awaited });
        let (pool, object, is_page) = (self.clone(), object.clone(), shelf.block_len == PAGE);
        self.background.spawn(async move {
            let outcome = object.store.read(&object.object, range, &mut bytes).await;
            let shelf = if is_page { &pool.pages } else { &pool.blocks };
            shelf.finish((object.id, index), bytes, outcome);
        });
    }
}

/// Which block of which object.
type Key = (u64, u64);

/// Blocks of one length.
struct Shelf {
    block_len: u64,
    limit: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    slots: HashMap<Key, Slot>,
    /// Buffers whose blocks are gone.
    free: Vec<Vec<u8>>,
    tick: u64,
}

enum Slot {
    Fetching { awaited: bool },
    Ready(Ready),
    Failed(Error),
}

struct Ready {
    bytes: Arc<Vec<u8>>,
    /// When it was last used.
    used: u64,
    /// Bytes that were read from it.
    consumed: usize,
    /// Whether a reader waits for it that has not had it yet.
    awaited: bool,
}

impl Shelf {
    fn new(block_len: u64, limit: u64) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX).max(4);
        Self { block_len, limit, state: Mutex::default(), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has(&self, key: Key) -> bool {
        self.lock().slots.contains_key(&key)
    }

    fn consumed(&self, key: Key, len: usize) {
        if let Some(Slot::Ready(ready)) = self.lock().slots.get_mut(&key) {
            ready.consumed += len;
        }
    }

    fn finish(&self, key: Key, bytes: Vec<u8>, outcome: Result<()>) {
        let mut state = self.lock();
        let awaited = matches!(state.slots.get(&key), Some(Slot::Fetching { awaited: true }));
        let used = state.tick;
        match outcome {
            Ok(()) => {
                let ready = Ready { bytes: Arc::new(bytes), used, consumed: 0, awaited };
                state.slots.insert(key, Slot::Ready(ready));
            }
            // Nobody may ever come for a block that was fetched ahead.
            Err(_) if !awaited => drop(state.slots.remove(&key)),
            Err(error) => drop(state.slots.insert(key, Slot::Failed(error))),
        }
        self.changed.notify_all();
    }
}

impl State {
    /// Makes room for one block, by giving up one that was read through, or else (unless `only_spent`) the one whose
    /// use lies back furthest. Blocks that somebody waits for stay.
    fn make_room(&mut self, limit: usize, only_spent: bool) -> bool {
        if self.slots.len() < limit {
            return true;
        }
        let rank = |slot: &Slot| match slot {
            Slot::Ready(ready) if ready.awaited => None,
            Slot::Ready(ready) => {
                let is_spent = ready.consumed >= ready.bytes.len();
                (is_spent || !only_spent).then_some((!is_spent, ready.used))
            }
            _ => None,
        };
        let found = self.slots.iter().filter_map(|(key, slot)| Some((rank(slot)?, *key))).min();
        let Some((_, key)) = found else { return false };
        if let Some(Slot::Ready(ready)) = self.slots.remove(&key)
            && let Ok(bytes) = Arc::try_unwrap(ready.bytes)
        {
            self.free.push(bytes);
        }
        true
    }
}
