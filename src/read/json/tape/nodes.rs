//! The parts of a value, in the order of the document.

use super::super::value::Json;
use crate::hash::{ByHash, hash_of};

/// The parts of a value, and the keys of the objects that are being read.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    list: Vec<Node>,
    /// The first keys of each object that is being read, those of the innermost last.
    keys: Vec<Key>,
    /// Number of repeated keys of objects.
    repeated: u64,
}

/// One part of a value.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// A scalar other than a text.
    Scalar(Json),
    /// A text, as a range of the tape's texts.
    Text(Span),
    /// An array, with the index after its last item.
    Array(usize),
    /// An object, with the index after its last entry.
    Object(usize),
    /// A key, and the index of its value; of the last value if the key is repeated.
    Key { text: Span, value: usize },
    /// A repeated key of an object.
    Repeated,
}

/// A range of the tape's texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Span {
    fn of(self, texts: &[u8]) -> &[u8] {
        texts.get(self.start..self.end).unwrap_or_default()
    }
}

impl Nodes {
    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.keys.clear();
        self.repeated = 0;
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.list.as_slice())
    }

    pub(super) fn has_repeated_keys(&self) -> bool {
        self.repeated > 0
    }

    pub(super) fn get(&self, index: usize) -> Option<&Node> {
        self.list.get(index)
    }

    /// Index after the value at `index`.
    pub(super) fn after(&self, index: usize) -> usize {
        match self.list.get(index) {
            Some(Node::Array(end) | Node::Object(end)) => *end,
            _ => index + 1,
        }
    }

    pub(super) fn push(&mut self, node: Node) {
        self.list.push(node);
    }

    /// Adds the node of an array or object whose end is not known yet, and returns its index.
    pub(super) fn open(&mut self, node: Node) -> usize {
        self.list.push(node);
        self.list.len() - 1
    }

    /// Replaces the node at `start` by one that knows its end.
    pub(super) fn close(&mut self, start: usize, node: Node) {
        self.list.get_mut(start).into_iter().for_each(|open| *open = node.clone());
    }

    /// Begins the keys of an object.
    pub(super) fn open_keys(&self) -> Keys {
        Keys { first: self.keys.len(), many: None }
    }

    /// Ends the keys of the innermost object.
    pub(super) fn close_keys(&mut self, keys: Keys) {
        self.keys.truncate(keys.first);
    }

    /// Adds the key at `text` of `texts`, whose value follows.
    pub(super) fn push_key(&mut self, keys: &mut Keys, texts: &[u8], text: Span) {
        let (place, value) = (self.list.len(), self.list.len() + 1);
        let known = keys.insert(&mut self.keys, texts, text, place);
        self.list.push(if known.is_some() { Node::Repeated } else { Node::Key { text, value } });
        if let Some(Node::Key { value: first, .. }) = known.and_then(|known| self.list.get_mut(known)) {
            *first = value;
            self.repeated += 1;
        }
    }
}

/// A key of an object, and the index of its node.
#[derive(Clone, Copy, Debug)]
struct Key {
    /// Its first bytes, which tell nearly all keys apart without a look at the texts.
    prefix: u64,
    text: Span,
    place: usize,
}

impl Key {
    /// The key at `text` of `texts`.
    fn new(texts: &[u8], text: Span, place: usize) -> Self {
        let bytes = text.of(texts);
        let few = || bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
        Self { prefix: bytes.first_chunk().map_or_else(few, |first| u64::from_be_bytes(*first)), text, place }
    }

    fn is_same(&self, other: &Self, texts: &[u8]) -> bool {
        let len = self.text.end - self.text.start;
        self.prefix == other.prefix
            && len == other.text.end - other.text.start
            && (len <= size_of::<u64>() || self.text.of(texts) == other.text.of(texts))
    }
}

/// Keys of one object while it is read.
pub(super) struct Keys {
    /// Index of its first key in [`Nodes::keys`].
    first: usize,
    /// Further keys of a large object.
    many: Option<ByHash<usize>>,
}

impl Keys {
    /// Objects up to this size are searched without an index.
    const FEW: usize = 16;

    /// Adds the key at `text` of `texts`, whose node will be `place`; returns that of the same key before, if there is one. `all` are
    /// the first keys of all objects.
    fn insert(&mut self, all: &mut Vec<Key>, texts: &[u8], text: Span, place: usize) -> Option<usize> {
        let key = Key::new(texts, text, place);
        let few = all.get(self.first..).unwrap_or_default();
        if let Some(known) = few.iter().find(|known| known.is_same(&key, texts)) {
            return Some(known.place);
        }
        if few.len() < Self::FEW {
            all.push(key);
            return None;
        }
        let many = self.many.get_or_insert_default();
        let hash = hash_of(text.of(texts));
        let known = many.get(&hash).copied();
        if known.is_none() {
            many.insert(hash, place);
        }
        known
    }
}
