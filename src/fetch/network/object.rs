//! Buckets of object stores, through opendal; the one module that knows its types.
//!
//! Which service, endpoint and credentials: [`super::s3`] and [`super::obs`].

use std::ops::Range;

use futures_util::{StreamExt, TryFutureExt, TryStreamExt, stream};
use opendal::{EntryMode, HttpTransporter, Metadata, OperationContext, Operator};
use opendal_http_transport_reqwest::ReqwestTransport;

use super::remote::Listing;
use super::store::{Object, Pieces, Store};
use crate::documentation;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::location::BucketLocation;
use crate::fetch::retry::{Failure, Retry, RetrySign};

/// Advice on errors of a location that is written wrongly.
const SEE_LOCATIONS: &str = concat!("see ", documentation!("locations.md"));

/// Most objects of one location that are listed.
const MAX_OBJECTS: usize = 2_000_000;

/// A bucket that can be asked.
pub(crate) struct Bucket {
    operator: Operator,
    /// `s3://bucket`
    name: String,
    /// Advice on credentials.
    credentials: Credentials,
}

/// Advice on the credentials of a service.
#[derive(Clone, Copy, Debug)]
pub(super) struct Credentials {
    /// Advice for denied access.
    pub(super) denied: &'static str,
    /// Advice for a request without credentials.
    pub(super) missing: &'static str,
    /// Name of the service.
    pub(super) service: &'static str,
}

impl Credentials {
    /// The error of a bucket `name` that is asked without credentials.
    pub(super) fn missing(self, name: &str) -> Error {
        Error::new(ErrorKind::Denied, name, format!("no {} credentials", self.service)).with_help(self.missing)
    }
}

impl Bucket {
    /// Asks through `client`; `name` is how messages call the bucket, `credentials` what to say of them.
    pub(super) fn new(operator: Operator, client: reqwest::Client, name: String, credentials: Credentials) -> Self {
        let transport = HttpTransporter::new(ReqwestTransport::new(client));
        let operator = operator.with_context(OperationContext::new().with_http_transport(transport));
        Self { operator, name, credentials }
    }

    /// Everything below the location's key, or the one object it names.
    ///
    /// # Errors
    /// `NotFound` where there is neither, `Denied`, `Unavailable` after `retry`.
    pub(super) async fn list(&self, at: &BucketLocation, retry: &Retry) -> Result<Listing> {
        let folder = if at.key.is_empty() || at.key.ends_with('/') { at.key.clone() } else { format!("{}/", at.key) };
        let listing = retry.run(async || self.list_folder(&folder).await).await?;
        if !listing.files.is_empty() || !listing.skipped.is_empty() {
            return Ok(listing);
        }
        let nothing = || Error::new(ErrorKind::NotFound, self.shown(&at.key), "the object or prefix does not exist");
        if folder == at.key {
            return Err(nothing());
        }
        let metadata =
            retry.run(async || self.operator.stat(&at.key).await.map_err(|error| self.failure(&at.key, &error)));
        let metadata = metadata.await?;
        let name = at.key.rsplit('/').next().unwrap_or_default();
        let mut listing = Listing::default();
        listing.add(name, object(at.key.clone(), &metadata));
        Ok(listing)
    }

    /// Writes an object, unless one of that name is there.
    ///
    /// A service that cannot make that condition replaces the object instead: its name stands for its content.
    ///
    /// # Errors
    /// `Denied`, `Unavailable` after `retry`.
    pub(crate) async fn put(&self, key: &str, bytes: &[u8], retry: &Retry) -> Result<()> {
        retry.run(async || self.put_once(key, bytes).await.map_err(|error| self.failure(key, &error))).await
    }

    async fn put_once(&self, key: &str, bytes: &[u8]) -> opendal::Result<()> {
        if self.operator.info().capability().write_with_if_not_exists {
            match self.operator.write_with(key, bytes.to_vec()).if_not_exists(true).await {
                Err(error) if error.kind() == opendal::ErrorKind::ConditionNotMatch => return Ok(()),
                Err(error) if is_unknown_condition(&error) => {}
                other => return other.map(drop),
            }
        }
        self.operator.write(key, bytes.to_vec()).await.map(drop)
    }

    /// Removes an object; one that is not there is no error.
    ///
    /// # Errors
    /// `Denied`, `Unavailable` after `retry`.
    pub(crate) async fn remove(&self, key: &str, retry: &Retry) -> Result<()> {
        retry.run(async || self.operator.delete(key).await.map_err(|error| self.failure(key, &error))).await
    }

    async fn list_folder(&self, folder: &str) -> Result<Listing, Failure> {
        let failed = |error: opendal::Error| self.failure(folder, &error);
        let mut lister = self.operator.lister_with(folder).recursive(true).await.map_err(failed)?;
        let mut listing = Listing::default();
        while let Some(entry) = lister.try_next().await.map_err(failed)? {
            if entry.metadata().mode() != EntryMode::FILE {
                continue;
            }
            let path = entry.path().strip_prefix(folder).unwrap_or(entry.path());
            listing.add(path, object(entry.path().to_owned(), entry.metadata()));
            if listing.files.len() > MAX_OBJECTS {
                let message = format!("holds more than {MAX_OBJECTS} objects; give a longer prefix");
                let error = Error::new(ErrorKind::LimitExceeded, self.shown(folder), message);
                return Err(Failure::permanent(error));
            }
        }
        Ok(listing)
    }

    async fn open<'a>(&'a self, object: &'a Object, range: Range<u64>) -> Result<Pieces<'a>, Failure> {
        let failed = |error: opendal::Error| self.failure(&object.key, &error);
        let mut request = self.operator.reader_with(&object.key);
        if let Some(etag) = &object.etag {
            request = request.if_match(etag);
        }
        let reader = request.await.map_err(failed)?;
        let buffers = reader.into_stream(range).await.map_err(failed)?.map_err(failed);
        Ok(buffers.map_ok(|buffer| stream::iter(Iterator::map(buffer, Ok))).try_flatten().boxed())
    }

    fn shown(&self, key: &str) -> String {
        format!("{}/{key}", self.name)
    }

    /// Turns an error of the service into a failure. Its own text is kept short: it may repeat the request.
    fn failure(&self, key: &str, error: &opendal::Error) -> Failure {
        use opendal::ErrorKind as Kind;
        let shown = self.shown(key);
        let of =
            |kind, message: &str, help: &str| Failure::permanent(Error::new(kind, &shown, message).with_help(help));
        match error.kind() {
            // opendal's words where it finds no credentials to sign a request with.
            _ if error.message() == "signing http request" => Failure::permanent(self.credentials.missing(&self.name)),
            Kind::NotFound => of(ErrorKind::NotFound, "is not there", "check the bucket's name, region and prefix"),
            Kind::PermissionDenied => of(ErrorKind::Denied, "access is denied", self.credentials.denied),
            Kind::ConditionNotMatch => {
                of(ErrorKind::Corrupt, "was replaced while it was read", "run again once its upload is finished")
            }
            // opendal's view of a bucket that is not there.
            Kind::ConfigInvalid if error.message().contains("NoSuchBucket") => {
                of(ErrorKind::NotFound, "the bucket does not exist", "check the bucket's name and the endpoint")
            }
            Kind::ConfigInvalid => of(ErrorKind::Usage, &brief(error), SEE_LOCATIONS),
            Kind::RateLimited => Failure {
                again: RetrySign::Limited(None),
                ..Failure::temporary(shown, "the service asks to slow down")
            },
            // opendal's own words for a body that ends before its range does.
            _ if error.is_temporary() || error.message().contains("too little data") => {
                Failure::temporary(shown, brief(error))
            }
            _ => of(
                ErrorKind::Unavailable,
                &brief(error),
                concat!("see ", documentation!("locations.md"), " for endpoints and credentials"),
            ),
        }
    }
}

impl Store for Bucket {
    fn name(&self, object: &Object) -> String {
        self.shown(&object.key)
    }

    fn read<'a>(&'a self, object: &'a Object, range: Range<u64>) -> Pieces<'a> {
        self.open(object, range).try_flatten_stream().boxed()
    }
}

/// An operator of `builder`, or why there is none.
pub(super) fn operator(builder: impl opendal::Builder, name: &str) -> Result<Operator> {
    Operator::new(builder).map_err(|error| Error::new(ErrorKind::Usage, name, brief(&error)).with_help(SEE_LOCATIONS))
}

fn object(key: String, metadata: &Metadata) -> Object {
    Object { key, len: metadata.content_length(), etag: metadata.etag().map(str::to_owned) }
}

/// Whether a service says that it does not know conditions on writes.
fn is_unknown_condition(error: &opendal::Error) -> bool {
    error.kind() == opendal::ErrorKind::Unsupported || error.message().contains("NotImplemented")
}

/// The first words of a service's message.
fn brief(error: &opendal::Error) -> String {
    /// Enough for the code and a sentence.
    const LONGEST: usize = 200;
    let line = error.message().lines().next().unwrap_or_default().trim();
    if line.is_empty() {
        "the service refuses, and says no more".to_owned()
    } else {
        line.chars().take(LONGEST).collect()
    }
}
