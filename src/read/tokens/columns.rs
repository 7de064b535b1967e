//! Arrays that hold many answers: a batch, lists with one array per answer, or packed sequences.

use super::cells::{Cells, is_readable};
use super::keys::{KeyRole, role_of_key};
use super::raw::{Numbers, Raw, whole_number};
use super::row::RowQuantities;
use crate::error::{Error, Result};
use crate::read::tensor::TensorData;
use crate::read::torch::Tree;

/// Longest row in tokens; a longer one counts as damage.
const MOST_TOKENS: u64 = 1 << 22;
/// Most rows of one file.
const MOST_ROWS: u64 = 1 << 22;

/// Arrays of a file, by their role.
#[derive(Default)]
pub(super) struct Columns {
    arrays: Vec<(KeyRole, Column)>,
    masks: Vec<Column>,
    boundaries: Option<Vec<f64>>,
    lengths: Option<Vec<f64>>,
    index: Option<Vec<f64>>,
    version: Option<Vec<f64>>,
    cached: Option<Vec<f64>>,
    rows: u64,
}

/// One array with the numbers of many answers.
enum Column {
    /// One row of `width` numbers per answer.
    Matrix { cells: Cells, rows: u64, width: u64 },
    /// One array per answer.
    Ragged(Vec<Cells>),
}

/// Arrays of a file, with the step, the rank and the unread members.
#[derive(Default)]
pub(super) struct Built {
    pub(super) columns: Columns,
    pub(super) step: Option<u64>,
    pub(super) rank: Option<u64>,
    /// Names of numeric members that are not read.
    pub(super) unread: Vec<String>,
}

impl Built {
    /// Sets the step or the rank from a value around the arrays, unless it is already known.
    pub(super) fn take_place(&mut self, key: &str, value: &Tree) {
        let Tree::Number(value) = value else { return };
        match role_of_key(key) {
            Some((KeyRole::Step, _)) => self.step = self.step.or(whole_number(*value)),
            Some((KeyRole::Rank, _)) => self.rank = self.rank.or(whole_number(*value)),
            _ => {}
        }
    }
}

impl Columns {
    /// Number of answers.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// Quantities that the answers have.
    pub(super) fn quantities(&self) -> RowQuantities {
        let has = |role: KeyRole| self.get(role).is_some();
        let mask = !self.masks.is_empty() || has(KeyRole::Attention);
        RowQuantities {
            engine: has(KeyRole::Engine),
            trainer: has(KeyRole::Trainer),
            difference: has(KeyRole::Difference),
            mask,
        }
    }

    /// Arranges the entries of a dictionary.
    ///
    /// # Errors
    /// `Corrupt` if arrays hold different numbers of answers, or too many; those of reading.
    pub(super) fn build(name: &str, entries: Vec<(String, Tree)>) -> Result<Built> {
        let mut built = Built::default();
        let columns = &mut built.columns;
        let mut places: Vec<(KeyRole, usize)> = Vec::new();
        for (key, tree) in entries {
            let Some((role, place)) = role_of_key(&key) else {
                if is_numeric(&tree) {
                    built.unread.push(key);
                }
                continue;
            };
            match role {
                KeyRole::Step => built.step = built.step.or(number(&tree)?),
                KeyRole::Rank => built.rank = built.rank.or(number(&tree)?),
                KeyRole::Lengths => columns.lengths = scalars(tree)?,
                KeyRole::Index => columns.index = scalars(tree)?,
                KeyRole::Version => columns.version = scalars(tree)?,
                KeyRole::Cached => columns.cached = scalars(tree)?,
                KeyRole::Boundaries => columns.boundaries = scalars(tree)?,
                KeyRole::Mask => columns.masks.extend(column(tree)),
                _ => {
                    let known = places.iter().position(|(known, _)| *known == role);
                    let is_better = known.and_then(|at| places.get(at)).is_none_or(|(_, before)| place < *before);
                    let Some(column) = column(tree).filter(|_| is_better) else {
                        built.unread.push(key);
                        continue;
                    };
                    columns.arrays.retain(|(of, _)| *of != role);
                    columns.arrays.push((role, column));
                    places.retain(|(of, _)| *of != role);
                    places.push((role, place));
                }
            }
        }
        columns.count(name)?;
        Ok(built)
    }

    /// Joins dictionaries, one per answer.
    ///
    /// # Errors
    /// Those of [`build`](Self::build).
    pub(super) fn from_samples(name: &str, samples: Vec<Vec<(String, Tree)>>) -> Result<Built> {
        let mut keys: Vec<String> = Vec::new();
        for (key, _) in samples.iter().flatten() {
            if !keys.contains(key) {
                keys.push(key.clone());
            }
        }
        let mut all: Vec<(String, Tree)> = keys.into_iter().map(|key| (key, Tree::List(Vec::new()))).collect();
        for (nth, sample) in samples.into_iter().enumerate() {
            for (key, value) in sample {
                let known = all.iter_mut().find(|(known, _)| *known == key);
                if let Some((_, Tree::List(items))) = known {
                    items.resize_with(nth, || Tree::Other);
                    items.push(value);
                }
            }
        }
        // The step and the rank of the first sample are those of the file, because every sample repeats them.
        let first = |role_of: KeyRole| {
            let key = all.iter().find(|(key, _)| role_of_key(key).is_some_and(|(role, _)| role == role_of));
            key.and_then(|(_, tree)| if let Tree::List(items) = tree { items.first() } else { None })
        };
        let (step, rank) = (first(KeyRole::Step).map(number), first(KeyRole::Rank).map(number));
        let (step, rank) = (step.transpose()?.flatten(), rank.transpose()?.flatten());
        all.retain(|(key, _)| !role_of_key(key).is_some_and(|(role, _)| matches!(role, KeyRole::Step | KeyRole::Rank)));
        let built = Self::build(name, all)?;
        Ok(Built { step, rank, ..built })
    }

    fn get(&self, role: KeyRole) -> Option<&Column> {
        self.arrays.iter().find(|(of, _)| *of == role).map(|(_, column)| column)
    }

    /// Counts the answers, and returns an error if arrays hold different numbers of answers.
    fn count(&mut self, name: &str) -> Result<()> {
        let measured =
            [KeyRole::Engine, KeyRole::Trainer, KeyRole::Difference].into_iter().find_map(|role| self.get(role));
        let Some(measured) = measured else { return Err(Error::corrupt(name, "holds no log-probabilities")) };
        self.rows = match &self.boundaries {
            Some(boundaries) => boundaries.len().saturating_sub(1) as u64,
            None => measured.rows(),
        };
        let other = self.arrays.iter().map(|(_, column)| column).chain(&self.masks);
        let differing = other.map(Column::rows).find(|rows| self.boundaries.is_none() && *rows != self.rows);
        if let Some(rows) = differing {
            let message = format!("holds arrays of {} and of {rows} answers", self.rows);
            return Err(Error::corrupt(name, message).with_help("save all arrays of one batch, whole"));
        }
        if self.rows > MOST_ROWS {
            let message = format!("holds {} answers, and up to {MOST_ROWS} are read", self.rows);
            return Err(Error::corrupt(name, message));
        }
        Ok(())
    }

    /// Reads the numbers of an answer into `raw`.
    ///
    /// # Errors
    /// Those of reading.
    pub(super) fn fill(&self, row: u64, raw: &mut Raw, bytes: &mut Vec<u8>) -> Result<()> {
        raw.clear();
        let nth = usize::try_from(row).unwrap_or(usize::MAX);
        let scalar = |of: &Option<Vec<f64>>| of.as_ref().and_then(|numbers| numbers.get(nth).copied());
        (raw.length, raw.index) = (scalar(&self.lengths), scalar(&self.index));
        (raw.version, raw.cached) = (scalar(&self.version), scalar(&self.cached));
        if self.boundaries.is_some() {
            return self.fill_packed(nth, raw, bytes);
        }
        for (role, column) in &self.arrays {
            if let Some(numbers) = raw.numbers(*role) {
                column.read(row, bytes, numbers.refill())?;
            }
        }
        for column in &self.masks {
            let mut mask = Numbers::default();
            column.read(row, bytes, mask.refill())?;
            raw.masks.push(mask);
        }
        Ok(())
    }

    /// Reads an answer from packed sequences. The mask shows where the answer begins after its prompt.
    fn fill_packed(&self, nth: usize, raw: &mut Raw, bytes: &mut Vec<u8>) -> Result<()> {
        let boundary = |at: usize| self.boundaries.as_ref().and_then(|all| whole_number(*all.get(at)?));
        let (Some(start), Some(end)) = (boundary(nth), boundary(nth + 1)) else {
            return Err(Error::corrupt("cu_seqlens", "holds numbers that are no places"));
        };
        if end < start || end - start > MOST_TOKENS {
            return Err(Error::corrupt("cu_seqlens", format!("cuts from {start} to {end}")));
        }
        let mut cut = |column: &Column, out: &mut Vec<f64>| -> Result<()> {
            let Column::Matrix { cells, .. } = column else { return Ok(()) };
            cells.read(start.min(cells.len()), end.min(cells.len()), bytes, out)
        };
        for (role, column) in &self.arrays {
            if let Some(numbers) = raw.numbers(*role) {
                cut(column, numbers.refill())?;
            }
        }
        for column in &self.masks {
            let mut mask = Numbers::default();
            cut(column, mask.refill())?;
            raw.masks.push(mask);
        }
        let begins = raw.masks.iter().filter_map(|mask| mask.values.iter().position(|value| *value != 0.0)).min();
        let begin = if raw.masks.is_empty() { 0 } else { begins.unwrap_or(raw.engine.values.len()) };
        raw.cut_prompt(begin);
        Ok(())
    }
}

impl Raw {
    /// Removes the first `begin` positions, which belong to the prompt, from arrays over prompt and answer.
    fn cut_prompt(&mut self, begin: usize) {
        let Self { engine, trainer, difference, response, attention, masks, .. } = self;
        for numbers in [engine, trainer, difference, response].into_iter().chain(masks) {
            numbers.values.drain(..begin.min(numbers.values.len()));
        }
        // Packed sequences have no padding between them, so the attention mask is not needed.
        attention.is_there = false;
        if self.whole.is_there && !self.tokens.is_there {
            std::mem::swap(&mut self.whole, &mut self.tokens);
        }
    }
}

impl Column {
    fn rows(&self) -> u64 {
        match self {
            Self::Matrix { rows, .. } => *rows,
            Self::Ragged(rows) => rows.len() as u64,
        }
    }

    fn read(&self, row: u64, bytes: &mut Vec<u8>, out: &mut Vec<f64>) -> Result<()> {
        let too_long =
            |width: u64| Error::corrupt("a row", format!("holds {width} tokens, up to {MOST_TOKENS} are read"));
        match self {
            Self::Matrix { width, .. } if *width > MOST_TOKENS => Err(too_long(*width)),
            Self::Matrix { cells, width, .. } => {
                let start = row.saturating_mul(*width);
                cells.read(start, start.saturating_add(*width), bytes, out)
            }
            Self::Ragged(rows) => {
                let cells = usize::try_from(row).ok().and_then(|row| rows.get(row));
                let Some(cells) = cells else { return Ok(()) };
                if cells.len() > MOST_TOKENS {
                    Err(too_long(cells.len()))
                } else {
                    cells.read(0, cells.len(), bytes, out)
                }
            }
        }
    }
}

/// Converts a value into an array of many answers; `None` if it holds no numbers.
fn column(tree: Tree) -> Option<Column> {
    match tree {
        Tree::Tensor(tensor) if is_readable(tensor.dtype) => {
            let rows = if tensor.shape.len() < 2 { 1 } else { *tensor.shape.first()? };
            let width = tensor.elements().checked_div(rows).unwrap_or(0);
            Some(Column::Matrix { cells: Cells::Tensor(tensor), rows, width })
        }
        Tree::Numbers(numbers) => {
            let width = numbers.len() as u64;
            Some(Column::Matrix { cells: Cells::Numbers(numbers), rows: 1, width })
        }
        Tree::List(items) => {
            let cells = items.into_iter().map(|item| match item {
                Tree::Tensor(tensor) if is_readable(tensor.dtype) => Cells::Tensor(tensor),
                Tree::Numbers(numbers) => Cells::Numbers(numbers),
                Tree::Number(number) => Cells::Numbers(vec![number]),
                _ => Cells::Numbers(Vec::new()),
            });
            Some(Column::Ragged(cells.collect()))
        }
        _ => None,
    }
}

/// Reads one number per answer. If an answer has several, for example versions of weights that changed during sampling, the
/// largest one counts.
fn scalars(tree: Tree) -> Result<Option<Vec<f64>>> {
    Ok(match tree {
        Tree::Tensor(tensor) if is_readable(tensor.dtype) => Some(Cells::Tensor(tensor).read_all(MOST_ROWS)?),
        Tree::Numbers(numbers) => Some(numbers),
        Tree::List(items) => Some(items.into_iter().map(largest).collect()),
        _ => None,
    })
}

fn largest(tree: Tree) -> f64 {
    match tree {
        Tree::Number(number) => number,
        Tree::Numbers(numbers) => numbers.into_iter().fold(f64::NAN, f64::max),
        Tree::Text(text) => text.trim().parse().unwrap_or(f64::NAN),
        Tree::List(items) => items.into_iter().map(largest).fold(f64::NAN, f64::max),
        _ => f64::NAN,
    }
}

/// Value of a single whole number.
fn number(tree: &Tree) -> Result<Option<u64>> {
    Ok(match tree {
        Tree::Number(number) => whole_number(*number),
        Tree::Tensor(tensor) if tensor.elements() == 1 && is_readable(tensor.dtype) => {
            Cells::Tensor(again(tensor)).read_all(1)?.first().copied().and_then(whole_number)
        }
        _ => None,
    })
}

fn again(tensor: &TensorData) -> TensorData {
    tensor.new_handle()
}

fn is_numeric(tree: &Tree) -> bool {
    match tree {
        Tree::Tensor(_) | Tree::Unread | Tree::Numbers(_) | Tree::Number(_) => true,
        Tree::List(items) => items.iter().any(is_numeric),
        Tree::Text(_) | Tree::Map(_) | Tree::Other => false,
    }
}
