//! Hashes of names and values, in place of themselves.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash};
use std::sync::LazyLock;

use foldhash::quality::RandomState;

/// Values by a hash from this module.
pub(crate) type ByHash<T> = HashMap<u64, T, foldhash::fast::RandomState>;
/// Values by keys that are hashed in less time than the standard library takes; of no artifact is it known which collide.
pub(crate) type FastMap<K, V> = HashMap<K, V, foldhash::fast::RandomState>;
/// Keys by such hashes.
pub(crate) type FastSet<K> = HashSet<K, foldhash::fast::RandomState>;
/// Hashes from this module.
pub(crate) type Hashes = HashSet<u64, foldhash::fast::RandomState>;

/// A hash that is the same within one run of the program, and evenly spread. Its seed is drawn for every run: no artifact
/// can be made to hold two things that share one.
pub(crate) fn hash_of<T: Hash + ?Sized>(value: &T) -> u64 {
    static STATE: LazyLock<RandomState> = LazyLock::new(RandomState::default);
    STATE.hash_one(value)
}
