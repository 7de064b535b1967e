//! Tables of one side in the form that is paired: those of one rank, or those of all ranks merged.

use std::collections::{BTreeMap, BTreeSet};

use super::rank::{MonitorStep, RankTables};
use super::table::MonitorDamage;
use super::version::MonitorVersion;
use super::whole::WholeTables;
use crate::error::Result;
use crate::kind::MonitorKind;
use crate::layout::Layout;
use crate::read::account::UnreadNumbers;

/// Tables of one rank, or of the whole model.
pub struct MonitorTables {
    ranks: Vec<RankTables>,
    /// Facts for merging the ranks; `None` for a single rank.
    whole: Option<WholeTables>,
}

impl From<RankTables> for MonitorTables {
    fn from(rank: RankTables) -> Self {
        Self { ranks: vec![rank], whole: None }
    }
}

impl MonitorTables {
    /// Creates the tables of all ranks of a layout. `merges_micro_steps` says that the micro steps of a step are parts of one batch.
    pub(crate) fn from_ranks(ranks: Vec<RankTables>, layout: Layout, merges_micro_steps: bool) -> Self {
        let whole = WholeTables::new(&ranks, layout, merges_micro_steps);
        Self { ranks, whole: Some(whole) }
    }

    /// Rank of the tables; `None` if all ranks are merged.
    pub fn rank(&self) -> Option<u64> {
        self.ranks.first().filter(|_| self.whole.is_none()).map(|tables| tables.rank)
    }

    /// Ranks that are merged; empty for a single rank.
    pub(crate) fn merged_ranks(&self) -> Vec<u64> {
        self.ranks.iter().filter(|_| self.whole.is_some()).map(|tables| tables.rank).collect()
    }

    pub(crate) fn rank_tables(&self) -> &[RankTables] {
        &self.ranks
    }

    /// Largest number of parts that one row of the whole model is merged from.
    pub(crate) fn parts_per_row(&self) -> u32 {
        self.whole.as_ref().map_or(1, WholeTables::parts_per_row)
    }

    /// Ranks that hold a tensor of the whole model.
    pub(crate) fn holding_ranks(&self, kind: MonitorKind, name: &str) -> Vec<u64> {
        self.whole.as_ref().map(|whole| whole.holding_ranks(kind, name)).unwrap_or_default()
    }

    /// Damage of its tables, with their paths.
    pub fn damage(&self) -> impl Iterator<Item = (&str, &MonitorDamage)> {
        self.ranks.iter().flat_map(RankTables::damage)
    }

    /// Kinds of tensors in damaged tables.
    pub(crate) fn damaged_kinds(&self) -> BTreeSet<MonitorKind> {
        self.ranks.iter().flat_map(RankTables::damaged_kinds).collect()
    }

    /// Version of the tool that wrote the tables; the later one if both did.
    pub fn version(&self) -> Option<MonitorVersion> {
        self.ranks.iter().filter_map(RankTables::version).max()
    }

    /// Whether any table records a statistic that can be compared.
    pub(crate) fn has_statistics(&self) -> bool {
        self.ranks.iter().any(RankTables::has_statistics)
    }

    /// Whether no table has a row.
    pub fn is_empty(&self) -> bool {
        self.ranks.iter().all(RankTables::is_empty)
    }

    /// Number of decimals that numbers are rounded to; `None` if they are not rounded.
    pub fn decimals(&self) -> Option<u32> {
        self.ranks.iter().filter_map(RankTables::decimals).max()
    }

    /// Number of lines of communication tables that were left out.
    pub fn left_out(&self) -> u64 {
        self.ranks.iter().map(RankTables::left_out).sum()
    }

    /// Numbers in its tables that are not read.
    pub fn account(&self) -> UnreadNumbers {
        let mut account = UnreadNumbers::default();
        self.ranks.iter().for_each(|tables| account.add(&tables.account()));
        account
    }

    /// Kinds of its tensors.
    pub fn kinds(&self) -> BTreeSet<MonitorKind> {
        self.ranks.iter().flat_map(RankTables::names).map(|(kind, _)| kind).collect()
    }

    /// Kinds and names of its tensors.
    pub fn names(&self) -> BTreeSet<(MonitorKind, &str)> {
        match &self.whole {
            Some(whole) => whole.names().collect(),
            None => self.ranks.iter().flat_map(RankTables::names).collect(),
        }
    }

    /// Steps, each with its number of rows. For the whole model these are the steps that every rank has.
    pub fn steps(&self) -> BTreeMap<i64, u64> {
        let mut steps: BTreeMap<i64, (usize, u64)> = BTreeMap::new();
        for (step, rows) in self.ranks.iter().flat_map(RankTables::steps) {
            let (ranks, all) = steps.entry(step).or_default();
            *ranks += 1;
            *all += rows;
        }
        let of_all = steps.into_iter().filter(|(_, (ranks, _))| *ranks == self.ranks.len());
        of_all.map(|(step, (_, rows))| (step, rows.div_ceil(u64::from(self.parts_per_row().max(1))))).collect()
    }

    /// First step at which a table that may hold `kind` has a row.
    pub fn first_step(&self, kind: MonitorKind) -> Option<i64> {
        self.ranks.iter().filter_map(|tables| tables.first_step(kind)).max()
    }

    /// Reads the rows of a step, only those of `kind` if one is given.
    ///
    /// # Errors
    /// If a file can no longer be read.
    pub(crate) fn read_step(&self, step: i64, kind: Option<MonitorKind>) -> Result<MonitorStep> {
        match (&self.whole, self.ranks.as_slice()) {
            (Some(whole), ranks) => whole.read_step(ranks, step, kind),
            (None, [rank]) => rank.read_step(step, kind),
            _ => Ok(MonitorStep::default()),
        }
    }
}
