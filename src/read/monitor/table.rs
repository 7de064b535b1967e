//! A table with its steps. It is read once to its end, and its rows stay in memory if there is room for them. Otherwise the rows of a
//! step are read again from the file.

use std::ops::Range;

use super::cells::{Broken, Cells, Line, MonitorHeader};
use super::kept::{KeptRows, RowMemory};
use super::name;
use super::place::MonitorPlace;
use super::row::MonitorRow;
use super::texts::TableTexts;
use super::version::MonitorVersion;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{MemorySource, Source, check_memory};
use crate::kind::MonitorKind;
use crate::read::account::UnreadNumbers;
use crate::read::curve::lines::Lines;

/// Largest part of a table that belongs to one step, in bytes.
const MOST_STEP_BYTES: u64 = 256 << 20;
/// Most changes of the step within a table.
const MOST_RUNS: usize = 4 << 20;
/// Most names of tensors in one table.
const MOST_NAMES: usize = 1 << 20;
/// Longest name of a tensor, in bytes.
const MOST_NAME: usize = 4096;

/// Damage of a table. Rows before and after the damage are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MonitorDamage {
    /// The file has no bytes.
    Empty,
    /// The header is not that of the tool, or not text.
    Header,
    /// The file ends within a row.
    Cut {
        /// Line number of that row.
        line: u64,
    },
    /// Some lines are not rows under the header.
    Lines {
        /// Number of such lines.
        count: u64,
        /// Line number of the first of them.
        first: u64,
    },
    /// The file cannot be read at all, with the reason.
    Unreadable(String),
}

/// Consecutive rows of one step.
#[derive(Clone, Debug)]
struct Run {
    step: i64,
    /// The step as it was written.
    written: u64,
    bytes: Range<u64>,
    /// Index of its first row among all rows of the table.
    first: u64,
    rows: u64,
}

/// A table of the monitor.
pub struct MonitorTable {
    /// Path of the table, and the facts in it.
    pub place: MonitorPlace,
    /// Damage; `None` if the table is whole.
    pub damage: Option<MonitorDamage>,
    /// Header; `None` if the table has none.
    pub header: Option<MonitorHeader>,
    /// Largest number of decimals of its numbers; `None` if they are not rounded.
    pub decimals: Option<u32>,
    /// Number of lines of a communication table that were left out.
    pub left_out: u64,
    /// Numbers in unknown columns.
    pub account: UnreadNumbers,
    source: Source,
    texts: TableTexts,
    runs: Vec<Run>,
    /// Rows in memory; `None` if there is no room for them.
    kept: Option<KeptRows>,
}

impl MonitorTable {
    /// Reads a table to its end.
    pub fn open(place: MonitorPlace, source: Source) -> Self {
        Self::open_sharing_memory(place, source, &RowMemory::default())
    }

    /// Reads a table to its end, like [`open`](Self::open), and shares the memory for rows with other tables.
    pub fn open_sharing_memory(place: MonitorPlace, source: Source, taken: &RowMemory) -> Self {
        let mut table = Self { kept: Some(KeptRows::new(taken.clone())), ..Self::empty(place, source.clone()) };
        if source.is_empty() {
            table.damage = Some(MonitorDamage::Empty);
            return table;
        }
        if let Err(error) = table.index(&source) {
            table.damage = Some(MonitorDamage::Unreadable(error.message().to_owned()));
        }
        // Rows of a step keep the order of the file.
        table.runs.sort_by_key(|run| run.step);
        table
    }

    /// Creates a table that cannot be opened, with the reason.
    pub fn unreadable(place: MonitorPlace, reason: &str) -> Self {
        let source = std::sync::Arc::new(MemorySource::new(place.path.clone(), Vec::new()));
        Self { damage: Some(MonitorDamage::Unreadable(reason.to_owned())), ..Self::empty(place, source) }
    }

    fn empty(place: MonitorPlace, source: Source) -> Self {
        Self {
            place,
            damage: None,
            header: None,
            decimals: None,
            left_out: 0,
            account: UnreadNumbers::default(),
            source,
            texts: TableTexts::default(),
            runs: Vec::new(),
            kept: None,
        }
    }

    fn index(&mut self, source: &Source) -> Result<()> {
        let mut lines = Lines::new(source.as_ref());
        let header = lines.next()?.and_then(MonitorHeader::parse);
        let Some(header) = header else {
            self.damage = Some(MonitorDamage::Header);
            return Ok(());
        };
        let (mut broken, mut first_broken) = (0, 0);
        while let Some((line, ended, bytes)) = lines.next_in_place()? {
            if !ended && !is_whole(&header, line, &self.place) {
                self.damage = Some(MonitorDamage::Cut { line: lines.number });
                break;
            }
            match header.line(line, &self.place) {
                Ok(Some(read)) => {
                    note_digits(&mut self.decimals, &header, line);
                    header.note_unread(line, &mut self.account);
                    self.add(&header, &read, bytes)?;
                }
                Ok(None) => self.left_out += 1,
                Err(Broken) => {
                    broken += 1;
                    first_broken = if broken == 1 { lines.number } else { first_broken };
                }
            }
        }
        if broken > 0 && self.damage.is_none() {
            self.damage = Some(MonitorDamage::Lines { count: broken, first: first_broken });
        }
        self.header = Some(header);
        Ok(())
    }

    fn add(&mut self, header: &MonitorHeader, line: &Line<'_>, bytes: Range<u64>) -> Result<()> {
        let limit = |message| Error::new(ErrorKind::LimitExceeded, self.source.name(), message);
        if line.name.len() > MOST_NAME {
            return Err(limit(format!("a name of more than {MOST_NAME} bytes")));
        }
        let step = order_of(line, header.version);
        if self.runs.len() >= MOST_RUNS {
            return Err(limit(format!("the step changes more than {MOST_RUNS} times")));
        }
        match self.runs.last_mut().filter(|run| (run.step, run.written) == (step, line.step)) {
            Some(run) => {
                run.bytes.end = bytes.end;
                run.rows += 1;
                if run.bytes.end - run.bytes.start > MOST_STEP_BYTES {
                    return Err(limit(format!("step {} has more than {MOST_STEP_BYTES} bytes", line.step)));
                }
            }
            None => {
                let first = self.runs.last().map_or(0, |run| run.first + run.rows);
                self.runs.push(Run { step, written: line.step, bytes, first, rows: 1 });
            }
        }
        check_memory(self.source.as_ref(), self.runs.len() * size_of::<Run>() + self.texts.bytes)?;
        let memory = self.source.memory_limit();
        if self.kept.as_mut().is_none_or(|kept| !kept.add(line, header.version, &mut self.texts, memory)) {
            self.kept = None;
            self.texts.note_name(line.name, line.kind, header.version, !line.is_absent());
            line.words.into_iter().for_each(|word| self.texts.note_word(word));
        }
        if self.texts.count > MOST_NAMES {
            return Err(limit(format!("more than {MOST_NAMES} names")));
        }
        Ok(())
    }

    /// Kinds and names of its tensors.
    pub fn names(&self) -> impl Iterator<Item = (MonitorKind, &str)> {
        self.texts.tensors()
    }

    /// Steps, each with its number of rows. A moment of V1 belongs to the step of the update that it follows.
    pub fn steps(&self) -> impl Iterator<Item = (i64, u64)> + '_ {
        self.runs.iter().map(|run| (run.step, run.rows))
    }

    /// Rows of a step, in the order of the file.
    ///
    /// # Errors
    /// If the file can no longer be read.
    pub fn rows(&self, step: i64) -> Result<Vec<MonitorRow>> {
        let Some(header) = &self.header else { return Ok(Vec::new()) };
        let first = self.runs.partition_point(|run| run.step < step);
        let runs = self.runs.iter().skip(first).take_while(|run| run.step == step);
        if runs.clone().map(|run| run.bytes.end - run.bytes.start).sum::<u64>() > MOST_STEP_BYTES {
            let message = format!("step {step} has more than {MOST_STEP_BYTES} bytes");
            return Err(Error::new(ErrorKind::LimitExceeded, self.source.name(), message));
        }
        let count: u64 = runs.clone().map(|run| run.rows).sum();
        let mut rows = Vec::with_capacity(usize::try_from(count).unwrap_or(0));
        for run in runs {
            match &self.kept {
                Some(kept) => {
                    let [first, count] = [run.first, run.rows].map(|rows| usize::try_from(rows).unwrap_or(usize::MAX));
                    rows.extend(kept.rows(first, count, run.written));
                }
                None => self.read_again(header, run, &mut rows)?,
            }
        }
        Ok(rows)
    }

    /// Reads the rows of a run again from the file.
    fn read_again(&self, header: &MonitorHeader, run: &Run, rows: &mut Vec<MonitorRow>) -> Result<()> {
        let len = usize::try_from(run.bytes.end - run.bytes.start).unwrap_or(0);
        let mut bytes = vec![0; len];
        self.source.read_at(run.bytes.start, &mut bytes)?;
        let lines = bytes.split(|byte| matches!(byte, b'\n' | b'\r')).map(<[u8]>::trim_ascii);
        let read = lines.filter(|line| !line.is_empty()).map(|line| header.line(line, &self.place));
        let read = read.filter_map(std::result::Result::ok).flatten();
        rows.extend(read.map(|line| line.into_row(header.version, &self.texts)));
        Ok(())
    }
}

/// Step by which rows are ordered. V1 records moments before the update, so the moments of step t are the result of update t-1.
fn order_of(line: &Line<'_>, version: MonitorVersion) -> i64 {
    let step = i64::try_from(line.step).unwrap_or(i64::MAX);
    if version == MonitorVersion::V1 && line.kind.is_moment() { step - 1 } else { step }
}

/// Raises `decimals` to the largest number of decimals in a line of V1, which rounds numbers.
fn note_digits(decimals: &mut Option<u32>, header: &MonitorHeader, line: &[u8]) {
    if header.version == MonitorVersion::V2 {
        return;
    }
    let Ok(line) = std::str::from_utf8(line) else { return };
    for cell in Cells(Some(line)).skip(3) {
        let after = cell.len() - cell.find('.').map_or(cell.len(), |point| point + 1);
        // A number without an exponent has as many decimals as digits after its point.
        let may_be_more = decimals.is_none_or(|most| after > most as usize) && after > 0;
        if may_be_more || cell.contains('e') {
            *decimals = (*decimals).max(name::decimals(cell));
        }
    }
}

/// Whether a last line without a line break is still a whole row, because its last cell is a known element type.
fn is_whole(header: &MonitorHeader, line: &[u8], place: &MonitorPlace) -> bool {
    let dtype = |row: MonitorRow| row.dtype.is_some_and(|name| crate::dtype::Dtype::parse(&name).is_some());
    header.ends_in_text() && header.read(line, place).is_some_and(dtype)
}
