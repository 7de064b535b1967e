//! The output folder while a run is under way: lines and tables are written as they come.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use sha2::{Digest, Sha256};

use super::lines::{Census, Lines};
use super::sink::{Sink, locked};
use super::xlsx;
use crate::error::{Error, Result};
use crate::judge::operation::OperationLine;
use crate::msprobe::table::{Rows, Table};

/// Writes what a run gives into a folder.
///
/// Nothing is made before there is something to write. An earlier `result.json` goes first: a folder without one is not
/// that of a whole run.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Whether tables are written as workbooks too.
    xlsx: bool,
    lines: Mutex<Option<Written>>,
    /// Tables that share a workbook.
    together: Mutex<Vec<Table>>,
}

/// The lines so far.
#[derive(Debug)]
struct Written {
    out: BufWriter<Hashing>,
    census: Census,
}

impl Folder {
    /// Writes into `path`; tables as workbooks too with `xlsx`.
    pub fn new(path: &Path, xlsx: bool) -> Self {
        Self { path: path.to_owned(), xlsx, lines: Mutex::default(), together: Mutex::default() }
    }

    /// Writes what is left, and gives the lines back to be read, with the digest of their file (`sha256:…`).
    ///
    /// # Errors
    /// What writing gives.
    pub fn finish(self) -> Result<(Lines<'static>, String)> {
        let Written { out, census } = locked(&self.lines).take().map_or_else(|| self.begin(), Ok)?;
        let path = self.path.join(LINES);
        let lines = out.into_inner().map_err(|error| Error::io(path.display().to_string(), error.error()))?;
        let digest = format!("sha256:{:x}", lines.hash.finalize());
        for (name, bytes) in xlsx::workbooks(&locked(&self.together))? {
            write(&self.path, &name, |out| out.write_all(&bytes))?;
        }
        Ok((Lines::written(path, census), digest))
    }

    /// Makes the folder ready for a new run.
    fn begin(&self) -> Result<Written> {
        self.make()?;
        let path = self.path.join(LINES);
        let file = File::create(&path).map_err(|error| Error::io(path.display().to_string(), &error))?;
        Ok(Written { out: BufWriter::new(Hashing { file, hash: Sha256::new() }), census: Census::default() })
    }

    fn make(&self) -> Result<()> {
        fs::create_dir_all(&self.path).map_err(|error| Error::io(self.path.display().to_string(), &error))?;
        let earlier = self.path.join("result.json");
        match fs::remove_file(&earlier) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::io(earlier.display().to_string(), &error))
            }
            _ => Ok(()),
        }
    }
}

/// A file, and the hash of what was written to it.
#[derive(Debug)]
struct Hashing {
    file: File,
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

/// The file of lines.
const LINES: &str = "operations.jsonl";

impl Sink for Folder {
    fn line(&self, line: OperationLine) -> Result<()> {
        let mut lines = locked(&self.lines);
        let Written { out, census } = match &mut *lines {
            Some(written) => written,
            none => none.insert(self.begin()?),
        };
        census.add(&line);
        let all = serde_json::to_writer(&mut *out, &line).map_err(std::io::Error::from);
        all.and_then(|()| out.write_all(b"\n"))
            .map_err(|error| Error::io(self.path.join(LINES).display().to_string(), &error))
    }

    fn table(&self, table: Rows<'_>) -> Result<()> {
        self.make()?;
        if !self.xlsx {
            return csv(&self.path, table);
        }
        // A workbook has to know how long a table is.
        let table = Table::from(table);
        csv(&self.path, table.clone().into())?;
        if xlsx::is_shared(&table) {
            locked(&self.together).push(table);
            return Ok(());
        }
        for (name, bytes) in xlsx::workbooks(&[table])? {
            write(&self.path, &name, |out| out.write_all(&bytes))?;
        }
        Ok(())
    }
}

/// A table as msprobe writes it: UTF-8, `\n`, minimal quoting.
///
/// A text that a spreadsheet could take for a formula gets a leading apostrophe; msprobe refuses to write it.
fn csv(folder: &Path, table: Rows<'_>) -> Result<()> {
    write(folder, &format!("{}.csv", table.name), |out| {
        let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::Any(b'\n')).from_writer(out);
        writer.write_record(&table.columns)?;
        for row in table.rows {
            row.iter().try_for_each(|cell| writer.write_field(cell.guarded_text().as_bytes()))?;
            writer.write_record(None::<&[u8]>)?;
        }
        writer.flush()
    })
}

/// Writes a file piece by piece: what grows with the run is never in memory as a whole.
pub(super) fn write(folder: &Path, name: &str, fill: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<()> {
    let path = folder.join(name);
    let all = || {
        let mut out = BufWriter::new(File::create(&path)?);
        fill(&mut out)?;
        out.flush()
    };
    all().map_err(|error| Error::io(path.display().to_string(), &error))
}
