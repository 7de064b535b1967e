//! A table of distinct texts, stored one after the other.

use hashbrown::HashTable;

use crate::hash::hash_of;

/// Texts by index, in the order in which they first came; the empty one has index 0.
#[derive(Debug)]
pub(super) struct IndexedTexts {
    all: String,
    /// Offset in bytes at which each ends; a page has less than 4 GiB of them.
    ends: Vec<u32>,
    /// Index of each text by its hash.
    index: HashTable<u32>,
}

impl Default for IndexedTexts {
    fn default() -> Self {
        let mut texts = Self { all: String::new(), ends: Vec::new(), index: HashTable::new() };
        texts.index("");
        texts
    }
}

impl IndexedTexts {
    /// Index of `text`, which is added where it is new.
    pub(super) fn index(&mut self, text: &str) -> u32 {
        let Self { all, ends, index } = self;
        let hash = hash_of(text);
        if let Some(known) = index.find(hash, |known| text_at(all, ends, *known) == Some(text)) {
            return *known;
        }
        let next = u32::try_from(ends.len()).unwrap_or(u32::MAX);
        all.push_str(text);
        ends.push(u32::try_from(all.len()).unwrap_or(u32::MAX));
        index.insert_unique(hash, next, |known| text_at(all, ends, *known).map_or(0, hash_of));
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
        text_at(&self.all, &self.ends, index)
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

/// The text of an index, of those that stand in `all` and end at `ends`.
fn text_at<'a>(all: &'a str, ends: &[u32], index: u32) -> Option<&'a str> {
    let index = index as usize;
    let start = index.checked_sub(1).map_or(Some(0), |before| ends.get(before).copied())?;
    all.get(start as usize..*ends.get(index)? as usize)
}
