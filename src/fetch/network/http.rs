//! Web servers: single files read by ranges where they lie, and folders whose listing the server gives as JSON.
//!
//! Files of a server without ranges, and files with a demanded digest, are downloaded into the cache instead. A name and password
//! come from `~/.netrc` (or the file that `NETRC` names), and are sent to that host only.

use std::ops::Range;
use std::time::Duration;

use futures_util::{StreamExt, TryFutureExt, TryStreamExt};
use reqwest::header::{self, HeaderMap};
use reqwest::{Client, Response, StatusCode, Url};
use secrecy::SecretString;
use serde::Deserialize;

use super::remote::Listing;
use super::store::{Object, Pieces, Store};
use super::web::{self, WebRequest};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::environment::Environment;
use crate::fetch::location::encode_segment;
use crate::fetch::retry::{Failure, Retry};

/// Largest depth of nested folders that are listed.
const MAX_DEPTH: usize = 16;
/// Most files of one location.
const MAX_FILES: usize = 1_000_000;
/// Longest listing of one folder.
const MAX_LISTING: usize = 256 << 20;
/// Longest time for one listing: that of the longest listing at half a megabyte a second.
const LISTING_TIME: Duration = Duration::from_secs(600);

/// A web server, at one address.
pub(super) struct WebServer {
    client: Client,
    ask: WebRequest,
}

/// Facts from the first answer for a file.
pub(super) struct Probe {
    /// The file.
    pub(super) object: Object,
    /// Whether the server supports ranges of it.
    pub(super) ranges: bool,
}

/// One row of nginx's `autoindex_format json`.
#[derive(Deserialize)]
struct Row {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    size: Option<u64>,
}

impl WebServer {
    /// The server at `url`, asked by `client`.
    pub(super) fn new(client: Client, url: Url, environment: &Environment) -> Self {
        Self { ask: authorised(url, environment), client }
    }

    /// The request for the whole file.
    pub(super) fn ask(&self) -> &WebRequest {
        &self.ask
    }

    /// Whether the address is a folder's.
    pub(super) fn is_folder(&self) -> bool {
        self.ask.url.path().ends_with('/')
    }

    /// Requests the first byte, whose answer tells length, version and support for ranges.
    pub(super) async fn probe(&self, retry: &Retry) -> Result<Probe> {
        let ask = self.ask.clone().range(&(0..1));
        let response = retry.run(async || match web::get(&self.client, &ask).await {
            // An empty file has no first byte.
            Err(failure) if failure.error.message().contains("416") => web::get(&self.client, &self.ask).await,
            other => other,
        });
        let response = response.await.map_err(with_help)?;
        let ranges = response.status() == StatusCode::PARTIAL_CONTENT;
        let len = if ranges { total_len(response.headers()) } else { response.content_length() };
        let object = Object { key: String::new(), len: len.unwrap_or(0), etag: version(response.headers()) };
        Ok(Probe { object, ranges: ranges && len.is_some() })
    }

    /// Everything below the folder.
    ///
    /// # Errors
    /// `Unsupported` where the server's listing is not understood.
    pub(super) async fn list(&self, retry: &Retry) -> Result<Listing> {
        let mut listing = Listing::default();
        let mut folders = vec![(String::new(), 0)];
        while let Some((folder, depth)) = folders.pop() {
            for row in self.rows(&folder, retry).await? {
                let path = format!("{folder}{}", row.name);
                match row.kind.as_str() {
                    "directory" if depth < MAX_DEPTH && !matches!(row.name.as_str(), "" | "." | "..") => {
                        folders.push((format!("{path}/"), depth + 1));
                    }
                    "file" => {
                        let object = Object { key: path.clone(), len: row.size.unwrap_or(0), etag: None };
                        listing.add(&path, object);
                    }
                    kind => listing.skipped.push((path, format!("a {kind} on the server"))),
                }
            }
            if listing.files.len() > MAX_FILES {
                let message = format!("holds more than {MAX_FILES} files; give a deeper folder");
                return Err(Error::new(ErrorKind::LimitExceeded, self.ask.display_name(), message));
            }
        }
        Ok(listing)
    }

    async fn rows(&self, folder: &str, retry: &Retry) -> Result<Vec<Row>> {
        let ask = self.below(folder)?.with_header(header::ACCEPT, "application/json");
        let text = retry.run(async || web::text(&self.client, &ask, MAX_LISTING, LISTING_TIME).await);
        let (text, _) = text.await.map_err(with_help)?;
        serde_json::from_slice(&text).map_err(|_| {
            Error::unsupported(ask.display_name(), "the server's listing of this folder is not understood")
                .with_help("give an archive, or let nginx list folders with `autoindex on; autoindex_format json;`")
        })
    }

    fn below(&self, path: &str) -> Result<WebRequest> {
        let mut ask = self.ask.clone();
        let encoded: Vec<String> = path.split('/').map(encode_segment).collect();
        let address = format!("{}{}", ask.url.path(), encoded.join("/"));
        ask.url.set_path(&address);
        Ok(ask)
    }

    async fn open(&self, object: &Object, range: Range<u64>) -> Result<Pieces<'static>, Failure> {
        let ask = if object.key.is_empty() {
            self.ask.clone()
        } else {
            self.below(&object.key).map_err(Failure::permanent)?
        };
        let ask = ask.range(&range);
        let response = web::get(&self.client, &ask)
            .await
            .map_err(|failure| Failure { error: with_help(failure.error), ..failure })?;
        self.check(object, &range, &response, &ask)?;
        let shown = ask.display_name();
        Ok(response.bytes_stream().map_err(move |error| web::broken_connection(&shown, &error)).boxed())
    }

    /// Checks that the answer is the requested range of the file that was listed.
    fn check(&self, object: &Object, range: &Range<u64>, response: &Response, ask: &WebRequest) -> Result<(), Failure> {
        let is_whole = range.start == 0 && response.content_length() == Some(object.len) && range.end == object.len;
        if response.status() != StatusCode::PARTIAL_CONTENT && !is_whole {
            return Err(Failure::permanent(Error::new(
                ErrorKind::Unavailable,
                ask.display_name(),
                "the server stopped giving ranges",
            )));
        }
        let found = version(response.headers());
        let is_other = object.etag.is_some() && found.is_some() && object.etag != found;
        let len = total_len(response.headers()).unwrap_or(object.len);
        if is_other || len != object.len {
            let error = Error::corrupt(ask.display_name(), "was replaced while it was read");
            return Err(Failure::permanent(error.with_help("run again once its upload is finished")));
        }
        Ok(())
    }
}

impl Store for WebServer {
    fn name(&self, object: &Object) -> String {
        format!("{}{}", self.ask.display_name(), object.key)
    }

    fn read<'a>(&'a self, object: &'a Object, range: Range<u64>) -> Pieces<'a> {
        self.open(object, range).try_flatten_stream().boxed()
    }
}

/// Version of a file: its entity tag, otherwise the time of its last change; `None` if the server sends neither.
pub(super) fn version(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::ETAG).or_else(|| headers.get(header::LAST_MODIFIED))?;
    value.to_str().ok().map(str::to_owned)
}

/// The whole length that a partial answer tells (`bytes 0-0/123`).
pub(super) fn total_len(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_RANGE)?.to_str().ok()?.rsplit_once('/')?.1.parse().ok()
}

fn with_help(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Denied => error.with_help("write the host's name and password into ~/.netrc"),
        ErrorKind::NotFound => error.with_help("check the address"),
        _ => error,
    }
}

/// The request, with the name and password that the address or the netrc file holds for its host.
fn authorised(mut url: Url, environment: &Environment) -> WebRequest {
    let of_address = (!url.username().is_empty())
        .then(|| (url.username().to_owned(), url.password().unwrap_or_default().to_owned()));
    let (_, _) = (url.set_username(""), url.set_password(None));
    let of_file = || {
        let path = environment.file("NETRC", ".netrc")?;
        entry(&std::fs::read_to_string(path).ok()?, url.host_str()?)
    };
    let found = of_address.or_else(of_file);
    // A password is sent unencrypted only to this machine.
    let is_protected = url.scheme() == "https" || matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    let ask = WebRequest::new(url);
    match found.filter(|_| is_protected) {
        None => ask,
        Some((name, password)) => {
            let secret = SecretString::from(base64(format!("{name}:{password}").as_bytes()));
            ask.with_secret(header::AUTHORIZATION, "Basic ", &secret)
        }
    }
}

/// The name and password for `host` in a netrc file.
fn entry(text: &str, host: &str) -> Option<(String, String)> {
    let mut words = text.split_whitespace();
    let (mut matches, mut login, mut password) = (false, None, None);
    while let Some(word) = words.next() {
        match word {
            "machine" | "default" => {
                if matches && password.is_some() {
                    break;
                }
                matches = word == "default" || words.next() == Some(host);
            }
            "login" if matches => login = words.next(),
            "password" if matches => password = words.next(),
            _ => {}
        }
    }
    Some((login?.to_owned(), password?.to_owned()))
}

/// Base64 of `bytes` (RFC 4648, section 4).
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |bits: u32| DIGITS.get((bits & 63) as usize).copied().map_or('=', char::from);
    let group = |part: &[u8]| {
        let bits = part.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - part.len()));
        let digits = [18, 12, 6, 0].map(|shift| digit(bits >> shift));
        digits.into_iter().enumerate().map(|(at, digit)| if at <= part.len() { digit } else { '=' }).collect::<String>()
    };
    bytes.chunks(3).map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        for (text, encoded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(text.as_bytes()), encoded);
        }
    }

    #[test]
    fn a_netrc_file_gives_each_host_its_own_password() {
        let text = "machine a.example login ann password one\nmachine b.example\n login bob\n password two\ndefault login x password y";
        for (host, found) in [("a.example", ("ann", "one")), ("b.example", ("bob", "two")), ("c.example", ("x", "y"))] {
            assert_eq!(entry(text, host), Some((found.0.to_owned(), found.1.to_owned())), "{host}");
        }
        assert_eq!(entry("machine a.example login ann password one", "c.example"), None);
    }

    #[test]
    fn no_password_goes_out_unprotected() {
        let environment = Environment::default();
        let private = |text: &str| authorised(Url::parse(text).expect(text), &environment).private.len();
        assert_eq!(private("https://ann:one@a.example/x"), 1);
        assert_eq!(private("http://ann:one@a.example/x"), 0);
        assert_eq!(private("http://ann:one@127.0.0.1:1/x"), 1);
    }
}
