//! Interface of every transport that can read ranges.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;

use crate::error::{Error, ErrorKind, Result};
use crate::fetch::retry::{Failure, Retry, Tries};

/// Number of consecutive objects that fail before no further object is requested.
const OUTAGE: u32 = 3;

/// An object as it was when it was listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Object {
    /// Key in the store.
    pub(super) key: String,
    /// Length in bytes.
    pub(super) len: u64,
    /// Entity tag, which changes when the object does; `None` where the store does not tell one.
    pub(super) etag: Option<String>,
}

/// Bytes as they arrive.
pub(super) type Pieces<'a> = BoxStream<'a, Result<Bytes, Failure>>;

/// A store that can read ranges of objects.
pub(super) trait Store: Send + Sync {
    /// Name of an object in messages.
    fn name(&self, object: &Object) -> String;

    /// The bytes of `range`, by one request that is sent when the first piece is requested. The sender has to wait while no piece is
    /// requested; dropping the pieces ends the request.
    fn read<'a>(&'a self, object: &'a Object, range: Range<u64>) -> Pieces<'a>;
}

/// A store with its retry policy, shared by all objects of a location.
pub(super) struct RetryingStore {
    store: Arc<dyn Store>,
    retry: Retry,
    given_up: AtomicU32,
    outage: OnceLock<Error>,
    failure: Arc<OnceLock<Error>>,
}

impl RetryingStore {
    /// Reads from `store`; `failure` receives the error of the first object that could not be read.
    pub(super) fn new(store: Arc<dyn Store>, retry: Retry, failure: Arc<OnceLock<Error>>) -> Self {
        Self { store, retry, given_up: AtomicU32::new(0), outage: OnceLock::new(), failure }
    }

    /// Begins to read `range`.
    pub(super) fn read<'a>(&'a self, object: &'a Object, range: Range<u64>) -> Reading<'a> {
        Reading { from: self, object, range, pieces: None, rest: Bytes::new() }
    }

    /// Counts an object that could not be read. After [`OUTAGE`] of them the service counts as down, since waiting for each object
    /// would take hours.
    fn note(&self, error: &Error) {
        let _first = self.failure.set(error.clone());
        if self.given_up.fetch_add(1, Ordering::Relaxed) + 1 >= OUTAGE {
            let _first = self.outage.set(error.clone());
        }
    }
}

/// A range that is being read from front to back: by one request, or by several if the connection broke.
pub(super) struct Reading<'a> {
    from: &'a RetryingStore,
    object: &'a Object,
    /// Bytes of the object that were not returned yet.
    range: Range<u64>,
    pieces: Option<Pieces<'a>>,
    /// Bytes that arrived but were not returned yet.
    rest: Bytes,
}

impl Reading<'_> {
    /// Appends the next `len` bytes to `into`. After a broken connection it continues at the same position, as often as the retry
    /// policy allows for these bytes.
    pub(super) async fn append_next(&mut self, len: usize, into: &mut Vec<u8>) -> Result<()> {
        if let Some(outage) = self.from.outage.get() {
            return Err(outage.clone());
        }
        let (full, mut tries) = (into.len() + len, Tries::default());
        let outcome = loop {
            match self.attempt(full, into).await {
                Ok(()) => break Ok(()),
                Err(failure) => {
                    self.pieces = None;
                    if let Err(error) = self.from.retry.pause(&mut tries, failure).await {
                        break Err(error);
                    }
                }
            }
        };
        match &outcome {
            Ok(()) => self.from.given_up.store(0, Ordering::Relaxed),
            Err(error) if error.kind() == ErrorKind::Unavailable => self.from.note(error),
            Err(_) => {}
        }
        outcome
    }

    async fn attempt(&mut self, full: usize, into: &mut Vec<u8>) -> Result<(), Failure> {
        while into.len() < full {
            if self.rest.is_empty() {
                self.rest = self.next_piece().await?;
            }
            let part = self.rest.split_to(self.rest.len().min(full - into.len()));
            into.extend_from_slice(&part);
            self.range.start += part.len() as u64;
        }
        Ok(())
    }

    async fn next_piece(&mut self) -> Result<Bytes, Failure> {
        let (from, object, range) = (self.from, self.object, self.range.clone());
        let pieces = self.pieces.get_or_insert_with(|| from.store.read(object, range.clone()));
        match pieces.next().await {
            Some(piece) => piece,
            None => {
                let message = format!("the answer ends {} bytes early", range.end - range.start);
                Err(Failure::temporary(from.store.name(object), message))
            }
        }
    }
}
