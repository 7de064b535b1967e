//! Cursor over JSON in memory that copies nothing, because only a few values of each line of samples are needed.
//!
//! Python's bare `NaN`, `Infinity` and `-Infinity` are numbers. A repeated key is passed on every time it occurs.

use std::borrow::Cow;

/// Deepest nesting that is read.
const MAX_DEPTH: usize = 512;

/// Position and kind of an error in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::read) struct Fault {
    at: usize,
    expected: &'static str,
    found: Option<u8>,
}

impl Fault {
    /// Message with the reason.
    pub(in crate::read) fn reason(&self) -> String {
        let found = match self.found {
            Some(byte) if byte.is_ascii_graphic() => format!("found `{}`", byte as char),
            Some(byte) => format!("found byte 0x{byte:02x}"),
            None => "it ends here".to_owned(),
        };
        format!("not valid JSON at byte {} of the line: expected {}, {found}", self.at, self.expected)
    }
}

/// Result of reading JSON.
pub(in crate::read) type Parsed<T> = Result<T, Fault>;

/// Position in JSON.
#[derive(Clone, Debug)]
pub(in crate::read) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// Creates a cursor before the first value of `bytes`.
    pub(in crate::read) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Error that `expected` was not found at the current position.
    pub(in crate::read) fn fault(&self, expected: &'static str) -> Fault {
        Fault { at: self.at, expected, found: self.bytes.get(self.at).copied() }
    }

    /// Next byte that is not white space, without consuming it.
    pub(in crate::read) fn peek(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.bytes.get(self.at) {
            self.at += 1;
        }
        self.bytes.get(self.at).copied()
    }

    fn take(&mut self, byte: u8, expected: &'static str) -> Parsed<()> {
        if self.peek() != Some(byte) {
            return Err(self.fault(expected));
        }
        self.at += 1;
        Ok(())
    }

    /// Returns an error if anything but white space is left.
    pub(in crate::read) fn end(&mut self) -> Parsed<()> {
        if self.peek().is_some() { Err(self.fault("the end of the line")) } else { Ok(()) }
    }

    /// Reads an object, calling `entry` with each key; `entry` must read exactly one value.
    pub(in crate::read) fn object(&mut self, mut entry: impl FnMut(&str, &mut Self) -> Parsed<()>) -> Parsed<()> {
        self.take(b'{', "`{`")?;
        if self.peek() != Some(b'}') {
            loop {
                let key = self.text()?;
                self.take(b':', "`:`")?;
                entry(&key, self)?;
                if !self.comma(b'}', "`,` or `}`")? {
                    break;
                }
            }
        }
        self.take(b'}', "`}`")
    }

    /// Reads an array, calling `item` at each item; `item` must read exactly one value.
    pub(in crate::read) fn array(&mut self, mut item: impl FnMut(&mut Self) -> Parsed<()>) -> Parsed<()> {
        self.take(b'[', "`[`")?;
        if self.peek() != Some(b']') {
            loop {
                item(self)?;
                if !self.comma(b']', "`,` or `]`")? {
                    break;
                }
            }
        }
        self.take(b']', "`]`")
    }

    fn comma(&mut self, closing: u8, expected: &'static str) -> Parsed<bool> {
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            Some(byte) if byte == closing => Ok(false),
            _ => Err(self.fault(expected)),
        }
    }

    /// All bytes from the current position on.
    pub(in crate::read) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// Skips a value and returns its bytes.
    pub(in crate::read) fn raw(&mut self) -> Parsed<&'a [u8]> {
        self.peek();
        let start = self.at;
        self.pass(0)?;
        Ok(self.bytes.get(start..self.at).unwrap_or_default())
    }

    /// Skips a value.
    pub(in crate::read) fn skip(&mut self) -> Parsed<()> {
        self.pass(0)
    }

    fn pass(&mut self, depth: usize) -> Parsed<()> {
        if depth > MAX_DEPTH {
            return Err(self.fault("at most 512 levels of nesting"));
        }
        match self.peek() {
            Some(b'{') => self.pass_object(depth),
            Some(b'[') => self.array(|cursor| cursor.pass(depth + 1)),
            Some(b'"') => self.string().map(|_| ()),
            _ => self.word(),
        }
    }

    fn pass_object(&mut self, depth: usize) -> Parsed<()> {
        self.at += 1;
        if self.peek() != Some(b'}') {
            loop {
                self.string()?;
                self.take(b':', "`:`")?;
                self.pass(depth + 1)?;
                if !self.comma(b'}', "`,` or `}`")? {
                    break;
                }
            }
        }
        self.take(b'}', "`}`")
    }

    /// Skips a number or a word.
    fn word(&mut self) -> Parsed<()> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let belongs = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        let len = rest.iter().position(|byte| !belongs(byte)).unwrap_or(rest.len());
        let word = rest.get(..len).unwrap_or_default();
        let is_value = match word {
            b"true" | b"false" | b"null" | b"NaN" | b"Infinity" | b"-Infinity" => true,
            [b'0'..=b'9', ..] | [b'-', b'0'..=b'9', ..] => {
                word.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'))
            }
            _ => false,
        };
        if !is_value {
            return Err(self.fault("a value"));
        }
        self.at += len;
        Ok(())
    }

    /// Reads a number, or a boolean as 1 or 0; `None` for any other value, which is skipped.
    pub(in crate::read) fn number(&mut self) -> Parsed<Option<f64>> {
        let raw = self.raw()?;
        Ok(match raw {
            b"true" => Some(1.0),
            b"false" => Some(0.0),
            b"NaN" => Some(f64::NAN),
            b"Infinity" => Some(f64::INFINITY),
            b"-Infinity" => Some(f64::NEG_INFINITY),
            [b'-' | b'0'..=b'9', ..] => std::str::from_utf8(raw).ok().and_then(|digits| digits.parse().ok()),
            _ => None,
        })
    }

    /// Reads the bytes between the quotes of a string, and whether they contain an escape.
    fn string(&mut self) -> Parsed<(&'a [u8], bool)> {
        self.take(b'"', "`\"`")?;
        let start = self.at;
        let mut is_escaped = false;
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let Some(run) = memchr::memchr2(b'"', b'\\', rest) else {
                self.at = self.bytes.len();
                return Err(self.fault("the closing quote of a string"));
            };
            self.at += run + 1;
            if rest.get(run) == Some(&b'"') {
                return Ok((self.bytes.get(start..self.at - 1).unwrap_or_default(), is_escaped));
            }
            is_escaped = true;
            self.at += 1;
        }
    }

    /// Reads a string.
    pub(in crate::read) fn text(&mut self) -> Parsed<Cow<'a, str>> {
        let fault = self.fault("a string in UTF-8 with valid escapes");
        let (bytes, is_escaped) = self.string()?;
        let text = std::str::from_utf8(bytes).map_err(|_| fault)?;
        if is_escaped { unescape(text).map(Cow::Owned).ok_or(fault) } else { Ok(Cow::Borrowed(text)) }
    }
}

/// Text with its escapes resolved. A lone surrogate stays as its escape, as everywhere in this program.
fn unescape(text: &str) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        plain.push_str(rest.get(..at)?);
        let escape = rest.get(at + 1..)?;
        let character = match escape.as_bytes().first()? {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            byte @ (b'"' | b'\\' | b'/') => char::from(*byte),
            b'u' => {
                rest = unicode(escape, &mut plain)?;
                continue;
            }
            _ => return None,
        };
        plain.push(character);
        rest = escape.get(1..)?;
    }
    plain.push_str(rest);
    Some(plain)
}

/// Reads `uXXXX`, and the escape of a low surrogate after that of a high one; returns the rest of the text.
fn unicode<'a>(escape: &'a str, plain: &mut String) -> Option<&'a str> {
    let unit = |text: &str| {
        let digits = text.get(1..5).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        digits.and_then(|digits| u32::from_str_radix(digits, 16).ok())
    };
    let high = unit(escape)?;
    let rest = escape.get(5..)?;
    if let Some(character) = char::from_u32(high) {
        plain.push(character);
        return Some(rest);
    }
    let next = rest.strip_prefix('\\').filter(|next| next.starts_with('u'));
    let low = next.and_then(unit).filter(|low| (0xD800..0xDC00).contains(&high) && (0xDC00..0xE000).contains(low));
    match low.and_then(|low| char::from_u32(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))) {
        Some(character) => {
            plain.push(character);
            next?.get(5..)
        }
        None => {
            plain.push_str(&format!("\\u{high:04x}"));
            Some(rest)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_lose_their_escapes() {
        for (text, plain) in [
            (r#""a\"b\\c\/\n""#, "a\"b\\c/\n"),
            (r#""\u00e9\ud83d\ude00""#, "é😀"),
            (r#""\ud800x""#, "\\ud800x"),
            (r#""\udc00\ud800\u0041""#, "\\udc00\\ud800A"),
        ] {
            assert_eq!(Cursor::new(text.as_bytes()).text().expect(text), plain);
        }
        for text in [r#""\x""#, r#""\u12""#, r#""\u+123""#, "\"a", "\"\\", "\"\u{e9}\\"] {
            assert!(Cursor::new(text.as_bytes()).text().is_err(), "{text}");
        }
        assert!(Cursor::new(b"\"\xff\"").text().is_err());
    }

    #[test]
    fn values_are_passed_over_whole() {
        let text = br#" {"a": [1, -2.5e3, NaN, -Infinity, "]\"", {}, []], "b": null} , 7"#;
        let mut cursor = Cursor::new(text);
        assert_eq!(cursor.raw().expect("an object").last(), Some(&b'}'));
        assert_eq!(cursor.peek(), Some(b','));
        for text in ["{", "{\"a\"}", "{\"a\":}", "[1,]", "[1 2]", "{\"a\":1,}", "nul", "--1x", "", "{1:2}", "\"a\\"] {
            assert!(Cursor::new(text.as_bytes()).skip().is_err(), "{text}");
        }
    }

    #[test]
    fn deep_nesting_is_an_error_and_no_crash() {
        let text = "[".repeat(1 << 20);
        assert!(Cursor::new(text.as_bytes()).skip().is_err());
        let text = "{\"a\":".repeat(1 << 20);
        assert!(Cursor::new(text.as_bytes()).skip().is_err());
    }

    #[test]
    fn numbers_are_those_of_python() {
        let number = |text: &str| Cursor::new(text.as_bytes()).number();
        assert_eq!(number("-1.5e2"), Ok(Some(-150.0)));
        assert_eq!(number("true"), Ok(Some(1.0)));
        assert_eq!(number("-Infinity"), Ok(Some(f64::NEG_INFINITY)));
        assert!(number("NaN").is_ok_and(|value| value.is_some_and(f64::is_nan)));
        assert_eq!(number("null"), Ok(None));
        assert_eq!(number("\"1\""), Ok(None));
        assert!(number("1-x").is_err());
    }
}
