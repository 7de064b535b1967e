//! A prefix in a bucket as a shelf.

use std::sync::Arc;

use super::Shelf;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::fetcher::Fetcher;
use crate::fetch::location::{BucketLocation, Location};
use crate::fetch::{Files, Trust, progress};

/// A prefix in a bucket of S3 or OBS.
pub(in crate::fetch) struct BucketShelf<'a> {
    fetcher: &'a Fetcher,
    at: Location,
    shown: String,
}

impl<'a> BucketShelf<'a> {
    /// The prefix at `at`.
    ///
    /// # Errors
    /// `Usage` where the location is none that can be written.
    pub(in crate::fetch) fn new(fetcher: &'a Fetcher, at: Location) -> Result<Self> {
        let shown = at.to_string();
        match &at {
            Location::S3(bucket) | Location::Obs(bucket) if bucket.digest.is_none() => Ok(Self { fetcher, at, shown }),
            _ => Err(Error::new(ErrorKind::Usage, shown, "is no place that can be written")
                .with_help("give a folder, s3://bucket/prefix, obs://bucket/prefix, or branch:NAME")),
        }
    }

    /// The location of a file or folder in it.
    fn below(&self, path: &str) -> Location {
        let within = |bucket: &BucketLocation| {
            let parts = [bucket.key.trim_end_matches('/'), path];
            let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            BucketLocation { key: parts.join("/"), ..bucket.clone() }
        };
        match &self.at {
            Location::S3(bucket) => Location::S3(within(bucket)),
            Location::Obs(bucket) => Location::Obs(within(bucket)),
            other => other.clone(),
        }
    }
}

impl Shelf for BucketShelf<'_> {
    fn location(&self) -> &str {
        &self.shown
    }

    fn files(&self, folder: &str) -> Result<Arc<dyn Files>> {
        Ok(self.fetcher.open_at(&self.below(folder), Trust::Any, &progress::Quiet)?.files)
    }

    fn put(&self, path: &str, bytes: &[u8]) -> Result<()> {
        self.fetcher.put(&self.below(path), bytes)
    }

    fn remove(&self, paths: &[String]) -> Result<()> {
        paths.iter().try_for_each(|path| self.fetcher.remove(&self.below(path)))
    }
}
