//! The tables of one side's monitors, by rank.

use std::collections::BTreeMap;

use crate::gate::discover::Inventory;
use crate::read::monitor::{Place, RankTables, Table};

/// The tables of a side by rank.
pub(super) fn ranks(inventory: &Inventory) -> BTreeMap<u64, Vec<Place>> {
    let mut ranks: BTreeMap<u64, Vec<Place>> = BTreeMap::new();
    for place in inventory.all::<Place>() {
        ranks.entry(place.rank).or_default().push(place.clone());
    }
    ranks
}

/// Opens the tables of a rank. One that cannot be opened counts as damaged.
pub(super) fn open(inventory: &Inventory, rank: u64, places: &[Place]) -> RankTables {
    let table = |place: &Place| match inventory.all_files().open(&place.path) {
        Ok(source) => Table::open(place.clone(), source),
        Err(error) => Table::unreadable(place.clone(), error.message()),
    };
    RankTables::new(rank, places.iter().map(table).collect())
}
