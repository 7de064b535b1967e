//! Locations that are opened for other work than judging.

use std::sync::Arc;

use super::checks::search;
use super::discover::Inventory;
use super::side;
use crate::error::Result;
use crate::fetch::progress::{Progress, Quiet};
use crate::fetch::{Fetcher, Files, Trust};
use crate::verdict::Side;

/// Looks through one run by itself.
///
/// # Errors
/// Errors of opening its location.
pub fn inventory_of_location(location: &str, side: Side, fetcher: &Fetcher) -> Result<Inventory> {
    let trust = if side == Side::Baseline { Trust::Baseline } else { Trust::Any };
    side::inventory_of_side(fetcher.open(location, trust, &Quiet)?.files, fetcher, search(None), &Quiet)
}

/// Opens a location for other work than judging; a single archive is opened as the folder it holds.
///
/// # Errors
/// Where the location cannot be fetched, or is a damaged archive.
pub fn open(location: &str, trust: Trust, fetcher: &Fetcher, progress: &dyn Progress) -> Result<Arc<dyn Files>> {
    side::unpacked(fetcher.open(location, trust, progress)?.files, fetcher.disk())
}
