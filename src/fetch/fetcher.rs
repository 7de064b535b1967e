//! The fetcher: opens any location, with one set of limits for the run.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use reqwest::Client;

use super::cache::Cache;
use super::disk::Disk;
use super::download::{Downloaded, Downloads, Fetched, Wanted};
use super::environment::Environment;
use super::github::{self, Found};
use super::http::WebServer;
use super::local::LocalFiles;
use super::location::{BucketLocation, HttpLocation, Location};
use super::object::Bucket;
use super::origin::{Origin, Trust};
use super::pool::Pool;
use super::progress::Progress;
use super::remote::{Listing, RemoteFiles};
use super::rest::Rest;
use super::retry::Retry;
use super::room::Room;
use super::runtime::Background;
use super::store::{Object, RetryingStore, Store};
use super::web::{Ask, Clients, Patience};
use super::{Files, gitlab, obs, s3};
use crate::error::{Error, ErrorKind, Result};

/// Memory the program itself takes beside the blocks of remote objects: records, buffers of each thread, the network.
const OWN_MEMORY: u64 = 112 << 20;
/// Least memory that blocks get, whatever the limit says.
const LEAST_MEMORY: u64 = 32 << 20;

/// Part of the memory that read points fill before they go to disk: reading, judging and the program itself need the rest.
const SHARE_OF_POINTS: u64 = 4;

/// Part of the memory that records fill which only might be asked for again.
const SHARE_OF_RECORDS: u64 = 2;

/// Settings of a run's fetching.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Variables for credentials and addresses, as `main` found them.
    pub environment: Environment,
    /// Memory the whole run may use, in bytes; what is left beside the program's own goes to blocks of remote objects.
    pub max_memory: u64,
    /// Disk the run may write, in bytes: downloads and unpacked archives.
    pub max_disk: u64,
    /// The cache of downloads.
    pub cache: CacheSettings,
    /// Number and spacing of repeated requests.
    pub retry: Retry,
    /// Longest silence of the network.
    pub patience: Patience,
    /// Addresses of hosts that no name service knows.
    pub resolve: Vec<(String, SocketAddr)>,
    /// Folder in the repository whose branches are meant by `branch:NAME`.
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

/// An open location.
pub struct Opened {
    /// Files at the location.
    pub files: Arc<dyn Files>,
    /// Origin of a forge's artifact; `None` for other locations.
    pub origin: Option<Origin>,
}

/// Opens locations. The network's threads start with the first one that needs them.
pub struct Fetcher {
    settings: Settings,
    online: OnceLock<Online>,
    cache: Cache,
    disk: Arc<Disk>,
    room: Arc<Room>,
    failure: Arc<OnceLock<Error>>,
    next_id: AtomicU64,
}

/// Clients, opened when the network is first used.
struct Online {
    background: Background,
    /// Follows no redirect by itself.
    careful: Client,
    /// Follows redirects; carries signatures, which are worth nothing elsewhere.
    signed: Client,
    pool: Arc<Pool>,
}

impl Default for Fetcher {
    fn default() -> Self {
        Self::new(Settings::default())
    }
}

impl Fetcher {
    /// A fetcher with these limits.
    pub fn new(settings: Settings) -> Self {
        let cache = Cache::new(cache_folder(&settings), settings.cache.limit);
        let disk = Disk::new(cache.temporary(), settings.max_disk);
        let room = Room::new(disk.clone(), settings.max_memory / SHARE_OF_POINTS);
        let (failure, next_id) = (Arc::default(), AtomicU64::new(0));
        Self { settings, online: OnceLock::new(), cache, disk, room, failure, next_id }
    }

    /// Opens a location.
    ///
    /// # Errors
    /// `NotFound` where nothing is there, `Denied`, `Unavailable` when the outside world failed after retries, `Corrupt`
    /// for a wrong digest, `Usage` for a location that cannot be meant.
    pub fn open(&self, location: &str, trust: Trust, progress: &dyn Progress) -> Result<Opened> {
        self.open_at(&Location::parse(location)?, trust, progress)
    }

    /// [`open`](Self::open), of a location that is parsed already.
    pub(super) fn open_at(&self, location: &Location, trust: Trust, progress: &dyn Progress) -> Result<Opened> {
        let shown = location.to_string();
        let opened = match location {
            Location::Local(path) => Opened { files: Arc::new(LocalFiles::open(path)?), origin: None },
            Location::Http(at) => self.http(at, shown, progress)?,
            Location::S3(_) | Location::Obs(_) => self.prefix(location, shown)?,
            Location::GitHub(at) => {
                let root = github::root(&self.settings.environment)?;
                let rest = self.rest(root, github::HELP)?;
                let found = self.online()?.background.wait_for(github::find(&rest, at, trust))?;
                self.forge(&rest, found, &at.name, shown, progress)?
            }
            Location::GitLab(at) => {
                let root = gitlab::root(&self.settings.environment)?;
                let rest = self.rest(root, gitlab::HELP)?;
                let found = self.online()?.background.wait_for(gitlab::find(&rest, at, trust))?;
                self.forge(&rest, found, &at.name, shown, progress)?
            }
        };
        Ok(opened)
    }

    /// The first object that could not be had although it is there, if any: the outside world failed.
    pub fn failure(&self) -> Option<&Error> {
        self.failure.get()
    }

    /// Disk for unpacked archives.
    pub fn disk(&self) -> &Arc<Disk> {
        &self.disk
    }

    /// Memory for what is read and judged later, and its overflow on disk.
    pub fn room(&self) -> &Arc<Room> {
        &self.room
    }

    /// Bytes of memory that records may take to stay for a second look.
    pub fn room_for_records(&self) -> u64 {
        self.settings.max_memory / SHARE_OF_RECORDS
    }

    fn online(&self) -> Result<&Online> {
        if self.online.get().is_none() {
            let _first = self.online.set(Online::start(&self.settings)?);
        }
        Ok(self.online.get().expect("invariant: set in the line before"))
    }

    fn rest(&self, root: Ask, help: &'static str) -> Result<Rest<'_>> {
        Ok(Rest { client: &self.online()?.careful, retry: self.settings.retry, root, help })
    }

    fn remote(&self, shown: String, listing: Listing, store: Arc<dyn Store>) -> Result<Opened> {
        let store = Arc::new(RetryingStore::new(store, self.settings.retry, self.failure.clone()));
        let first_id = self.next_id.fetch_add(listing.files.len() as u64, Ordering::Relaxed);
        let files = RemoteFiles::new(shown, listing, &store, self.online()?.pool.clone(), first_id);
        Ok(Opened { files: Arc::new(files), origin: None })
    }

    /// The bucket that a location lies in, and the key there.
    ///
    /// # Errors
    /// `Usage` where it lies in none.
    pub(super) fn bucket<'a>(&self, location: &'a Location) -> Result<(Arc<Bucket>, &'a BucketLocation)> {
        let environment = &self.settings.environment;
        let (at, operator, scheme, credentials) = match location {
            Location::S3(at) => (at, s3::operator(at, environment)?, "s3", s3::CREDENTIALS),
            Location::Obs(at) => (at, obs::operator(at, environment)?, "obs", obs::CREDENTIALS),
            other => return Err(Error::new(ErrorKind::Usage, other.to_string(), "is not a bucket")),
        };
        let name = format!("{scheme}://{}", at.bucket);
        Ok((Arc::new(Bucket::new(operator, self.online()?.signed.clone(), name, credentials)), at))
    }

    /// Opens a key of a bucket: the object of that name, or all objects below it.
    fn prefix(&self, location: &Location, shown: String) -> Result<Opened> {
        let (bucket, at) = self.bucket(location)?;
        if at.digest.is_some() {
            let error =
                Error::new(ErrorKind::Usage, shown, "a digest cannot be demanded of an object that is streamed");
            return Err(
                error.with_help("record the baseline with `precision-gate baseline promote`, which pins every file")
            );
        }
        let listing = self.online()?.background.wait_for(bucket.list(at, &self.settings.retry))?;
        self.remote(shown, listing, bucket)
    }

    /// Does `work` on the network's threads while this one waits.
    pub(super) fn wait_for<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        self.online()?.background.wait_for(work)
    }

    /// Folder in the repository whose branches are meant by `branch:NAME`.
    pub(super) fn repository(&self) -> &Path {
        &self.settings.repository
    }

    /// Number and spacing of repeated requests.
    pub(super) fn retry(&self) -> &Retry {
        &self.settings.retry
    }

    fn http(&self, at: &HttpLocation, shown: String, progress: &dyn Progress) -> Result<Opened> {
        let online = self.online()?;
        let server = WebServer::new(online.careful.clone(), at.url.clone(), &self.settings.environment);
        let retry = self.settings.retry;
        if server.is_folder() {
            let listing = online.background.wait_for(server.list(&retry))?;
            return self.remote(shown, listing, Arc::new(server));
        }
        let name = shown.rsplit('/').next().unwrap_or_default().to_owned();
        let probe = online.background.wait_for(server.probe(&retry))?;
        if probe.ranges && at.digest.is_none() {
            let mut listing = Listing::default();
            listing.add(&name, probe.object);
            return self.remote(shown, listing, Arc::new(server));
        }
        let Object { etag, len, .. } = probe.object;
        let wanted = Wanted {
            name: &name,
            ask: server.ask().clone(),
            digest: at.digest,
            lasting: etag.is_some(),
            identity: format!("{shown} {} {len}", etag.unwrap_or_default()),
        };
        let files = self.download(&wanted, shown, progress)?;
        Ok(Opened { files, origin: None })
    }

    fn forge(
        &self,
        rest: &Rest<'_>,
        found: Found,
        name: &str,
        shown: String,
        progress: &dyn Progress,
    ) -> Result<Opened> {
        let Found { ask, digest, identity, lasting, mut origin } = found;
        let wanted = Wanted { name, ask, digest, identity, lasting };
        let downloads = self.downloads(progress)?;
        let fetched = self.online()?.background.wait_for(downloads.fetch(&wanted));
        let Fetched { file, proved } = fetched.map_err(|error| rest.explain(error))?;
        // A package's digest comes with its bytes.
        origin.proved = origin.proved.or(proved);
        Ok(Opened { files: Arc::new(Downloaded::new(shown, name, file)?), origin: Some(origin) })
    }

    fn download(&self, wanted: &Wanted<'_>, shown: String, progress: &dyn Progress) -> Result<Arc<dyn Files>> {
        let downloads = self.downloads(progress)?;
        let fetched = self.online()?.background.wait_for(downloads.fetch(wanted))?;
        Ok(Arc::new(Downloaded::new(shown, wanted.name, fetched.file)?))
    }

    fn downloads<'a>(&'a self, progress: &'a dyn Progress) -> Result<Downloads<'a>> {
        Ok(Downloads {
            client: &self.online()?.careful,
            cache: &self.cache,
            disk: &self.disk,
            retry: self.settings.retry,
            progress,
        })
    }
}

impl Online {
    fn start(settings: &Settings) -> Result<Self> {
        let clients = Clients { patience: settings.patience.clone(), resolve: settings.resolve.clone() };
        let background = Background::start()?;
        let memory = settings.max_memory.saturating_sub(OWN_MEMORY).max(LEAST_MEMORY);
        let pool = Pool::new(background.clone(), memory, settings.patience.silence);
        Ok(Self { background, careful: clients.build(false)?, signed: clients.build(true)?, pool })
    }
}

fn cache_folder(settings: &Settings) -> PathBuf {
    let environment = &settings.environment;
    let said = settings.cache.folder.clone().or_else(|| environment.get("PRECISION_GATE_CACHE").map(PathBuf::from));
    let usual = || environment.file("XDG_CACHE_HOME", ".cache").map(|folder| folder.join("precision-gate"));
    let last = || PathBuf::from(environment.first(&["RUNNER_TEMP", "TMPDIR"]).unwrap_or("/tmp")).join("precision-gate");
    said.or_else(usual).unwrap_or_else(last)
}
