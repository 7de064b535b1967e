//! Blocks of remote objects in bounded memory.
//!
//! Readers request bytes at any position, and wait until the [`cache`] has them; [`stream`]s fill the cache on the network's
//! threads. One request fetches a long stretch of an object, block after block, as fast as its readers consume them and memory
//! allows. There are two caches: large blocks for data that is read completely, and small pages for headers and directories, so
//! that reading the ends of a large file does not fetch all of it.

mod block_cache;
mod stream;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use self::block_cache::{BlockCache, BlockState, State};
use super::pooled::PooledObject;
use super::runtime::Background;
use crate::error::{Error, Result};
use crate::fetch::files::ReadAheadRoom;

/// A page: what one look at a header or a directory costs.
const PAGE: u64 = 64 << 10;
/// Longest read that is served from pages.
const SMALL_READ: usize = 64 << 10;
/// A block is at most this long: a reader waits for whole ones.
const LARGEST_BLOCK: u64 = 1 << 20;
/// And at least this long.
const SMALLEST_BLOCK: u64 = 256 << 10;
/// Least number of blocks that the memory is cut into: a few for both sides of sixteen tensors.
const BLOCKS: u64 = 128;
/// An object of more blocks is long: its end comes late.
const LONG: u64 = 4;
/// Bytes that one request brings a reader that moves forward and did not say how far.
const STRETCH: u64 = 64 << 20;

/// The blocks of all remote objects of a run.
pub(super) struct Pool {
    background: Background,
    pages: Arc<BlockCache>,
    blocks: Arc<BlockCache>,
}

impl Pool {
    /// A pool that keeps up to `memory` bytes and fetches on `background`; a request whose bytes nobody takes for as
    /// long as `silence` is given up.
    pub(super) fn new(background: Background, memory: u64, silence: Duration) -> Arc<Self> {
        let for_pages = memory / 16;
        let largest = ((memory - for_pages) / BLOCKS).clamp(SMALLEST_BLOCK, LARGEST_BLOCK);
        // A power of two, so that the blocks of tensors lie within one block of the pool.
        let block = 1 << largest.ilog2();
        let cache = |block_len, memory| Arc::new(BlockCache::new(block_len, memory / block_len, silence));
        Arc::new(Self { background, pages: cache(PAGE, for_pages), blocks: cache(block, memory - for_pages) })
    }

    /// Fills `buffer` from `offset` on; the range lies within the object.
    pub(super) fn read(&self, object: &Arc<PooledObject>, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let end = offset + buffer.len() as u64;
        let (mut at, mut rest) = (offset, buffer);
        while !rest.is_empty() {
            let cache = self.cache(object, at, rest.len());
            let block = self.block(cache, object, at..end)?;
            let skip = usize::try_from(at % cache.block_len).unwrap_or(usize::MAX);
            let from = block.get(skip..).filter(|from| !from.is_empty());
            let from = from.ok_or_else(|| Error::corrupt(&object.object.key, "is shorter than it was listed"))?;
            let len = from.len().min(rest.len());
            let (now, later) = rest.split_at_mut(len);
            now.copy_from_slice(from.get(..len).unwrap_or_default());
            cache.note_read((object.id, at / cache.block_len), len as u64);
            at += len as u64;
            rest = later;
        }
        Ok(())
    }

    /// Sets `range` on its way, unless it is.
    pub(super) fn prefetch(&self, object: &Arc<PooledObject>, range: Range<u64>) {
        let mut state = self.blocks.lock();
        if let Some(first) = self.blocks.indexes(&range).find(|index| !state.is_there_or_coming((object.id, *index))) {
            let start = range.start.max(first * self.blocks.block_len);
            self.start(&mut state, &self.blocks, object, start..range.end);
        }
    }

    /// Sets the end of a long object on its way. A short one is there as soon as it is expected as a whole.
    pub(super) fn prefetch_end(&self, object: &Arc<PooledObject>) {
        let end = object.object.len;
        if end <= LONG * self.blocks.block_len {
            return;
        }
        let mut state = self.pages.lock();
        let range = end - PAGE..end;
        if !self.pages.indexes(&range).any(|index| state.is_there_or_coming((object.id, index))) {
            self.start(&mut state, &self.pages, object, range);
        }
    }

    /// Room for objects that are expected before anybody reads them: a quarter of the blocks, so that those under way have
    /// room to go on.
    pub(super) fn read_ahead_room(&self) -> ReadAheadRoom {
        let files = self.blocks.limit() / 4;
        ReadAheadRoom { files, bytes: files as u64 * self.blocks.block_len }
    }

    /// Gives up what is on its way from an object that nobody has open any more.
    pub(super) fn release(&self, object: &PooledObject) {
        self.blocks.release(object.id);
    }

    /// Small reads go to pages, unless the block they lie in is at hand, the object is no longer than a page, or the
    /// reader comes from the page before: many small steps forward are read as one.
    fn cache(&self, object: &PooledObject, at: u64, len: usize) -> &Arc<BlockCache> {
        let is_small = len <= SMALL_READ && object.object.len > PAGE;
        if !is_small || self.blocks.lock().is_at_hand((object.id, at / self.blocks.block_len)) {
            return &self.blocks;
        }
        let (page, pages) = (at / PAGE, self.pages.lock());
        let moves_on = page > 0 && pages.is_there_or_coming((object.id, page - 1));
        if moves_on && !pages.is_there_or_coming((object.id, page)) { &self.blocks } else { &self.pages }
    }

    /// The block that `wanted`, the rest of a read, begins in; waits until it is there.
    fn block(&self, cache: &Arc<BlockCache>, object: &Arc<PooledObject>, wanted: Range<u64>) -> Result<Arc<Vec<u8>>> {
        let key = (object.id, wanted.start / cache.block_len);
        let mut state = cache.lock();
        loop {
            match cache.find(&mut state, key) {
                BlockState::Ready(bytes) => return Ok(bytes),
                BlockState::Failed(error) => return Err(error),
                BlockState::Coming => {}
                BlockState::Nothing => {
                    let moves_on = cache.block_len > PAGE && key.1 > 0 && state.is_there((key.0, key.1 - 1));
                    let end = if moves_on { wanted.end.max(wanted.start + STRETCH) } else { wanted.end };
                    self.start(&mut state, cache, object, wanted.start..end.min(object.object.len));
                }
            }
            state = cache.wait(state, key);
        }
    }

    /// Starts a request for `range`, whose first block is not there.
    fn start(&self, state: &mut State, cache: &Arc<BlockCache>, object: &Arc<PooledObject>, range: Range<u64>) {
        let id = cache.begin_stream(state, object.id, range);
        let (cache, object) = (cache.clone(), object.clone());
        self.background.spawn(async move { stream::run(&cache, &object, id).await });
    }
}
