//! A remote object that is read through a pool of blocks.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use super::store::{Object, RetryingStore};

/// An object of a location, ready to be read.
pub(super) struct PooledObject {
    /// Number that distinguishes it from all other objects of the pool.
    pub(super) id: u64,
    /// Store that holds it.
    pub(super) store: Arc<RetryingStore>,
    /// Address of the object in its store.
    pub(super) object: Object,
    /// Number of readers that have it open.
    pub(super) readers: AtomicUsize,
}

impl PooledObject {
    /// `object` of `store`; no other object of the pool may have this `id`.
    pub(super) fn new(id: u64, store: Arc<RetryingStore>, object: Object) -> Self {
        Self { id, store, object, readers: AtomicUsize::new(0) }
    }
}
