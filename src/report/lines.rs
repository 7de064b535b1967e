//! The lines of `operations.jsonl`, read one at a time, as often as a document needs them.
//!
//! They may come from an untrusted run: their length is bounded, and a damaged line is an error with its line number.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};
use crate::output::documents::lines_beside;
use crate::read::archive::zstd::Zstd;
use crate::result::operation::OperationLine;

/// Largest length in bytes of a line; a plain argument of a call may be long.
const MOST_LINE_BYTES: u64 = 64 << 20;
/// Bytes that are read at once.
const BUFFER: usize = 1 << 20;

/// The lines of a run.
#[derive(Clone, Debug)]
pub enum OperationLines<'a> {
    /// Lines in memory.
    Memory(&'a [OperationLine<'static>]),
    /// A file of lines, as it is or compressed by Zstandard.
    File(PathBuf),
}

impl<'a> From<&'a [OperationLine<'static>]> for OperationLines<'a> {
    fn from(lines: &'a [OperationLine<'static>]) -> Self {
        Self::Memory(lines)
    }
}

impl OperationLines<'_> {
    /// The lines in the file beside the result at this path; no lines if there is no such file.
    pub fn from_result_path(result: &Path) -> Self {
        lines_beside(result).map_or(Self::Memory(&[]), Self::File)
    }

    /// Passes the lines to `visit` in order, until it breaks off.
    ///
    /// # Errors
    /// Errors of reading and of `visit`; `Corrupt` for a line that is not an operation.
    pub(crate) fn for_each_line(
        &self,
        mut visit: impl FnMut(&OperationLine<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        match self {
            Self::Memory(lines) => {
                for line in *lines {
                    if visit(line)?.is_break() {
                        break;
                    }
                }
            }
            Self::File(path) => {
                let mut reader = Reader::open(path)?;
                while let Some(line) = reader.next()? {
                    if visit(&line)?.is_break() {
                        break;
                    }
                }
            }
        }
        Ok(())
    }
}

/// A file of lines, and how far it was read.
struct Reader {
    name: String,
    file: Box<dyn BufRead>,
    bytes: Vec<u8>,
    number: usize,
}

impl Reader {
    fn open(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| Error::io(&name, &error))?;
        let file = BufReader::with_capacity(BUFFER, file);
        let is_packed = path.extension().is_some_and(|ending| ending == "zst");
        let file: Box<dyn BufRead> = match is_packed {
            true => Box::new(BufReader::with_capacity(BUFFER, Zstd::new(file))),
            false => Box::new(file),
        };
        Ok(Self { name, file, bytes: Vec::new(), number: 0 })
    }

    fn next(&mut self) -> Result<Option<OperationLine<'_>>> {
        if !self.read()? {
            return Ok(None);
        }
        let line = serde_json::from_slice(&self.bytes);
        line.map(Some).map_err(|error| Error::corrupt(format!("{}:{}", self.name, self.number), error))
    }

    /// Reads a line; `false` at the end of the file.
    fn read(&mut self) -> Result<bool> {
        self.bytes.clear();
        self.number += 1;
        let mut line = (&mut self.file).take(MOST_LINE_BYTES);
        let len = line.read_until(b'\n', &mut self.bytes).map_err(|error| Error::io(&self.name, &error))?;
        if len as u64 == MOST_LINE_BYTES {
            let message = format!("a line of over {MOST_LINE_BYTES} bytes");
            return Err(Error::new(ErrorKind::LimitExceeded, format!("{}:{}", self.name, self.number), message));
        }
        Ok(len > 0)
    }
}

#[cfg(test)]
mod tests {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    fn line(order: u64) -> String {
        format!(
            r#"{{"step":0,"rank":0,"order":{order},"op":"a","tensor":".input.0","kind":"input","state":"agrees","baseline":null,"candidate":null}}"#
        )
    }

    fn beside(name: &str, bytes: &[u8]) -> (tempfile::TempDir, OperationLines<'static>) {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join(name), bytes).expect("written");
        let lines = OperationLines::from_result_path(&folder.path().join("result.json"));
        (folder, lines)
    }

    fn orders(lines: &OperationLines<'_>, most: usize) -> Result<Vec<u64>> {
        let mut orders = Vec::new();
        lines.for_each_line(|line| {
            orders.push(line.order);
            Ok(if orders.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        Ok(orders)
    }

    #[test]
    fn lines_of_a_file_are_those_of_memory_packed_or_not() {
        let texts: Vec<String> = (0..4).map(|order| line(order) + "\n").collect();
        let kept: Vec<OperationLine> = texts.iter().map(|line| serde_json::from_str(line).expect("a line")).collect();
        let packed =
            texts.chunks(3).flat_map(|some| compress_to_vec(some.concat().as_bytes(), CompressionLevel::Fastest));
        let (_folder, file) = beside("operations.jsonl", texts.concat().as_bytes());
        let (_other, packed) = beside("operations.jsonl.zst", &packed.collect::<Vec<_>>());
        for lines in [&file, &packed, &OperationLines::from(kept.as_slice())] {
            assert_eq!(orders(lines, 9).expect("sound"), [0, 1, 2, 3]);
            assert_eq!(orders(lines, 2).expect("sound"), [0, 1]);
        }
    }

    #[test]
    fn a_damaged_line_is_named_and_a_missing_file_has_none() {
        let (_folder, lines) = beside("operations.jsonl", format!("{}\n{{", line(0)).as_bytes());
        let error = orders(&lines, 9).expect_err("damaged");
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.to_string().contains("operations.jsonl:2"), "{error}");
        let (_folder, lines) = beside("operations.jsonl.zst", b"no frame");
        assert!(orders(&lines, 9).expect_err("damaged").to_string().contains("operations.jsonl.zst"));
        let folder = tempfile::tempdir().expect("a folder");
        assert!(
            orders(&OperationLines::from_result_path(&folder.path().join("result.json")), 9).expect("none").is_empty()
        );
    }
}
