//! A prefix in a bucket as a writable place.

use std::sync::Arc;

use super::place::Writable;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::fetcher::Fetcher;
use crate::fetch::files::Files;
use crate::fetch::location::{BucketLocation, Location};
use crate::fetch::network::object::Bucket;
use crate::fetch::origin::Trust;
use crate::fetch::progress;

/// A prefix in a bucket of S3 or OBS.
pub(super) struct Prefix<'a> {
    fetcher: &'a Fetcher,
    at: Location,
    bucket: Arc<Bucket>,
    /// The key that all others start with.
    key: String,
    shown: String,
}

impl<'a> Prefix<'a> {
    /// Opens the prefix at `at`.
    ///
    /// # Errors
    /// `Usage` where the location cannot be written, and errors of opening the bucket.
    pub(super) fn new(fetcher: &'a Fetcher, at: Location) -> Result<Self> {
        let shown = at.to_string();
        if !matches!(&at, Location::S3(bucket) | Location::Obs(bucket) if bucket.digest.is_none()) {
            return Err(Error::new(ErrorKind::Usage, shown, "is not a location for writing")
                .with_help("give a folder, s3://bucket/prefix, obs://bucket/prefix, or branch:NAME"));
        }
        let (bucket, prefix) = fetcher.network().bucket(&at)?;
        let key = prefix.key.trim_end_matches('/').to_owned();
        Ok(Self { fetcher, bucket, key, shown, at })
    }

    /// The key of a file or folder below the prefix.
    fn key(&self, path: &str) -> String {
        let parts = [self.key.as_str(), path].into_iter().filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join("/")
    }
}

impl Writable for Prefix<'_> {
    fn location(&self) -> &str {
        &self.shown
    }

    fn files(&self, folder: &str) -> Result<Arc<dyn Files>> {
        let within = |bucket: &BucketLocation| BucketLocation { key: self.key(folder), ..bucket.clone() };
        let at = match &self.at {
            Location::Obs(bucket) => Location::Obs(within(bucket)),
            Location::S3(bucket) => Location::S3(within(bucket)),
            other => other.clone(),
        };
        Ok(self.fetcher.open_at(&at, Trust::Any, &progress::Quiet)?.files)
    }

    fn put(&self, path: &str, bytes: &[u8]) -> Result<()> {
        self.fetcher.network().wait_for(self.bucket.put(&self.key(path), bytes, self.fetcher.retry()))
    }

    fn remove(&self, paths: &[String]) -> Result<()> {
        let one =
            |path: &String| self.fetcher.network().wait_for(self.bucket.remove(&self.key(path), self.fetcher.retry()));
        paths.iter().try_for_each(one)
    }
}
