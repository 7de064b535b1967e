//! Lines of a text file, pulled in blocks.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;

use crate::error::{Error, ErrorKind, Result};
use crate::fetch::ByteSource;
use crate::read::decimal;

/// Bytes read at once.
const BLOCK: usize = 256 * 1024;
/// Longest line; a training log line has a few hundred bytes, a JSON record at most a few thousand.
const MAX_LINE: usize = 4 << 20;

/// Bytes of a line that a reader of logs looks at.
pub(super) const LOOKED_AT: usize = 1 << 20;

/// Types whose brackets hold a number: `tensor(2.5)`, `np.float32(2.5)`.
pub(super) const WRAPPERS: [&str; 12] = [
    "float16", "float32", "float64", "bfloat16", "float", "int", "int32", "int64", "tensor", "Tensor", "array", "Array",
];

/// Bytes of lines that are read at the same time, by all threads together: as long as a line may be.
const PART: usize = MAX_LINE;
/// Least bytes that are worth a thread.
const LEAST_PIECE: usize = 64 * 1024;

/// A line, whether it has its line end, and its place in the source.
type Placed<'l> = (&'l [u8], bool, Range<u64>);

/// Splits a source at `\n` and `\r` (progress bars overwrite their line with `\r`).
pub(in crate::read) struct Lines<'a> {
    source: &'a dyn ByteSource,
    buffer: Vec<u8>,
    start: usize,
    next_offset: u64,
    /// Whether the last returned line has no line end because the source ends there.
    unterminated: bool,
    /// Number of the last returned line, from 1.
    pub(in crate::read) number: u64,
    /// Number of lines that were cut; `None` where a line that is too long is an error.
    cut: Option<u64>,
    /// Whether the rest of a cut line still has to be skipped.
    is_within_cut: bool,
}

impl<'a> Lines<'a> {
    pub(in crate::read) fn new(source: &'a dyn ByteSource) -> Self {
        Self {
            source,
            buffer: Vec::new(),
            start: 0,
            next_offset: 0,
            unterminated: false,
            number: 0,
            cut: None,
            is_within_cut: false,
        }
    }

    /// Lines that are cut after 1 MiB instead of being refused as too long.
    pub(in crate::read) fn cutting(source: &'a dyn ByteSource) -> Self {
        Self { cut: Some(0), ..Self::new(source) }
    }

    /// Number of lines that were cut so far.
    pub(in crate::read) fn cut_lines(&self) -> u64 {
        self.cut.unwrap_or_default()
    }

    /// Bytes of the source up to the end of the last returned line.
    pub(in crate::read) fn consumed(&self) -> u64 {
        self.next_offset - (self.buffer.len() - self.start) as u64
    }

    /// The next line that is not empty, without its end and without white space around it.
    pub(in crate::read) fn next(&mut self) -> Result<Option<&[u8]>> {
        Ok(self.next_with_end()?.map(|(line, _)| line))
    }

    /// The next line as [`next`](Self::next) returns it, and whether it has its line end: a last line without one may be cut.
    pub(in crate::read) fn next_with_end(&mut self) -> Result<Option<(&[u8], bool)>> {
        Ok(self.next_in_place()?.map(|(line, ended, _)| (line, ended)))
    }

    /// The next line with its line end as [`next_with_end`](Self::next_with_end) returns them, and the byte range of the source that
    /// it and the empty lines before it cover.
    pub(in crate::read) fn next_in_place(&mut self) -> Result<Option<Placed<'_>>> {
        let begin = self.consumed();
        loop {
            let Some(range) = self.next_range()? else { return Ok(None) };
            self.number += 1;
            if !self.buffer.get(range.clone()).unwrap_or_default().trim_ascii_start().is_empty() {
                let (ended, place) = (!self.unterminated, begin..self.consumed());
                return Ok(self.buffer.get(range).map(|line| (line.trim_ascii(), ended, place)));
            }
        }
    }

    /// Skips whole lines up to the first one in which `first` finds something, or for which `is_due` holds. `first` searches many
    /// lines at once and returns the offset of the first hit. Where the next 64 KiB hold none, all threads search ahead.
    pub(in crate::read) fn skip_until(
        &mut self,
        first: impl Fn(&[u8]) -> Option<usize> + Sync,
        is_due: impl Fn(&[u8]) -> bool,
    ) -> Result<()> {
        self.leave_cut()?;
        let mut is_near = true;
        loop {
            if !is_near {
                while self.buffer.len() - self.start < PART && self.fill()? {}
            }
            let rest = self.buffer.get(self.start..).unwrap_or_default();
            let rest = if is_near { rest.get(..LEAST_PIECE).unwrap_or(rest) } else { rest };
            let Some(end) = memchr::memrchr2(b'\n', b'\r', rest) else {
                // The remaining line may continue in the next block; otherwise it is read like any other line.
                if rest.len() >= LEAST_PIECE || !self.fill()? {
                    return Ok(());
                }
                continue;
            };
            let whole = rest.get(..=end).unwrap_or_default();
            let found = if is_near { first(whole) } else { first_of_pieces(whole, &first) };
            let before = whole.get(..found.unwrap_or(whole.len())).unwrap_or_default();
            let (mut passed, mut count, mut due) = (0, 0, false);
            for line_end in memchr::memchr2_iter(b'\n', b'\r', before) {
                due = is_due(before.get(passed..line_end).unwrap_or_default().trim_ascii());
                if due {
                    break;
                }
                (passed, count) = (line_end + 1, count + 1);
            }
            self.start += passed;
            self.number += count;
            if due || found.is_some() {
                return Ok(());
            }
            is_near = false;
        }
    }

    /// The next whole lines, unchanged: about [`PART`] bytes of them. `None` where only a line without its end is left,
    /// which [`next_with_end`](Self::next_with_end) returns.
    ///
    /// The caller adds the lines it finds to [`number`](Self::number).
    pub(in crate::read) fn next_part(&mut self) -> Result<Option<&[u8]>> {
        while self.buffer.len() - self.start < PART && self.fill()? {}
        let rest = self.buffer.get(self.start..).unwrap_or_default();
        let Some(end) = memchr::memrchr2(b'\n', b'\r', rest) else {
            return if rest.len() > MAX_LINE { Err(self.too_long()) } else { Ok(None) };
        };
        let start = self.start;
        self.start += end + 1;
        Ok(self.buffer.get(start..self.start))
    }

    /// Moves the next whole lines to `part`, about `size` bytes of them. Returns false where the next line has no end or is longer
    /// than `size`; [`next_with_end`](Self::next_with_end) returns such a line.
    pub(in crate::read) fn take_part(&mut self, size: usize, part: &mut Vec<u8>) -> Result<bool> {
        self.leave_cut()?;
        while self.buffer.len() - self.start < size && self.fill()? {}
        part.clear();
        let rest = self.buffer.get(self.start..).unwrap_or_default();
        let Some(end) = memchr::memrchr2(b'\n', b'\r', rest) else { return Ok(false) };
        part.extend_from_slice(rest.get(..=end).unwrap_or_default());
        self.start += end + 1;
        Ok(true)
    }

    fn too_long(&self) -> Error {
        let message = format!("line {} is longer than {MAX_LINE} bytes", self.number + 1);
        Error::new(ErrorKind::LimitExceeded, self.source.name(), message)
    }

    /// Skips the rest of a line that was cut.
    fn leave_cut(&mut self) -> Result<()> {
        while std::mem::take(&mut self.is_within_cut) {
            let rest = self.buffer.get(self.start..).unwrap_or_default();
            match memchr::memchr2(b'\n', b'\r', rest) {
                Some(at) => self.start += at + 1,
                None => {
                    self.start = self.buffer.len();
                    self.is_within_cut = self.fill()?;
                }
            }
        }
        Ok(())
    }

    fn next_range(&mut self) -> Result<Option<Range<usize>>> {
        self.leave_cut()?;
        let mut searched = self.start;
        loop {
            let rest = self.buffer.get(searched..).unwrap_or_default();
            if let Some(at) = memchr::memchr2(b'\n', b'\r', rest) {
                let range = self.start..searched + at;
                self.start = searched + at + 1;
                return Ok(Some(range));
            }
            searched = self.buffer.len() - self.start;
            if let (Some(cut), true) = (&mut self.cut, searched > LOOKED_AT) {
                *cut += 1;
                let range = self.start..self.start + LOOKED_AT;
                (self.start, self.is_within_cut) = (range.end, true);
                return Ok(Some(range));
            }
            if searched > MAX_LINE {
                return Err(self.too_long());
            }
            if !self.fill()? {
                let range = self.start..self.buffer.len();
                self.start = self.buffer.len();
                self.unterminated = true;
                return Ok((!range.is_empty()).then_some(range));
            }
        }
    }

    /// Moves the unread bytes to the front and appends a block. Returns false at the end of the source.
    fn fill(&mut self) -> Result<bool> {
        self.buffer.drain(..self.start);
        self.start = 0;
        let left = self.source.len().saturating_sub(self.next_offset);
        let len = usize::try_from(left).map_or(BLOCK, |left| left.min(BLOCK));
        let kept = self.buffer.len();
        self.buffer.resize(kept + len, 0);
        self.source.read_at(self.next_offset, self.buffer.get_mut(kept..).unwrap_or_default())?;
        self.next_offset += len as u64;
        Ok(len > 0)
    }
}

/// The offset of the first hit of `first` in a text of whole lines, searched by all threads.
fn first_of_pieces(lines: &[u8], first: impl Fn(&[u8]) -> Option<usize> + Sync) -> Option<usize> {
    let mut start = 0;
    let placed = pieces(lines).into_iter().map(|piece| {
        start += piece.len();
        (start - piece.len(), piece)
    });
    let placed: Vec<(usize, &[u8])> = placed.collect();
    placed.into_par_iter().find_map_first(|(start, piece)| first(piece).map(|place| start + place))
}

/// Splits a text of whole lines into pieces of whole lines for several threads, none of them empty.
pub(super) fn pieces(lines: &[u8]) -> Vec<&[u8]> {
    let size = lines.len().div_ceil(2 * rayon::current_num_threads()).max(LEAST_PIECE);
    let (mut pieces, mut rest) = (Vec::new(), lines);
    while !rest.is_empty() {
        let behind = rest.get(size..).and_then(|behind| memchr::memchr2(b'\n', b'\r', behind));
        let (piece, others) = rest.split_at(behind.map_or(rest.len(), |behind| size + behind + 1));
        pieces.push(piece);
        rest = others;
    }
    pieces
}

/// The lines of a text without their ends and without white space around them, each with its number from 1. Empty lines are
/// counted and left out.
pub(super) fn numbered_lines(piece: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let ends = memchr::memchr2_iter(b'\n', b'\r', piece);
    let lines = ends.scan(0, |start, end| Some(piece.get(std::mem::replace(start, end + 1)..end).unwrap_or_default()));
    (1..).zip(lines.map(<[u8]>::trim_ascii)).filter(|(_, line)| !line.is_empty())
}

/// Number of lines in a text of whole lines.
pub(super) fn line_count(piece: &[u8]) -> u64 {
    memchr::memchr2_iter(b'\n', b'\r', piece).count() as u64
}

/// Bytes as text, where the replacement sign stands for what is not UTF-8. Most lines are, which is seen in less time.
pub(super) fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// A number as logs write it: `nan`, `inf` and `Infinity` are numbers too, and a figure may be grouped by commas.
pub(super) fn parse_number(text: &str) -> Option<f64> {
    // Nearly all numbers are plain.
    decimal::parse_f64(text).or_else(|| decorated_number(text))
}

/// The value of a cell: a plain or grouped number, also in a type (`tensor(2.5)`), with a unit (`79.5%`, `2.3 nats`) or a
/// spread after it (`0.91 ± 0.02`), or as a ratio of counts (`8912/10000`).
pub(super) fn parse_cell(text: &str) -> Option<f64> {
    parse_number(text).or_else(|| adorned_value(text.trim().trim_matches(['\'', '"'])))
}

fn adorned_value(text: &str) -> Option<f64> {
    let is_type = |name: &str| {
        let is_path = name.chars().all(|sign| sign.is_ascii_alphanumeric() || matches!(sign, '_' | '.'));
        is_path && WRAPPERS.contains(&name.rsplit('.').next().unwrap_or(name))
    };
    let wrapped = text.split_once('(').filter(|(name, _)| is_type(name));
    if let Some((_, inside)) = wrapped {
        return parse_number(inside.split([',', ')']).next()?.trim_matches(['[', ']']));
    }
    if let Some((value, _)) = text.split_once('±').or_else(|| text.split_once("+/-")).or_else(|| text.split_once("+-"))
    {
        return parse_number(value.trim());
    }
    if let Some((part, whole)) = text.split_once('/') {
        let count = |text: &str| text.trim().parse::<u32>().ok().map(f64::from);
        return Some(count(part)? / count(whole).filter(|whole| *whole > 0.0)?);
    }
    let figures = text.trim_end_matches(|sign: char| sign.is_alphabetic() || matches!(sign, '%' | ' '));
    let is_unit = figures.len() < text.len() && figures.ends_with(|sign: char| sign.is_ascii_digit());
    if is_unit { parse_number(figures) } else { None }
}

/// A plain whole number of at most 18 digits.
pub(super) fn plain_step(cell: &[u8]) -> Option<u64> {
    if cell.is_empty() || cell.len() > 18 {
        return None;
    }
    cell.iter().try_fold(0, |step, byte| byte.is_ascii_digit().then(|| step * 10 + u64::from(byte - b'0')))
}

fn decorated_number(text: &str) -> Option<f64> {
    let text = text.trim().trim_matches(['\'', '"']);
    let start = text.bytes().find(|byte| !matches!(byte, b'+' | b'-'))?;
    if !(start.is_ascii_digit() || matches!(start, b'.' | b'n' | b'N' | b'i' | b'I')) {
        return None;
    }
    text.parse().ok().or_else(|| if text.contains(',') { text.replace(',', "").parse().ok() } else { None })
}

/// A step number: `12`, `12.0`, and `12/500` of progress counters.
pub(super) fn parse_step(text: &str) -> Option<u64> {
    text.parse().ok().or_else(|| decorated_step(text))
}

fn decorated_step(text: &str) -> Option<u64> {
    let text = text.trim().trim_matches(['\'', '"']);
    let text = text.split_once('/').map_or(text, |(step, _)| step.trim_end());
    if text.contains(',') {
        return text.replace(',', "").parse().ok();
    }
    text.parse().ok().or_else(|| whole_number(text.parse().ok()?))
}

/// The value as a whole number from 0 to 2^53, where `f64` is exact; `None` for any other value.
pub(super) fn whole_number(value: f64) -> Option<u64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be a whole number below 2^53"
    )]
    ((0.0..EXACT).contains(&value) && value.fract().abs() < f64::EPSILON).then_some(value as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::MemorySource;

    fn all(text: &str) -> Vec<String> {
        let source = MemorySource::new("log", text.as_bytes().to_vec());
        let mut lines = Lines::new(&source);
        let mut found = Vec::new();
        while let Some(line) = lines.next().expect("readable") {
            found.push(String::from_utf8_lossy(line).into_owned());
        }
        found
    }

    #[test]
    fn lines_end_with_newline_or_carriage_return() {
        assert_eq!(all("a\r\nb\n\n  c \r d"), ["a", "b", "c", "d"]);
        assert!(all("").is_empty());
        assert!(all("\n\n").is_empty());
    }

    #[test]
    fn a_line_may_cross_blocks_and_must_not_be_endless() {
        let long = "x".repeat(BLOCK + 10);
        assert_eq!(all(&format!("{long}\nb")), [long.as_str(), "b"]);
        let source = MemorySource::new("log", vec![b'x'; MAX_LINE + 2 * BLOCK]);
        assert_eq!(Lines::new(&source).next().expect_err("endless").kind(), ErrorKind::LimitExceeded);
        let text = [vec![b'x'; 3 * LOOKED_AT], b"\nstep\n".to_vec(), vec![b'y'; LOOKED_AT + BLOCK + 1]].concat();
        let source = MemorySource::new("log", text);
        let mut lines = Lines::cutting(&source);
        let mut lengths = Vec::new();
        while let Some(line) = lines.next().expect("readable") {
            lengths.push(line.len());
        }
        assert_eq!((lengths, lines.cut_lines()), (vec![LOOKED_AT, 4, LOOKED_AT], 2));
    }

    proptest::proptest! {
        #[test]
        fn whatever_is_not_plain_is_left_to_the_long_way(text in "[-+.0-9einaf, ]{0,20}") {
            if let Some(step) = plain_step(text.as_bytes()) {
                proptest::prop_assert_eq!(Some(step), text.parse::<u64>().ok());
            }
        }
    }

    #[test]
    fn lines_without_anything_are_passed_over_up_to_the_next_that_has_it() {
        let mut text = String::new();
        for number in 0..400_000 {
            text.push_str(if number % 150_000 == 7 {
                "here it is\n"
            } else if number == 300_000 {
                "12 34\n"
            } else {
                "nothing to see\n"
            });
        }
        let source = MemorySource::new("log", text.into_bytes());
        let mut lines = Lines::new(&source);
        let (mut found, mut numbers) = (Vec::new(), Vec::new());
        loop {
            lines
                .skip_until(|text| memchr::memmem::find(text, b"it is"), |line| line.starts_with(b"12"))
                .expect("readable");
            let Some(line) = lines.next().expect("readable") else { break };
            if line != b"nothing to see" {
                found.push(String::from_utf8_lossy(line).into_owned());
                numbers.push(lines.number);
            }
        }
        assert_eq!(found, ["here it is", "here it is", "12 34", "here it is"]);
        assert_eq!(numbers, [8, 150_008, 300_001, 300_008]);
    }

    #[test]
    fn values_of_cells() {
        for (text, value) in [
            ("79.5%", Some(79.5)),
            ("2.3 nats", Some(2.3)),
            ("0.91 ± 0.02", Some(0.91)),
            ("8912/10000", Some(0.8912)),
            ("np.float16(2.5)", Some(2.5)),
            ("tensor([2.5], device='npu:0')", Some(2.5)),
            ("loss: np.float32(2.5)", None),
            ("True", None),
        ] {
            assert_eq!(parse_cell(text), value, "{text}");
        }
    }

    #[test]
    fn numbers_of_logs() {
        assert_eq!(parse_number("1.221668E+00"), Some(1.221_668));
        assert_eq!(parse_number("'0.5'"), Some(0.5));
        assert_eq!(parse_number("12,345"), Some(12345.0));
        assert!(parse_number("nan").is_some_and(f64::is_nan));
        assert_eq!(parse_number("-inf"), Some(f64::NEG_INFINITY));
        assert_eq!(parse_number("abc"), None);
        assert_eq!(parse_step("12/500"), Some(12));
        assert_eq!(parse_step("12.0"), Some(12));
        assert_eq!(parse_step("-1"), None);
    }
}
