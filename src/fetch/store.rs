//! What every transport that can read ranges looks like to the rest of this stage.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use futures_util::future::BoxFuture;

use super::retry::{Failure, Retry};
use crate::error::{Error, ErrorKind, Result};

/// Objects that give up one after the other before the rest is not even asked for.
const OUTAGE: u32 = 3;

/// An object as it was when it was listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Object {
    /// How the store calls it.
    pub(super) key: String,
    /// Length in bytes.
    pub(super) len: u64,
    /// What changes when the object does, where the store tells.
    pub(super) etag: Option<String>,
}

/// Something that gives ranges of objects.
pub(super) trait Store: Send + Sync {
    /// How messages call an object.
    fn name(&self, object: &Object) -> String;

    /// Appends the bytes of `range` to `into`, as they arrive: after a failure it holds what came until then.
    fn read<'a>(
        &'a self,
        object: &'a Object,
        range: Range<u64>,
        into: &'a mut Vec<u8>,
    ) -> BoxFuture<'a, Result<(), Failure>>;
}

/// A store with its patience: one for all objects of a location.
pub(super) struct PatientStore {
    store: Arc<dyn Store>,
    retry: Retry,
    given_up: AtomicU32,
    outage: OnceLock<Error>,
    failure: Arc<OnceLock<Error>>,
}

impl PatientStore {
    /// Reads from `store`; `failure` is told of the first object that could not be had.
    pub(super) fn new(store: Arc<dyn Store>, retry: Retry, failure: Arc<OnceLock<Error>>) -> Self {
        Self { store, retry, given_up: AtomicU32::new(0), outage: OnceLock::new(), failure }
    }

    /// Fills `bytes` with all of `range`. A try that was cut goes on where it was cut.
    pub(super) async fn read(&self, object: &Object, range: Range<u64>, bytes: &mut Vec<u8>) -> Result<()> {
        if let Some(outage) = self.outage.get() {
            return Err(outage.clone());
        }
        let mut tried = 0;
        let outcome = loop {
            match self.attempt(object, &range, bytes).await {
                Ok(()) => break Ok(()),
                Err(failure) => {
                    if let Err(error) = self.retry.pause(&mut tried, failure).await {
                        break Err(error);
                    }
                }
            }
        };
        match &outcome {
            Ok(()) => self.given_up.store(0, Ordering::Relaxed),
            Err(error) if error.kind() == ErrorKind::Unavailable => self.note(error),
            Err(_) => {}
        }
        outcome
    }

    async fn attempt(&self, object: &Object, range: &Range<u64>, bytes: &mut Vec<u8>) -> Result<(), Failure> {
        let left = range.start + bytes.len() as u64..range.end;
        self.store.read(object, left, bytes).await?;
        let (found, wanted) = (bytes.len() as u64, range.end - range.start);
        if found == wanted {
            return Ok(());
        }
        Err(Failure::temporary(self.store.name(object), format!("{found} of {wanted} bytes arrived")))
    }

    /// When object after object cannot be had, the service is out, and waiting for each would take hours.
    fn note(&self, error: &Error) {
        let _first = self.failure.set(error.clone());
        if self.given_up.fetch_add(1, Ordering::Relaxed) + 1 >= OUTAGE {
            let _first = self.outage.set(error.clone());
        }
    }
}
