//! Keeping a dump of millions of values small: texts and shapes once, texts one after the other, names as hashes.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Gives equal texts and equal shapes the same memory.
#[derive(Debug, Default)]
pub(super) struct Shared {
    texts: HashSet<Arc<str>>,
    shapes: HashSet<Arc<[u64]>>,
}

impl Shared {
    pub(super) fn text(&mut self, text: &str) -> Arc<str> {
        once(&mut self.texts, text)
    }

    pub(super) fn shape(&mut self, shape: &[u64]) -> Arc<[u64]> {
        once(&mut self.shapes, shape)
    }
}

fn once<T: ?Sized + Hash + Eq>(known: &mut HashSet<Arc<T>>, wanted: &T) -> Arc<T>
where
    Arc<T>: Borrow<T> + for<'a> From<&'a T>,
{
    known.get(wanted).cloned().unwrap_or_else(|| {
        let shared: Arc<T> = wanted.into();
        known.insert(shared.clone());
        shared
    })
}

/// Texts one after the other in one piece of memory: a text costs its bytes and 8 more.
#[derive(Clone, Debug, Default)]
pub(super) struct Texts {
    bytes: String,
    ends: Vec<usize>,
}

impl Texts {
    pub(super) fn push(&mut self, text: &str) {
        self.bytes.push_str(text);
        self.ends.push(self.bytes.len());
    }

    pub(super) fn get(&self, index: usize) -> Option<&str> {
        let end = *self.ends.get(index)?;
        let start = index.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        self.bytes.get(start..end)
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn shrink_to_fit(&mut self) {
        self.bytes.shrink_to_fit();
        self.ends.shrink_to_fit();
    }
}

/// A value for each of many names, without the names: they stand in the operations, and two of them share a hash of
/// 64 bits once in a million dumps. A name costs 16 bytes.
#[derive(Clone, Debug)]
pub struct ByName<T> {
    /// Hash of the name and index of its value, by hash.
    places: Vec<(u64, u32)>,
    values: Vec<T>,
}

impl<T> Default for ByName<T> {
    fn default() -> Self {
        Self { places: Vec::new(), values: Vec::new() }
    }
}

impl<T> ByName<T> {
    /// The value of `name`.
    pub fn get(&self, name: &str) -> Option<&T> {
        let place = self.places.binary_search_by_key(&hash_of(name), |(hash, _)| *hash).ok()?;
        self.values.get(self.places.get(place)?.1 as usize)
    }

    /// Whether no name has a value.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}

/// A [`ByName`] that is being filled.
pub(super) struct ByNameBuilder<T>(ByName<T>);

impl<T> Default for ByNameBuilder<T> {
    fn default() -> Self {
        Self(ByName::default())
    }
}

impl<T> ByNameBuilder<T> {
    /// Adds a value that names can be given, and tells its index.
    pub(super) fn value(&mut self, value: T) -> u32 {
        self.0.values.push(value);
        u32::try_from(self.0.values.len() - 1).unwrap_or(u32::MAX)
    }

    /// Gives `name` the value at `index`; of several, the last counts, as in Python.
    pub(super) fn name(&mut self, name: &str, index: u32) {
        self.0.places.push((hash_of(name), index));
    }

    pub(super) fn finish(mut self) -> ByName<T> {
        let places = &mut self.0.places;
        places.reverse();
        places.sort_by_key(|(hash, _)| *hash);
        places.dedup_by_key(|(hash, _)| *hash);
        places.shrink_to_fit();
        self.0
    }
}

fn hash_of(name: &str) -> u64 {
    let mut hash = DefaultHasher::new();
    name.hash(&mut hash);
    hash.finish()
}
