//! Digests of texts, so that the texts need not stay in memory. Digests are comparable only within one run of this program.

use std::hash::{DefaultHasher, Hasher};

use super::cursor::{Cursor, Parsed};

/// Digest of a sequence of texts.
#[derive(Default)]
pub(super) struct Digest {
    hasher: DefaultHasher,
    texts: u64,
}

impl Digest {
    /// Digest of one text.
    pub(super) fn of_text(text: &str) -> u64 {
        let mut digest = Self::default();
        digest.add(text);
        digest.finish().unwrap_or_default()
    }

    /// Adds a text. The boundaries between texts are part of the digest.
    pub(super) fn add(&mut self, text: &str) {
        self.texts += 1;
        self.hasher.write(text.as_bytes());
        self.hasher.write_u64(text.len() as u64);
    }

    /// Adds a JSON value: a string without its escapes, any other value as it is written.
    pub(super) fn add_value(&mut self, cursor: &mut Cursor<'_>) -> Parsed<()> {
        if cursor.peek() == Some(b'"') {
            self.add(&cursor.text()?);
        } else {
            self.add(&String::from_utf8_lossy(cursor.raw()?));
        }
        Ok(())
    }

    /// Returns the digest; `None` if nothing was added.
    pub(super) fn finish(&self) -> Option<u64> {
        (self.texts > 0).then(|| self.hasher.finish())
    }
}
