//! A table with the places of its steps: it is read once to its end, and then step by step.

use std::collections::BTreeSet;
use std::ops::Range;

use super::cells::{Broken, split};
use super::{Header, Kind, Place, Row, Version, name};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{Memory, Source};
use crate::read::curve::lines::Lines;

/// Largest part of a table that belongs to one step.
const MOST_STEP_BYTES: u64 = 256 << 20;
/// Changes of the step within a table.
const MOST_RUNS: usize = 4 << 20;
/// Names of tensors of one table.
const MOST_NAMES: usize = 1 << 20;
/// Longest name of a tensor.
const MOST_NAME: usize = 4096;

/// Damage of a table; the rows before and after it are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Damage {
    /// No bytes.
    Empty,
    /// Another header, or another encoding.
    Header,
    /// It ends within a row.
    Cut {
        /// The line.
        line: u64,
    },
    /// Lines that are no rows under the header.
    Lines {
        /// Their number.
        count: u64,
        /// The first of them.
        first: u64,
    },
    /// It cannot be read at all, and why.
    Unreadable(String),
}

/// Rows that stand together and belong to one step.
#[derive(Clone, Debug)]
struct Run {
    step: i64,
    bytes: Range<u64>,
    rows: u64,
}

/// A table of the monitor.
pub struct Table {
    /// Its place.
    pub place: Place,
    /// Its damage.
    pub damage: Option<Damage>,
    /// Its header; `None` where it has none.
    pub header: Option<Header>,
    /// The most decimals of a number; `None` for numbers in full.
    pub decimals: Option<u32>,
    /// Lines of communication that were left out.
    pub left_out: u64,
    /// Kind and name of its tensors.
    pub names: BTreeSet<(Kind, String)>,
    source: Source,
    runs: Vec<Run>,
}

impl Table {
    /// Reads a table to its end, and notes where its steps stand.
    pub fn open(place: Place, source: Source) -> Self {
        let mut table = Self::empty(place, source.clone());
        if source.is_empty() {
            table.damage = Some(Damage::Empty);
            return table;
        }
        if let Err(error) = table.index(&source) {
            table.damage = Some(Damage::Unreadable(error.message().to_owned()));
        }
        // Rows of a step keep the order of the file.
        table.runs.sort_by_key(|run| run.step);
        table
    }

    /// A table that cannot be opened, and why.
    pub fn unreadable(place: Place, reason: &str) -> Self {
        let source = std::sync::Arc::new(Memory::new(place.path.clone(), Vec::new()));
        Self { damage: Some(Damage::Unreadable(reason.to_owned())), ..Self::empty(place, source) }
    }

    fn empty(place: Place, source: Source) -> Self {
        Self {
            place,
            damage: None,
            header: None,
            decimals: None,
            left_out: 0,
            names: BTreeSet::new(),
            source,
            runs: Vec::new(),
        }
    }

    fn index(&mut self, source: &Source) -> Result<()> {
        let mut lines = Lines::new(source.as_ref());
        let header = lines.next()?.and_then(Header::parse);
        let Some(header) = header else {
            self.damage = Some(Damage::Header);
            return Ok(());
        };
        let (mut broken, mut first_broken) = (0, 0);
        loop {
            let start = lines.consumed();
            let Some((line, ended)) = lines.next_with_end()? else { break };
            if !ended && !is_whole(&header, line, &self.place) {
                self.damage = Some(Damage::Cut { line: lines.number });
                break;
            }
            match header.row(line, &self.place) {
                Ok(Some(row)) => {
                    self.note_digits(&header, line);
                    let end = lines.consumed();
                    self.add(&header, row, start..end)?;
                }
                Ok(None) => self.left_out += 1,
                Err(Broken) => {
                    broken += 1;
                    first_broken = if broken == 1 { lines.number } else { first_broken };
                }
            }
        }
        if broken > 0 && self.damage.is_none() {
            self.damage = Some(Damage::Lines { count: broken, first: first_broken });
        }
        self.header = Some(header);
        Ok(())
    }

    fn note_digits(&mut self, header: &Header, line: &[u8]) {
        if header.version == Version::V2 {
            return;
        }
        let cells = std::str::from_utf8(line).map(split).unwrap_or_default();
        let most = cells.into_iter().skip(3).filter(|cell| cell.contains(['.', 'e'])).filter_map(name::decimals).max();
        self.decimals = self.decimals.max(most);
    }

    fn add(&mut self, header: &Header, row: Row, bytes: Range<u64>) -> Result<()> {
        let limit = |message| Error::new(ErrorKind::LimitExceeded, self.source.name(), message);
        if row.name.len() > MOST_NAME {
            return Err(limit(format!("a name of more than {MOST_NAME} bytes")));
        }
        let step = order_of(&row, header.version);
        if self.runs.len() >= MOST_RUNS {
            return Err(limit(format!("the step changes more than {MOST_RUNS} times")));
        }
        match self.runs.last_mut().filter(|run| run.step == step) {
            Some(run) => {
                run.bytes.end = bytes.end;
                run.rows += 1;
                if run.bytes.end - run.bytes.start > MOST_STEP_BYTES {
                    return Err(limit(format!("step {} has more than {MOST_STEP_BYTES} bytes", row.step)));
                }
            }
            None => self.runs.push(Run { step, bytes, rows: 1 }),
        }
        if !row.is_absent() {
            self.names.insert((row.kind, row.canonical));
        }
        if self.names.len() > MOST_NAMES {
            return Err(limit(format!("more than {MOST_NAMES} names")));
        }
        Ok(())
    }

    /// The steps it has rows of, and how many. A moment of V1 is counted with the update it follows.
    pub fn steps(&self) -> impl Iterator<Item = (i64, u64)> + '_ {
        self.runs.iter().map(|run| (run.step, run.rows))
    }

    /// The rows of a step, in the order of the file.
    ///
    /// # Errors
    /// Where the file can no longer be read.
    pub fn rows(&self, step: i64) -> Result<Vec<Row>> {
        let Some(header) = &self.header else { return Ok(Vec::new()) };
        let mut rows = Vec::new();
        let first = self.runs.partition_point(|run| run.step < step);
        let runs = self.runs.iter().skip(first).take_while(|run| run.step == step);
        if runs.clone().map(|run| run.bytes.end - run.bytes.start).sum::<u64>() > MOST_STEP_BYTES {
            let message = format!("step {step} has more than {MOST_STEP_BYTES} bytes");
            return Err(Error::new(ErrorKind::LimitExceeded, self.source.name(), message));
        }
        for run in runs {
            let len = usize::try_from(run.bytes.end - run.bytes.start).unwrap_or(0);
            let mut bytes = vec![0; len];
            self.source.read_at(run.bytes.start, &mut bytes)?;
            let lines = bytes.split(|byte| matches!(byte, b'\n' | b'\r')).map(<[u8]>::trim_ascii);
            let read = lines.filter(|line| !line.is_empty()).map(|line| header.row(line, &self.place));
            rows.extend(read.filter_map(std::result::Result::ok).flatten());
        }
        Ok(rows)
    }
}

/// The step by which rows are ordered. V1 records moments before the update, so that those of step t are what update t-1 left.
fn order_of(row: &Row, version: Version) -> i64 {
    let step = i64::try_from(row.step).unwrap_or(i64::MAX);
    if version == Version::V1 && row.kind.is_moment() { step - 1 } else { step }
}

/// Whether a last line without an end is a whole row all the same: its last cell is a known element type.
fn is_whole(header: &Header, line: &[u8], place: &Place) -> bool {
    let dtype = |row: Row| row.dtype.is_some_and(|name| crate::dtype::Dtype::parse(&name).is_some());
    header.ends_in_text() && header.read(line, place).is_some_and(dtype)
}
