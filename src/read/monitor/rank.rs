//! All tables of a rank, read step by step.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Damage, Kind, Row, Table, Version};
use crate::error::Result;

/// Name of a tensor within a step, by which rows of both sides are paired.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Keys {
    /// Its kind.
    pub kind: Kind,
    /// Stage of the pipeline.
    pub stage: i64,
    /// Its name as both versions would write it.
    pub name: String,
    /// Micro step, or which of several equal rows it is.
    pub micro_step: u64,
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

/// The rows of a step.
#[derive(Debug, Default)]
pub struct Step {
    /// Rows by key, without those that say that there was no tensor.
    pub rows: HashMap<Keys, Keyed>,
    /// Keys of which a later start wrote another row.
    pub replaced: u64,
}

/// The tables of a rank.
pub struct RankTables {
    /// The rank.
    pub rank: u64,
    /// The tables: those of a later start after those of an earlier one.
    tables: Vec<Table>,
}

impl RankTables {
    /// The tables of `rank`.
    pub fn new(rank: u64, mut tables: Vec<Table>) -> Self {
        tables.sort_by(|a, b| (&a.place.folder, &a.place.path).cmp(&(&b.place.folder, &b.place.path)));
        Self { rank, tables }
    }

    /// Damage of its tables, with their paths.
    pub fn damage(&self) -> impl Iterator<Item = (&str, &Damage)> {
        self.tables.iter().filter_map(|table| Some((table.place.path.as_str(), table.damage.as_ref()?)))
    }

    /// Kinds that damaged tables hold.
    pub fn damaged_kinds(&self) -> BTreeSet<Kind> {
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
        self.tables.iter().filter_map(|table| table.header.as_ref()).any(super::Header::has_statistics)
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

    /// Kind and name of its tensors.
    pub fn names(&self) -> BTreeSet<&(Kind, String)> {
        self.tables.iter().flat_map(|table| &table.names).collect()
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
    pub fn first_step(&self, kind: Kind) -> Option<i64> {
        let holds = |table: &&Table| table.place.kinds().contains(&kind);
        self.tables.iter().filter(holds).flat_map(Table::steps).map(|(step, _)| step).min()
    }

    /// The rows of a step, of `kind` alone where one is given.
    ///
    /// # Errors
    /// Where a file can no longer be read.
    pub fn step(&self, step: i64, kind: Option<Kind>) -> Result<Step> {
        let mut read = Step::default();
        let mut orders: HashMap<Kind, u64> = HashMap::new();
        let mut folder = "";
        let mut seen: HashMap<Keys, u64> = HashMap::new();
        for table in &self.tables {
            if kind.is_some_and(|kind| !table.place.kinds().is_empty() && !table.place.kinds().contains(&kind)) {
                continue;
            }
            if folder != table.place.folder {
                (folder, seen) = (&table.place.folder, HashMap::new());
            }
            for row in table.rows(step)? {
                let order = orders.entry(row.kind).or_default();
                *order += 1;
                let mut key = Keys {
                    kind: row.kind,
                    stage: row.stage,
                    name: row.canonical.clone(),
                    micro_step: row.micro_step.unwrap_or(0),
                };
                let nth = seen.entry(key.clone()).or_default();
                key.micro_step = key.micro_step.saturating_add(*nth);
                *nth += 1;
                if row.is_absent() || kind.is_some_and(|kind| kind != row.kind) {
                    continue;
                }
                let keyed = Keyed { key: key.clone(), order: *order, row };
                if read.rows.insert(key, keyed).is_some() {
                    read.replaced += 1;
                }
            }
        }
        Ok(read)
    }
}
