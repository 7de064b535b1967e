//! Tables of a SQLite database, read only: rows of one table in the order of their row ids.
//!
//! The file is divided into pages. A table is a tree of pages (kind 13 is a leaf, kind 5 has children), and a row too long for
//! its page continues in overflow pages. The table at page 1 lists the others. Nothing is executed and nothing written; the log
//! of writes beside a database ([`with_log`]) is applied in memory. sqlite.org/fileformat2.html describes the format.

mod log;
mod number;

use std::ops::Range;

use crate::error::{Error, Result};
use crate::fetch::ByteSource;

use number::{u16_at, u32_at, varint};

pub use log::{is_log, with_log};

/// First bytes of every database.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// Bytes of the database's header, which stands before that of the first page.
const HEADER: usize = 100;
/// Largest row in bytes; a record of metrics has a few hundred.
const MAX_ROW: u64 = 16 << 20;
/// Largest number of columns of a row; SQLite itself allows up to 32767, by default 2000.
const MAX_COLUMNS: usize = 2000;
/// Kinds of a page of a table.
const LEAF: u8 = 13;
const INTERIOR: u8 = 5;

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SqlValue {
    /// No value.
    Null,
    /// A whole number.
    Int(i64),
    /// A number.
    Real(f64),
    /// Text in UTF-8; invalid bytes are replaced.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

impl SqlValue {
    /// The text; `None` for other values.
    pub(crate) fn as_str(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// The bytes of a text or a blob; `None` for other values.
    pub(crate) fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Text(text) => Some(text.as_bytes()),
            Self::Blob(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The number; `None` for other values.
    pub(crate) fn as_f64(&self) -> Option<f64> {
        match self {
            #[allow(clippy::cast_precision_loss, reason = "a metric's value")]
            Self::Int(value) => Some(*value as f64),
            Self::Real(value) => Some(*value),
            _ => None,
        }
    }

    /// The whole number of at least 0; `None` for other values.
    pub(crate) fn as_u64(&self) -> Option<u64> {
        if let Self::Int(value) = self { u64::try_from(*value).ok() } else { None }
    }
}

/// Whether a file begins like a database.
pub fn recognise(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

/// A table: its root page and the names of its columns.
#[derive(Clone, Debug)]
pub(crate) struct SqlTable {
    root: u32,
    columns: Vec<String>,
    /// Index of the column that is the row's id; rows store no value for it.
    id: Option<usize>,
}

impl SqlTable {
    /// Index of a column in a row.
    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.eq_ignore_ascii_case(name))
    }
}

pub(crate) struct Database<'a> {
    source: &'a dyn ByteSource,
    page_size: u64,
    /// Bytes of a page that hold data.
    usable: usize,
    pages: u64,
}

impl<'a> Database<'a> {
    /// Opens a database by reading its header.
    ///
    /// # Errors
    /// `Corrupt` for a file that is no database, `Unsupported` for text in UTF-16.
    pub(crate) fn open(source: &'a dyn ByteSource) -> Result<Self> {
        let damaged = |what: &str| Err(Error::corrupt(source.name(), format!("is a damaged SQLite database: {what}")));
        if source.len() < HEADER as u64 {
            return damaged("it ends within its header");
        }
        let mut header = [0; HEADER];
        source.read_at(0, &mut header)?;
        let page_size = match u16_at(&header, 16) {
            Some(1) => 65536,
            Some(size) if size >= 512 && size.is_power_of_two() => u64::from(size),
            _ => return damaged("the size of its pages is not a power of two"),
        };
        let reserved = header.get(20).copied().map_or(0, u64::from);
        let usable = page_size - reserved;
        if usable < 480 {
            return damaged("its pages hold too little");
        }
        if u32_at(&header, 56).is_some_and(|encoding| encoding > 1) {
            return Err(Error::unsupported(source.name(), "is a SQLite database with text in UTF-16"));
        }
        let usable = usize::try_from(usable).unwrap_or_default();
        Ok(Self { source, page_size, usable, pages: source.len() / page_size })
    }

    /// Checks that the file has all pages that the header counts.
    ///
    /// # Errors
    /// `Corrupt` for a file that ends before them.
    pub(crate) fn demand_all_pages(&self) -> Result<()> {
        let mut header = [0; HEADER];
        self.source.read_at(0, &mut header)?;
        // The count is valid only where the same write set both change counters.
        let is_counted = u32_at(&header, 24) == u32_at(&header, 92);
        let counted = u32_at(&header, 28).map_or(0, u64::from);
        if is_counted && counted > self.pages {
            let message = format!("is a cut SQLite database: it has {} of {counted} pages", self.pages);
            return Err(Error::corrupt(self.source.name(), message).with_help("copy the database again, whole"));
        }
        Ok(())
    }

    /// The table called `name`.
    ///
    /// # Errors
    /// `Corrupt` where the list of tables is damaged.
    pub(crate) fn table(&self, name: &str) -> Result<Option<SqlTable>> {
        let mut found = None;
        self.rows(&SqlTable { root: 1, columns: Vec::new(), id: None }, |row| {
            if let [SqlValue::Text(kind), SqlValue::Text(own), _, SqlValue::Int(root), SqlValue::Text(sql)] = row
                && kind == "table"
                && own.eq_ignore_ascii_case(name)
            {
                let root = u32::try_from(*root).map_err(|_| self.damaged("the place of a table"))?;
                let columns = columns_of(sql);
                let id = columns.iter().position(|(_, is_id)| *is_id);
                found = Some(SqlTable { root, columns: columns.into_iter().map(|(name, _)| name).collect(), id });
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Passes every row of a table to `take`.
    ///
    /// # Errors
    /// `Corrupt` for a tree that is damaged; errors of `take`.
    pub(crate) fn rows(&self, table: &SqlTable, mut take: impl FnMut(&[SqlValue]) -> Result<()>) -> Result<()> {
        // Each page is used only once in a sound file, so a circle of pages exhausts this count.
        let mut left = self.pages;
        let mut open = vec![table.root];
        while let Some(number) = open.pop() {
            let page = self.page(number, &mut left)?;
            let start = if number == 1 { HEADER } else { 0 };
            let kind = page.get(start).copied();
            let first = start + if kind == Some(INTERIOR) { 12 } else { 8 };
            let cells = u16_at(&page, start + 3).map_or(0, usize::from);
            let cell = |index: usize| u16_at(&page, first + 2 * index).map(usize::from);
            match kind {
                Some(INTERIOR) => {
                    let children = (0..cells).map(|index| u32_at(&page, cell(index)?));
                    let all: Option<Vec<u32>> = children.chain([u32_at(&page, start + 8)]).collect();
                    let all = all.ok_or_else(|| self.damaged("the children of a page"))?;
                    // More open pages than the file has can only come from circles.
                    if (open.len() + all.len()) as u64 > self.pages {
                        return Err(self.damaged("the number of its pages"));
                    }
                    open.extend(all.into_iter().rev());
                }
                Some(LEAF) => {
                    for index in 0..cells {
                        let at = cell(index).ok_or_else(|| self.damaged("a row"))?;
                        let (id, bytes) = self.payload(&page, at, &mut left)?;
                        let mut row = values(&bytes).ok_or_else(|| self.damaged("a row"))?;
                        if let Some(value @ SqlValue::Null) = table.id.and_then(|place| row.get_mut(place)) {
                            *value = SqlValue::Int(id);
                        }
                        take(&row)?;
                    }
                }
                _ => return Err(self.damaged("the kind of a page")),
            }
        }
        Ok(())
    }

    fn page(&self, number: u32, left: &mut u64) -> Result<Vec<u8>> {
        let index = u64::from(number).checked_sub(1).filter(|index| *index < self.pages);
        let index = index.ok_or_else(|| self.damaged("the number of a page, or it is cut,"))?;
        *left = left.checked_sub(1).ok_or_else(|| self.damaged("the number of its pages"))?;
        let mut page = vec![0; self.usable];
        self.source.read_at(index * self.page_size, &mut page)?;
        Ok(page)
    }

    /// Id and bytes of the row in the cell at `at`, including bytes in overflow pages.
    fn payload(&self, page: &[u8], at: usize, left: &mut u64) -> Result<(i64, Vec<u8>)> {
        let bad = || self.damaged("a row");
        let (len, at) = varint(page, at).ok_or_else(bad)?;
        let (id, at) = varint(page, at).ok_or_else(bad)?;
        if len > MAX_ROW {
            return Err(self.damaged("the length of a row, which is above 16 MiB,"));
        }
        let len = usize::try_from(len).map_err(|_| bad())?;
        let local = local(len, self.usable);
        let mut bytes = page.get(at..at + local).ok_or_else(bad)?.to_vec();
        let mut next = u32_at(page, at + local);
        while bytes.len() < len {
            let page = self.page(next.ok_or_else(bad)?, left)?;
            let rest = (len - bytes.len()).min(self.usable - 4);
            bytes.extend(page.get(4..4 + rest).ok_or_else(bad)?);
            next = u32_at(&page, 0);
        }
        Ok((id.cast_signed(), bytes))
    }

    fn damaged(&self, what: &str) -> Error {
        Error::corrupt(self.source.name(), format!("is a damaged SQLite database: {what} does not fit"))
            .with_help("copy the database again once the run has ended, with the `-wal` file beside it")
    }
}

/// Number of bytes of a row of `len` bytes that are stored in its own page of `usable` bytes.
fn local(len: usize, usable: usize) -> usize {
    let most = usable - 35;
    if len <= most {
        return len;
    }
    let least = (usable - 12) * 32 / 255 - 23;
    let spread = least + (len - least) % (usable - 4);
    if spread <= most { spread } else { least }
}

/// The values of a row, which stores the kinds of all values before their bytes.
fn values(row: &[u8]) -> Option<Vec<SqlValue>> {
    let (end, mut at) = varint(row, 0)?;
    let end = usize::try_from(end).ok()?;
    let mut body = end;
    let mut values = Vec::new();
    while at < end {
        let (kind, next) = varint(row, at)?;
        at = next;
        let len = usize::try_from(match kind {
            0..=4 => kind,
            5 => 6,
            6 | 7 => 8,
            8 | 9 => 0,
            10 | 11 => return None,
            kind => (kind - 12) / 2,
        })
        .ok()?;
        let range: Range<usize> = body..body.checked_add(len)?;
        body = range.end;
        values.push(value(kind, row.get(range)?));
        if values.len() > MAX_COLUMNS {
            return None;
        }
    }
    Some(values)
}

fn value(kind: u64, bytes: &[u8]) -> SqlValue {
    let int = || {
        let negative = bytes.first().is_some_and(|byte| *byte >= 0x80);
        bytes.iter().fold(if negative { -1 } else { 0 }, |value: i64, byte| value << 8 | i64::from(*byte))
    };
    match kind {
        0 => SqlValue::Null,
        8 => SqlValue::Int(0),
        9 => SqlValue::Int(1),
        1..=6 => SqlValue::Int(int()),
        7 => bytes.first_chunk().map_or(SqlValue::Null, |bytes| SqlValue::Real(f64::from_be_bytes(*bytes))),
        kind if kind % 2 == 1 => SqlValue::Text(String::from_utf8_lossy(bytes).into_owned()),
        _ => SqlValue::Blob(bytes.to_vec()),
    }
}

/// Names of the columns in the statement that created a table, and whether each is the row's id.
fn columns_of(sql: &str) -> Vec<(String, bool)> {
    const CONSTRAINTS: [&str; 5] = ["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"];
    let body = sql.split_once('(').map_or("", |(_, body)| body);
    let (mut depth, mut quote) = (0_i64, None);
    let mut parts = vec![String::new()];
    for sign in body.chars() {
        match (sign, quote) {
            (_, Some(end)) if sign == end => quote = None,
            (_, Some(_)) => {}
            ('"' | '`' | '\'', None) => quote = Some(sign),
            ('[', None) => quote = Some(']'),
            ('(', None) => depth += 1,
            (')', None) => depth -= 1,
            (',', None) if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if depth < 0 {
            break;
        }
        if let Some(part) = parts.last_mut() {
            part.push(sign);
        }
    }
    let name = |part: &String| {
        let part = part.trim_start();
        let closing = match part.chars().next()? {
            '[' => Some(']'),
            quote @ ('"' | '`' | '\'') => Some(quote),
            _ => None,
        };
        if let Some(closing) = closing {
            return part.get(1..)?.split(closing).next().map(str::to_owned);
        }
        let word = part.split(|sign: char| sign.is_whitespace() || sign == '(').next()?;
        let is_column = !CONSTRAINTS.iter().any(|constraint| word.eq_ignore_ascii_case(constraint));
        is_column.then(|| word.to_owned())
    };
    let is_id = |part: &String| {
        let part = part.split_whitespace().collect::<Vec<_>>().join(" ").to_ascii_uppercase();
        part.contains(" INTEGER PRIMARY KEY") && !part.contains(" DESC")
    };
    parts.iter().filter_map(|part| Some((name(part)?, is_id(part)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::MemorySource;

    /// Written by sqlite3 3.40.1, see `tests/fixtures/curve-sources/README.md`.
    const SMALL_PAGES: &[u8] = include_bytes!("../../tests/fixtures/curve-sources/trackio-small-pages.db");

    fn rows(bytes: &[u8]) -> Result<Vec<Vec<SqlValue>>> {
        let source = MemorySource::new("p.db", bytes.to_vec());
        let database = Database::open(&source)?;
        let Some(table) = database.table("metrics")? else { return Ok(Vec::new()) };
        let mut rows = Vec::new();
        database.rows(&table, |row| {
            rows.push(row.to_vec());
            Ok(())
        })?;
        Ok(rows)
    }

    #[test]
    fn rows_come_in_order_from_trees_and_overflow_pages() {
        let rows = rows(SMALL_PAGES).expect("sound");
        let steps: Vec<Option<u64>> = rows.iter().map(|row| row.get(4)?.as_u64()).collect();
        assert_eq!(steps, (1..=40).chain(1..=40).map(Some).collect::<Vec<_>>());
        let longest = rows.iter().filter_map(|row| row.get(5)?.as_bytes()).map(<[u8]>::len).max();
        assert!(longest > Some(5000), "a row goes on in overflow pages: {longest:?}");
    }

    #[test]
    fn columns_are_named_by_the_statement() {
        let sql = "CREATE TABLE metrics (id INTEGER PRIMARY KEY, \"run name\" TEXT DEFAULT 'a,b', step REAL CHECK (step IN (1, 2)), \
                   UNIQUE(id, step), [metrics] TEXT)";
        let columns = columns_of(sql);
        let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["id", "run name", "step", "metrics"]);
        let ids: Vec<bool> = columns.iter().map(|(_, is_id)| *is_id).collect();
        assert_eq!(ids, [true, false, false, false]);
    }

    #[test]
    fn whatever_is_changed_or_cut_ends_in_rows_or_an_error() {
        let mut seed = 7_u32;
        for _ in 0..3000 {
            let mut bytes = SMALL_PAGES.to_vec();
            for _ in 0..4 {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let at = seed as usize % bytes.len();
                bytes[at] = (seed >> 24) as u8;
            }
            let cut = if seed.is_multiple_of(5) { seed as usize / 7 % bytes.len() } else { bytes.len() };
            let _outcome = rows(&bytes[..cut]);
        }
    }

    #[test]
    fn pages_in_circles_are_damage() {
        let mut bytes = SMALL_PAGES.to_vec();
        let source = MemorySource::new("p.db", bytes.clone());
        let root =
            Database::open(&source).expect("sound").table("metrics").expect("sound").expect("there").root as usize;
        // The last child of the root is the root.
        let page = (root - 1) * 512;
        assert_eq!(bytes[page], INTERIOR);
        bytes[page + 8..page + 12].copy_from_slice(&u32::try_from(root).expect("small").to_be_bytes());
        assert!(rows(&bytes).expect_err("a circle").message().contains("damaged"));
    }
}
