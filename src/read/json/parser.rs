//! The JSON parser, which reads one value after the other, or entry by entry.

use super::value::Json;
use super::words::text_len;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{ByteSource, MemorySource, check_memory};
use crate::hash::{ByHash, hash_of};
use crate::read::decimal::parse_f64;

/// Number of bytes read at once.
const BLOCK: usize = 256 * 1024;
/// Deepest nesting that is read; msprobe itself stops at 400.
pub(super) const MAX_DEPTH: usize = 512;
/// Longest string in bytes, so that a damaged file cannot use all memory.
const MAX_TOKEN: usize = 64 << 20;
/// Longest number in bytes.
const MAX_NUMBER: usize = 64 << 10;

/// Parses a whole document.
pub fn parse(source: &dyn ByteSource) -> Result<Json> {
    let mut parser = Parser::new(source);
    let value = parser.value()?;
    parser.end()?;
    Ok(value)
}

/// Parses a whole document in memory. Error messages call it `name`.
pub(crate) fn parse_bytes(name: &str, bytes: &[u8]) -> Result<Json> {
    parse(&MemorySource::new(name, bytes.to_vec()))
}

/// A pull parser over a byte source.
pub struct Parser<'a> {
    pub(super) source: &'a dyn ByteSource,
    pub(super) buffer: Vec<u8>,
    pub(super) position: usize,
    pub(super) next_offset: u64,
    /// Offset at which the document ends.
    pub(super) limit: u64,
    pub(super) depth: usize,
    pub(super) repeated_keys: u64,
    /// Bytes of memory that the current value takes so far.
    pub(super) held: usize,
    /// Bytes of memory that a value may take.
    pub(super) memory: u64,
}

impl<'a> Parser<'a> {
    /// Creates a parser at the beginning of `source`.
    pub fn new(source: &'a dyn ByteSource) -> Self {
        Self {
            source,
            buffer: Vec::new(),
            position: 0,
            next_offset: 0,
            limit: source.len(),
            depth: 0,
            repeated_keys: 0,
            held: 0,
            memory: source.memory_limit(),
        }
    }

    /// Creates a parser at byte `offset` of `source`, for formats that hold several documents.
    pub fn at(source: &'a dyn ByteSource, offset: u64) -> Self {
        Self { next_offset: offset, ..Self::new(source) }
    }

    /// Byte offset of the next unread byte.
    pub fn offset(&self) -> u64 {
        self.next_offset - (self.buffer.len() - self.position) as u64
    }

    /// Whether nothing but white space is left.
    pub(crate) fn at_end(&mut self) -> Result<bool> {
        Ok(self.peek()?.is_none())
    }

    /// Returns an error if anything but white space is left.
    pub fn end(&mut self) -> Result<()> {
        if self.at_end()? { Ok(()) } else { Err(self.unexpected("the end of the file")) }
    }

    /// Reads one value of any kind.
    ///
    /// # Errors
    /// `Corrupt` if there is none, `LimitExceeded` if it takes more memory than its file grants.
    pub fn value(&mut self) -> Result<Json> {
        self.held = 0;
        self.part()
    }

    /// Adds `bytes` to the memory of the current value.
    fn keep(&mut self, bytes: usize) -> Result<()> {
        self.held = self.held.saturating_add(bytes);
        self.check_memory(self.held)
    }

    /// Returns an error if a value takes more bytes than its file grants.
    pub(super) fn check_memory(&self, bytes: usize) -> Result<()> {
        if bytes as u64 > self.memory { check_memory(self.source, bytes) } else { Ok(()) }
    }

    /// Reads a value, or a part of one.
    fn part(&mut self) -> Result<Json> {
        match self.peek()? {
            Some(b'{') => {
                let mut entries: Vec<(String, Json)> = Vec::new();
                let mut positions = KeyIndex::default();
                self.object(|key, parser| {
                    parser.keep(size_of::<(String, Json)>() + key.len())?;
                    let value = parser.part()?;
                    parser.repeated_keys += u64::from(positions.insert(&mut entries, key, value));
                    Ok(())
                })?;
                Ok(Json::Object(entries))
            }
            Some(b'[') => {
                let mut items = Vec::new();
                self.array(|parser| {
                    parser.keep(size_of::<Json>())?;
                    items.push(parser.part()?);
                    Ok(())
                })?;
                Ok(Json::Array(items))
            }
            Some(b'"') => {
                let text = self.string()?;
                self.keep(text.len())?;
                Ok(Json::Text(text))
            }
            Some(_) => self.scalar(),
            None => Err(self.unexpected("a value")),
        }
    }

    /// Reads an object and calls `entry` with each key while the parser is at its value.
    ///
    /// `entry` must read exactly one value.
    pub fn object(&mut self, mut entry: impl FnMut(String, &mut Self) -> Result<()>) -> Result<()> {
        self.open(b'{')?;
        if self.peek()? != Some(b'}') {
            loop {
                self.expect_key()?;
                let key = self.string()?;
                self.expect(b':')?;
                entry(key, self)?;
                if !self.comma(b'}')? {
                    break;
                }
            }
        }
        self.close(b'}')
    }

    /// Reads an array and calls `item` while the parser is at each item.
    pub fn array(&mut self, mut item: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        self.open(b'[')?;
        if self.peek()? != Some(b']') {
            loop {
                item(self)?;
                if !self.comma(b']')? {
                    break;
                }
            }
        }
        self.close(b']')
    }

    /// Returns an error if the next value is not a key, without consuming it.
    pub(super) fn expect_key(&mut self) -> Result<()> {
        if self.peek()? == Some(b'"') { Ok(()) } else { Err(self.unexpected("a key in double quotes")) }
    }

    pub(super) fn open(&mut self, byte: u8) -> Result<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let message = format!("nested deeper than {MAX_DEPTH} levels at byte {}", self.offset());
            return Err(Error::new(ErrorKind::LimitExceeded, self.source.name(), message));
        }
        self.expect(byte)
    }

    pub(super) fn close(&mut self, byte: u8) -> Result<()> {
        self.depth -= 1;
        self.expect(byte)
    }

    /// Consumes a comma and returns true, or leaves `closing` unread and returns false.
    pub(super) fn comma(&mut self, closing: u8) -> Result<bool> {
        match self.peek()? {
            Some(b',') => {
                self.position += 1;
                Ok(true)
            }
            Some(byte) if byte == closing => Ok(false),
            _ => Err(self.unexpected(&format!("`,` or `{}`", closing as char))),
        }
    }

    pub(super) fn expect(&mut self, byte: u8) -> Result<()> {
        if self.peek()? == Some(byte) {
            self.position += 1;
            return Ok(());
        }
        Err(self.unexpected(&format!("`{}`", byte as char)))
    }

    /// Next byte that is not white space, without consuming it.
    pub fn peek(&mut self) -> Result<Option<u8>> {
        loop {
            match self.buffer.get(self.position).copied() {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.position += 1,
                Some(byte) => return Ok(Some(byte)),
                None => {
                    if !self.fill()? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Replaces the used-up buffer by the next block; returns false at the end of the source.
    pub(super) fn fill(&mut self) -> Result<bool> {
        let left = self.limit.saturating_sub(self.next_offset);
        let len = usize::try_from(left).map_or(BLOCK, |left| left.min(BLOCK));
        self.buffer.resize(len, 0);
        self.position = 0;
        self.source.read_at(self.next_offset, &mut self.buffer)?;
        self.next_offset += len as u64;
        Ok(len > 0)
    }

    fn next_byte(&mut self) -> Result<Option<u8>> {
        if self.position == self.buffer.len() && !self.fill()? {
            return Ok(None);
        }
        let byte = self.buffer.get(self.position).copied();
        self.position += 1;
        Ok(byte)
    }

    pub(super) fn unexpected(&mut self, wanted: &str) -> Error {
        let offset = self.offset();
        let found = match self.buffer.get(self.position) {
            Some(byte) if byte.is_ascii_graphic() => format!("found `{}`", *byte as char),
            Some(byte) => format!("found byte 0x{byte:02x}"),
            None => "the file ends here".to_owned(),
        };
        let error =
            Error::corrupt(self.source.name(), format!("not valid JSON at byte {offset}: expected {wanted}, {found}"));
        if self.buffer.get(self.position).is_none() {
            error.with_help("the file was cut short, as when a job is killed while writing: collect it again")
        } else {
            error
        }
    }

    /// Reads a number or a word.
    pub(super) fn scalar(&mut self) -> Result<Json> {
        // Fast path: most numbers and words are completely in the buffer.
        let rest = self.buffer.get(self.position..).unwrap_or_default();
        if let Some(run) = rest.iter().position(|byte| !is_of_word(*byte))
            && let Some(value) = rest.get(..run).and_then(short_scalar)
        {
            self.position += run;
            return Ok(value);
        }
        let start = self.offset();
        let token = self.word()?;
        match token.as_str() {
            "" => return Err(self.unexpected("a value")),
            "null" => return Ok(Json::Null),
            "true" => return Ok(Json::Bool(true)),
            "false" => return Ok(Json::Bool(false)),
            "NaN" => return Ok(Json::Float(f64::NAN)),
            "Infinity" => return Ok(Json::Float(f64::INFINITY)),
            "-Infinity" => return Ok(Json::Float(f64::NEG_INFINITY)),
            _ => {}
        }
        let digits = token.strip_prefix('-').unwrap_or(&token);
        let number = match digits.as_bytes() {
            [] => None,
            all if all.iter().all(u8::is_ascii_digit) => {
                Some(token.parse().map_or_else(|_| Json::BigInt(token.clone()), Json::Int))
            }
            [b'0'..=b'9', ..] => token.parse().ok().map(Json::Float),
            _ => None,
        };
        number.ok_or_else(|| {
            Error::corrupt(self.source.name(), format!("not valid JSON at byte {start}: `{token}` is not a value"))
        })
    }

    /// Reads letters, digits, signs and points up to the next other byte.
    fn word(&mut self) -> Result<String> {
        let start = self.offset();
        let mut word = String::new();
        loop {
            let rest = self.buffer.get(self.position..).unwrap_or_default();
            let run = rest.iter().position(|byte| !is_of_word(*byte)).unwrap_or(rest.len());
            word.push_str(&String::from_utf8_lossy(rest.get(..run).unwrap_or_default()));
            self.position += run;
            if word.len() > MAX_NUMBER {
                return Err(Error::corrupt(self.source.name(), format!("a number of over 64 KiB at byte {start}")));
            }
            if self.position < self.buffer.len() || !self.fill()? {
                return Ok(word);
            }
        }
    }

    fn string(&mut self) -> Result<String> {
        let mut text = String::new();
        self.text_into(&mut text)?;
        Ok(text)
    }

    /// Appends the text of the string at the parser's position to `out`.
    pub(super) fn text_into(&mut self, out: &mut String) -> Result<()> {
        self.position += 1;
        // Fast path: most texts are completely in the buffer and hold no escape.
        let rest = self.buffer.get(self.position..).unwrap_or_default();
        let run = text_len(rest).unwrap_or(rest.len());
        if rest.get(run) == Some(&b'"')
            && let Some(text) = rest.get(..run).and_then(|text| std::str::from_utf8(text).ok())
        {
            out.push_str(text);
            self.position += run + 1;
            return Ok(());
        }
        let mut bytes = Vec::new();
        loop {
            let rest = self.buffer.get(self.position..).unwrap_or_default();
            let run = memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
            bytes.extend_from_slice(rest.get(..run).unwrap_or_default());
            self.position += run;
            if bytes.len() > MAX_TOKEN {
                let message = format!("a string of over {MAX_TOKEN} bytes before byte {}", self.offset());
                return Err(Error::new(ErrorKind::LimitExceeded, self.source.name(), message));
            }
            match self.next_byte()? {
                Some(b'"') => break,
                Some(b'\\') => self.escape(&mut bytes)?,
                Some(byte) => bytes.push(byte),
                None => return Err(self.unexpected("the closing quote of a string")),
            }
        }
        let text = std::str::from_utf8(&bytes).map_err(|_| {
            Error::corrupt(self.source.name(), format!("a string before byte {} is not UTF-8", self.offset()))
        })?;
        out.push_str(text);
        Ok(())
    }

    fn escape(&mut self, bytes: &mut Vec<u8>) -> Result<()> {
        let plain = match self.next_byte()? {
            Some(b'n') => b'\n',
            Some(b't') => b'\t',
            Some(b'r') => b'\r',
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(byte @ (b'"' | b'\\' | b'/')) => byte,
            Some(b'u') => return self.unicode(bytes),
            _ => return Err(self.unexpected("an escape such as `\\n`")),
        };
        bytes.push(plain);
        Ok(())
    }

    /// Reads the digits of `\uXXXX` and joins surrogate pairs. A lone surrogate stays as its escape.
    fn unicode(&mut self, bytes: &mut Vec<u8>) -> Result<()> {
        let mut unit = self.hex4()?;
        loop {
            if let Some(character) = char::from_u32(unit) {
                bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            let high = unit;
            if (0xD800..0xDC00).contains(&high) && self.starts_with_unicode_escape()? {
                self.position += 2;
                unit = self.hex4()?;
                if (0xDC00..0xE000).contains(&unit) {
                    unit = 0x10000 + ((high - 0xD800) << 10) + (unit - 0xDC00);
                    continue;
                }
                bytes.extend_from_slice(format!("\\u{high:04x}").as_bytes());
                continue;
            }
            bytes.extend_from_slice(format!("\\u{high:04x}").as_bytes());
            return Ok(());
        }
    }

    /// Whether the next two bytes are `\u`. Refills the buffer so that it holds both.
    fn starts_with_unicode_escape(&mut self) -> Result<bool> {
        if self.buffer.len() - self.position < 2 {
            let kept = self.buffer.split_off(self.position);
            let more = self.fill()?;
            let block = std::mem::replace(&mut self.buffer, kept);
            if more {
                self.buffer.extend_from_slice(&block);
            }
            self.position = 0;
        }
        Ok(self.buffer.get(self.position..).is_some_and(|rest| rest.starts_with(b"\\u")))
    }

    fn hex4(&mut self) -> Result<u32> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.next_byte()?.and_then(|byte| (byte as char).to_digit(16));
            unit = unit * 16 + digit.ok_or_else(|| self.unexpected("four hexadecimal digits"))?;
        }
        Ok(unit)
    }
}

/// Whether a byte may belong to a number or a word: letters, digits, signs and points.
pub(super) fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

/// Parses a frequent word, or a number of common length; `None` for anything else.
fn short_scalar(word: &[u8]) -> Option<Json> {
    const COMMON: usize = 32;
    match word {
        b"null" => return Some(Json::Null),
        b"true" => return Some(Json::Bool(true)),
        b"false" => return Some(Json::Bool(false)),
        _ => {}
    }
    let digits = word.strip_prefix(b"-").unwrap_or(word);
    if word.len() > COMMON || !digits.first()?.is_ascii_digit() {
        return None;
    }
    let is_whole = digits.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(word).ok()?;
    if is_whole { text.parse().ok().map(Json::Int) } else { parse_f64(text).map(Json::Float) }
}

/// Index of the keys of an object, which avoids a quadratic search for repeated keys in large objects.
#[derive(Default)]
struct KeyIndex(ByHash<usize>);

impl KeyIndex {
    /// Objects up to this size are searched without an index.
    const SMALL: usize = 16;

    /// Adds an entry, and returns whether the key was already present.
    fn insert(&mut self, entries: &mut Vec<(String, Json)>, key: String, value: Json) -> bool {
        if entries.len() == Self::SMALL && self.0.is_empty() {
            self.0.extend(entries.iter().enumerate().map(|(index, (name, _))| (hash_of(name.as_str()), index)));
        }
        let hash = (entries.len() >= Self::SMALL).then(|| hash_of(key.as_str()));
        let known = match hash {
            Some(hash) => self.0.get(&hash).copied(),
            None => entries.iter().position(|(name, _)| *name == key),
        };
        match known.and_then(|index| entries.get_mut(index)) {
            Some(entry) => {
                entry.1 = value;
                true
            }
            None => {
                self.0.extend(hash.map(|hash| (hash, entries.len())));
                entries.push((key, value));
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Json> {
        parse_bytes("test.json", text.as_bytes())
    }

    #[test]
    fn python_words_and_number_kinds_are_kept() {
        let value =
            read(r#"{"a": NaN, "b": -Infinity, "c": 1, "d": 1.0, "e": 123456789012345678901234567890, "f": 1e-8}"#);
        let value = value.expect("valid");
        assert!(value.get("a").and_then(Json::as_f64).is_some_and(f64::is_nan));
        assert_eq!(value.get("b"), Some(&Json::Float(f64::NEG_INFINITY)));
        assert_eq!(value.get("c"), Some(&Json::Int(1)));
        assert_eq!(value.get("d"), Some(&Json::Float(1.0)));
        assert_eq!(value.get("e"), Some(&Json::BigInt("123456789012345678901234567890".into())));
        assert_eq!(value.get("f"), Some(&Json::Float(1e-8)));
    }

    #[test]
    fn surrogates_join_or_stay_as_their_escape() {
        assert_eq!(
            read(r#""\ud83d\ude00 \udcff \ud800\u0041""#).expect("valid"),
            Json::Text("😀 \\udcff \\ud800A".into())
        );
    }

    #[test]
    fn a_cut_document_says_so() {
        let error = read(r#"{"data": {"a": [1, 2"#).expect_err("cut");
        assert!(error.to_string().contains("the file ends here"), "{error}");
        assert!(error.help().is_some());
    }

    #[test]
    fn nesting_is_bounded() {
        let error = read(&"[".repeat(100_000)).expect_err("deep");
        assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    }

    #[test]
    fn a_repeated_key_keeps_its_place_and_takes_the_last_value() {
        let many: String = (0..40).map(|i| format!("\"k{i}\": {i}, ")).collect();
        let value = read(&format!("{{{many} \"k3\": 99, \"k30\": 98}}")).expect("valid");
        let entries = value.as_object().expect("object");
        assert_eq!(entries.len(), 40);
        assert_eq!(entries[3], ("k3".into(), Json::Int(99)));
        assert_eq!(entries[30], ("k30".into(), Json::Int(98)));
    }

    #[test]
    fn tokens_may_cross_blocks() {
        let text = format!("[\"{}\", 12345, \"\\ud83d\\ude00\"]", "x".repeat(BLOCK - 10));
        for pad in 0..16 {
            let value = read(&format!("{}{text}", " ".repeat(pad))).expect("valid");
            let items = value.as_array().expect("array");
            assert_eq!(items[1], Json::Int(12345));
            assert_eq!(items[2], Json::Text("😀".into()));
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_give_a_value_or_an_error(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let _outcome = parse_bytes("random", &bytes);
        }
    }
}
