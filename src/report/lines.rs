//! The lines of `operations.jsonl`, read one at a time and as often as a document needs them.
//!
//! They may be those of an untrusted run: their length is bounded, and a damaged one is an error with its number.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use memchr::memmem;

use crate::error::{Error, ErrorKind, Result};
use crate::judge::operation::{OperationLine, State};

/// Bytes of one line that are read; a plain argument of a call may be long.
const MOST_LINE_BYTES: u64 = 64 << 20;
/// Text by which this program writes that a line agrees. In a text of a line its quotes would be escaped.
const AGREES: &[u8] = br#""state":"agrees""#;

/// The lines of a run.
#[derive(Clone, Debug)]
pub struct Lines<'a> {
    place: Place<'a>,
    /// Counts over all lines.
    pub census: Census,
}

#[derive(Clone, Debug)]
enum Place<'a> {
    Memory(&'a [OperationLine<'static>]),
    File(PathBuf),
}

/// Counts over all lines of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Total number.
    pub total: usize,
    /// Number of lines that do not agree.
    pub telling: usize,
    /// Names of further numbers.
    pub metrics: BTreeSet<String>,
}

/// Selection of the following lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Every one.
    All,
    /// Lines that do not agree.
    Telling,
    /// None.
    Nothing,
}

impl Census {
    /// Counts a line.
    pub fn add(&mut self, line: &OperationLine<'_>) {
        self.total += 1;
        self.telling += usize::from(line.state != State::Agrees);
        for (name, _) in &line.metrics {
            if !self.metrics.contains(&**name) {
                self.metrics.insert(name.to_string());
            }
        }
    }
}

impl<'a> From<&'a [OperationLine<'static>]> for Lines<'a> {
    fn from(lines: &'a [OperationLine<'static>]) -> Self {
        let mut census = Census::default();
        lines.iter().for_each(|line| census.add(line));
        Self { place: Place::Memory(lines), census }
    }
}

impl Lines<'_> {
    /// The lines of a file that were counted as they were written.
    pub fn written(path: PathBuf, census: Census) -> Self {
        Self { place: Place::File(path), census }
    }

    /// The lines of the `operations.jsonl` beside a result; none where there is no such file.
    ///
    /// # Errors
    /// Where the file cannot be read; `Corrupt` for a line that is not an operation.
    pub fn beside(result: &Path) -> Result<Self> {
        let path = result.with_file_name("operations.jsonl");
        if !path.exists() {
            return Ok(Self { place: Place::Memory(&[]), census: Census::default() });
        }
        let mut lines = Self::written(path, Census::default());
        let mut census = Census::default();
        lines.each(Wanted::All, |line| {
            census.add(line);
            Ok(Wanted::All)
        })?;
        lines.census = census;
        Ok(lines)
    }

    /// Hands the lines on in order; each answer says which are wanted next.
    ///
    /// # Errors
    /// Errors of reading and of `visit`; `Corrupt` for a line that is not an operation.
    pub fn each(&self, first: Wanted, mut visit: impl FnMut(&OperationLine<'_>) -> Result<Wanted>) -> Result<()> {
        let mut wanted = first;
        match &self.place {
            Place::Memory(lines) => {
                for line in *lines {
                    wanted = match wanted {
                        Wanted::Nothing => break,
                        Wanted::Telling if line.state == State::Agrees => wanted,
                        _ => visit(line)?,
                    };
                }
            }
            Place::File(path) => {
                let mut reader = Reader::open(path)?;
                while wanted != Wanted::Nothing {
                    match reader.next(wanted)? {
                        Some(line) if wanted == Wanted::Telling && line.state == State::Agrees => {}
                        Some(line) => wanted = visit(&line)?,
                        None => break,
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
    file: BufReader<File>,
    bytes: Vec<u8>,
    number: usize,
}

impl Reader {
    fn open(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| Error::io(&name, &error))?;
        Ok(Self { name, file: BufReader::new(file), bytes: Vec::new(), number: 0 })
    }

    /// The next line that is wanted; one that agrees may be among those that tell, where another program wrote it.
    fn next(&mut self, wanted: Wanted) -> Result<Option<OperationLine<'_>>> {
        while self.read()? {
            if wanted != Wanted::Telling || memmem::find(&self.bytes, AGREES).is_none() {
                let line = serde_json::from_slice(&self.bytes);
                return line.map(Some).map_err(|error| Error::corrupt(format!("{}:{}", self.name, self.number), error));
            }
        }
        Ok(None)
    }

    /// Reads a line; `false` at the end of the file.
    fn read(&mut self) -> Result<bool> {
        self.bytes.clear();
        self.number += 1;
        let mut line = self.file.by_ref().take(MOST_LINE_BYTES);
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
    use super::*;

    fn line(order: u64, state: &str) -> String {
        format!(
            r#"{{"step":0,"rank":0,"order":{order},"op":"a","tensor":"\"state\":\"agrees\"","kind":"input","state":"{state}","metrics":{{"m{order}":1.0}},"baseline":null,"candidate":null}}"#
        )
    }

    fn beside(text: &str) -> Result<(tempfile::TempDir, Lines<'static>)> {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("operations.jsonl"), text).expect("written");
        Lines::beside(&folder.path().join("result.json")).map(|lines| (folder, lines))
    }

    fn orders(lines: &Lines<'_>, first: Wanted, next: Wanted) -> Vec<u64> {
        let mut orders = Vec::new();
        let read = lines.each(first, |line| {
            orders.push(line.order);
            Ok(next)
        });
        read.expect("sound");
        orders
    }

    #[test]
    fn lines_of_a_file_are_those_of_memory() {
        let text: Vec<String> = ["agrees", "differs", "agrees", "not-compared"]
            .iter()
            .zip(0..)
            .map(|(state, at)| line(at, state))
            .collect();
        let kept: Vec<OperationLine> = text.iter().map(|line| serde_json::from_str(line).expect("a line")).collect();
        let (_folder, file) = beside(&text.join("\n")).expect("sound");
        let memory = Lines::from(kept.as_slice());
        assert_eq!(file.census, memory.census);
        assert_eq!((file.census.total, file.census.telling, file.census.metrics.len()), (4, 2, 4));
        for lines in [&file, &memory] {
            assert_eq!(orders(lines, Wanted::All, Wanted::All), [0, 1, 2, 3]);
            assert_eq!(orders(lines, Wanted::Telling, Wanted::Telling), [1, 3]);
            assert_eq!(orders(lines, Wanted::All, Wanted::Nothing), [0]);
        }
    }

    #[test]
    fn a_damaged_line_is_named_and_a_missing_file_has_none() {
        let error = beside(&format!("{}\n{{", line(0, "agrees"))).expect_err("damaged");
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.to_string().contains("operations.jsonl:2"), "{error}");
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(Lines::beside(&folder.path().join("result.json")).expect("none").census, Census::default());
    }
}
