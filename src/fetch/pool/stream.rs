//! One request that fills blocks, one after the other. While there is no room for the next, the sender is made to wait:
//! nothing is read from its connection.

use tokio::time::{Instant, timeout_at};

use super::PooledObject;
use super::shelf::{Shelf, Turn};

/// Drives stream `id` of `shelf` until it is through, fails, or is given up.
pub(super) async fn run(shelf: &Shelf, object: &PooledObject, id: u64) {
    let len = object.object.len;
    let mut reading = object.store.read(&object.object, shelf.bytes_of(id, len));
    let (mut last_used, mut patience) = (0, Instant::now() + shelf.silence);
    loop {
        // Before the look at the shelf: what changes after it wakes us.
        let changed = shelf.room.notified();
        match shelf.turn(id, len) {
            Turn::Fill(key, mut bytes, len) => {
                let outcome = reading.take(len, &mut bytes).await;
                if !shelf.put(id, key, bytes, outcome) {
                    return;
                }
                patience = Instant::now() + shelf.silence;
            }
            Turn::Wait(used) => {
                if used != last_used {
                    (last_used, patience) = (used, Instant::now() + shelf.silence);
                }
                if timeout_at(patience, changed).await.is_err() {
                    shelf.give_up(id, used);
                    patience = Instant::now() + shelf.silence;
                }
            }
            Turn::Stop => return,
        }
    }
}
