//! Rows of a table of operator tests, with cells by the title of their column, and damage of the table.
//!
//! Messages hold line breaks and commas inside quotes, so a table is parsed as CSV and never line by line. A file that was cut
//! within quotes has an odd number of quotes; a file cut elsewhere ends in a row with too few cells.

use csv::ByteRecord;

use super::place::TableKind;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{Budget, ByteSource, read_all};
use crate::read::decimal::parse_f64;

/// Largest table in bytes. An operator takes about a kilobyte, and a dump of a step has up to some hundred thousand operators.
const MOST_BYTES: u64 = 256 << 20;
/// Most rows of a table.
const MOST_ROWS: usize = 500_000;
/// Longest name of a row, in bytes.
const MOST_NAME: usize = 1024;
/// Byte order mark that the tool writes first.
const MARK: &[u8] = b"\xef\xbb\xbf";
/// Title of the first column, of names. In one of the tables its second word is in lower case.
const NAME: &str = "API Name";
/// Titles of the columns that a table of each kind must have.
const NEEDED: [(TableKind, &[&str]); 4] = [
    (TableKind::Details, &["DEVICE Dtype", "Shape", "Status"]),
    (TableKind::Results, &["Forward Test Success", "Backward Test Success"]),
    (TableKind::ComparedDetails, &["比对结果"]),
    (TableKind::ComparedResults, &["Forward Test Success", "Backward Test Success"]),
];

/// Reason why a table is not whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperatorDamage {
    /// The file has no bytes.
    Empty,
    /// The first line is not a header of the tool.
    Header,
    /// The file ends within a row.
    Cut {
        /// Line where that row begins, from 1.
        line: u64,
    },
    /// Some rows cannot be read.
    Rows {
        /// Number of them.
        count: u64,
        /// Line of the first, from 1.
        line: u64,
    },
}

/// Rows of a table, and the damage of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorRows<T> {
    /// The rows, in the order of the file.
    pub rows: Vec<T>,
    /// Reason why the table is not whole; `None` if it is whole.
    pub damage: Option<OperatorDamage>,
}

impl<T> Default for OperatorRows<T> {
    fn default() -> Self {
        Self { rows: Vec::new(), damage: None }
    }
}

/// A cell of a row; `None` if there is no such column, or it is not text.
#[derive(Clone, Copy)]
pub(super) struct Cell<'a>(Option<&'a str>);

impl<'a> Cell<'a> {
    fn of(record: &'a ByteRecord, column: Option<usize>) -> Self {
        Self(column.and_then(|column| std::str::from_utf8(record.get(column)?).ok()))
    }

    /// Its text, without spaces at both ends.
    pub(super) fn text(self) -> Option<&'a str> {
        self.0.map(str::trim)
    }

    /// Its number.
    ///
    /// `Some(None)` means that the number was not computed: there is no such column, or the cell is empty or a word for none.
    /// `None` means any other text. NaN and infinities are numbers.
    pub(super) fn number(self) -> Option<Option<f64>> {
        let Some(cell) = self.text() else { return Some(None) };
        let is_none = cell.is_empty() || ["n/a", "none", "-"].iter().any(|word| cell.eq_ignore_ascii_case(word));
        if is_none { Some(None) } else { parse_f64(cell).map(Some) }
    }
}

/// Reads the rows that `parse` accepts, given their names and the cells below `titles`; other rows are counted as damage.
///
/// # Errors
/// If the file is too large, has too many rows, or cannot be read.
pub(super) fn read<T, const N: usize>(
    source: &dyn ByteSource,
    kind: TableKind,
    titles: [&str; N],
    parse: impl Fn(&str, [Cell<'_>; N]) -> Option<T>,
) -> Result<OperatorRows<T>> {
    let mut budget = Budget::from_source(source);
    let bytes = read_all(source, MOST_BYTES)?;
    budget.reserve(bytes.len())?;
    let text = bytes.strip_prefix(MARK).unwrap_or(&bytes);
    let damaged = |damage| OperatorRows { rows: Vec::new(), damage: Some(damage) };
    if text.is_empty() {
        return Ok(damaged(OperatorDamage::Empty));
    }
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text);
    let mut record = ByteRecord::new();
    let mut next = |record: &mut ByteRecord| {
        let failed = |error: csv::Error| Error::corrupt(source.name(), error.to_string());
        let place = reader.position();
        // After a line break of two bytes, the second byte is not consumed yet.
        let is_behind = usize::try_from(place.byte()).is_ok_and(|byte| text.get(byte) == Some(&b'\n'));
        let line = place.line() + u64::from(is_behind);
        reader.read_byte_record(record).map(|is_there| is_there.then_some(line)).map_err(failed)
    };
    next(&mut record)?;
    let title = |cell: &[u8]| String::from_utf8_lossy(cell).trim().to_owned();
    let header: Vec<String> = record.iter().map(title).collect();
    if !is_header(&header, kind) {
        return Ok(damaged(OperatorDamage::Header));
    }
    let columns = titles.map(|title| header.iter().position(|column| column == title));
    // If a quote is not closed, the last row extends to the end of the file.
    let is_open = memchr::memchr_iter(b'"', text).count() % 2 == 1;
    let (mut rows, mut broken, mut first, mut last) = (Vec::new(), 0_u64, 0_u64, None);
    while let Some(line) = next(&mut record)? {
        if rows.len() >= MOST_ROWS {
            let message = format!("more than {MOST_ROWS} rows");
            return Err(Error::new(ErrorKind::LimitExceeded, source.name(), message));
        }
        let name = if is_whole(&record, &header, kind) { name(&record) } else { None };
        let parsed = name.and_then(|name| parse(name, columns.map(|column| Cell::of(&record, column))));
        last = Some((line, parsed.is_some()));
        match parsed {
            Some(parsed) => {
                budget.reserve_value::<T>(record.as_slice().len())?;
                rows.push(parsed);
            }
            None => {
                broken += 1;
                first = if broken == 1 { line } else { first };
            }
        }
    }
    let ends = matches!(text.last(), Some(b'\n' | b'\r'));
    let damage = match last {
        Some((line, was_read)) if is_open => {
            if was_read {
                rows.pop();
            }
            Some(OperatorDamage::Cut { line })
        }
        // Only the last row cannot be read, and it has no line break.
        Some((line, false)) if broken == 1 && !ends => Some(OperatorDamage::Cut { line }),
        _ => (broken > 0).then_some(OperatorDamage::Rows { count: broken, line: first }),
    };
    Ok(OperatorRows { rows, damage })
}

/// Name of a row, which its first cell holds; `None` if it is empty or too long.
fn name(record: &ByteRecord) -> Option<&str> {
    Cell::of(record, Some(0)).text().filter(|name| !name.is_empty() && name.len() <= MOST_NAME)
}

fn is_header(columns: &[String], kind: TableKind) -> bool {
    let needed = NEEDED.iter().find(|(of, _)| *of == kind).map_or(&[][..], |(_, needed)| *needed);
    let has = |title: &str| columns.iter().any(|column| column == title);
    columns.first().is_some_and(|first| first.eq_ignore_ascii_case(NAME)) && needed.iter().all(|title| has(title))
}

/// Whether a row has a cell in every column. In tables of results the message may be missing.
fn is_whole(record: &ByteRecord, columns: &[String], kind: TableKind) -> bool {
    let optional = usize::from(matches!(kind, TableKind::Results | TableKind::ComparedResults));
    record.len() + optional >= columns.len() && record.len() <= columns.len()
}
