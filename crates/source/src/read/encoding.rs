//! Text of a Python file from its bytes: PEP 263 (byte order mark, coding line), for the encodings that training code uses.

use std::sync::LazyLock;

use encoding_rs::{DecoderResult, Encoding, GB18030, GBK};
use memchr::memchr;
use regex::bytes::Regex;

/// The coding line, as PEP 263 defines it.
static CODING: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?-u)^[ \t\x0c]*#.*?coding[:=][ \t]*([-_.a-zA-Z0-9]+)").expect("invariant: a constant expression")
});
/// A line behind which the second may hold the coding.
static BLANK: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?-u)^[ \t\x0c]*(#.*)?$").expect("invariant: a constant expression"));

/// A text that could not be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undecoded {
    /// Line of the first byte that is not of the encoding, from 1.
    pub line: u64,
    /// The encoding, as the file or its default names it.
    pub encoding: String,
    /// Whether it is an encoding that is never read.
    pub is_unknown: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Utf8,
    Latin1,
    Chinese(&'static Encoding),
}

/// The text of `bytes`; a byte order mark stays, as the parser passes it over.
///
/// # Errors
/// The line of the first byte that is not of the declared encoding, UTF-8 without a declaration.
pub fn decode(bytes: Vec<u8>) -> Result<String, Undecoded> {
    let has_mark = bytes.starts_with(b"\xef\xbb\xbf");
    let declared = if has_mark { None } else { declared(&bytes) };
    let name = declared.unwrap_or_else(|| "utf-8".to_owned());
    let undecoded = |at: usize, is_unknown| Undecoded { line: line_of(&bytes, at), encoding: name.clone(), is_unknown };
    match known(&name) {
        Some(Known::Utf8) => match String::from_utf8(bytes) {
            Ok(text) => Ok(text),
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                Err(Undecoded { line: line_of(error.as_bytes(), at), encoding: name, is_unknown: false })
            }
        },
        Some(Known::Latin1) => Ok(bytes.iter().map(|byte| char::from(*byte)).collect()),
        Some(Known::Chinese(encoding)) => decode_by(encoding, &bytes).map_err(|at| undecoded(at, false)),
        // What is ASCII is the same in all of them.
        None => match bytes.iter().position(|byte| !byte.is_ascii()) {
            Some(at) => Err(undecoded(at, known_to_python_as_ascii(&name).is_none())),
            None => String::from_utf8(bytes).map_err(|_| Undecoded { line: 1, encoding: name, is_unknown: true }),
        },
    }
}

/// Decodes by `encoding`; the error is the first byte that is not of it.
fn decode_by(encoding: &'static Encoding, bytes: &[u8]) -> Result<String, usize> {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let room = decoder.max_utf8_buffer_length_without_replacement(bytes.len()).unwrap_or(0);
    let mut text = String::with_capacity(room);
    match decoder.decode_to_string_without_replacement(bytes, &mut text, true) {
        (DecoderResult::Malformed(bad, after), read) => Err(read.saturating_sub(usize::from(bad) + usize::from(after))),
        _ => Ok(text),
    }
}

/// Line of a byte, from 1.
fn line_of(bytes: &[u8], at: usize) -> u64 {
    let before = bytes.get(..at).unwrap_or(bytes);
    let ends = before.iter().enumerate().filter(|(place, byte)| match byte {
        b'\n' => true,
        b'\r' => before.get(place + 1) != Some(&b'\n'),
        _ => false,
    });
    ends.count() as u64 + 1
}

/// The encoding that the first two lines declare.
pub(super) fn declared(bytes: &[u8]) -> Option<String> {
    let (first, rest) = first_line(bytes);
    let found = CODING.captures(first).or_else(|| {
        let (second, _) = first_line(rest);
        CODING.captures(second).filter(|_| BLANK.is_match(first))
    });
    let name = found?.get(1)?.as_bytes();
    Some(String::from_utf8_lossy(name).into_owned())
}

fn first_line(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = memchr(b'\n', bytes).unwrap_or(bytes.len());
    let end = memchr(b'\r', bytes).map_or(end, |carriage| carriage.min(end));
    let line = bytes.get(..end).unwrap_or(bytes);
    let rest = bytes.get(end..).unwrap_or_default();
    let rest = rest.strip_prefix(b"\r\n").or_else(|| rest.get(1..)).unwrap_or_default();
    (line, rest)
}

fn normal(name: &str) -> String {
    name.to_ascii_lowercase().replace(['_', '.', ' '], "-")
}

/// An encoding by one of the names that Python knows it by (`encodings.aliases`).
fn known(name: &str) -> Option<Known> {
    match normal(name).as_str() {
        "utf-8" | "utf8" | "u8" | "utf" | "utf8-ucs2" | "utf8-ucs4" | "cp65001" | "utf-8-sig" => Some(Known::Utf8),
        name if name.starts_with("utf-8-") => Some(Known::Utf8),
        "latin-1" | "latin1" | "latin" | "l1" | "iso-8859-1" | "iso8859-1" | "8859" | "cp819" | "iso8859"
        | "iso-8859-1-1987" | "iso-ir-100" | "csisolatin1" | "ibm819" => Some(Known::Latin1),
        name if name.starts_with("latin-1-") || name.starts_with("iso-8859-1-") => Some(Known::Latin1),
        "gbk" | "936" | "cp936" | "ms936" | "gb2312" | "chinese" | "csiso58gb231280" | "euc-cn" | "euccn"
        | "eucgb2312-cn" | "gb2312-1980" | "gb2312-80" | "iso-ir-58" => Some(Known::Chinese(GBK)),
        "gb18030" | "gb18030-2000" => Some(Known::Chinese(GB18030)),
        _ => None,
    }
}

fn known_to_python_as_ascii(name: &str) -> Option<()> {
    matches!(normal(name).as_str(), "ascii" | "us-ascii" | "646" | "us").then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coding_lines_and_marks_are_followed() {
        for (bytes, text) in [
            (b"\xef\xbb\xbfx = 1".to_vec(), "\u{feff}x = 1"),
            (b"# coding: gbk\n\xcb\xf0".to_vec(), "# coding: gbk\n损"),
            (
                b"#!/bin/python\n# -*- coding: GB2312 -*-\n\xcb\xf0".to_vec(),
                "#!/bin/python\n# -*- coding: GB2312 -*-\n损",
            ),
            (b"# vim: set fileencoding=latin-1 :\n\xf6".to_vec(), "# vim: set fileencoding=latin-1 :\nö"),
            (b"# coding: shift_jis\nx = 1".to_vec(), "# coding: shift_jis\nx = 1"),
        ] {
            assert_eq!(decode(bytes).as_deref(), Ok(text));
        }
    }

    #[test]
    fn the_first_bad_byte_is_named_by_its_line() {
        let error =
            |bytes: &[u8]| decode(bytes.to_vec()).map_err(|error| (error.line, error.encoding, error.is_unknown));
        assert_eq!(error(b"import torch\r\n# \xcb\xf0\n"), Err((2, "utf-8".into(), false)));
        assert_eq!(error(b"x = 1\n# coding: gbk\n\xcb\xf0"), Err((3, "utf-8".into(), false)), "no comment before it");
        assert_eq!(error(b"# coding: gbk\n\n\xff\xff\n"), Err((3, "gbk".into(), false)));
        assert_eq!(error(b"# coding: shift_jis\n\n\n\xcb\xf0"), Err((4, "shift_jis".into(), true)));
    }
}
