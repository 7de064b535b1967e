//! Settings of fetching: limits, the cache, and time limits of the network.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::environment::Environment;
use super::retry::Retry;

/// Settings of a run's fetching.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Variables for credentials and addresses, as `main` found them.
    pub environment: Environment,
    /// Memory in bytes that the whole run may use; the part that the program itself does not need goes to blocks of remote objects.
    pub max_memory: u64,
    /// Disk space in bytes that the run may use for downloads and unpacked archives.
    pub max_disk: u64,
    /// The cache of downloads.
    pub cache: CacheSettings,
    /// Retry policy of requests.
    pub retry: Retry,
    /// Longest silence of the network.
    pub patience: Patience,
    /// Addresses of hosts that no name service knows.
    pub resolve: Vec<(String, SocketAddr)>,
    /// Folder in the repository to which `branch:NAME` refers.
    pub repository: PathBuf,
}

/// The cache of downloads.
#[derive(Clone, Debug)]
pub struct CacheSettings {
    /// Its folder; by default `PRECISION_GATE_CACHE`, or `precision-gate` below `XDG_CACHE_HOME` or `~/.cache`.
    pub folder: Option<PathBuf>,
    /// Bytes it may hold.
    pub limit: u64,
}

impl Default for Settings {
    /// 1 GiB of memory, 20 GiB of disk, a cache of 10 GiB.
    fn default() -> Self {
        Self {
            environment: Environment::default(),
            max_memory: 1 << 30,
            max_disk: 20 << 30,
            cache: CacheSettings { folder: None, limit: 10 << 30 },
            retry: Retry::default(),
            patience: Patience::default(),
            resolve: Vec::new(),
            repository: PathBuf::from("."),
        }
    }
}

/// Longest silence of the network.
#[derive(Clone, Debug)]
pub struct Patience {
    /// Longest time until a connection is established.
    pub connect: Duration,
    /// Longest time between two pieces of an answer; a slow connection is fine, a dead one is not.
    pub silence: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { connect: Duration::from_secs(10), silence: Duration::from_secs(30) }
    }
}

impl Settings {
    pub(super) fn cache_folder(&self) -> PathBuf {
        let environment = &self.environment;
        let said = self.cache.folder.clone().or_else(|| environment.get("PRECISION_GATE_CACHE").map(PathBuf::from));
        let usual = || environment.file("XDG_CACHE_HOME", ".cache").map(|folder| folder.join("precision-gate"));
        let last =
            || PathBuf::from(environment.first(&["RUNNER_TEMP", "TMPDIR"]).unwrap_or("/tmp")).join("precision-gate");
        said.or_else(usual).unwrap_or_else(last)
    }
}
