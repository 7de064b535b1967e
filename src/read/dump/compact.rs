//! Compact storage for dumps of millions of values: shared texts and shapes, packed texts, and names as hashes.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;

use crate::hash::hash_of;

/// Pool in which equal texts and equal shapes share their memory.
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

/// Texts stored one after the other in one buffer. A text costs its bytes and 8 more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PackedTexts {
    bytes: String,
    ends: Vec<usize>,
}

impl PackedTexts {
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

    /// Bytes of all texts.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Reserves memory if possible.
    pub(super) fn reserve(&mut self, texts: usize, bytes: usize) {
        let _grows = self.ends.try_reserve(texts);
        let _grows = self.bytes.try_reserve(bytes);
    }

    pub(super) fn shrink_to_fit(&mut self) {
        self.bytes.shrink_to_fit();
        self.ends.shrink_to_fit();
    }
}

/// Map from names to values that keeps only the 64-bit hash of each name. The names themselves are kept in the operations. Two
/// names share a hash about once in a million dumps. A name costs 12 bytes, which dumps of the same names share.
#[derive(Clone, Debug)]
pub struct ByName<T> {
    names: Arc<HashedNames>,
    values: Vec<T>,
}

/// Hash of each name, sorted, and the index of its value.
#[derive(Debug, Default, PartialEq, Eq)]
struct HashedNames {
    hashes: Vec<u64>,
    values: Vec<u32>,
}

impl<T> Default for ByName<T> {
    fn default() -> Self {
        Self { names: Arc::default(), values: Vec::new() }
    }
}

impl<T> ByName<T> {
    /// Value of `name`.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.values.get(self.index(name)?)
    }

    /// Index of the value with the hash `wanted`.
    fn index_of(&self, wanted: u64) -> Option<u32> {
        let place = self.names.hashes.binary_search(&wanted).ok()?;
        self.names.values.get(place).copied()
    }

    /// Index of the value of `name` among [`values`](Self::values).
    pub fn index(&self, name: &str) -> Option<usize> {
        self.index_of(hash_of(name)).map(|index| index as usize)
    }

    /// All values; several names may share one value.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Whether no name has a value.
    pub fn is_empty(&self) -> bool {
        self.names.hashes.is_empty()
    }

    /// Shares the names with `other` if they are the same and have values of the same indices.
    pub(super) fn share_names(&mut self, other: &Self) {
        if self.names == other.names {
            self.names = Arc::clone(&other.names);
        }
    }

    /// Whether the names are shared with `other`.
    pub(crate) fn has_names_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.names, &other.names)
    }
}

/// A [`ByName`] that is being filled.
pub(super) struct ByNameBuilder<T> {
    /// Hash of each name and index of its value.
    places: Vec<(u64, u32)>,
    values: Vec<T>,
}

impl<T> Default for ByNameBuilder<T> {
    fn default() -> Self {
        Self { places: Vec::new(), values: Vec::new() }
    }
}

impl<T> ByNameBuilder<T> {
    /// Adds a value and returns its index, to be assigned to names.
    pub(super) fn add_value(&mut self, value: T) -> u32 {
        self.values.push(value);
        u32::try_from(self.values.len() - 1).unwrap_or(u32::MAX)
    }

    /// Assigns the value at `index` to `name`. If a name is assigned several times, the last one counts, as in Python.
    pub(super) fn assign(&mut self, name: &str, index: u32) {
        self.places.push((hash_of(name), index));
    }

    pub(super) fn finish(mut self) -> ByName<T> {
        self.places.reverse();
        self.places.sort_by_key(|(hash, _)| *hash);
        self.places.dedup_by_key(|(hash, _)| *hash);
        let (hashes, values) = self.places.into_iter().unzip();
        ByName { names: Arc::new(HashedNames { hashes, values }), values: self.values }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn a_name_is_found_however_many_there_are(count in 0_u32..3000) {
            let mut builder = ByNameBuilder::default();
            for number in 0..count {
                let value = builder.add_value(number);
                builder.assign(&format!("op.{number}.forward"), value);
            }
            let names = builder.finish();
            for number in 0..count {
                proptest::prop_assert_eq!(names.get(&format!("op.{number}.forward")), Some(&number));
            }
            proptest::prop_assert_eq!(names.get("another"), None);
        }
    }
}
