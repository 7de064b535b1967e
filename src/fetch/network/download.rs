//! Downloads of whole files into the cache: interrupted tries are resumed, digests are verified, and runs share the files.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;

use reqwest::header::{self, HeaderMap, HeaderName};
use reqwest::{Client, Response, StatusCode};

use super::cache::Cache;
use super::http::{total_len, version};
use super::web::{self, WebRequest};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::digest::Digest;
use crate::fetch::disk::Disk;
use crate::fetch::files::{FileEntry, Files};
use crate::fetch::local::LocalFile;
use crate::fetch::progress::Progress;
use crate::fetch::retry::{Failure, Retry};
use crate::fetch::source::Source;
use crate::output;

/// GitLab's digest of a package file.
const CHECKSUM: HeaderName = HeaderName::from_static("x-checksum-sha256");

/// A file to download.
pub(super) struct WantedFile<'a> {
    /// Name in messages and progress.
    pub(super) name: &'a str,
    /// The request; redirects are followed anew at every try, as signed addresses expire.
    pub(super) ask: WebRequest,
    /// Its digest, if it is known in advance.
    pub(super) digest: Option<Digest>,
    /// Address and entity tag, which distinguish this version of the file from others if its digest is not known.
    pub(super) identity: String,
    /// Whether the identity always stands for the same bytes. If not, nothing of an earlier run is used.
    pub(super) is_permanent: bool,
}

/// A file that was fetched.
pub(super) struct FetchedFile {
    /// The file, open.
    pub(super) file: File,
    /// The digest that its bytes were verified against, if one was known.
    pub(super) proved: Option<Digest>,
}

/// The parts that all downloads share.
pub(super) struct Downloads<'a> {
    pub(super) client: &'a Client,
    pub(super) cache: &'a Cache,
    pub(super) disk: &'a Disk,
    pub(super) retry: Retry,
    pub(super) progress: &'a dyn Progress,
}

impl Downloads<'_> {
    /// The file, from the cache or the network.
    ///
    /// # Errors
    /// `Corrupt` where it has another digest than the one wanted, `LimitExceeded` where the run may not use that much
    /// disk, and what the transport gives.
    pub(super) async fn fetch(&self, wanted: &WantedFile<'_>) -> Result<FetchedFile> {
        let identity = wanted.digest.map_or_else(
            || Digest::of(wanted.identity.as_bytes()),
            |digest| Digest::of(format!("digest {digest}").as_bytes()),
        );
        if let Some(found) = self.known(wanted, &identity) {
            return Ok(found);
        }
        let partial = self.cache.partial(&identity)?;
        // Another run may have finished it while this one waited.
        if let Some(found) = self.known(wanted, &identity) {
            return Ok(found);
        }
        let mut writer = Writer::open(wanted.name, &partial.path)?;
        if wanted.digest.is_none() && !wanted.is_permanent {
            writer.restart()?;
        }
        let mut told = false;
        self.retry.run(async || self.attempt(wanted, &mut writer, &mut told).await).await?;
        let expected = wanted.digest.or(writer.checksum);
        let file = self.cache.adopt(wanted.name, &partial, &identity, expected)?;
        Ok(FetchedFile { file, proved: expected })
    }

    fn known(&self, wanted: &WantedFile<'_>, identity: &Digest) -> Option<FetchedFile> {
        let digest = wanted.digest.or_else(|| self.cache.known_digest(identity).filter(|_| wanted.is_permanent))?;
        Some(FetchedFile { file: self.cache.open(&digest)?, proved: wanted.digest })
    }

    /// Makes one try, which continues where the last one ended, or starts again if the server does not support that.
    async fn attempt(&self, wanted: &WantedFile<'_>, writer: &mut Writer, told: &mut bool) -> Result<(), Failure> {
        let mut ask = wanted.ask.clone();
        if writer.len > 0 {
            ask = ask.with_header(header::RANGE, &format!("bytes={}-", writer.len));
        }
        let response = match web::get(self.client, &ask).await {
            // The existing bytes are the whole file, or belong to an older, longer version: request the whole file.
            Err(failure) if writer.len > 0 && failure.error.kind() == ErrorKind::Corrupt => {
                writer.restart().map_err(Failure::permanent)?;
                web::get(self.client, &wanted.ask).await?
            }
            other => other?,
        };
        let total = writer.begin(&response).map_err(Failure::permanent)?;
        if !std::mem::replace(told, true) {
            self.progress.begin(&format!("fetching {}", wanted.name), total.unwrap_or(0));
            self.progress.advance(writer.len);
        }
        self.copy(wanted, writer, response).await?;
        match total {
            Some(total) if writer.len < total => {
                Err(Failure::temporary(wanted.name, format!("{} of {total} bytes arrived", writer.len)))
            }
            Some(total) if writer.len > total => {
                writer.restart().map_err(Failure::permanent)?;
                Err(Failure::temporary(wanted.name, format!("more than its {total} bytes arrived")))
            }
            _ => Ok(()),
        }
    }

    async fn copy(&self, wanted: &WantedFile<'_>, writer: &mut Writer, mut response: Response) -> Result<(), Failure> {
        while let Some(piece) = response.chunk().await.map_err(|error| web::broken_connection(wanted.name, &error))? {
            self.disk.reserve(wanted.name, piece.len() as u64).map_err(Failure::permanent)?;
            writer.write(&piece).map_err(Failure::permanent)?;
            self.progress.advance(piece.len() as u64);
        }
        Ok(())
    }
}

/// A download's file, appended to.
struct Writer {
    name: String,
    file: File,
    len: u64,
    /// The version that the bytes belong to; `None` if this run does not know it.
    version: Option<String>,
    checksum: Option<Digest>,
}

impl Writer {
    fn open(name: &str, path: &std::path::Path) -> Result<Self> {
        let failed = |error: io::Error| Error::io(path.display().to_string(), &error);
        let file =
            OpenOptions::new().create(true).append(true).custom_flags(output::no_link()).open(path).map_err(failed)?;
        let len = file.metadata().map_err(failed)?.len();
        Ok(Self { name: name.to_owned(), file, len, version: None, checksum: None })
    }

    /// Prepares for an answer, and returns the length of the whole file if the answer tells it.
    fn begin(&mut self, response: &Response) -> Result<Option<u64>> {
        let headers = response.headers();
        let is_part = response.status() == StatusCode::PARTIAL_CONTENT && starts_at(headers) == Some(self.len);
        let version = version(headers);
        let is_other = self.version.is_some() && self.version != version;
        self.version = version;
        let checksum = headers.get(&CHECKSUM).and_then(|value| Digest::parse(value.to_str().ok()?));
        self.checksum = checksum.or(self.checksum);
        if self.len > 0 && (!is_part || is_other) {
            self.restart()?;
            if response.status() == StatusCode::PARTIAL_CONTENT {
                return Err(Error::corrupt(&self.name, "was replaced while it was fetched").with_help("run again"));
            }
        }
        Ok(if is_part { total_len(headers) } else { response.content_length() })
    }

    fn restart(&mut self) -> Result<()> {
        self.len = 0;
        self.file.set_len(0).map_err(|error| Error::io(&self.name, &error))
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.len += bytes.len() as u64;
        self.file.write_all(bytes).map_err(|error| Error::io(&self.name, &error))
    }
}

/// Offset at which a partial answer starts (`bytes 100-199/200`).
fn starts_at(headers: &HeaderMap) -> Option<u64> {
    let range = headers.get(header::CONTENT_RANGE)?.to_str().ok()?.strip_prefix("bytes ")?;
    range.split_once('-')?.0.parse().ok()
}

/// One downloaded file as a location's content.
pub(super) struct Downloaded {
    location: String,
    entries: [FileEntry; 1],
    file: Arc<LocalFile>,
}

impl Downloaded {
    /// The open `file` under `name`.
    pub(super) fn new(location: String, name: &str, file: File) -> Result<Self> {
        let len = file.metadata().map_err(|error| Error::io(name, &error))?.len();
        let file = Arc::new(LocalFile::from_open_file(file, name, len));
        Ok(Self { location, entries: [FileEntry { path: name.to_owned(), len }], file })
    }
}

impl Files for Downloaded {
    fn location(&self) -> &str {
        &self.location
    }

    fn list(&self) -> &[FileEntry] {
        &self.entries
    }

    fn open(&self, path: &str) -> Result<Source> {
        let is_it = self.entries.first().is_some_and(|entry| entry.path == path);
        let missing = || Error::new(ErrorKind::NotFound, path, "is not at the location");
        if is_it { Ok(self.file.clone()) } else { Err(missing()) }
    }
}
