//! The tables of one side's monitors, by rank.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::gate::discover::Inventory;
use crate::read::monitor::{MonitorPlace, MonitorTable, RankTables, RowMemory};

/// The tables of a side by rank.
pub(super) fn tables_by_rank(inventory: &Inventory) -> BTreeMap<u64, Vec<MonitorPlace>> {
    let mut ranks: BTreeMap<u64, Vec<MonitorPlace>> = BTreeMap::new();
    for place in inventory.artifacts::<MonitorPlace>() {
        ranks.entry(place.rank).or_default().push(place.clone());
    }
    ranks
}

/// Opens the tables of a rank; `taken` counts the memory of all open tables. A table that cannot be opened counts as damaged.
///
/// Where there are fewer ranks than threads, several threads read one rank's tables. Otherwise each thread takes one rank, so
/// that no more ranks than threads are in memory.
pub(super) fn open_rank_tables(
    inventory: &Inventory,
    rank: u64,
    places: &[MonitorPlace],
    (taken, ranks): (&RowMemory, usize),
) -> RankTables {
    let table = |place: &MonitorPlace| match inventory.all_files().open(&place.path) {
        Ok(source) => MonitorTable::open_sharing_memory(place.clone(), source, taken),
        Err(error) => MonitorTable::unreadable(place.clone(), error.message()),
    };
    let tables = if ranks < rayon::current_num_threads() {
        places.par_iter().map(table).collect()
    } else {
        places.iter().map(table).collect()
    };
    RankTables::new(rank, tables)
}
