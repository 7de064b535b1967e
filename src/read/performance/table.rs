//! Rows of a table of the profiler, by the titles of their columns.
//!
//! Cells hold commas, quotes and line breaks, so that a table is parsed as CSV and never by line. The profiler ends every row
//! with a line break: a table without one at its end was cut, and a row with fewer cells than titles was, too.

use std::cell::Cell;
use std::io::{BufReader, Read};
use std::rc::Rc;

use csv::ByteRecord;

use super::stream::{self, Stream};
use crate::error::{Error, Result};
use crate::fetch::ByteSource;

/// Bytes read at once.
const BLOCK: usize = 1 << 18;
/// Byte order mark, which tools put in front of a table.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Titles of a column, in the spelling of every release; the first that is there counts.
pub(super) type Titles = &'static [&'static str];

/// Places of the columns that a reader asked for.
pub(super) struct Row<'a> {
    places: &'a [Option<usize>],
    record: &'a ByteRecord,
}

impl<'a> Row<'a> {
    /// The cell of the `nth` column that was asked for; empty where the table has no such column.
    pub(super) fn cell(&self, nth: usize) -> &'a [u8] {
        self.places.get(nth).copied().flatten().and_then(|place| self.record.get(place)).unwrap_or_default()
    }

    /// The same as text; what is no text is replaced.
    pub(super) fn text(&self, nth: usize) -> String {
        String::from_utf8_lossy(self.cell(nth)).trim().to_owned()
    }
}

/// Columns of a table: those without which it is none, and others.
pub(super) struct Columns {
    /// Columns that must be there.
    pub(super) needed: &'static [Titles],
    /// Columns that may be there; their cells follow those of the needed ones.
    pub(super) others: &'static [Titles],
}

/// Hands every row on; `take` answers whether it understood it. Gives whether each column is there.
///
/// # Errors
/// `Corrupt` for a table that is empty, has no such columns, ends within a row, or holds a row that is not understood.
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
        // A cut shows in the last row; one in the middle was never written by the profiler.
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

/// Places of all columns.
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
        csv::ErrorKind::Io(failed) => stream::error(name, failed),
        _ => Error::corrupt(name, text),
    }
}

/// Remembers the last byte that was read.
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
