//! The documents of a run in progress: lines and tables are written as they arrive.

use std::io::{BufWriter, Write};
use std::ops::Range;
use std::sync::Mutex;

use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use sha2::{Digest, Sha256};

use super::ordered::in_order;
use super::page::operations::{self, Operations};
use super::sink::{LinesOf, Sink, locked};
use super::xlsx;
use crate::error::{Error, ErrorKind, Result};
use crate::msprobe::table::{Cell, MsprobeRows, MsprobeTable, TakeCells};
use crate::output::documents::LINES;
use crate::output::{Draft, Output};
use crate::result::operation::OperationLine;

/// Bytes that are written at once; a run may have millions of lines.
const BUFFER: usize = 64 << 10;

/// Options for the documents that grow with a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct FolderOptions {
    /// Whether tables are written as workbooks too.
    pub xlsx: bool,
    /// Whether tables are left out.
    pub no_table: bool,
    /// Whether the lines are compressed by Zstandard.
    pub compress: bool,
}

/// Writer of a run's documents into its output folder.
///
/// No file is created before there is something to write, and no file appears under its name before it is complete.
#[derive(Debug)]
pub struct ReportFolder {
    /// The file of lines; it is taken out before the folder is given back.
    lines: Mutex<Option<Written>>,
    options: FolderOptions,
    /// Tables that share a workbook.
    together: Mutex<Vec<MsprobeTable>>,
    output: Output,
}

/// The lines so far.
#[derive(Debug)]
struct Written {
    out: BufWriter<Hashing>,
    operations: Operations,
}

/// Documents that were written while the run judged.
#[derive(Debug)]
pub struct FinishedFolder {
    /// The output folder, which holds the documents as drafts.
    pub output: Output,
    /// The lines as the page holds them.
    pub operations: operations::OperationTable,
    /// Digest of the file of lines (`sha256:…`).
    pub digest: String,
}

impl ReportFolder {
    /// Writes into `output`.
    pub fn new(output: Output, options: FolderOptions) -> Self {
        Self { lines: Mutex::default(), options, together: Mutex::default(), output }
    }

    /// Writes the remaining lines.
    ///
    /// # Errors
    /// Where a file cannot be written.
    pub fn finish(self) -> Result<FinishedFolder> {
        let Written { out, operations } = locked(&self.lines).take().map_or_else(|| self.begin(), Ok)?;
        let place = out.get_ref().file.place();
        let written = out.into_inner();
        let Hashing { file, hash } = written.map_err(|error| Error::io(place.display().to_string(), error.error()))?;
        self.output.keep(file);
        for (name, bytes) in xlsx::workbooks(&locked(&self.together))? {
            self.output.write(&name, &bytes)?;
        }
        let digest = format!("sha256:{:x}", hash.finalize());
        Ok(FinishedFolder { output: self.output, operations: operations.finish()?, digest })
    }

    fn begin(&self) -> Result<Written> {
        let [plain, compressed] = LINES;
        let file = self.output.draft(if self.options.compress { compressed } else { plain })?;
        let out = BufWriter::with_capacity(BUFFER, Hashing { file, hash: Sha256::new() });
        Ok(Written { out, operations: Operations::default() })
    }
}

impl Written {
    fn take(&mut self, parts: &[Part<'_>]) -> Result<()> {
        let Self { out, operations } = self;
        // A thread that waits for the next lines can write the text meanwhile.
        let (added, written) = rayon::join(
            || parts.iter().try_for_each(|part| operations.add_all(&part.lines)),
            || parts.iter().try_for_each(|part| out.write_all(&part.text)),
        );
        added?;
        written.map_err(|error| Error::io(out.get_ref().file.place().display().to_string(), &error))
    }
}

/// Lines one after the other, with their text.
#[derive(Default)]
struct Part<'a> {
    lines: Vec<OperationLine<'a>>,
    text: Vec<u8>,
}

impl<'a> Part<'a> {
    /// Puts the lines of other operations in place of those before.
    fn fill(&mut self, operations: Range<usize>, of: &LinesOf<'a>, compress: bool) -> Result<()> {
        self.lines.clear();
        operations.for_each(|operation| of(operation, &mut self.lines));
        self.text.clear();
        for line in &self.lines {
            line.write(&mut self.text).map_err(|error| Error::new(ErrorKind::Internal, LINES[0], error))?;
            self.text.push(b'\n');
        }
        if compress && !self.text.is_empty() {
            // Every part is a Zstandard frame of its own, so that parts can be compressed on several cores.
            self.text = compress_to_vec(self.text.as_slice(), CompressionLevel::Fastest);
        }
        Ok(())
    }
}

/// A file, and the hash of what was written to it.
#[derive(Debug)]
struct Hashing {
    file: Draft,
    hash: Sha256,
}

impl Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let len = self.file.write(bytes)?;
        self.hash.update(bytes.get(..len).unwrap_or_default());
        Ok(len)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

impl Sink for ReportFolder {
    fn lines(&self, operations: usize, of: &LinesOf<'_>) -> Result<()> {
        let mut lines = locked(&self.lines);
        let written = match &mut *lines {
            Some(written) => written,
            none => none.insert(self.begin()?),
        };
        in_order::<Part<'_>>(
            operations,
            |operations, part| part.fill(operations, of, self.options.compress),
            |parts| written.take(parts),
        )
    }

    fn table(&self, table: MsprobeRows<'_>) -> Result<()> {
        if self.options.no_table {
            return Ok(());
        }
        if !self.options.xlsx {
            return csv(&self.output, table);
        }
        // A workbook needs the length of a table in advance.
        let table = MsprobeTable::from(table);
        csv(&self.output, table.clone().into())?;
        if xlsx::is_shared(&table) {
            locked(&self.together).push(table);
            return Ok(());
        }
        for (name, bytes) in xlsx::workbooks(&[table])? {
            self.output.write(&name, &bytes)?;
        }
        Ok(())
    }
}

/// A table as msprobe writes it: UTF-8, `\n`, minimal quoting.
///
/// A text that a spreadsheet could take for a formula gets a leading apostrophe; msprobe refuses to write it.
fn csv(output: &Output, table: MsprobeRows<'_>) -> Result<()> {
    write(output, &format!("{}.csv", table.name), |out| {
        let failed = |error: csv::Error| Error::io(format!("{}.csv", table.name), &error.into());
        let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::Any(b'\n')).from_writer(&mut *out);
        writer.write_record(&table.columns).map_err(failed)?;
        writer.flush().map_err(|error| failed(error.into()))?;
        drop(writer);
        in_order::<String>(
            table.groups,
            |groups, rows| {
                csv_rows(&table, groups, rows);
                Ok(())
            },
            |parts| {
                let written = parts.iter().try_for_each(|rows| out.write_all(rows.as_bytes()));
                written.map_err(|error| Error::io(format!("{}.csv", table.name), &error))
            },
        )
    })
}

/// Writes rows of some groups of a table as text, in place of the `text` before.
fn csv_rows(table: &MsprobeRows<'_>, groups: Range<usize>, text: &mut String) {
    text.clear();
    let mut rows = CsvRows { text, cells: 0, start: 0 };
    groups.for_each(|group| (table.rows)(group, &mut rows));
}

/// Rows as text.
struct CsvRows<'t> {
    text: &'t mut String,
    /// Number of cells of the row at hand.
    cells: usize,
    /// Offset at which it begins.
    start: usize,
}

impl TakeCells for CsvRows<'_> {
    fn cell(&mut self, cell: &Cell<'_>) {
        self.text.push_str(if self.cells == 0 { "" } else { "," });
        cell.write_csv(self.text);
        self.cells += 1;
    }

    fn end_row(&mut self) {
        // A record whose only cell is empty would be an empty line, which CSV readers skip.
        let is_empty = self.cells == 1 && self.text.len() == self.start;
        self.text.push_str(if is_empty { "\"\"\n" } else { "\n" });
        (self.cells, self.start) = (0, self.text.len());
    }
}

/// Writes a document piece by piece, so that a document that grows with the run is never completely in memory.
pub(super) fn write(
    output: &Output,
    name: &str,
    fill: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>,
) -> Result<()> {
    let mut out = BufWriter::with_capacity(BUFFER, output.draft(name)?);
    let place = out.get_ref().place();
    fill(&mut out)?;
    let draft = out.into_inner().map_err(|error| Error::io(place.display().to_string(), error.error()))?;
    output.keep(draft);
    Ok(())
}
