//! Lines of a log that all threads read ahead of the one thread that takes them in their order.
//!
//! Most of the work for a line does not depend on other lines: its characters, tokens, counters, names and numbers. A part of the
//! file is cut at line ends into pieces, which are read in parallel while the previous part is taken. Each piece has its own list
//! of names, which begins with those of the survey. A name that a piece adds gets its place in the file's list when its line is
//! taken, so that the order of names does not depend on how the file was cut. Whatever depends on neighbouring lines is left to
//! [`Blocks`](super::blocks::Blocks), and so is every line that looks like part of something larger.

use std::ops::Range;

use memchr::memchr2;
use rayon::prelude::*;

use super::blocks::LineContent;
use super::facts::LineFacts;
use super::forms::LineReader;
use super::kinds::is_numeric;
use super::names::Names;
use super::telling;
use crate::read::curve::lines;

/// Bytes of lines that are read ahead at once.
pub(super) const PART: usize = 2 << 20;

/// A part of a file: whole lines, and the content of each as far as it can be read alone.
#[derive(Debug, Default)]
pub(super) struct Part {
    bytes: Vec<u8>,
    pieces: Vec<Piece>,
    /// Position: the piece whose lines are taken, the next of its lines that were read ahead, and the first byte after the last
    /// returned line.
    piece: usize,
    line: usize,
    at: usize,
    /// Number of lines that were cut.
    pub(super) cut: u64,
}

/// Lines that one thread reads ahead.
#[derive(Debug)]
struct Piece {
    /// The end of its bytes in the part.
    end: usize,
    lines: Vec<Ahead>,
    names: Names,
    /// Number of leading names that it shares with the file.
    common: usize,
    /// Places of its other names in the file; `None` until a line with that name was taken.
    places: Vec<Option<usize>>,
}

/// A line that may mean something.
#[derive(Debug)]
struct Ahead {
    /// Its byte range in the part, including its line end.
    range: Range<usize>,
    known: Option<LineFacts>,
}

impl Part {
    /// Reads ahead the lines of `bytes`, all of them whole. `names` are those of the survey.
    pub(super) fn from_bytes(bytes: Vec<u8>, names: &Names) -> Self {
        let mut start = 0;
        let ranges = lines::pieces(&bytes).into_iter().map(|piece| {
            start += piece.len();
            start - piece.len()..start
        });
        let ranges: Vec<Range<usize>> = ranges.collect();
        let pieces = ranges.into_par_iter().map(|range| Piece::of(&bytes, range, names.clone())).collect();
        Self { bytes, pieces, ..Self::default() }
    }

    /// Its buffer, for reuse by another part.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The next line that may mean something, or simply the next line where `is_open` asks for every line. It comes without its end
    /// and without white space around it. `names` are those of the file.
    pub(super) fn next(&mut self, is_open: bool, names: &mut Names) -> Option<(&[u8], Option<LineFacts>)> {
        loop {
            let piece = self.pieces.get_mut(self.piece)?;
            let next = piece.lines.get(self.line).map(|line| line.range.clone());
            let range = match next {
                _ if is_open && self.at < piece.end => self.at..end_of_line(&self.bytes, self.at..piece.end),
                Some(range) if !is_open => range,
                _ => {
                    (self.piece, self.line, self.at) = (self.piece + 1, 0, piece.end);
                    continue;
                }
            };
            self.at = range.end;
            let mut known = None;
            if let Some(ahead) = piece.lines.get_mut(self.line).filter(|ahead| ahead.range == range) {
                self.line += 1;
                known = ahead.known.take();
                if let Some(LineFacts { looked, .. }) = &mut known {
                    piece.place(looked, names);
                }
            }
            let raw = self.bytes.get(range).unwrap_or_default();
            if !raw.trim_ascii_start().is_empty() {
                let (text, is_cut) = shown(raw);
                self.cut += u64::from(is_cut);
                return Some((text, known));
            }
        }
    }
}

impl Piece {
    fn of(bytes: &[u8], range: Range<usize>, names: Names) -> Self {
        let common = names.len();
        let mut piece = Self { end: range.end, lines: Vec::new(), names, common, places: Vec::new() };
        let mut reader = LineReader::default();
        let mut at = range.start;
        while at < range.end {
            let rest = bytes.get(at..range.end).unwrap_or_default();
            let place = telling::first_match(rest).map_or(range.end, |place| at + place);
            // Of the lines without a telling word, only rows of numbers are read.
            while let Some(end) = memchr2(b'\n', b'\r', bytes.get(at..place).unwrap_or_default()) {
                let line = at..at + end + 1;
                at = line.end;
                if is_numeric(bytes.get(line.clone()).unwrap_or_default().trim_ascii()) {
                    piece.look(bytes, line, &mut reader);
                }
            }
            if place < range.end {
                let line = at..end_of_line(bytes, at..range.end);
                at = line.end;
                piece.look(bytes, line, &mut reader);
            } else {
                at = range.end;
            }
        }
        piece.places = vec![None; piece.names.len().saturating_sub(common)];
        if piece.names.is_full() {
            // Names beyond the limit have no place of their own; only the file's list can tell them apart.
            piece.lines.iter_mut().for_each(|line| line.known = None);
        }
        piece
    }

    fn look(&mut self, bytes: &[u8], range: Range<usize>, reader: &mut LineReader) {
        let (text, _) = shown(bytes.get(range.clone()).unwrap_or_default());
        let known = reader.read(text, &mut self.names);
        self.lines.push(Ahead { range, known: Some(known) });
    }

    /// Replaces the places of names in this piece by those in the file.
    fn place(&mut self, looked: &mut LineContent, names: &mut Names) {
        let LineContent::Values(found) = looked else { return };
        let pairs = found.pairs.iter_mut().map(|pair| &mut pair.name);
        for name in pairs.chain(&mut found.unjoined.names).filter(|name| **name >= self.common) {
            let Some(place) = self.places.get_mut(*name - self.common) else { continue };
            if place.is_none() {
                *place = self.names.get(*name).map(|own| names.place(own.raw()));
            }
            *name = place.unwrap_or(*name);
        }
    }
}

/// Offset after the line end of the first line in a range.
fn end_of_line(bytes: &[u8], range: Range<usize>) -> usize {
    let end = memchr2(b'\n', b'\r', bytes.get(range.clone()).unwrap_or_default());
    end.map_or(range.end, |end| range.start + end + 1)
}

/// A line without its end and without white space around it, and whether it was cut as too long.
fn shown(raw: &[u8]) -> (&[u8], bool) {
    let is_cut = raw.len() > lines::LOOKED_AT + 1;
    let kept = if is_cut { raw.get(..lines::LOOKED_AT).unwrap_or(raw) } else { raw };
    (kept.trim_ascii(), is_cut)
}
