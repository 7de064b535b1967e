//! Lines and columns of a text.

use memchr::{memchr2, memchr2_iter};

/// Starts of the lines of a text, which end by LF, CR LF or CR.
#[derive(Clone, Debug)]
pub struct Lines {
    starts: Vec<u32>,
}

impl Lines {
    /// Lines of `text`.
    pub fn from_text(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut starts = vec![0];
        for end in memchr2_iter(b'\n', b'\r', bytes) {
            let is_half = bytes.get(end) == Some(&b'\r') && bytes.get(end + 1) == Some(&b'\n');
            if !is_half {
                starts.push(u32::try_from(end + 1).unwrap_or(u32::MAX));
            }
        }
        Self { starts }
    }

    /// Whether all lines end by LF, as programs count them that know no other end.
    pub fn end_by_line_feeds(text: &[u8]) -> bool {
        memchr::memchr_iter(b'\r', text).all(|at| text.get(at + 1) == Some(&b'\n'))
    }

    /// Line of a byte, from 1.
    pub fn line(&self, offset: u32) -> u64 {
        self.starts.partition_point(|start| *start <= offset) as u64
    }

    /// Start of a line in bytes; `None` behind the last one.
    fn start(&self, line: u64) -> Option<u32> {
        self.starts.get(usize::try_from(line.checked_sub(1)?).ok()?).copied()
    }

    /// End of a line in bytes, with its line break; `None` for the last one.
    pub(super) fn end(&self, line: u64) -> Option<usize> {
        self.start(line + 1).map(|start| start as usize)
    }

    /// Column of a byte of `text`, from 1, in code points.
    pub fn column(&self, text: &str, offset: u32) -> u64 {
        let start = self.start(self.line(offset)).unwrap_or(0);
        let before = text.get(start as usize..offset as usize).unwrap_or_default();
        before.chars().filter(|character| *character != '\u{feff}').count() as u64 + 1
    }

    /// Text of a line, without its end; empty behind the last one.
    pub fn text<'a>(&self, text: &'a str, line: u64) -> &'a str {
        let Some(start) = self.start(line) else { return "" };
        let end = self.start(line + 1).map_or(text.len(), |end| end as usize);
        text.get(start as usize..end).unwrap_or_default().trim_end_matches(['\n', '\r'])
    }
}

/// The lines of a text, each without its end, counted as [`Lines`] does.
pub(super) fn split(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(text).filter(|text| !text.is_empty());
    std::iter::from_fn(move || {
        let text = rest?;
        let end = memchr2(b'\n', b'\r', text).unwrap_or(text.len());
        let (line, behind) = text.split_at(end);
        let behind = behind.strip_prefix(b"\r\n").or_else(|| behind.get(1..)).unwrap_or_default();
        rest = Some(behind).filter(|behind| !behind.is_empty());
        Some(line)
    })
}

#[cfg(test)]
mod tests {
    use super::{Lines, split};

    #[test]
    fn both_ways_to_count_lines_agree() {
        for text in ["", "a", "a\n", "a\r\n\r\nb", "\n\r\r\n\n\r", "a\x0cb\r\rc\u{85}d\u{2028}e\n"] {
            let lines = Lines::from_text(text);
            let all: Vec<&[u8]> = split(text.as_bytes()).collect();
            for (place, line) in all.iter().enumerate() {
                assert_eq!(lines.text(text, place as u64 + 1).as_bytes(), *line, "{text:?}");
            }
            assert_eq!(lines.end(all.len() as u64 + 1), None, "{text:?}");
        }
    }

    #[test]
    fn every_kind_of_line_end_counts_once() {
        let text = "a\nb\r\nc\rd";
        let lines = Lines::from_text(text);
        for (offset, line, column) in [(0, 1, 1), (2, 2, 1), (5, 3, 1), (7, 4, 1)] {
            assert_eq!((lines.line(offset), lines.column(text, offset)), (line, column), "{offset}");
        }
        assert_eq!([1, 2, 3, 4, 5].map(|line| lines.text(text, line)), ["a", "b", "c", "d", ""]);
    }

    #[test]
    fn columns_count_characters_and_no_byte_order_mark() {
        let text = "\u{feff}损失 = x";
        assert_eq!(Lines::from_text(text).column(text, u32::try_from(text.len() - 1).expect("short")), 6);
    }
}
