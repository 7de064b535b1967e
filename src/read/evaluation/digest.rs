//! Digests of texts, so that they need not stay in memory. They are compared within one run of the program only.

use std::hash::{DefaultHasher, Hasher};

use super::cursor::{Cursor, Parsed};

/// A digest that grows.
#[derive(Default)]
pub(super) struct Digest {
    hasher: DefaultHasher,
    texts: u64,
}

impl Digest {
    /// Digest of one text.
    pub(super) fn of(text: &str) -> u64 {
        let mut digest = Self::default();
        digest.add(text);
        digest.finish().unwrap_or_default()
    }

    /// Adds a text; where it begins and ends counts.
    pub(super) fn add(&mut self, text: &str) {
        self.texts += 1;
        self.hasher.write(text.as_bytes());
        self.hasher.write_u64(text.len() as u64);
    }

    /// Adds a JSON value: a text as it reads, anything else as it is written.
    pub(super) fn value(&mut self, cursor: &mut Cursor<'_>) -> Parsed<()> {
        if cursor.peek() == Some(b'"') {
            self.add(&cursor.text()?);
        } else {
            self.add(&String::from_utf8_lossy(cursor.raw()?));
        }
        Ok(())
    }

    /// The digest; `None` where nothing was added.
    pub(super) fn finish(&self) -> Option<u64> {
        (self.texts > 0).then(|| self.hasher.finish())
    }
}
