//! One request that fills blocks, one after the other. While there is no room for the next, the sender is made to wait:
//! nothing is read from its connection.

use tokio::time::{Instant, timeout_at};

use super::block_cache::{BlockCache, Turn};
use crate::fetch::network::pooled::PooledObject;

/// Drives stream `id` of `cache` until it is through, fails, or is given up.
pub(super) async fn run(cache: &BlockCache, object: &PooledObject, id: u64) {
    let len = object.object.len;
    let mut reading = object.store.read(&object.object, cache.bytes_of(id, len));
    let (mut last_used, mut patience) = (0, Instant::now() + cache.silence);
    loop {
        // Before the look at the cache: what changes after it wakes us.
        let changed = cache.room.notified();
        match cache.next_turn(id, len) {
            Turn::Fill(key, mut bytes, len) => {
                let outcome = reading.append_next(len, &mut bytes).await;
                if !cache.store_block(id, key, bytes, outcome) {
                    return;
                }
                patience = Instant::now() + cache.silence;
            }
            Turn::Wait(used) => {
                if used != last_used {
                    (last_used, patience) = (used, Instant::now() + cache.silence);
                }
                if timeout_at(patience, changed).await.is_err() {
                    cache.give_up(id, used);
                    patience = Instant::now() + cache.silence;
                }
            }
            Turn::Stop => return,
        }
    }
}
