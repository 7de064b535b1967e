//! The pool against a store in memory.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, stream};

use super::super::pooled::PooledObject;
use super::super::runtime::Background;
use super::super::store::{Object, Pieces, RetryingStore, Store};
use super::{Pool, SMALLEST_BLOCK};
use crate::fetch::retry::{Failure, Retry};

/// Objects whose bytes tell their place; remembers what it was asked for, and what it sent.
#[derive(Default)]
struct Counting {
    asked: Mutex<Vec<(String, Range<u64>)>>,
    sent: AtomicUsize,
    /// Requests that have not ended.
    open: Arc<()>,
    /// Bytes after which every connection breaks.
    cut: Option<usize>,
    /// Time that each piece takes.
    slow: Duration,
}

const PIECE: u64 = 16 << 10;

fn byte(at: u64) -> u8 {
    ((at / 7) ^ (at >> 13)).to_le_bytes()[0]
}

impl Store for Counting {
    fn name(&self, object: &Object) -> String {
        object.key.clone()
    }

    fn read<'a>(&'a self, object: &'a Object, range: Range<u64>) -> Pieces<'a> {
        self.asked.lock().expect("no panic").push((object.key.clone(), range.clone()));
        let (open, mut left) = (self.open.clone(), self.cut);
        let starts = (range.start..range.end).step_by(usize::try_from(PIECE).expect("small"));
        let pieces = starts.map(move |start| {
            let _open = &open;
            let piece: Vec<u8> = (start..range.end.min(start + PIECE)).map(byte).collect();
            if let Some(left) = &mut left {
                *left = left.checked_sub(piece.len()).ok_or_else(|| Failure::temporary("x", "cut"))?;
            }
            self.sent.fetch_add(piece.len(), Ordering::Relaxed);
            Ok(Bytes::from(piece))
        });
        let late = move |piece| async move {
            tokio::time::sleep(self.slow).await;
            piece
        };
        stream::iter(pieces).then(late).boxed()
    }
}

/// A pool with this memory, and `count` objects of `len` bytes.
fn pool(store: &Arc<Counting>, memory: u64, silence: u64, count: u64, len: u64) -> (Arc<Pool>, Vec<Arc<PooledObject>>) {
    let background = Background::start().expect("threads");
    let retry = Retry { tries: 3, first_wait: Duration::from_millis(1), ..Retry::default() };
    let retrying = Arc::new(RetryingStore::new(store.clone(), retry, Arc::new(OnceLock::new())));
    let object = |id: u64| Object { key: id.to_string(), len, etag: None };
    let objects = (0..count).map(|id| Arc::new(PooledObject::new(id, retrying.clone(), object(id)))).collect();
    (Pool::new(background, memory, Duration::from_millis(silence)), objects)
}

fn check(pool: &Pool, object: &Arc<PooledObject>, range: Range<u64>) {
    let mut buffer = vec![0; usize::try_from(range.end - range.start).expect("small")];
    pool.read(object, range.start, &mut buffer).expect("readable");
    assert!(buffer.iter().zip(range).all(|(found, at)| *found == byte(at)), "other bytes");
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..500 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("not within five seconds: {what}");
}

/// Fails instead of hanging where readers wait for ever.
fn within_a_minute(work: impl FnOnce() + Send + 'static) {
    let (done, wait) = mpsc::channel();
    let worker = std::thread::spawn(move || {
        work();
        let _nobody = done.send(());
    });
    match wait.recv_timeout(Duration::from_secs(60)) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("readers wait for ever"),
        _ => worker.join().expect("the right bytes"),
    }
}

#[test]
fn one_request_brings_what_was_announced() {
    let store = Arc::new(Counting::default());
    let len = 5_000_001;
    let (pool, objects) = pool(&store, 64 << 20, 1000, 2, len);
    objects.iter().for_each(|object| pool.prefetch(object, 0..len));
    for start in (0..len).step_by(300_000) {
        objects.iter().for_each(|object| check(&pool, object, start..len.min(start + 300_000)));
    }
    let mut asked = store.asked.lock().expect("no panic").clone();
    asked.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(asked, [("0".to_owned(), 0..len), ("1".to_owned(), 0..len)]);
}

#[test]
fn a_reader_that_says_nothing_but_moves_forward_is_read_ahead_for() {
    let store = Arc::new(Counting::default());
    let len = 12_000_000;
    let (pool, objects) = pool(&store, 64 << 20, 1000, 1, len);
    for start in (0..len).step_by(10_000) {
        check(&pool, &objects[0], start..len.min(start + 10_000));
    }
    let asked = store.asked.lock().expect("no panic").len();
    assert!(asked <= 4, "{asked} requests");
}

/// More readers than blocks, in the order in which a comparison reads: both sides of each piece, pieces handed out in
/// turn, several pairs at once.
#[test]
fn many_readers_share_the_least_room() {
    for cut in [None, Some(700_000)] {
        within_a_minute(move || {
            let store = Arc::new(Counting { cut, ..Counting::default() });
            let len = 1_500_000;
            let (pool, objects) = pool(&store, 0, 1000, 8, len);
            let limit = 4;
            std::thread::scope(|scope| {
                for pair in objects.chunks(2) {
                    for reader in 0..3 {
                        let pool = &pool;
                        scope.spawn(move || {
                            pair.iter().for_each(|object| pool.prefetch(object, 0..len));
                            for start in (reader * 250_000..len).step_by(750_000) {
                                for at in (start..start + 250_000).step_by(125_000) {
                                    pair.iter().for_each(|object| check(pool, object, at..at + 125_000));
                                    assert!(pool.blocks.lock().places() <= limit, "more than there is room for");
                                }
                            }
                        });
                    }
                }
            });
        });
    }
}

/// All places are being filled for nobody when the reader comes, and nothing but their end makes room for it.
#[test]
fn a_reader_gets_the_place_of_what_nobody_wants_any_more() {
    within_a_minute(|| {
        let store = Arc::new(Counting { slow: Duration::from_millis(20), ..Counting::default() });
        let (pool, objects) = pool(&store, 0, 600_000, 5, SMALLEST_BLOCK);
        for (number, object) in objects[..4].iter().enumerate() {
            pool.prefetch(object, 0..SMALLEST_BLOCK);
            wait_until("its place taken", || pool.blocks.lock().places() > number);
        }
        objects[..4].iter().for_each(|object| pool.release(object));
        check(&pool, &objects[4], 0..SMALLEST_BLOCK);
    });
}

#[test]
fn nothing_is_sent_that_there_is_no_room_for_and_nobody_is_kept_waiting_for_nothing() {
    let store = Arc::new(Counting::default());
    let len = 100 << 20;
    let (pool, objects) = pool(&store, 0, 200, 1, len);
    pool.prefetch(&objects[0], 0..len);
    wait_until("given up", || Arc::strong_count(&store.open) == 1 && !store.asked.lock().expect("no panic").is_empty());
    let sent = store.sent.load(Ordering::Relaxed) as u64;
    assert!(sent <= 2 * SMALLEST_BLOCK + PIECE, "{sent} bytes of {len}");
    check(&pool, &objects[0], 0..1000);
    check(&pool, &objects[0], 50_000_000..51_000_000);
}

#[test]
fn a_reader_that_leaves_ends_its_request() {
    let store = Arc::new(Counting::default());
    let (pool, objects) = pool(&store, 0, 60_000, 1, 100 << 20);
    pool.prefetch(&objects[0], 0..100 << 20);
    check(&pool, &objects[0], 0..200_000);
    assert!(Arc::strong_count(&store.open) > 1);
    pool.release(&objects[0]);
    wait_until("ended", || Arc::strong_count(&store.open) == 1);
}

#[test]
fn a_failure_is_told_and_the_next_reader_tries_again() {
    let store = Arc::new(Counting { cut: Some(0), ..Counting::default() });
    let (pool, objects) = pool(&store, 0, 1000, 1, 1_000_000);
    for tries in [3, 6] {
        let error = pool.read(&objects[0], 0, &mut [0; 100_000]).expect_err("cut");
        assert!(error.message().contains("gave up after 3 tries"), "{error}");
        assert_eq!(store.asked.lock().expect("no panic").len(), tries);
    }
}
