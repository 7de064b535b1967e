//! The fetcher: opens any location, with one set of limits for the run.

use std::path::Path;
use std::sync::Arc;

use super::budget::Bounded;
use super::disk::Disk;
use super::files::Opened;
use super::local::LocalFiles;
use super::location::Location;
#[cfg(feature = "network")]
use super::network::Network;
#[cfg(not(feature = "network"))]
use super::offline::Network;
use super::origin::Trust;
use super::progress::Progress;
use super::retry::Retry;
use super::room::Room;
use super::settings::Settings;
use crate::error::{Error, Result};

/// Divisor of the memory that gives the share of curve points before they go to disk; reading, judging and the program itself
/// need the rest.
const SHARE_OF_POINTS: u64 = 256;

/// Divisor of the memory that gives the share of records which may be needed a second time.
const SHARE_OF_RECORDS: u64 = 2;

/// Opens locations.
pub struct Fetcher {
    settings: Settings,
    network: Network,
    disk: Arc<Disk>,
    room: Arc<Room>,
}

impl Default for Fetcher {
    fn default() -> Self {
        Self::new(Settings::default())
    }
}

impl Fetcher {
    /// A fetcher with these limits.
    pub fn new(settings: Settings) -> Self {
        let disk = Disk::new(settings.cache_folder().join("tmp"), settings.max_disk);
        let room = Room::new(disk.clone(), settings.max_memory / SHARE_OF_POINTS);
        let network = Network::new(&settings, &disk);
        Self { settings, network, disk, room }
    }

    /// Opens a location.
    ///
    /// # Errors
    /// `NotFound` where nothing is there, `Denied`, `Unavailable` when the outside world failed after retries, `Corrupt`
    /// for a wrong digest, `Usage` for a location that cannot be meant, `Unsupported` for one elsewhere in a build without
    /// the network.
    pub fn open(&self, location: &str, trust: Trust, progress: &dyn Progress) -> Result<Opened> {
        self.open_at(&Location::parse(location)?, trust, progress)
    }

    /// Opens a parsed location, as [`open`](Self::open) does.
    pub(super) fn open_at(&self, location: &Location, trust: Trust, progress: &dyn Progress) -> Result<Opened> {
        let opened = match location {
            Location::Local(path) => Opened { files: Arc::new(LocalFiles::open(path)?), origin: None },
            elsewhere => self.network.open(elsewhere, trust, progress)?,
        };
        Ok(Opened { files: Bounded::within(self.settings.max_memory, opened.files), ..opened })
    }

    /// The error of the first object that exists but could not be read because the outside world failed, if any.
    pub fn first_failure(&self) -> Option<&Error> {
        self.network.failure()
    }

    /// Disk for unpacked archives.
    pub fn disk(&self) -> &Arc<Disk> {
        &self.disk
    }

    /// Memory for what is read and judged later, and its overflow on disk.
    pub fn room(&self) -> &Arc<Room> {
        &self.room
    }

    /// Bytes of memory for records that are kept for a second use.
    pub(crate) fn room_for_records(&self) -> u64 {
        self.settings.max_memory / SHARE_OF_RECORDS
    }

    /// The network of the run.
    #[cfg(feature = "network")]
    pub(super) fn network(&self) -> &Network {
        &self.network
    }

    /// Folder in the repository to which `branch:NAME` refers.
    pub(super) fn repository(&self) -> &Path {
        &self.settings.repository
    }

    /// Number and spacing of repeated requests.
    pub(super) fn retry(&self) -> &Retry {
        &self.settings.retry
    }
}
