//! A table of distinct texts, stored one after the other.

use crate::hash::{self, ByHash};

/// Texts by index, in the order in which they first came; the empty one has index 0.
#[derive(Debug)]
pub(super) struct IndexedTexts {
    all: String,
    /// Offset in bytes at which each ends.
    ends: Vec<usize>,
    /// Index of each text by its hash; on a collision the next free hash is used.
    index: ByHash<u32>,
}

impl Default for IndexedTexts {
    fn default() -> Self {
        let mut texts = Self { all: String::new(), ends: Vec::new(), index: ByHash::default() };
        texts.index("");
        texts
    }
}

impl IndexedTexts {
    /// Index of `text`, which is added where it is new.
    pub(super) fn index(&mut self, text: &str) -> u32 {
        let mut place = hash::hash_of(text);
        while let Some(known) = self.index.get(&place) {
            if self.get(*known) == Some(text) {
                return *known;
            }
            place = place.wrapping_add(1);
        }
        let next = u32::try_from(self.ends.len()).unwrap_or(u32::MAX);
        self.all.push_str(text);
        self.ends.push(self.all.len());
        self.index.insert(place, next);
        next
    }

    /// Index of `text`, which is often the text with the index `last`; stores the index in `last`.
    pub(super) fn index_or_last(&mut self, last: &mut u32, text: &str) -> u32 {
        if self.get(*last) != Some(text) {
            *last = self.index(text);
        }
        *last
    }

    /// The text of an index.
    pub(super) fn get(&self, index: u32) -> Option<&str> {
        let index = index as usize;
        let start = index.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        self.all.get(start..*self.ends.get(index)?)
    }

    /// Number of texts.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Length of all texts together.
    pub(super) fn bytes(&self) -> usize {
        self.all.len()
    }

    /// The texts from index `first` on.
    pub(super) fn texts_from(&self, first: usize) -> impl Iterator<Item = &str> {
        (first..self.len()).filter_map(|index| self.get(u32::try_from(index).ok()?))
    }

    /// Forgets all texts but the empty one.
    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.ends.clear();
        self.index.clear();
        self.index("");
    }
}
