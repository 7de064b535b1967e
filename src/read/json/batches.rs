//! Splitting of a large object into batches of whole entries, which can be parsed on any thread.

use super::parser::Parser;
use super::words::{plain_len, text_len};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{ByteSource, check_memory};

/// Bytes after which a batch ends with the current entry.
const BATCH: usize = 256 * 1024;
/// Most bytes that are taken from the parser at once.
const PIECE: usize = 64 * 1024;
/// Longest entry in bytes, because an entry is in memory as a whole.
const MOST_ENTRY: usize = 512 << 20;

/// Some entries of an object, as bytes of the document.
pub struct Batch<'a> {
    source: &'a dyn ByteSource,
    bytes: Vec<u8>,
    /// Offset of the bytes in the document.
    offset: u64,
    depth: usize,
    is_first: bool,
    /// Whether these are the last entries. The closing bracket is then the last byte.
    is_last: bool,
}

/// Batches of the entries of the object at a parser's position.
pub struct Batches<'p, 'a> {
    parser: &'p mut Parser<'a>,
    /// Bytes that were taken from the parser and belong to no batch yet.
    pending: Vec<u8>,
    /// Buffers of earlier batches, for later ones.
    free: Vec<Vec<u8>>,
    scan: Scan,
    state: State,
    /// Offset of the object's first entry.
    start: u64,
    next: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// The parser is after the last entry.
    Last,
    Done,
}

/// State of the search for brackets and texts.
#[derive(Debug, Default)]
struct Scan {
    /// Number of bytes of `pending` that were scanned.
    len: usize,
    depth: usize,
    in_text: bool,
    after_backslash: bool,
    /// Number of bytes up to and including the last comma between two entries.
    whole: usize,
}

impl<'a> Parser<'a> {
    /// Opens the object at the parser's position. Once all batches were taken, the parser is after the object.
    ///
    /// Damage is reported when the batch that holds it is parsed, with the messages of [`object`](Self::object).
    ///
    /// # Errors
    /// `Corrupt` if there is no object at the parser's position.
    pub fn batches(&mut self) -> Result<Batches<'_, 'a>> {
        self.open(b'{')?;
        let start = self.offset();
        let (pending, free, scan) = (Vec::new(), Vec::new(), Scan::default());
        Ok(Batches { parser: self, pending, free, scan, state: State::Open, start, next: start })
    }
}

impl<'a> Batches<'_, 'a> {
    /// Returns the next entries; `None` after the last.
    ///
    /// # Errors
    /// Errors of reading; `LimitExceeded` for an entry that is too long.
    pub(crate) fn next_batch(&mut self) -> Result<Option<Batch<'a>>> {
        while self.state == State::Open {
            if self.scan.whole >= BATCH {
                let bytes = self.cut();
                return Ok(Some(self.batch(bytes, false)));
            }
            check_memory(self.parser.source, self.pending.len())?;
            if self.pending.len() > MOST_ENTRY {
                let message = format!("an entry of over {MOST_ENTRY} bytes before byte {}", self.parser.offset());
                return Err(Error::new(ErrorKind::LimitExceeded, self.parser.source.name(), message));
            }
            self.take()?;
        }
        if self.state == State::Last {
            self.state = State::Done;
            let bytes = std::mem::take(&mut self.pending);
            return Ok(Some(self.batch(bytes, true)));
        }
        Ok(None)
    }

    /// Takes the buffer of a batch that was parsed, for a batch to come.
    pub(crate) fn reuse(&mut self, buffer: Vec<u8>) {
        self.free.push(buffer);
    }

    /// Ends the object, after all of its batches were parsed.
    ///
    /// # Errors
    /// `Corrupt` if the closing bracket is missing.
    pub fn finish(self) -> Result<()> {
        self.parser.close(b'}')
    }

    /// The whole entries of the bytes that are pending, whose rest stays.
    fn cut(&mut self) -> Vec<u8> {
        let mut rest = self.free.pop().unwrap_or_else(|| Vec::with_capacity(BATCH + PIECE));
        rest.clear();
        rest.extend_from_slice(self.pending.get(self.scan.whole..).unwrap_or_default());
        let mut bytes = std::mem::replace(&mut self.pending, rest);
        bytes.truncate(self.scan.whole);
        (self.scan.len, self.scan.whole) = (self.scan.len - bytes.len(), 0);
        bytes
    }

    fn batch(&mut self, bytes: Vec<u8>, is_last: bool) -> Batch<'a> {
        let (offset, is_first) = (self.next, self.next == self.start);
        self.next += bytes.len() as u64;
        Batch { source: self.parser.source, bytes, offset, depth: self.parser.depth, is_first, is_last }
    }

    /// Takes the bytes that the parser has read, and scans their brackets and texts.
    fn take(&mut self) -> Result<()> {
        if self.parser.position == self.parser.buffer.len() && !self.parser.fill()? {
            self.state = State::Last;
            return Ok(());
        }
        let rest = self.parser.buffer.get(self.parser.position..).unwrap_or_default();
        let rest = rest.get(..rest.len().min(PIECE)).unwrap_or_default();
        self.pending.extend_from_slice(rest);
        let taken = rest.len();
        let end = self.scan.follow(&self.pending);
        if let Some(end) = end {
            self.state = State::Last;
            self.parser.position += taken - (self.pending.len() - end);
            self.pending.truncate(end + 1);
        } else {
            self.parser.position += taken;
        }
        Ok(())
    }
}

impl Scan {
    /// Scans new bytes and returns the position of the object's closing bracket, if it is reached.
    fn follow(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = self.len;
        while at < bytes.len() {
            if self.in_text {
                at = self.text(bytes, at);
                continue;
            }
            // Between entries commas count too.
            while self.depth > 0
                && let Some(next) = bytes.get(at..).and_then(<[u8]>::first_chunk)
            {
                let plain = plain_len(*next);
                at += plain;
                if plain < next.len() {
                    break;
                }
            }
            let Some(byte) = bytes.get(at) else { break };
            match byte {
                b'"' => self.in_text = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' if self.depth == 0 => {
                    self.len = at;
                    return Some(at);
                }
                b'}' | b']' => self.depth -= 1,
                b',' if self.depth == 0 => self.whole = at + 1,
                _ => {}
            }
            at += 1;
        }
        self.len = bytes.len();
        None
    }

    /// Scans a text and returns the position after it, or the end of the bytes.
    fn text(&mut self, bytes: &[u8], from: usize) -> usize {
        if self.after_backslash {
            self.after_backslash = false;
            return from + 1;
        }
        let rest = bytes.get(from..).unwrap_or_default();
        match text_len(rest) {
            Some(run) if rest.get(run) == Some(&b'"') => {
                self.in_text = false;
                from + run + 1
            }
            Some(run) => {
                self.after_backslash = true;
                from + run + 1
            }
            None => bytes.len(),
        }
    }
}

impl Batch<'_> {
    /// Length of the entries in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Calls `entry` with each entry, as [`Parser::object`] does. Returns the buffer, which a later batch may use.
    ///
    /// # Errors
    /// Those of [`Parser::object`].
    pub fn entries(self, mut entry: impl FnMut(&str, &mut Parser<'_>) -> Result<()>) -> Result<Vec<u8>> {
        let end = self.offset + self.bytes.len() as u64;
        let mut parser = Parser { buffer: self.bytes, depth: self.depth, ..Parser::at(self.source, end) };
        (parser.limit, parser.next_offset) = (end, end);
        let mut key = String::new();
        if self.is_first && parser.peek()? == Some(b'}') {
            return Ok(parser.buffer);
        }
        // A batch that is not the last ends with a comma.
        while self.is_last || parser.peek()?.is_some() {
            parser.expect_key()?;
            key.clear();
            parser.text_into(&mut key)?;
            parser.expect(b':')?;
            entry(&key, &mut parser)?;
            if !parser.comma(b'}')? {
                break;
            }
        }
        Ok(parser.buffer)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fetch::MemorySource;

    /// Keys and values of the object, and what stands after it.
    type Read = Result<Vec<(String, String)>>;

    fn in_batches(text: &str) -> Read {
        let source = MemorySource::new("test.json", text.as_bytes().to_vec());
        let mut parser = Parser::new(&source);
        let mut entries = Vec::new();
        let mut batches = parser.batches()?;
        while let Some(batch) = batches.next_batch()? {
            let buffer = batch.entries(|key, parser| {
                entries.push((key.to_owned(), format!("{:?}", parser.value()?)));
                Ok(())
            })?;
            batches.reuse(buffer);
        }
        batches.finish()?;
        parser.end()?;
        Ok(entries)
    }

    fn at_once(text: &str) -> Read {
        let source = MemorySource::new("test.json", text.as_bytes().to_vec());
        let mut parser = Parser::new(&source);
        let mut entries = Vec::new();
        parser.object(|key, parser| {
            entries.push((key, format!("{:?}", parser.value()?)));
            Ok(())
        })?;
        parser.end()?;
        Ok(entries)
    }

    fn assert_same(text: &str) {
        match (in_batches(text), at_once(text)) {
            (Ok(batches), Ok(once)) => assert_eq!(batches, once),
            (Err(batches), Err(once)) => assert_eq!(batches.to_string(), once.to_string(), "{text}"),
            (batches, once) => panic!("{batches:?}, {once:?}: {text}"),
        }
    }

    #[test]
    fn broken_objects_are_told_as_without_batches() {
        for text in [
            "{}",
            "{ }",
            "{",
            "",
            "[",
            "{,}",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\": 1,}",
            "{\"a\": 1",
            "{\"a\": 1,",
            "{\"a\": 1, ",
            "{\"a\": 1 \"b\": 2}",
            "{\"a\": [1, 2}",
            "{\"a\": {\"b\": 1}]",
            "{\"a\": \"}",
            "{\"a\": \"\\\"}\"}",
            "{\"a\": 1} x",
            "{\"a\": \"\\\\\"}",
            "{\"a\": nul}",
            "{1: 2}",
            "{\"a\": 1]",
            "{\"a\" 1}",
            "{\"a\": 1,, \"b\": 2}",
            "{\"a\": 1}}",
        ] {
            assert_same(text);
        }
    }

    #[test]
    fn large_objects_come_in_several_batches() {
        let entries: Vec<String> = (0..60_000)
            .map(|index| format!("\"k\\\"{index}\": {{\"a\": [1, \"}},{{\"], \"b\": \"{index}\\\\\"}}"))
            .collect();
        let text = format!("{{\n{}\n}}", entries.join(",\n "));
        let source = MemorySource::new("test.json", text.clone().into_bytes());
        let mut parser = Parser::new(&source);
        let mut batches = parser.batches().expect("an object");
        let mut count = 0;
        while batches.next_batch().expect("valid").is_some() {
            count += 1;
        }
        assert!(count > 2, "{count}");
        assert_same(&text);
        for cut in [text.len() / 2, text.len() - 3, text.len() - 1] {
            assert_same(&text[..cut]);
        }
    }

    proptest! {
        #[test]
        fn damage_anywhere_is_told_in_the_same_words(at in 0_usize..60, byte in 0_u8..128) {
            let mut bytes = br#"{"a": {"b": [1, "x\"]}"]}, "c": -1.5e3, "d": null, "e": [[]]}"#.to_vec();
            let place = at % bytes.len();
            bytes[place] = byte;
            assert_same(&String::from_utf8(bytes).expect("ASCII"));
        }
    }
}
