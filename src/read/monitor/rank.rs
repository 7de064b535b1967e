//! All tables of one rank, read step by step.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::cells::MonitorHeader;
use super::row::{MonitorRow, MonitorStatistics};
use super::table::{MonitorDamage, MonitorTable};
use super::version::MonitorVersion;
use crate::error::Result;
use crate::hash::FastMap;
use crate::kind::MonitorKind;
use crate::read::account::UnreadNumbers;

/// A parameter of a model.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MonitorParameter {
    /// Number of the model among the models that one process monitors.
    pub model: u64,
    /// Stage of the pipeline.
    pub stage: i64,
    /// Canonical name, which is the same for both versions.
    pub name: Arc<str>,
}

/// Key of a tensor within a step, by which the rows of both sides are paired.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MonitorKey {
    /// Number of the model among the models that one process monitors.
    pub model: u64,
    /// Kind of the tensor.
    pub kind: MonitorKind,
    /// Stage of the pipeline.
    pub stage: i64,
    /// Canonical name, which is the same for both versions.
    pub name: Arc<str>,
    /// Micro step. If micro steps are not counted, the number of the row among equal rows.
    pub micro_step: u64,
    /// Number of the row among equal rows of one micro step, if micro steps are counted.
    pub occurrence: u64,
}

impl MonitorKey {
    /// Parameter with this name.
    pub fn parameter(&self) -> MonitorParameter {
        MonitorParameter { model: self.model, stage: self.stage, name: self.name.clone() }
    }

    /// Splits the name into the path of the module and the parameter, input or output after it: `fc1` and `.input.0`.
    pub(crate) fn split_module(&self) -> (&str, &str) {
        let before = |name: &str| name.rfind('.').unwrap_or(0);
        let mut end = before(&self.name);
        if self.kind.is_activation() {
            end = before(self.name.get(..end).unwrap_or_default());
        }
        self.name.split_at_checked(end).unwrap_or((&self.name, ""))
    }

    /// Changes the key to that of the `nth` later row. `is_counted` says whether the table counts micro steps.
    fn later(&mut self, nth: u64, is_counted: bool) {
        let place = if is_counted { &mut self.occurrence } else { &mut self.micro_step };
        *place = place.saturating_add(nth);
    }
}

/// A row with its key and its position.
#[derive(Clone, Debug)]
pub struct KeyedRow {
    /// The key.
    pub key: MonitorKey,
    /// Position among the rows of its kind and step, from 1.
    pub order: u64,
    /// The row.
    pub row: MonitorRow,
}

impl KeyedRow {
    /// Key of the first row that the same start of the program wrote for this tensor; `None` if this row is the first.
    pub(crate) fn first_key(&self) -> Option<MonitorKey> {
        let is_counted = self.row.micro_step.is_some();
        let MonitorKey { micro_step, occurrence, .. } = self.key;
        let is_later = if is_counted { occurrence > 0 } else { micro_step > 0 };
        let micro_step = if is_counted { micro_step } else { 0 };
        is_later.then(|| MonitorKey { micro_step, occurrence: 0, ..self.key.clone() })
    }
}

/// A row whose copies differ between ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct DifferingRow {
    /// Key of the row.
    pub key: MonitorKey,
    /// Name of the row as the tool writes it.
    pub name: Arc<str>,
    /// Place among the rows of its kind and step.
    pub order: u64,
    /// The step as written.
    pub step: u64,
    /// Ranks that hold copies.
    pub ranks: Vec<u64>,
    /// Largest relative difference of a statistic.
    pub error: f64,
}

/// The rows of a step.
#[derive(Debug, Default)]
pub struct MonitorStep {
    /// Rows in the order of their files, without rows that say that there was no tensor. Each key occurs once.
    pub rows: Vec<KeyedRow>,
    /// Number of keys for which a later start of the program wrote a row again.
    pub replaced: u64,
    /// Number of these keys whose later row has other numbers.
    pub contradicting: u64,
    /// Keys of rows of the whole model that cannot be merged.
    pub unmerged: Vec<MonitorKey>,
    /// Rows whose copies differ between ranks, in the order of the rows.
    pub differing: Vec<DifferingRow>,
}

/// Tables of one rank.
pub struct RankTables {
    /// The rank.
    pub rank: u64,
    /// Tables, with those of a later start after those of an earlier one.
    tables: Vec<MonitorTable>,
    /// Number of the model that each folder records; a missing folder means 0.
    models: BTreeMap<String, u64>,
}

impl RankTables {
    /// Creates the set of the tables of `rank`.
    pub fn new(rank: u64, mut tables: Vec<MonitorTable>) -> Self {
        tables.sort_by(|a, b| (&a.place.folder, &a.place.path).cmp(&(&b.place.folder, &b.place.path)));
        Self { rank, tables, models: BTreeMap::new() }
    }

    /// Sets the model that each folder records. Folders of the same model are successive starts of the program.
    #[must_use]
    pub(crate) fn with_models(self, models: BTreeMap<String, u64>) -> Self {
        Self { models, ..self }
    }

    /// Folders of the monitor, each with its steps.
    pub fn folders(&self) -> BTreeMap<&str, BTreeSet<i64>> {
        let mut folders: BTreeMap<&str, BTreeSet<i64>> = BTreeMap::new();
        for table in &self.tables {
            let steps = table.steps().map(|(step, _)| step);
            folders.entry(table.place.folder.as_str()).or_default().extend(steps);
        }
        folders
    }

    /// Rows of a step in one folder. Files that can no longer be read are skipped.
    pub(crate) fn folder_rows(&self, folder: &str, step: i64) -> Vec<MonitorRow> {
        let of_folder = self.tables.iter().filter(|table| table.place.folder == folder);
        of_folder.filter_map(|table| table.rows(step).ok()).flatten().collect()
    }

    /// Damage of its tables, with their paths.
    pub fn damage(&self) -> impl Iterator<Item = (&str, &MonitorDamage)> {
        self.tables.iter().filter_map(|table| Some((table.place.path.as_str(), table.damage.as_ref()?)))
    }

    /// Kinds of tensors in damaged tables.
    pub(crate) fn damaged_kinds(&self) -> BTreeSet<MonitorKind> {
        self.tables
            .iter()
            .filter(|table| table.damage.is_some())
            .flat_map(|table| table.place.kinds())
            .copied()
            .collect()
    }

    /// Version of the tool that wrote the tables; the later one if both did.
    pub fn version(&self) -> Option<MonitorVersion> {
        self.tables.iter().filter_map(|table| table.header.as_ref()).map(|header| header.version).max()
    }

    /// Whether any table records a statistic that can be compared.
    pub(crate) fn has_statistics(&self) -> bool {
        self.tables.iter().filter_map(|table| table.header.as_ref()).any(MonitorHeader::has_statistics)
    }

    /// Whether no table has a row.
    pub fn is_empty(&self) -> bool {
        self.tables.iter().all(|table| table.steps().next().is_none())
    }

    /// Number of decimals that numbers are rounded to; `None` if they are not rounded.
    pub fn decimals(&self) -> Option<u32> {
        self.tables.iter().filter_map(|table| table.decimals).max()
    }

    /// Number of lines of communication tables that were left out.
    pub fn left_out(&self) -> u64 {
        self.tables.iter().map(|table| table.left_out).sum()
    }

    /// Numbers in its tables that are not read.
    pub fn account(&self) -> UnreadNumbers {
        let mut account = UnreadNumbers::default();
        self.tables.iter().for_each(|table| account.add(&table.account));
        account
    }

    /// Kinds and names of its tensors.
    pub fn names(&self) -> BTreeSet<(MonitorKind, &str)> {
        self.tables.iter().flat_map(MonitorTable::names).collect()
    }

    /// Steps, each with its number of rows.
    pub fn steps(&self) -> BTreeMap<i64, u64> {
        let mut steps = BTreeMap::new();
        for (step, rows) in self.tables.iter().flat_map(MonitorTable::steps) {
            *steps.entry(step).or_default() += rows;
        }
        steps
    }

    /// First step at which a table that may hold `kind` has a row.
    pub fn first_step(&self, kind: MonitorKind) -> Option<i64> {
        let holds = |table: &&MonitorTable| table.place.kinds().contains(&kind);
        self.tables.iter().filter(holds).flat_map(MonitorTable::steps).map(|(step, _)| step).min()
    }

    /// Reads the rows of a step, only those of `kind` if one is given.
    ///
    /// # Errors
    /// If a file can no longer be read.
    pub(crate) fn read_step(&self, step: i64, kind: Option<MonitorKind>) -> Result<MonitorStep> {
        let mut reading = Reading::default();
        let may_hold = |table: &&MonitorTable| {
            let kinds = table.place.kinds();
            kind.is_none_or(|kind| kinds.is_empty() || kinds.contains(&kind))
        };
        let mut folder = "";
        for table in self.tables.iter().filter(may_hold) {
            if folder != table.place.folder {
                folder = &table.place.folder;
                reading.begin_start(self.models.get(folder).copied().unwrap_or(0));
            }
            let rows = table.rows(step)?;
            reading.places.reserve(rows.len());
            reading.step.rows.reserve(rows.len());
            let wanted = rows.into_iter().filter(|row| kind.is_none_or(|kind| kind == row.kind));
            wanted.for_each(|row| reading.add(row));
        }
        Ok(reading.step)
    }
}

/// A step while its tables are read.
#[derive(Default)]
struct Reading {
    step: MonitorStep,
    orders: BTreeMap<MonitorKind, u64>,
    /// Number of the current start of the program, from 1.
    start: u64,
    /// Number of the model that the current start records.
    model: u64,
    /// Index of the row of each key, with the start that wrote it.
    places: FastMap<MonitorKey, (usize, u64)>,
    /// Name and statistics of the last activation with each key in the current start.
    wrapped: FastMap<MonitorKey, (Arc<str>, MonitorStatistics)>,
    /// Number of times that the current start wrote a key, if it did so more than once or without a tensor.
    again: FastMap<MonitorKey, u64>,
}

impl Reading {
    /// Begins the tables of the next start, which records `model`.
    fn begin_start(&mut self, model: u64) {
        self.start += 1;
        self.model = model;
        self.again.clear();
        self.wrapped.clear();
    }

    /// Whether an activation was already recorded under another name. A wrapper and the module in it record the same numbers.
    fn is_wrapped(&mut self, key: &MonitorKey, row: &MonitorRow) -> bool {
        if !row.kind.is_activation() {
            return false;
        }
        match self.wrapped.entry(key.clone()) {
            Entry::Occupied(mut last) if *last.get().0 == *row.name => {
                last.get_mut().1 = row.statistics;
                false
            }
            Entry::Occupied(last) => last.get().1.is_same(&row.statistics),
            Entry::Vacant(free) => {
                free.insert((row.name.clone(), row.statistics));
                false
            }
        }
    }

    /// Adds the next row. If the same start wrote the key before, the row belongs to the next micro step. If an earlier start wrote
    /// the key, the row replaces the earlier one.
    fn add(&mut self, row: MonitorRow) {
        let order = self.orders.entry(row.kind).or_default();
        *order += 1;
        let order = *order;
        let (kind, stage, name) = (row.kind, row.stage, row.canonical.clone());
        let mut key =
            MonitorKey { model: self.model, kind, stage, name, micro_step: row.micro_step.unwrap_or(0), occurrence: 0 };
        let is_counted = row.micro_step.is_some();
        if !row.is_absent() && self.is_wrapped(&key, &row) {
            return;
        }
        if row.is_absent() {
            let before = u64::from(self.is_written(&key));
            *self.again.entry(key).or_insert(before) += 1;
            return;
        }
        let count = self.again.get_mut(&key).map(|count| {
            *count += 1;
            *count - 1
        });
        key.later(count.unwrap_or(0), is_counted);
        if let Some(mut keyed) = self.put(KeyedRow { key, order, row }, count.is_none()) {
            self.again.insert(keyed.key.clone(), 2);
            keyed.key.later(1, is_counted);
            self.put(keyed, false);
        }
    }

    /// Whether the current start wrote a row with this key.
    fn is_written(&self, key: &MonitorKey) -> bool {
        self.places.get(key).is_some_and(|(_, start)| *start == self.start)
    }

    /// Adds a row or replaces the one of an earlier start. Returns the row unchanged if the current start already wrote its key and
    /// `is_once` is set.
    fn put(&mut self, keyed: KeyedRow, is_once: bool) -> Option<KeyedRow> {
        match self.places.entry(keyed.key.clone()) {
            Entry::Vacant(free) => {
                free.insert((self.step.rows.len(), self.start));
                self.step.rows.push(keyed);
            }
            Entry::Occupied(taken) if is_once && taken.get().1 == self.start => return Some(keyed),
            Entry::Occupied(mut taken) => {
                let (place, start) = taken.get_mut();
                *start = self.start;
                if let Some(row) = self.step.rows.get_mut(*place) {
                    self.step.contradicting += u64::from(!row.row.statistics.is_same(&keyed.row.statistics));
                    *row = keyed;
                }
                self.step.replaced += 1;
            }
        }
        None
    }
}
