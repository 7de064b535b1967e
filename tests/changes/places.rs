//! Places of the values in JSON texts, so that one of them changes and every other byte stays.
//!
//! Texts that Python writes are read as well: `NaN`, `Infinity`, and several texts one after the other.

use std::ops::Range;

/// Place of a value in a text.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// Keys and numbers that lead to it; the first is the number of the text.
    pub(crate) path: Vec<String>,
    /// The value with its key.
    pub(crate) whole: Range<usize>,
    /// The value alone.
    pub(crate) value: Range<usize>,
}

impl Place {
    /// The key or number of the value.
    pub(crate) fn key(&self) -> &str {
        self.path.last().map_or("", String::as_str)
    }

    /// Range to cut so that the value is gone and the rest is still JSON.
    pub(crate) fn cut(&self, bytes: &[u8]) -> Range<usize> {
        let is_blank = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_whitespace);
        let (mut start, mut end) = (self.whole.start, self.whole.end);
        while is_blank(end) {
            end += 1;
        }
        if bytes.get(end) == Some(&b',') {
            return start..end + 1;
        }
        while start > 0 && is_blank(start - 1) {
            start -= 1;
        }
        match start.checked_sub(1).filter(|before| bytes[*before] == b',') {
            Some(comma) => comma..self.whole.end,
            None => self.whole.start..if self.path.len() == 1 { end } else { self.whole.end },
        }
    }

    /// Whether it is neither a list nor an object.
    pub(crate) fn is_plain(&self, bytes: &[u8]) -> bool {
        !matches!(bytes.get(self.value.start), Some(b'{' | b'['))
    }
}

/// Places of all values of a text, each before those within it.
pub(crate) fn places(bytes: &[u8]) -> Vec<Place> {
    let mut scanner = Scanner { bytes, at: 0, path: Vec::new(), found: Vec::new() };
    for number in 0.. {
        scanner.skip_blank();
        if scanner.at >= bytes.len() {
            break;
        }
        scanner.member(scanner.at, number.to_string());
    }
    scanner.found
}

/// `bytes` with `with` in the place of `range`, as far as that lies in them: places of a damaged text may end behind it.
pub(crate) fn replaced(bytes: &[u8], range: &Range<usize>, with: &[u8]) -> Vec<u8> {
    let [start, end] = [range.start, range.end].map(|place| place.min(bytes.len()));
    [&bytes[..start], with, &bytes[end..]].concat()
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    path: Vec<String>,
    found: Vec<Place>,
}

impl Scanner<'_> {
    fn skip_blank(&mut self) {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    /// A value that begins here, with its key at `start`.
    fn member(&mut self, start: usize, key: String) {
        self.path.push(key);
        let number = self.found.len();
        let value = self.at;
        self.found.push(Place { path: self.path.clone(), whole: start..start, value: value..value });
        match self.bytes.get(value) {
            Some(b'{') => self.members(b'}'),
            Some(b'[') => self.members(b']'),
            Some(b'"') => drop(self.text()),
            _ => self.word(),
        }
        self.found[number].whole.end = self.at;
        self.found[number].value.end = self.at;
        self.path.pop();
    }

    fn members(&mut self, end: u8) {
        self.at += 1;
        let mut number = 0;
        loop {
            self.skip_blank();
            let start = self.at;
            match self.bytes.get(start) {
                None => return,
                Some(byte) if *byte == end => break,
                Some(b',') => self.at += 1,
                Some(_) => {
                    let key = if end == b'}' { self.key() } else { number.to_string() };
                    number += 1;
                    self.member(start, key);
                }
            }
        }
        self.at += 1;
    }

    fn key(&mut self) -> String {
        let key = self.text();
        self.skip_blank();
        self.at += 1;
        self.skip_blank();
        key
    }

    fn text(&mut self) -> String {
        let start = self.at + 1;
        self.at = start;
        while let Some(byte) = self.bytes.get(self.at).filter(|byte| **byte != b'"') {
            self.at += if *byte == b'\\' { 2 } else { 1 };
        }
        let end = self.at.min(self.bytes.len());
        self.at = (end + 1).min(self.bytes.len());
        String::from_utf8_lossy(&self.bytes[start.min(end)..end]).into_owned()
    }

    fn word(&mut self) {
        let is_part = |byte: &u8| !byte.is_ascii_whitespace() && !b",]}".contains(byte);
        self.at += 1;
        while self.bytes.get(self.at).is_some_and(is_part) {
            self.at += 1;
        }
        self.at = self.at.min(self.bytes.len());
    }
}
