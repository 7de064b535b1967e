//! Tables of one side as they are paired: those of a rank, or those of all ranks put together.

use std::collections::{BTreeMap, BTreeSet};

use super::rank::{RankTables, Step};
use super::table::Damage;
use super::version::Version;
use super::whole::Whole;
use crate::error::Result;
use crate::kind::MonitorKind;
use crate::layout::Layout;
use crate::read::account::Account;

/// The tables of a rank, or of the whole model.
pub struct Tables {
    ranks: Vec<RankTables>,
    /// Facts about how the ranks belong together; `None` for a rank by itself.
    whole: Option<Whole>,
}

impl From<RankTables> for Tables {
    fn from(rank: RankTables) -> Self {
        Self { ranks: vec![rank], whole: None }
    }
}

impl Tables {
    /// The tables of all ranks of a layout; `merges_micro_steps` where the micro steps of a step are parts of one batch.
    pub fn of_whole(ranks: Vec<RankTables>, layout: Layout, merges_micro_steps: bool) -> Self {
        let whole = Whole::of(&ranks, layout, merges_micro_steps);
        Self { ranks, whole: Some(whole) }
    }

    /// The rank; `None` where all are put together.
    pub fn rank(&self) -> Option<u64> {
        self.ranks.first().filter(|_| self.whole.is_none()).map(|tables| tables.rank)
    }

    /// The ranks that are put together; empty for a rank by itself.
    pub fn put_together(&self) -> Vec<u64> {
        self.ranks.iter().filter(|_| self.whole.is_some()).map(|tables| tables.rank).collect()
    }

    /// The tables of each rank.
    pub fn each(&self) -> &[RankTables] {
        &self.ranks
    }

    /// Parts that one row of the whole model is put together of, at most.
    pub fn parts(&self) -> u32 {
        self.whole.as_ref().map_or(1, Whole::parts)
    }

    /// The ranks that hold a tensor of the whole model.
    pub fn holders(&self, kind: MonitorKind, name: &str) -> Vec<u64> {
        self.whole.as_ref().map(|whole| whole.holders(kind, name)).unwrap_or_default()
    }

    /// Damage of its tables, with their paths.
    pub fn damage(&self) -> impl Iterator<Item = (&str, &Damage)> {
        self.ranks.iter().flat_map(RankTables::damage)
    }

    /// Kinds that damaged tables hold.
    pub fn damaged_kinds(&self) -> BTreeSet<MonitorKind> {
        self.ranks.iter().flat_map(RankTables::damaged_kinds).collect()
    }

    /// The version that wrote it; the later one where both did.
    pub fn version(&self) -> Option<Version> {
        self.ranks.iter().filter_map(RankTables::version).max()
    }

    /// Whether any table records a statistic with a number that can be compared.
    pub fn has_statistics(&self) -> bool {
        self.ranks.iter().any(RankTables::has_statistics)
    }

    /// Whether no table has a row.
    pub fn is_empty(&self) -> bool {
        self.ranks.iter().all(RankTables::is_empty)
    }

    /// Decimals that its numbers are rounded to; `None` where they are written in full.
    pub fn decimals(&self) -> Option<u32> {
        self.ranks.iter().filter_map(RankTables::decimals).max()
    }

    /// Lines of communication that were left out.
    pub fn left_out(&self) -> u64 {
        self.ranks.iter().map(RankTables::left_out).sum()
    }

    /// Numbers of its tables that are not read.
    pub fn account(&self) -> Account {
        let mut account = Account::default();
        self.ranks.iter().for_each(|tables| account.add(&tables.account()));
        account
    }

    /// Kinds of its tensors.
    pub fn kinds(&self) -> BTreeSet<MonitorKind> {
        self.ranks.iter().flat_map(RankTables::names).map(|(kind, _)| kind).collect()
    }

    /// MonitorKind and name of its tensors.
    pub fn names(&self) -> BTreeSet<(MonitorKind, &str)> {
        match &self.whole {
            Some(whole) => whole.names().collect(),
            None => self.ranks.iter().flat_map(RankTables::names).collect(),
        }
    }

    /// Its steps with the number of their rows; of the whole model those that every rank has.
    pub fn steps(&self) -> BTreeMap<i64, u64> {
        let mut steps: BTreeMap<i64, (usize, u64)> = BTreeMap::new();
        for (step, rows) in self.ranks.iter().flat_map(RankTables::steps) {
            let (ranks, all) = steps.entry(step).or_default();
            *ranks += 1;
            *all += rows;
        }
        let of_all = steps.into_iter().filter(|(_, (ranks, _))| *ranks == self.ranks.len());
        of_all.map(|(step, (_, rows))| (step, rows.div_ceil(u64::from(self.parts().max(1))))).collect()
    }

    /// The first step at which a table that holds `kind` has a row.
    pub fn first_step(&self, kind: MonitorKind) -> Option<i64> {
        self.ranks.iter().filter_map(|tables| tables.first_step(kind)).max()
    }

    /// The rows of a step, of `kind` alone where one is given.
    ///
    /// # Errors
    /// Where a file can no longer be read.
    pub fn step(&self, step: i64, kind: Option<MonitorKind>) -> Result<Step> {
        match (&self.whole, self.ranks.as_slice()) {
            (Some(whole), ranks) => whole.step(ranks, step, kind),
            (None, [rank]) => rank.step(step, kind),
            _ => Ok(Step::default()),
        }
    }
}
