//! Scanner that reads a trace from start to end, with one event in memory at a time.
//!
//! Values are delimited by their brackets and quotes. The content of an event is only parsed on demand. Numbers keep their digits,
//! because a double would round them to a quarter of a microsecond.

use std::io::Read;

use super::stream;
use crate::error::{Error, ErrorKind, Result};

/// Initial size of the buffer, which grows to hold one value.
const BLOCK: usize = 1 << 20;
/// Largest value in bytes; an event with a Python stack takes some hundred kilobytes.
const MOST_VALUE: usize = 64 << 20;
/// Deepest nesting in a value.
const MOST_DEPTH: u32 = 512;
/// Largest unpacked trace in bytes, about a day of recording.
const MOST_BYTES: u64 = 1 << 40;
/// Key of the events in a trace's object.
const EVENTS: &[u8] = b"traceEvents";

/// Receiver of a trace's parts.
pub(super) trait Receiver {
    /// Takes one event, an object as it stands in the file.
    fn event(&mut self, object: &[u8]) -> Result<()>;

    /// Takes a value beside the events.
    fn other_value(&mut self, _key: &[u8], _value: &[u8]) -> Result<()> {
        Ok(())
    }
}

/// Passes the parts of a trace to a receiver. The trace is an array of events, or an object that holds one.
///
/// # Errors
/// `Corrupt` if the file ends before its last bracket or is not such a trace; errors of the receiver.
pub(super) fn scan(name: &str, input: Box<dyn Read + '_>, receiver: &mut dyn Receiver) -> Result<()> {
    let mut scanner = Scanner { name, input, buffer: Vec::new(), start: 0, filled: 0, offset: 0, is_at_end: false };
    match scanner.peek()? {
        Some(b'[') => scanner.events(receiver)?,
        Some(b'{') => scanner.whole(receiver)?,
        _ => return Err(scanner.wrong("a trace")),
    }
    match scanner.peek()? {
        None => Ok(()),
        Some(_) => Err(scanner.wrong("the end of the file")),
    }
}

struct Scanner<'a> {
    name: &'a str,
    input: Box<dyn Read + 'a>,
    buffer: Vec<u8>,
    /// Index of the first unread byte in the buffer.
    start: usize,
    /// End of the bytes that were read into the buffer.
    filled: usize,
    /// Offset of the buffer's first byte in the file.
    offset: u64,
    is_at_end: bool,
}

impl Scanner<'_> {
    fn whole(&mut self, receiver: &mut dyn Receiver) -> Result<()> {
        self.start += 1;
        if self.peek()? == Some(b'}') {
            self.start += 1;
            return Ok(());
        }
        loop {
            if self.peek()? != Some(b'"') {
                return Err(self.wrong("a key in quotes"));
            }
            let key = unquoted(self.value()?).to_vec();
            self.expect(b':', "`:`")?;
            match self.peek()? {
                Some(b'[') if key == EVENTS => self.events(receiver)?,
                Some(_) => receiver.other_value(&key, self.value()?)?,
                None => return Err(self.wrong("a value")),
            }
            match self.peek()? {
                Some(b',') => self.start += 1,
                Some(b'}') => {
                    self.start += 1;
                    return Ok(());
                }
                _ => return Err(self.wrong("`,` or `}`")),
            }
        }
    }

    fn events(&mut self, receiver: &mut dyn Receiver) -> Result<()> {
        self.start += 1;
        if self.peek()? == Some(b']') {
            self.start += 1;
            return Ok(());
        }
        loop {
            match self.peek()? {
                Some(b'{') => receiver.event(self.value()?)?,
                _ => return Err(self.wrong("an event")),
            }
            match self.peek()? {
                Some(b',') => self.start += 1,
                Some(b']') => {
                    self.start += 1;
                    return Ok(());
                }
                _ => return Err(self.wrong("`,` or `]`")),
            }
        }
    }

    fn expect(&mut self, byte: u8, what: &str) -> Result<()> {
        if self.peek()? == Some(byte) {
            self.start += 1;
            return Ok(());
        }
        Err(self.wrong(what))
    }

    /// Next byte that is not white space, without consuming it; `None` at the end of the file.
    fn peek(&mut self) -> Result<Option<u8>> {
        loop {
            let unread = self.buffer.get(self.start..self.filled).unwrap_or_default();
            if let Some(blanks) = unread.iter().position(|byte| !byte.is_ascii_whitespace()) {
                self.start += blanks;
                return Ok(self.buffer.get(self.start).copied());
            }
            self.start = self.filled;
            if !self.fill()? {
                return Ok(None);
            }
        }
    }

    /// Reads the next value as a whole.
    fn value(&mut self) -> Result<&[u8]> {
        let mut end = ValueEnd::default();
        loop {
            let unread = self.buffer.get(self.start..self.filled).unwrap_or_default();
            if let Some(len) = end.find(unread).map_err(|what| self.wrong(what))? {
                let start = self.start;
                self.start += len;
                return Ok(self.buffer.get(start..start + len).unwrap_or_default());
            }
            if !self.fill()? {
                return Err(self.cut());
            }
        }
    }

    /// Reads more bytes; returns whether there were any.
    fn fill(&mut self) -> Result<bool> {
        if self.is_at_end {
            return Ok(false);
        }
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.filled, 0);
            self.offset += self.start as u64;
            self.filled -= self.start;
            self.start = 0;
        }
        if self.filled == self.buffer.len() {
            if self.filled >= MOST_VALUE {
                let message = format!("a value of more than {} MB at byte {}", MOST_VALUE >> 20, self.offset);
                return Err(Error::new(ErrorKind::LimitExceeded, self.name, message));
            }
            self.buffer.resize((self.buffer.len() * 2).max(BLOCK), 0);
        }
        let room = self.buffer.get_mut(self.filled..).unwrap_or_default();
        let len = self.input.read(room).map_err(|failed| stream::read_error(self.name, failed))?;
        self.filled += len;
        self.is_at_end = len == 0;
        if self.offset > MOST_BYTES {
            return Err(Error::new(ErrorKind::LimitExceeded, self.name, "unpacks to more than a terabyte"));
        }
        Ok(len > 0)
    }

    fn place(&self) -> u64 {
        self.offset + self.start as u64
    }

    fn cut(&self) -> Error {
        Error::corrupt(self.name, format!("ends within the value that begins at byte {}", self.place()))
    }

    fn wrong(&self, expected: &str) -> Error {
        let is_end = self.start >= self.filled && self.is_at_end;
        let message = match is_end {
            true => format!("ends at byte {}, where {expected} is expected: the trace was cut", self.place()),
            false => format!("expected {expected} at byte {}", self.place()),
        };
        Error::corrupt(self.name, message)
    }
}

/// Search for the end of a value, which continues when more bytes arrive.
#[derive(Default)]
struct ValueEnd {
    at: usize,
    depth: u32,
    is_in_text: bool,
}

impl ValueEnd {
    /// Length of the value at the start of `bytes`; `None` if it is not complete.
    fn find(&mut self, bytes: &[u8]) -> Result<Option<usize>, &'static str> {
        loop {
            if self.is_in_text {
                let rest = bytes.get(self.at..).unwrap_or_default();
                let Some(found) = memchr::memchr2(b'"', b'\\', rest) else {
                    self.at = bytes.len();
                    return Ok(None);
                };
                if rest.get(found) == Some(&b'\\') {
                    self.at += found;
                    if self.at + 1 >= bytes.len() {
                        return Ok(None);
                    }
                    self.at += 2;
                    continue;
                }
                self.at += found + 1;
                self.is_in_text = false;
                if self.depth == 0 {
                    return Ok(Some(self.at));
                }
                continue;
            }
            if self.depth > 0 {
                let rest = bytes.get(self.at..).unwrap_or_default();
                self.at += rest.iter().position(|byte| is_structural(*byte)).unwrap_or(rest.len());
            }
            let Some(byte) = bytes.get(self.at) else { return Ok(None) };
            match byte {
                b'"' => {
                    if self.depth == 0 && self.at > 0 {
                        return Err("a value");
                    }
                    self.is_in_text = true;
                }
                b'{' | b'[' => {
                    self.depth += 1;
                    if self.depth > MOST_DEPTH {
                        return Err("less nesting");
                    }
                }
                b'}' | b']' | b',' | b' ' | b'\n' | b'\r' | b'\t' if self.depth == 0 => {
                    return if self.at == 0 { Err("a value") } else { Ok(Some(self.at)) };
                }
                b'}' | b']' => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        self.at += 1;
                        return Ok(Some(self.at));
                    }
                }
                _ => {}
            }
            self.at += 1;
        }
    }
}

/// Whether a byte outside of texts begins a text, or opens or closes an object or a list. Most bytes do not.
fn is_structural(byte: u8) -> bool {
    matches!(byte, b'"' | b'{' | b'}' | b'[' | b']')
}

/// Bytes between the quotes of a text, with escapes unchanged.
pub(super) fn unquoted(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\"")).unwrap_or(text)
}

/// Calls `take` with the key and value of each entry of an object; `None` if it is not an object.
pub(super) fn for_each_entry<'a>(object: &'a [u8], mut take: impl FnMut(&'a [u8], &'a [u8])) -> Option<()> {
    let mut rest = object.trim_ascii().strip_prefix(b"{")?.trim_ascii_start();
    if rest.first() == Some(&b'}') {
        return Some(());
    }
    loop {
        let key_len = ValueEnd::default().find(rest).ok()??;
        let (key, behind) = rest.split_at_checked(key_len)?;
        let value = behind.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
        let value_len = ValueEnd::default().find(value).ok()??;
        let (value, behind) = value.split_at_checked(value_len)?;
        take(key.strip_prefix(b"\"")?.strip_suffix(b"\"")?, value);
        let behind = behind.trim_ascii_start();
        match behind.first()? {
            b',' => rest = behind.get(1..)?.trim_ascii_start(),
            b'}' => return Some(()),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Kept(Vec<String>);

    impl Receiver for Kept {
        fn event(&mut self, object: &[u8]) -> Result<()> {
            self.0.push(String::from_utf8_lossy(object).into_owned());
            Ok(())
        }

        fn other_value(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
            self.0.push(format!("{}={}", String::from_utf8_lossy(key), String::from_utf8_lossy(value)));
            Ok(())
        }
    }

    /// Gives one byte at a time.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let (Some(byte), Some(to)) = (self.0.first(), into.first_mut()) else { return Ok(0) };
            *to = *byte;
            self.0 = &self.0[1..];
            Ok(1)
        }
    }

    const TRACE: &str = r#" {"schemaVersion": 1, "d" : [{"a":"]}\""}], "traceEvents":[ {"name":"a{\"}","ts":1.5},
        {"args":{"x":[1,{"y":2}]}} ], "last":null} "#;

    fn scanned(text: &str) -> Result<Vec<String>> {
        let mut kept = Kept::default();
        scan("t.json", Box::new(Slow(text.as_bytes())), &mut kept)?;
        Ok(kept.0)
    }

    #[test]
    fn events_come_one_by_one_and_values_beside_them() {
        let parts = scanned(TRACE).expect("sound");
        assert_eq!(
            parts,
            [
                "schemaVersion=1",
                r#"d=[{"a":"]}\""}]"#,
                r#"{"name":"a{\"}","ts":1.5}"#,
                r#"{"args":{"x":[1,{"y":2}]}}"#,
                "last=null"
            ]
        );
        assert_eq!(scanned("[]").expect("sound"), Vec::<String>::new());
        assert_eq!(scanned(r#"[{"a":1}]"#).expect("sound").len(), 1);
    }

    #[test]
    fn a_trace_that_is_cut_anywhere_is_damaged() {
        let text = TRACE.trim();
        for len in 0..text.len() {
            let error = scanned(&text[..len]).expect_err("cut");
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{len}");
        }
    }

    #[test]
    fn entries_keep_numbers_as_they_stand() {
        let mut all = Vec::new();
        let object = br#"{ "ts" : 1763700037000017.8, "name":"k,\"<", "args":{"External id":3} }"#;
        for_each_entry(object, |key, value| all.push((String::from_utf8_lossy(key), String::from_utf8_lossy(value))));
        let all: Vec<(&str, &str)> = all.iter().map(|(key, value)| (key.as_ref(), value.as_ref())).collect();
        let wanted = [("ts", "1763700037000017.8"), ("name", r#""k,\"<""#), ("args", r#"{"External id":3}"#)];
        assert_eq!(all, wanted);
        assert_eq!(for_each_entry(b"{", |_, _| {}), None);
        assert_eq!(for_each_entry(br#"{"a" 1}"#, |_, _| {}), None);
    }
}
