//! Texts of a table, each stored once, because names, shapes and types recur at every step.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::name;
use super::version::MonitorVersion;
use crate::kind::MonitorKind;

/// Most shapes and element types that are stored once. Further ones are stored with each row.
const MOST_WORDS: usize = 1 << 16;

/// Name of a tensor.
#[derive(Clone, Debug)]
pub(super) struct Name {
    /// Name as the tool wrote it.
    pub(super) written: Arc<str>,
    /// Canonical name, which is the same for both versions.
    pub(super) canonical: Arc<str>,
}

impl Name {
    fn new(written: &str, kind: MonitorKind, version: MonitorVersion) -> Self {
        let canonical = name::canonical_name(written, kind, version);
        let written: Arc<str> = written.into();
        let canonical = if *canonical == *written { written.clone() } else { canonical.into() };
        Self { written, canonical }
    }
}

#[derive(Debug, Default)]
pub(super) struct TableTexts {
    /// Names by kind, each with whether it ever had a tensor.
    names: HashMap<MonitorKind, HashMap<Arc<str>, (Name, bool)>>,
    /// Number of names.
    pub(super) count: usize,
    words: HashSet<Arc<str>>,
    /// Bytes of memory that all texts take.
    pub(super) bytes: usize,
}

impl TableTexts {
    /// Stores a name, and records whether it has a tensor.
    pub(super) fn note_name(&mut self, written: &str, kind: MonitorKind, version: MonitorVersion, is_tensor: bool) {
        let names = self.names.entry(kind).or_default();
        match names.get_mut(written) {
            Some((_, was_tensor)) => *was_tensor |= is_tensor,
            None => {
                let name = Name::new(written, kind, version);
                let name_bytes = name.written.len() + name.canonical.len();
                names.insert(name.written.clone(), (name, is_tensor));
                self.count += 1;
                self.bytes += size_of::<(Arc<str>, (Name, bool))>() + name_bytes;
            }
        }
    }

    /// Stores a shape or type.
    pub(super) fn note_word(&mut self, word: Option<&str>) {
        if let Some(word) = word
            && self.words.len() < MOST_WORDS
            && !self.words.contains(word)
        {
            self.bytes += size_of::<Arc<str>>() + word.len();
            self.words.insert(word.into());
        }
    }

    /// Stored name, or a new one if it is not stored.
    pub(super) fn name(&self, written: &str, kind: MonitorKind, version: MonitorVersion) -> Name {
        let known = self.names.get(&kind).and_then(|names| names.get(written));
        known.map_or_else(|| Name::new(written, kind, version), |(name, _)| name.clone())
    }

    /// Stored shape or type, or a new text if it is not stored.
    pub(super) fn word(&self, word: &str) -> Arc<str> {
        self.words.get(word).cloned().unwrap_or_else(|| word.into())
    }

    /// Kinds and canonical names of all tensors.
    pub(super) fn tensors(&self) -> impl Iterator<Item = (MonitorKind, &str)> {
        let of_kind = |(kind, names): (&MonitorKind, _)| (*kind, names);
        let all = self.names.iter().map(of_kind);
        all.flat_map(|(kind, names): (MonitorKind, &HashMap<Arc<str>, (Name, bool)>)| {
            names.values().filter(|(_, is_tensor)| *is_tensor).map(move |(name, _)| (kind, &*name.canonical))
        })
    }
}
