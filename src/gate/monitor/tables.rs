//! The tables of one side's monitors, by rank.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::gate::discover::Inventory;
use crate::read::monitor::{Place, RankTables, Table, Taken};

/// The tables of a side by rank.
pub(super) fn ranks(inventory: &Inventory) -> BTreeMap<u64, Vec<Place>> {
    let mut ranks: BTreeMap<u64, Vec<Place>> = BTreeMap::new();
    for place in inventory.all::<Place>() {
        ranks.entry(place.rank).or_default().push(place.clone());
    }
    ranks
}

/// Opens the tables of a rank; `taken` counts the memory of all open tables. A table that cannot be opened counts as damaged.
///
/// Where there are fewer ranks than threads, several threads read one rank's tables. Otherwise each thread takes one rank, so
/// that no more ranks than threads are in memory.
pub(super) fn open(inventory: &Inventory, rank: u64, places: &[Place], (taken, ranks): (&Taken, usize)) -> RankTables {
    let table = |place: &Place| match inventory.all_files().open(&place.path) {
        Ok(source) => Table::open_beside(place.clone(), source, taken),
        Err(error) => Table::unreadable(place.clone(), error.message()),
    };
    let tables = if ranks < rayon::current_num_threads() {
        places.par_iter().map(table).collect()
    } else {
        places.iter().map(table).collect()
    };
    RankTables::new(rank, tables)
}
