//! Blocks between the network and their readers, and the room that each stream has for the next one.
//!
//! # Why nobody waits for ever
//!
//! Streams need room, readers make it, and readers wait for streams. Three rules keep that from closing a circle:
//!
//! 1. A stream takes room for one block at a time, and once it has it needs nothing but the network, which answers or
//!    fails in bounded time. So a place that is being filled becomes `Ready`, or free.
//! 2. A block that a reader waits for stays until the reader has it, and a reader that is awake takes it without
//!    waiting for anything. So such a place becomes one that may be cleared.
//! 3. A stream that a reader waits for, at its next block or behind it, may clear any other block that is ready, read
//!    or not.
//!
//! Whatever the places hold, each of them is free, or is one that rule 3 clears, or becomes so by rule 1 or 2 whatever
//! anybody else does. So a stream that is waited for gets its next place, and with each one comes closer to the block
//! that is waited for: every wait ends, with one place just as with a thousand. Clearing what was not read costs a
//! second request for it, no more; to make that rare, a stream that nobody waits for goes ahead only by its share of
//! half the room, and never clears what was not read.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::error::{Error, Result};

/// Bytes that a stream goes ahead of its readers: more than a fast link holds on its way.
const AHEAD: u64 = 32 << 20;
/// Places there are at least.
const FEWEST: usize = 4;

/// Object and block: number of each.
pub(super) type Key = (u64, u64);

/// Blocks of one length.
pub(super) struct BlockCache {
    /// Length of a block in bytes; the last one of an object may be shorter.
    pub(super) block_len: u64,
    /// Longest wait of a stream for a reader.
    pub(super) silence: Duration,
    /// Told of everything that may let a stream go on.
    pub(super) room: Notify,
    limit: usize,
    state: Mutex<State>,
    /// Told of everything that may let a reader go on.
    changed: Condvar,
}

#[derive(Default)]
pub(super) struct State {
    slots: BTreeMap<Key, Slot>,
    streams: BTreeMap<u64, Stream>,
    /// Number of readers that wait for a block.
    waiting: BTreeMap<Key, usize>,
    /// Buffers whose blocks are gone.
    free: Vec<Vec<u8>>,
    tick: u64,
}

enum Slot {
    Fetching,
    Ready(Ready),
    Failed(Error),
}

struct Ready {
    bytes: Arc<Vec<u8>>,
    /// Tick of its last use.
    used: u64,
    /// Bytes that somebody will want and has not read.
    unread: u64,
}

/// A request under way.
#[derive(Clone)]
struct Stream {
    object: u64,
    /// The bytes it was begun for.
    range: Range<u64>,
    /// The block that comes next.
    next: u64,
    /// The one behind its last.
    end: u64,
    /// Tick of the last read from it.
    used: u64,
}

/// State of a block, for a reader.
pub(super) enum BlockState {
    Ready(Arc<Vec<u8>>),
    Failed(Error),
    Coming,
    Nothing,
}

/// Next action of a stream.
pub(super) enum Turn {
    /// Append so many bytes to the buffer, which becomes this block.
    Fill(Key, Vec<u8>, usize),
    /// Wait for room; the tick of the last read from the stream.
    Wait(u64),
    /// End.
    Stop,
}

impl BlockCache {
    /// Room for `limit` blocks.
    pub(super) fn new(block_len: u64, limit: u64, silence: Duration) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX).max(FEWEST);
        Self { block_len, silence, room: Notify::new(), limit, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Number of blocks there is room for.
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The blocks that `range` lies in.
    pub(super) fn indexes(&self, range: &Range<u64>) -> Range<u64> {
        range.start / self.block_len..range.end.div_ceil(self.block_len)
    }

    /// State of a block for a reader. A block is reported missing, so that the reader requests it, where its stream
    /// reaches it only behind more blocks than it has room for.
    pub(super) fn find(&self, state: &mut State, key: Key) -> BlockState {
        state.tick += 1;
        let (tick, reach) = (state.tick, (self.limit / state.streams.len().max(1)).max(1));
        let is_coming = state.is_coming(key, reach as u64);
        match state.slots.get_mut(&key) {
            Some(Slot::Ready(ready)) => {
                ready.used = tick;
                let bytes = ready.bytes.clone();
                let of_object = state.streams.values_mut().filter(|stream| stream.object == key.0);
                of_object.for_each(|stream| stream.used = tick);
                return BlockState::Ready(bytes);
            }
            Some(Slot::Fetching) => return BlockState::Coming,
            None if is_coming => return BlockState::Coming,
            _ => {}
        }
        match state.slots.remove(&key) {
            Some(Slot::Failed(error)) => BlockState::Failed(error),
            _ => BlockState::Nothing,
        }
    }

    /// Waits until the block is there, or no longer on its way.
    pub(super) fn wait<'a>(&'a self, mut state: MutexGuard<'a, State>, key: Key) -> MutexGuard<'a, State> {
        *state.waiting.entry(key).or_default() += 1;
        self.room.notify_waiters();
        let state = self.changed.wait_while(state, |state| state.is_pending(key));
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        let others = state.waiting.remove(&key).unwrap_or(1) - 1;
        if others > 0 {
            state.waiting.insert(key, others);
        }
        self.room.notify_waiters();
        state
    }

    /// Takes note that `len` bytes of a block were read.
    pub(super) fn note_read(&self, key: Key, len: u64) {
        if let Some(Slot::Ready(ready)) = self.lock().slots.get_mut(&key)
            && ready.unread > 0
        {
            ready.unread = ready.unread.saturating_sub(len);
            if ready.unread == 0 {
                self.room.notify_waiters();
            }
        }
    }

    /// Takes note of a stream for `range`, up to what is there or coming already; gives its number.
    pub(super) fn begin_stream(&self, state: &mut State, object: u64, range: Range<u64>) -> u64 {
        if state.streams.len() >= self.limit / 2
            && let Some(idle) = state.most_idle_stream()
        {
            self.end(state, idle);
        }
        let Range { start: next, end } = self.indexes(&range);
        let is_there = state.slots.range((object, next)..(object, end)).map(|(key, _)| key.1).next();
        let others = state.streams.values().filter(|other| other.object == object && other.next > next);
        let end = others.map(|other| other.next).chain(is_there).fold(end, u64::min);
        state.tick += 1;
        let id = state.tick;
        state.streams.insert(id, Stream { object, range, next, end, used: id });
        id
    }

    /// The bytes a stream is to ask for: whole blocks of an object of `len` bytes.
    pub(super) fn bytes_of(&self, id: u64, len: u64) -> Range<u64> {
        let state = self.lock();
        let blocks = state.streams.get(&id).map_or(0..0, |stream| stream.next..stream.end);
        blocks.start * self.block_len..len.min(blocks.end * self.block_len)
    }

    /// Next action of stream `id`, which reads an object of `len` bytes.
    pub(super) fn next_turn(&self, id: u64, len: u64) -> Turn {
        let mut state = self.lock();
        let Some(stream) = state.streams.get(&id).cloned() else { return Turn::Stop };
        let key = (stream.object, stream.next);
        if stream.next >= stream.end || state.is_there(key) {
            self.end(&mut state, id);
            return Turn::Stop;
        }
        let is_awaited = state.is_awaited(&stream);
        let goes_ahead = state.unread_of(&stream) < self.ahead(&state);
        if !(is_awaited || goes_ahead) || !state.make_room(self.limit, is_awaited) {
            return Turn::Wait(stream.used);
        }
        let len = self.block_len.min(len.saturating_sub(stream.next * self.block_len));
        let len = usize::try_from(len).unwrap_or(0);
        let mut bytes = state.free.pop().unwrap_or_default();
        bytes.clear();
        // At once: a buffer that grows by and by leaves holes behind.
        bytes.reserve_exact(len);
        state.slots.insert(key, Slot::Fetching);
        Turn::Fill(key, bytes, len)
    }

    /// Takes what stream `id` was given to fill; `false` where that is the end of it.
    pub(super) fn store_block(&self, id: u64, key: Key, bytes: Vec<u8>, outcome: Result<()>) -> bool {
        let mut state = self.lock();
        let used = state.tick;
        let is_awaited = state.waiting.contains_key(&key);
        let has_failed = outcome.is_err();
        match outcome {
            Ok(()) => {
                let place = key.1 * self.block_len..(key.1 + 1) * self.block_len;
                let wanted = state.streams.get(&id).map_or(0..0, |stream| stream.range.clone());
                let unread = wanted.end.min(place.end).saturating_sub(wanted.start.max(place.start));
                state.slots.insert(key, Slot::Ready(Ready { bytes: Arc::new(bytes), used, unread }));
            }
            // Nobody may ever come for a block that was fetched ahead.
            Err(_) if !is_awaited => drop(state.slots.remove(&key)),
            Err(error) => drop(state.slots.insert(key, Slot::Failed(error))),
        }
        if has_failed {
            self.end(&mut state, id);
        } else if let Some(stream) = state.streams.get_mut(&id) {
            stream.next += 1;
        }
        self.changed.notify_all();
        // A place that was being filled may be cleared now, if nobody waits for it.
        self.room.notify_waiters();
        !has_failed
    }

    /// Ends stream `id` where nobody has read from it since `used`, and nobody waits for it.
    pub(super) fn give_up(&self, id: u64, used: u64) {
        let mut state = self.lock();
        if state.streams.get(&id).is_some_and(|stream| stream.used == used && !state.is_awaited(stream)) {
            self.end(&mut state, id);
        }
    }

    /// Ends all streams of an object, whose blocks are the first to go.
    pub(super) fn release(&self, object: u64) {
        let mut state = self.lock();
        state.streams.retain(|_, stream| stream.object != object);
        for slot in state.slots.range_mut((object, 0)..=(object, u64::MAX)).map(|(_, slot)| slot) {
            if let Slot::Ready(ready) = slot {
                ready.unread = 0;
            }
        }
        self.changed.notify_all();
        self.room.notify_waiters();
    }

    fn end(&self, state: &mut State, id: u64) {
        state.streams.remove(&id);
        self.changed.notify_all();
        self.room.notify_waiters();
    }

    /// Unread blocks a stream may be ahead by: half of the room, shared. The other half is for those that come next.
    fn ahead(&self, state: &State) -> usize {
        let most = usize::try_from(AHEAD / self.block_len).unwrap_or(usize::MAX);
        (self.limit / 2 / state.streams.len().max(1)).clamp(1, most)
    }
}

impl State {
    /// Number of blocks that are there or being filled.
    #[cfg(test)]
    pub(super) fn places(&self) -> usize {
        self.slots.len()
    }

    /// Whether the block is there, or being filled.
    pub(super) fn is_there(&self, key: Key) -> bool {
        self.slots.contains_key(&key)
    }

    /// Whether the block is there, or a stream will come to it.
    pub(super) fn is_there_or_coming(&self, key: Key) -> bool {
        self.is_there(key) || self.is_coming(key, u64::MAX)
    }

    /// Whether the block is there, or a stream comes to it next.
    pub(super) fn is_at_hand(&self, key: Key) -> bool {
        self.is_there(key) || self.is_coming(key, 2)
    }

    /// Whether a stream comes to the block within the next `reach` ones.
    fn is_coming(&self, (object, index): Key, reach: u64) -> bool {
        let comes = |stream: &Stream| (stream.next..stream.end).contains(&index) && index - stream.next < reach;
        self.streams.values().any(|stream| stream.object == object && comes(stream))
    }

    /// Whether a reader of this block has nothing to do but wait.
    fn is_pending(&self, key: Key) -> bool {
        match self.slots.get(&key) {
            Some(slot) => matches!(slot, Slot::Fetching),
            None => self.is_coming(key, u64::MAX),
        }
    }

    /// Whether a reader waits for what the stream still brings.
    fn is_awaited(&self, stream: &Stream) -> bool {
        self.waiting.range((stream.object, stream.next)..(stream.object, stream.end)).next().is_some()
    }

    /// Blocks before the stream's next one that have not been read through.
    fn unread_of(&self, stream: &Stream) -> usize {
        let brought = self.slots.range((stream.object, 0)..(stream.object, stream.next));
        brought.filter(|(_, slot)| matches!(slot, Slot::Ready(ready) if ready.unread > 0)).count()
    }

    /// The stream whose use lies back furthest, of those that nobody waits for.
    fn most_idle_stream(&self) -> Option<u64> {
        let idle = self.streams.iter().filter(|(_, stream)| !self.is_awaited(stream));
        idle.min_by_key(|(_, stream)| stream.used).map(|(id, _)| *id)
    }

    /// Makes room for one block, by giving up one that was read through, or else (if it `may_clear` what was not) the
    /// one whose use lies back furthest. Blocks that somebody waits for stay.
    fn make_room(&mut self, limit: usize, may_clear: bool) -> bool {
        if self.slots.len() < limit {
            return true;
        }
        let rank = |key: &Key, slot: &Slot| match slot {
            Slot::Ready(ready) if !self.waiting.contains_key(key) => {
                let is_unread = ready.unread > 0;
                (may_clear || !is_unread).then_some((is_unread, ready.used))
            }
            _ => None,
        };
        let found = self.slots.iter().filter_map(|(key, slot)| Some((rank(key, slot)?, *key))).min();
        let Some((_, key)) = found else { return false };
        if let Some(Slot::Ready(ready)) = self.slots.remove(&key)
            && let Ok(bytes) = Arc::try_unwrap(ready.bytes)
        {
            self.free.push(bytes);
        }
        true
    }
}
