//! Locations over the network: web servers, object stores and the artifacts of forges, one transport per file.
//!
//! Without the feature `network` this folder is left out, and [`offline`](super::offline) stands in its place.

mod cache;
mod download;
mod github;
mod gitlab;
mod http;
pub(crate) mod limited;
pub(super) mod object;
mod obs;
mod pool;
mod pooled;
mod remote;
mod rest;
mod runtime;
mod s3;
mod store;
mod web;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use reqwest::Client;

use self::cache::Cache;
use self::download::{Downloaded, Downloads, FetchedFile, WantedFile};
use self::github::FoundFile;
use self::http::WebServer;
use self::object::Bucket;
use self::pool::Pool;
use self::remote::{Listing, RemoteFiles};
use self::rest::Rest;
use self::runtime::Background;
use self::store::{Object, RetryingStore, Store};
use self::web::{Clients, WebRequest};
use super::disk::Disk;
use super::files::{Files, Opened};
use super::location::{BucketLocation, HttpLocation, Location};
use super::origin::Trust;
use super::progress::Progress;
use super::settings::Settings;
use crate::error::{Error, ErrorKind, Result};

/// Memory in bytes of the program itself, apart from the blocks of remote objects: records, buffers of each thread, the network.
const OWN_MEMORY: u64 = 112 << 20;
/// Least memory in bytes for blocks, whatever the limit.
const LEAST_MEMORY: u64 = 32 << 20;

/// The network of a run. Its threads start when the first location needs them.
pub(super) struct Network {
    settings: Settings,
    online: OnceLock<Online>,
    cache: Cache,
    disk: Arc<Disk>,
    failure: Arc<OnceLock<Error>>,
    next_id: AtomicU64,
}

/// Clients, created when the network is first used.
struct Online {
    background: Background,
    /// Client that follows no redirects by itself.
    careful: Client,
    /// Client that follows redirects, for signed requests, whose signatures are useless at other hosts.
    signed: Client,
    pool: Arc<Pool>,
}

impl Network {
    /// A network that is not in use yet; downloads count as use of `disk`.
    pub(super) fn new(settings: &Settings, disk: &Arc<Disk>) -> Self {
        let cache = Cache::new(settings.cache_folder(), settings.cache.limit);
        let (failure, next_id) = (Arc::default(), AtomicU64::new(0));
        Self { settings: settings.clone(), online: OnceLock::new(), cache, disk: disk.clone(), failure, next_id }
    }

    /// Opens a location elsewhere.
    pub(super) fn open(&self, location: &Location, trust: Trust, progress: &dyn Progress) -> Result<Opened> {
        let shown = location.to_string();
        Ok(match location {
            Location::Local(path) => return Err(Error::new(ErrorKind::Internal, path, "is not elsewhere")),
            Location::Http(at) => self.http(at, shown, progress)?,
            Location::S3(_) | Location::Obs(_) => self.prefix(location, shown)?,
            Location::GitHub(at) => {
                let root = github::root(&self.settings.environment)?;
                let rest = self.rest(root, github::help(at))?;
                let found = self.online()?.background.wait_for(github::find(&rest, at, trust))?;
                self.forge(&rest, found, &at.name, shown, progress)?
            }
            Location::GitLab(at) => {
                let root = gitlab::root(&self.settings.environment)?;
                let rest = self.rest(root, gitlab::HELP.to_owned())?;
                let found = self.online()?.background.wait_for(gitlab::find(&rest, at, trust))?;
                self.forge(&rest, found, &at.name, shown, progress)?
            }
        })
    }

    /// The error of the first object that exists but could not be read, if any.
    pub(super) fn failure(&self) -> Option<&Error> {
        self.failure.get()
    }

    fn online(&self) -> Result<&Online> {
        if self.online.get().is_none() {
            let _first = self.online.set(Online::start(&self.settings)?);
        }
        Ok(self.online.get().expect("invariant: set in the line before"))
    }

    fn rest(&self, root: WebRequest, help: String) -> Result<Rest<'_>> {
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
                error.with_help("record the baseline with `precision-gate baseline promote LOCATION --name NAME --reason WHY --approved-by WHO`, which pins every file")
            );
        }
        let listing = self.online()?.background.wait_for(bucket.list(at, &self.settings.retry))?;
        self.remote(shown, listing, bucket)
    }

    /// Runs `work` on the network's threads while this thread waits.
    pub(super) fn wait_for<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        self.online()?.background.wait_for(work)
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
        let wanted = WantedFile {
            name: &name,
            ask: server.ask().clone(),
            digest: at.digest,
            is_permanent: etag.is_some(),
            identity: format!("{shown} {} {len}", etag.unwrap_or_default()),
        };
        let files = self.download(&wanted, shown, progress)?;
        Ok(Opened { files, origin: None })
    }

    fn forge(
        &self,
        rest: &Rest<'_>,
        found: FoundFile,
        name: &str,
        shown: String,
        progress: &dyn Progress,
    ) -> Result<Opened> {
        let FoundFile { ask, digest, identity, is_permanent: lasting, mut origin } = found;
        let wanted = WantedFile { name, ask, digest, identity, is_permanent: lasting };
        let downloads = self.downloads(progress)?;
        let fetched = self.online()?.background.wait_for(downloads.fetch(&wanted));
        let FetchedFile { file, proved } = fetched.map_err(|error| rest.explain(error))?;
        // The digest of a package's file comes with its bytes.
        origin.proved = origin.proved.or(proved);
        Ok(Opened { files: Arc::new(Downloaded::new(shown, name, file)?), origin: Some(origin) })
    }

    fn download(&self, wanted: &WantedFile<'_>, shown: String, progress: &dyn Progress) -> Result<Arc<dyn Files>> {
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
