//! Lines of a file, block by block: a file of any size is read in bounded memory.

use crate::error::Result;
use crate::fetch::ByteSource;

/// Number of bytes read at once.
const BLOCK: usize = 4 << 20;
/// Longest line in bytes; a longer one counts as damage.
pub(in crate::read) const MAX_LINE: usize = 16 << 20;
/// Byte order mark of UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One line that is not empty.
#[derive(Clone, Copy, Debug)]
pub(in crate::read) struct Line<'a> {
    /// Its number, from 1.
    pub(in crate::read) number: u64,
    /// Offset of its first byte in the file.
    pub(in crate::read) offset: u64,
    /// Its bytes without the line break; `None` if it is longer than [`MAX_LINE`].
    pub(in crate::read) bytes: Option<&'a [u8]>,
}

/// State between two blocks.
struct Reading {
    /// Beginning of a line whose end is not read yet.
    kept: Vec<u8>,
    /// Offset of `kept` in the file.
    offset: u64,
    /// Number of the next line.
    number: u64,
    /// Whether the current line was too long, so that its rest is skipped.
    is_passing: bool,
}

/// Reads `source` to its end and calls `block` with some lines at a time.
///
/// # Errors
/// Those of reading the source. All lines before the error were passed to `block`.
pub(in crate::read) fn for_each_block(source: &dyn ByteSource, mut block: impl FnMut(&[Line<'_>])) -> Result<()> {
    let mut next = 0;
    let mut reading = Reading { kept: Vec::new(), offset: 0, number: 1, is_passing: false };
    while next < source.len() {
        let len = usize::try_from(source.len() - next).map_or(BLOCK, |left| left.min(BLOCK));
        let before = reading.kept.len();
        reading.kept.resize(before + len, 0);
        source.read_at(next, reading.kept.get_mut(before..).unwrap_or_default())?;
        next += len as u64;
        source.prefetch(next..source.len().min(next.saturating_add(BLOCK as u64)));
        reading.give(next == source.len(), before, &mut block);
    }
    Ok(())
}

impl Reading {
    /// Passes complete lines on and keeps the rest. The first `known` bytes hold no line break.
    fn give(&mut self, is_last: bool, known: usize, block: &mut impl FnMut(&[Line<'_>])) {
        let bytes = std::mem::take(&mut self.kept);
        let mut lines = Vec::new();
        let mut start = 0;
        if self.offset == 0 && bytes.starts_with(BYTE_ORDER_MARK) {
            start = BYTE_ORDER_MARK.len();
        }
        let fresh = bytes.get(known..).unwrap_or_default();
        for end in memchr::memchr_iter(b'\n', fresh).map(|at| known + at) {
            lines.extend(self.line(&bytes, start, end));
            start = end + 1;
        }
        if is_last {
            lines.extend(self.line(&bytes, start, bytes.len()));
            start = bytes.len();
        } else if bytes.len() - start > MAX_LINE {
            if !self.is_passing {
                lines.push(Line { number: self.number, offset: self.offset + start as u64, bytes: None });
            }
            self.is_passing = true;
            start = bytes.len();
        }
        block(&lines);
        self.offset += start as u64;
        self.kept = bytes.get(start..).unwrap_or_default().to_vec();
    }

    /// Counts the line between two positions and returns it, unless it is blank.
    fn line<'a>(&mut self, bytes: &'a [u8], start: usize, end: usize) -> Option<Line<'a>> {
        let number = self.number;
        self.number += 1;
        if std::mem::take(&mut self.is_passing) {
            return None;
        }
        let line = bytes.get(start..end).unwrap_or_default();
        if line.trim_ascii().is_empty() {
            return None;
        }
        let bytes = (line.len() <= MAX_LINE).then_some(line);
        Some(Line { number, offset: self.offset + start as u64, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::MemorySource;

    fn lines(text: &[u8]) -> Vec<(u64, u64, Option<usize>)> {
        let mut found = Vec::new();
        let source = MemorySource::new("file", text.to_vec());
        for_each_block(&source, |lines| {
            found.extend(lines.iter().map(|line| (line.number, line.offset, line.bytes.map(<[u8]>::len))));
        })
        .expect("memory");
        found
    }

    #[test]
    fn lines_have_numbers_and_offsets() {
        assert_eq!(lines(b"\xef\xbb\xbfab\r\n\ncd"), [(1, 3, Some(3)), (3, 8, Some(2))]);
        assert_eq!(lines(b""), []);
        assert_eq!(lines(b"\n\n"), []);
    }

    #[test]
    fn lines_across_blocks_are_whole() {
        let mut text = vec![b'a'; BLOCK - 2];
        text.extend_from_slice(b"\nbbbb\n");
        text.extend(std::iter::repeat_n(b'c', BLOCK));
        assert_eq!(
            lines(&text),
            [(1, 0, Some(BLOCK - 2)), (2, BLOCK as u64 - 1, Some(4)), (3, BLOCK as u64 + 4, Some(BLOCK))]
        );
    }

    #[test]
    fn a_huge_line_is_told_once_and_the_next_one_read() {
        let mut text = vec![b'a'; MAX_LINE + 3 * BLOCK];
        text.extend_from_slice(b"\nb\n");
        assert_eq!(lines(&text), [(1, 0, None), (2, (MAX_LINE + 3 * BLOCK) as u64 + 1, Some(1))]);
        let mut text = vec![b'a'; MAX_LINE + 1];
        text.extend_from_slice(b"\nb");
        assert_eq!(lines(&text), [(1, 0, None), (2, MAX_LINE as u64 + 2, Some(1))]);
    }
}
