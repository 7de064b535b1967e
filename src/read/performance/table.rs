//! Rows of a table of the profiler, with cells by the titles of their columns.
//!
//! Cells hold commas, quotes and line breaks, so a table is parsed as CSV and never line by line. The profiler ends every row with
//! a line break. A table without one at its end was cut, and so was a table that has a row with fewer cells than titles.

use std::cell::Cell;
use std::io::{BufReader, Read};
use std::rc::Rc;

use csv::ByteRecord;

use super::stream::{self, Stream};
use crate::error::{Error, Result};
use crate::fetch::ByteSource;

/// Number of bytes read at once.
const BLOCK: usize = 1 << 18;
/// Byte order mark, which some tools write first.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Titles of a column in the spellings of all releases. The first one that the table has counts.
pub(super) type Titles = &'static [&'static str];

/// A row with access to the requested columns.
pub(super) struct Row<'a> {
    places: &'a [Option<usize>],
    record: &'a ByteRecord,
}

impl<'a> Row<'a> {
    /// Cell of the `nth` requested column; empty if the table lacks this column.
    pub(super) fn cell(&self, nth: usize) -> &'a [u8] {
        self.places.get(nth).copied().flatten().and_then(|place| self.record.get(place)).unwrap_or_default()
    }

    /// Cell as text, with invalid characters replaced.
    pub(super) fn text(&self, nth: usize) -> String {
        String::from_utf8_lossy(self.cell(nth)).trim().to_owned()
    }
}

/// Columns of a table that a reader requests.
pub(super) struct Columns {
    /// Columns that must be there.
    pub(super) needed: &'static [Titles],
    /// Optional columns, whose indices follow those of the needed ones.
    pub(super) others: &'static [Titles],
}

/// Calls `take` with every row; `take` returns whether it could read the row. Returns whether each requested column exists.
///
/// # Errors
/// `Corrupt` if the table is empty, lacks a needed column, ends within a row, or holds a row that `take` cannot read.
pub(super) fn read(
    source: &dyn ByteSource,
    columns: &Columns,
    mut take: impl FnMut(&Row<'_>) -> Result<bool>,
) -> Result<Vec<bool>> {
    let name = source.name();
    if source.is_empty() {
        return Err(Error::corrupt(name, "is empty"));
    }
    let last = Rc::new(Cell::new(b'\n'));
    let input = Watched { inner: BufReader::with_capacity(BLOCK, Stream::new(source)), last: Rc::clone(&last) };
    let mut reader =
        csv::ReaderBuilder::new().has_headers(false).flexible(true).buffer_capacity(BLOCK).from_reader(input);
    let mut record = ByteRecord::new();
    let mut next = |record: &mut ByteRecord| -> Result<Option<u64>> {
        let line = reader.position().line();
        match reader.read_byte_record(record) {
            Ok(is_there) => Ok(is_there.then_some(line)),
            Err(failed) => Err(failure(name, failed)),
        }
    };
    next(&mut record)?;
    let titles: Vec<String> = record.iter().map(title).collect();
    let places = places(&titles, columns, name)?;
    let mut rows = 0_u64;
    while let Some(line) = next(&mut record)? {
        let row = Row { places: &places, record: &record };
        // A cut affects the last row; the profiler never writes such a row in the middle.
        if record.len() != titles.len() {
            let message = format!("ends within a row, or has a damaged one, at line {line}");
            return Err(Error::corrupt(name, message));
        }
        if !take(&row)? {
            return Err(Error::corrupt(name, format!("holds a row at line {line} whose numbers cannot be read")));
        }
        rows += 1;
    }
    if last.get() != b'\n' {
        return Err(Error::corrupt(name, "ends within a row: its last line has no end"));
    }
    if rows == 0 {
        return Err(Error::corrupt(name, "has titles and no rows"));
    }
    Ok(places.iter().map(Option::is_some).collect())
}

fn title(cell: &[u8]) -> String {
    String::from_utf8_lossy(cell.strip_prefix(MARK).unwrap_or(cell)).trim().to_owned()
}

/// Indices of the requested columns in the table.
fn places(titles: &[String], columns: &Columns, name: &str) -> Result<Vec<Option<usize>>> {
    let place = |spellings: &Titles| {
        let mut spelled = spellings.iter();
        spelled.find_map(|spelled| titles.iter().position(|title| title.eq_ignore_ascii_case(spelled)))
    };
    let mut places = Vec::new();
    for spellings in columns.needed {
        let Some(found) = place(spellings) else {
            let wanted = spellings.first().copied().unwrap_or_default();
            return Err(Error::corrupt(name, format!("has no column `{wanted}` in its first line")));
        };
        places.push(Some(found));
    }
    places.extend(columns.others.iter().map(place));
    Ok(places)
}

fn failure(name: &str, failed: csv::Error) -> Error {
    let text = failed.to_string();
    match failed.into_kind() {
        csv::ErrorKind::Io(failed) => stream::read_error(name, failed),
        _ => Error::corrupt(name, text),
    }
}

/// Reader that remembers the last byte that was read.
struct Watched<R> {
    inner: R,
    last: Rc<Cell<u8>>,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let len = self.inner.read(into)?;
        if let Some(byte) = len.checked_sub(1).and_then(|at| into.get(at)) {
            self.last.set(*byte);
        }
        Ok(len)
    }
}
