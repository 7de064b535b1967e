//! Compact storage of the rows of a table, at about 20 bytes each, so that no file is read a second time.
//!
//! The parts of a row that recur at every step (kind, stage, name, micro step, shape, type) are stored once, and the row refers to
//! them. A step usually has the same rows in the same order as the step before, so the row that followed then is tried first.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::cells::Line;
use super::row::{MonitorRow, MonitorStatistics};
use super::texts::{Name, TableTexts};
use super::version::MonitorVersion;
use crate::hash::{self, ByHash};
use crate::kind::{MonitorKind, Statistic};

/// Number of rows whose numbers are stored together.
const PART: usize = 1024;
/// Divisor of the memory of one file: the rows of all tables together may take this fraction of it.
const SHARE: u64 = 2;

/// Counter of the memory that the rows of all tables of a run take.
#[derive(Clone, Debug, Default)]
pub struct RowMemory(Arc<AtomicU64>);

impl RowMemory {
    /// Creates a counter with no memory left, so that every table is read again for each of its steps.
    pub fn all() -> Self {
        Self(Arc::new(AtomicU64::new(u64::MAX / SHARE)))
    }

    /// Reserves `bytes` more; returns false if the total would exceed half of the memory that one file may take.
    fn take(&self, bytes: u64, of_file: u64) -> bool {
        let before = self.0.fetch_add(bytes, Ordering::Relaxed);
        let fits = before.saturating_add(bytes) <= of_file / SHARE;
        if !fits {
            self.0.fetch_sub(bytes, Ordering::Relaxed);
        }
        fits
    }
}

/// Part of a row that recurs at every step.
#[derive(Debug)]
struct Head {
    kind: MonitorKind,
    stage: i64,
    name: Name,
    micro_step: Option<u64>,
    words: [Option<Arc<str>>; 2],
    /// Whether any row with this head had a tensor.
    is_tensor: bool,
    /// Index of the head of the row that last followed a row with this head.
    next: u32,
}

impl Head {
    fn is_of(&self, line: &Line<'_>) -> bool {
        self.kind == line.kind
            && *self.name.written == *line.name
            && self.stage == line.stage
            && self.micro_step == line.micro_step
            && self.words.each_ref().map(Option::as_deref) == line.words
    }
}

/// Numbers of some rows, in 32 bits if these represent all of them exactly.
#[derive(Debug)]
enum Numbers {
    Narrow(Box<[f32]>),
    Wide(Box<[f64]>),
}

impl Numbers {
    #[allow(clippy::cast_possible_truncation, reason = "what does not come back is kept in full")]
    fn of(numbers: &[f64]) -> Self {
        let is_narrow = |number: &f64| f64::from(*number as f32).to_bits() == number.to_bits();
        if numbers.iter().all(is_narrow) {
            Self::Narrow(numbers.iter().map(|number| *number as f32).collect())
        } else {
            Self::Wide(numbers.into())
        }
    }

    fn get(&self, place: usize) -> Option<f64> {
        match self {
            Self::Narrow(numbers) => numbers.get(place).copied().map(f64::from),
            Self::Wide(numbers) => numbers.get(place).copied(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Narrow(numbers) => size_of_val::<[f32]>(numbers),
            Self::Wide(numbers) => size_of_val::<[f64]>(numbers),
        }
    }
}

/// Rows of a table.
#[derive(Debug)]
pub(super) struct KeptRows {
    /// Statistics of each row, and whether rows have a number of NaN elements.
    columns: (Vec<Statistic>, bool),
    heads: Vec<Head>,
    by_hash: ByHash<u32>,
    /// Index of the head of each row.
    rows: Vec<u32>,
    numbers: Vec<Numbers>,
    /// Numbers of the last rows, which do not fill a part yet.
    last: Vec<f64>,
    taken: RowMemory,
    bytes: u64,
}

impl Drop for KeptRows {
    fn drop(&mut self) {
        self.taken.0.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl KeptRows {
    /// Creates an empty store whose memory is counted in `taken`.
    pub(super) fn new(taken: RowMemory) -> Self {
        Self {
            columns: (Vec::new(), false),
            heads: Vec::new(),
            by_hash: ByHash::default(),
            rows: Vec::new(),
            numbers: Vec::new(),
            last: Vec::new(),
            taken,
            bytes: 0,
        }
    }

    /// Adds the row of a line, and its texts to `texts`; returns false if it does not fit into memory. `of_file` is the number of
    /// bytes that one file may take.
    pub(super) fn add(
        &mut self,
        line: &Line<'_>,
        version: MonitorVersion,
        texts: &mut TableTexts,
        of_file: u64,
    ) -> bool {
        if self.rows.is_empty() {
            let statistics = line.statistics.written().map(|(statistic, _)| statistic).collect();
            self.columns = (statistics, line.nans.is_some());
        }
        let start = self.last.len();
        let written = line.statistics.written().zip(&self.columns.0);
        self.last.extend(written.filter(|((statistic, _), column)| statistic == *column).map(|((_, value), _)| value));
        self.last.extend(line.nans.filter(|_| self.columns.1));
        // Every row under a header must have the same columns.
        if self.last.len() != start + self.width() {
            return false;
        }
        let Some(head) = self.head(line, version, texts, of_file) else { return false };
        self.rows.push(head);
        !self.rows.len().is_multiple_of(PART) || self.end_part(of_file)
    }

    fn width(&self) -> usize {
        self.columns.0.len() + usize::from(self.columns.1)
    }

    /// Packs the numbers of the last rows.
    fn end_part(&mut self, of_file: u64) -> bool {
        let numbers = Numbers::of(&self.last);
        self.last.clear();
        let bytes = numbers.bytes() + PART * size_of::<u32>();
        self.numbers.push(numbers);
        self.take(bytes, of_file)
    }

    fn take(&mut self, bytes: usize, of_file: u64) -> bool {
        let fits = self.taken.take(bytes as u64, of_file);
        self.bytes += if fits { bytes as u64 } else { 0 };
        fits
    }

    /// Index of the head of a line; `None` if a new head does not fit into memory.
    fn head(&mut self, line: &Line<'_>, version: MonitorVersion, texts: &mut TableTexts, of_file: u64) -> Option<u32> {
        let last = self.rows.last().and_then(|last| self.heads.get(usize::try_from(*last).ok()?));
        let expected = last.map_or(0, |last| last.next);
        let place = match self.heads.get(usize::try_from(expected).ok()?) {
            Some(head) if head.is_of(line) => expected,
            _ => self.found(line, version, texts, of_file)?,
        };
        if let Some(last) = self.rows.last().and_then(|last| self.heads.get_mut(usize::try_from(*last).ok()?)) {
            last.next = place;
        }
        let head = self.heads.get_mut(usize::try_from(place).ok()?)?;
        if !head.is_tensor && !line.is_absent() {
            head.is_tensor = true;
            texts.note_name(line.name, line.kind, version, true);
        }
        Some(place)
    }

    fn found(&mut self, line: &Line<'_>, version: MonitorVersion, texts: &mut TableTexts, of_file: u64) -> Option<u32> {
        let hash = hash::hash_of(&(line.kind, line.stage, line.name, line.micro_step, line.words));
        if let Some(place) = self.by_hash.get(&hash) {
            return Some(*place);
        }
        let is_tensor = !line.is_absent();
        texts.note_name(line.name, line.kind, version, is_tensor);
        line.words.into_iter().for_each(|word| texts.note_word(word));
        let place = u32::try_from(self.heads.len()).ok()?;
        let words = line.words.map(|word| word.map(|word| texts.word(word)));
        let name = texts.name(line.name, line.kind, version);
        let (kind, stage, micro_step) = (line.kind, line.stage, line.micro_step);
        self.heads.push(Head { kind, stage, name, micro_step, words, is_tensor, next: place.saturating_add(1) });
        self.by_hash.insert(hash, place);
        self.take(size_of::<Head>() + 2 * size_of::<(u64, u32)>(), of_file).then_some(place)
    }

    /// Rows `first..first + count`, which all belong to `step`.
    pub(super) fn rows(&self, first: usize, count: usize, step: u64) -> impl Iterator<Item = MonitorRow> + '_ {
        let places = self.rows.get(first..first.saturating_add(count)).unwrap_or_default();
        places.iter().zip(first..).filter_map(move |(head, place)| {
            let head = self.heads.get(usize::try_from(*head).ok()?)?;
            let (statistics, nans) = self.numbers_of(place)?;
            let [shape, dtype] = head.words.clone();
            Some(MonitorRow {
                kind: head.kind,
                stage: head.stage,
                name: head.name.written.clone(),
                canonical: head.name.canonical.clone(),
                step,
                micro_step: head.micro_step,
                statistics,
                nans,
                shape,
                dtype,
            })
        })
    }

    fn numbers_of(&self, row: usize) -> Option<(MonitorStatistics, Option<f64>)> {
        let (part, within) = (self.numbers.get(row / PART), row % PART * self.width());
        let get = |place| part.map_or_else(|| self.last.get(place).copied(), |part| part.get(place));
        let mut statistics = MonitorStatistics::default();
        for (statistic, place) in self.columns.0.iter().zip(within..) {
            statistics.set(*statistic, get(place)?);
        }
        let nans = if self.columns.1 { Some(get(within + self.columns.0.len())?) } else { None };
        Some((statistics, nans))
    }
}
