//! All tables of a rank, read step by step.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::cells::Header;
use super::row::{Row, Statistics};
use super::table::{Damage, Table};
use super::version::Version;
use crate::error::Result;
use crate::hash::FastMap;
use crate::kind::MonitorKind;
use crate::read::account::Account;

/// A parameter of a model.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Parameter {
    /// Number of the model among those that one process monitors.
    pub model: u64,
    /// Stage of the pipeline.
    pub stage: i64,
    /// Its name as both versions would write it.
    pub name: Arc<str>,
}

/// Name of a tensor within a step, by which rows of both sides are paired.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Keys {
    /// Number of the model among those that one process monitors.
    pub model: u64,
    /// Its kind.
    pub kind: MonitorKind,
    /// Stage of the pipeline.
    pub stage: i64,
    /// Its name as both versions would write it.
    pub name: Arc<str>,
    /// Micro step, or which of several equal rows it is where none is counted.
    pub micro_step: u64,
    /// Number of the row among those of one micro step, where micro steps are counted.
    pub occurrence: u64,
}

impl Keys {
    /// The parameter of this name.
    pub fn parameter(&self) -> Parameter {
        Parameter { model: self.model, stage: self.stage, name: self.name.clone() }
    }

    /// The path of its module, and the parameter, input or output behind it: `fc1` and `.input.0`.
    pub fn module(&self) -> (&str, &str) {
        let before = |name: &str| name.rfind('.').unwrap_or(0);
        let mut end = before(&self.name);
        if self.kind.is_activation() {
            end = before(self.name.get(..end).unwrap_or_default());
        }
        self.name.split_at_checked(end).unwrap_or((&self.name, ""))
    }

    /// The `nth` later row of this key, of a table that counts micro steps or not.
    fn later(&mut self, nth: u64, is_counted: bool) {
        let place = if is_counted { &mut self.occurrence } else { &mut self.micro_step };
        *place = place.saturating_add(nth);
    }
}

/// A row with its key and place.
#[derive(Clone, Debug)]
pub struct Keyed {
    /// The key.
    pub key: Keys,
    /// Place among the rows of its kind and step.
    pub order: u64,
    /// The row.
    pub row: Row,
}

impl Keyed {
    /// The key of the first row that its start wrote for this place; `None` where it is the first.
    pub fn first(&self) -> Option<Keys> {
        let is_counted = self.row.micro_step.is_some();
        let Keys { micro_step, occurrence, .. } = self.key;
        let is_later = if is_counted { occurrence > 0 } else { micro_step > 0 };
        let micro_step = if is_counted { micro_step } else { 0 };
        is_later.then(|| Keys { micro_step, occurrence: 0, ..self.key.clone() })
    }
}

/// Copies of a row that differ between ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Differing {
    /// The row.
    pub key: Keys,
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
pub struct Step {
    /// Rows in the order of their files, without those that say that there was no tensor; each key once.
    pub rows: Vec<Keyed>,
    /// Keys of which a later start wrote a row again.
    pub replaced: u64,
    /// Of these, keys whose later row has other numbers.
    pub contradicting: u64,
    /// Rows of the whole model that cannot be put together.
    pub unmerged: Vec<Keys>,
    /// Copies that differ between ranks, in the order of the rows.
    pub differing: Vec<Differing>,
}

/// The tables of a rank.
pub struct RankTables {
    /// The rank.
    pub rank: u64,
    /// The tables: those of a later start after those of an earlier one.
    tables: Vec<Table>,
    /// Numbers of the models that its folders record; 0 where a folder is not named.
    models: BTreeMap<String, u64>,
}

impl RankTables {
    /// The tables of `rank`.
    pub fn new(rank: u64, mut tables: Vec<Table>) -> Self {
        tables.sort_by(|a, b| (&a.place.folder, &a.place.path).cmp(&(&b.place.folder, &b.place.path)));
        Self { rank, tables, models: BTreeMap::new() }
    }

    /// The same tables, of which each folder records the model that is told; folders of one model are starts of it.
    #[must_use]
    pub fn with_models(self, models: BTreeMap<String, u64>) -> Self {
        Self { models, ..self }
    }

    /// Its folders, each of which a monitor wrote, with their steps.
    pub fn folders(&self) -> BTreeMap<&str, BTreeSet<i64>> {
        let mut folders: BTreeMap<&str, BTreeSet<i64>> = BTreeMap::new();
        for table in &self.tables {
            let steps = table.steps().map(|(step, _)| step);
            folders.entry(table.place.folder.as_str()).or_default().extend(steps);
        }
        folders
    }

    /// The rows of a step that a folder holds; none where a file can no longer be read.
    pub fn rows_of(&self, folder: &str, step: i64) -> Vec<Row> {
        let of_folder = self.tables.iter().filter(|table| table.place.folder == folder);
        of_folder.filter_map(|table| table.rows(step).ok()).flatten().collect()
    }

    /// Damage of its tables, with their paths.
    pub fn damage(&self) -> impl Iterator<Item = (&str, &Damage)> {
        self.tables.iter().filter_map(|table| Some((table.place.path.as_str(), table.damage.as_ref()?)))
    }

    /// Kinds that damaged tables hold.
    pub fn damaged_kinds(&self) -> BTreeSet<MonitorKind> {
        self.tables
            .iter()
            .filter(|table| table.damage.is_some())
            .flat_map(|table| table.place.kinds())
            .copied()
            .collect()
    }

    /// The version that wrote it; the later one where both did.
    pub fn version(&self) -> Option<Version> {
        self.tables.iter().filter_map(|table| table.header.as_ref()).map(|header| header.version).max()
    }

    /// Whether any table records a statistic with a number that can be compared.
    pub fn has_statistics(&self) -> bool {
        self.tables.iter().filter_map(|table| table.header.as_ref()).any(Header::has_statistics)
    }

    /// Whether any table has a row.
    pub fn is_empty(&self) -> bool {
        self.tables.iter().all(|table| table.steps().next().is_none())
    }

    /// Decimals that its numbers are rounded to; `None` where they are written in full.
    pub fn decimals(&self) -> Option<u32> {
        self.tables.iter().filter_map(|table| table.decimals).max()
    }

    /// Lines of communication that were left out.
    pub fn left_out(&self) -> u64 {
        self.tables.iter().map(|table| table.left_out).sum()
    }

    /// Numbers of its tables that are not read.
    pub fn account(&self) -> Account {
        let mut account = Account::default();
        self.tables.iter().for_each(|table| account.add(&table.account));
        account
    }

    /// MonitorKind and name of its tensors.
    pub fn names(&self) -> BTreeSet<(MonitorKind, &str)> {
        self.tables.iter().flat_map(Table::names).collect()
    }

    /// Its steps with the number of their rows.
    pub fn steps(&self) -> BTreeMap<i64, u64> {
        let mut steps = BTreeMap::new();
        for (step, rows) in self.tables.iter().flat_map(Table::steps) {
            *steps.entry(step).or_default() += rows;
        }
        steps
    }

    /// The first step at which a table that holds `kind` has a row.
    pub fn first_step(&self, kind: MonitorKind) -> Option<i64> {
        let holds = |table: &&Table| table.place.kinds().contains(&kind);
        self.tables.iter().filter(holds).flat_map(Table::steps).map(|(step, _)| step).min()
    }

    /// The rows of a step, of `kind` alone where one is given.
    ///
    /// # Errors
    /// Where a file can no longer be read.
    pub fn step(&self, step: i64, kind: Option<MonitorKind>) -> Result<Step> {
        let mut reading = Reading::default();
        let may_hold = |table: &&Table| {
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
            let wanted = rows.into_iter().filter(|row| kind.is_none_or(|kind| kind == row.kind));
            wanted.for_each(|row| reading.add(row));
        }
        Ok(reading.step)
    }
}

/// A step while its tables are read.
#[derive(Default)]
struct Reading {
    step: Step,
    orders: BTreeMap<MonitorKind, u64>,
    /// Number of the present start, from 1.
    start: u64,
    /// Number of the present start's model.
    model: u64,
    /// Places of rows by key, with the start that wrote them.
    places: FastMap<Keys, (usize, u64)>,
    /// Name and statistics of the last activation of the present start that has a key.
    wrapped: FastMap<Keys, (Arc<str>, Statistics)>,
    /// Times that the present start wrote a key, where that is more than once or there was no tensor.
    again: FastMap<Keys, u64>,
}

impl Reading {
    /// Begins the tables of a later start, of `model`.
    fn begin_start(&mut self, model: u64) {
        self.start += 1;
        self.model = model;
        self.again.clear();
        self.wrapped.clear();
    }

    /// Whether a row says again what a wrapper and the module in it both say: another name for the same numbers.
    fn is_wrapped(&mut self, key: &Keys, row: &Row) -> bool {
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

    /// Adds the next row. A key that a start writes again is that of the next micro step; one that an earlier start wrote is
    /// replaced.
    fn add(&mut self, row: Row) {
        let order = self.orders.entry(row.kind).or_default();
        *order += 1;
        let order = *order;
        let (kind, stage, name) = (row.kind, row.stage, row.canonical.clone());
        let mut key =
            Keys { model: self.model, kind, stage, name, micro_step: row.micro_step.unwrap_or(0), occurrence: 0 };
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
        if let Some(mut keyed) = self.put(Keyed { key, order, row }, count.is_none()) {
            self.again.insert(keyed.key.clone(), 2);
            keyed.key.later(1, is_counted);
            self.put(keyed, false);
        }
    }

    /// Whether the present start wrote a row of this key.
    fn is_written(&self, key: &Keys) -> bool {
        self.places.get(key).is_some_and(|(_, start)| *start == self.start)
    }

    /// Puts a row in its place; gives it back where the present start wrote its key already and `is_once`.
    fn put(&mut self, keyed: Keyed, is_once: bool) -> Option<Keyed> {
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
