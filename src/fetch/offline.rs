//! The stand-in for the network in a build without the feature `network`: every location elsewhere is refused.

use std::sync::Arc;

use super::disk::Disk;
use super::files::Opened;
use super::location::Location;
use super::origin::Trust;
use super::progress::Progress;
use super::settings::Settings;
use crate::error::{Error, ErrorKind, Result};

/// No network.
pub(super) struct Network;

impl Network {
    /// No network.
    pub(super) fn new(_: &Settings, _: &Arc<Disk>) -> Self {
        Self
    }

    /// Refuses the location.
    pub(super) fn open(&self, location: &Location, _: Trust, _: &dyn Progress) -> Result<Opened> {
        Err(refused(location))
    }

    /// Nothing was asked of it, so nothing failed.
    pub(super) fn failure(&self) -> Option<&Error> {
        None
    }
}

/// The error for a location that only the network reaches.
pub(super) fn refused(location: &Location) -> Error {
    Error::new(ErrorKind::Unsupported, location.to_string(), "is elsewhere, and this build has no network")
        .with_help("give a path on this machine, or build with the feature `network`")
}
