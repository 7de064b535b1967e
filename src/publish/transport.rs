//! The connections below [`super::client`]: octocrab for GitHub, reqwest for the others.
//!
//! octocrab uses reqwest too, so that proxies (`HTTPS_PROXY`, `NO_PROXY`) and private certificates (`SSL_CERT_FILE`) work in the
//! same way. Redirects are not followed, since they would carry the header with the token along. A body is read as it arrives, up
//! to the limit of its kind.

use std::time::Duration;

use http_body_util::BodyDataStream;
use octocrab::Octocrab;
use reqwest::Method;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use secrecy::{ExposeSecret, SecretString};
use tokio::runtime::{Builder, Runtime};

use super::answer::Answer;
use super::call::{Body, Call};
use super::forge::ForgeKind;
use super::limit;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::limited::{self, Limited};

/// Longest time to connect to a server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A runtime for one thread.
pub(super) fn runtime() -> Result<Runtime> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Error::new(ErrorKind::Internal, "runtime", error))
}

/// A client of GitHub at `base`.
pub(super) fn octocrab(base: &str, token: &SecretString) -> Result<Octocrab> {
    let http = http_client(HeaderMap::new())?;
    Octocrab::builder()
        .base_uri(base)
        .map_err(|_| no_address(base))?
        .personal_token(token.clone())
        .add_header(ACCEPT, "application/vnd.github+json".into())
        .build_with_reqwest(http)
        .map_err(|error| Error::new(ErrorKind::Internal, "http client", error))
}

/// A client of a forge that octocrab does not speak to.
pub(super) fn token_client(kind: ForgeKind, token: &SecretString) -> Result<reqwest::Client> {
    let (name, value) = match kind {
        ForgeKind::Gitee => (AUTHORIZATION, format!("token {}", token.expose_secret())),
        _ => (HeaderName::from_static("private-token"), token.expose_secret().to_owned()),
    };
    with_header(name, &value)
}

/// A client that authenticates as a GitLab job.
pub(super) fn job_client(token: &SecretString) -> Result<reqwest::Client> {
    with_header(HeaderName::from_static("job-token"), token.expose_secret())
}

/// A client for the requests to GitHub that octocrab does not send.
pub(super) fn bearer_client(token: &SecretString) -> Result<reqwest::Client> {
    with_header(AUTHORIZATION, &format!("Bearer {}", token.expose_secret()))
}

fn with_header(name: HeaderName, value: &str) -> Result<reqwest::Client> {
    let mut value =
        HeaderValue::from_str(value).map_err(|_| Error::new(ErrorKind::Usage, "token", "fits no header"))?;
    value.set_sensitive(true);
    http_client(HeaderMap::from_iter([(name, value)]))
}

/// A client that follows no redirects, since they would carry the header with the token along.
pub(super) fn http_client(headers: HeaderMap) -> Result<reqwest::Client> {
    // Another part of the program may have installed the provider before; then there is nothing to do.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .user_agent(concat!("precision-gate/", env!("CARGO_PKG_VERSION")))
        .default_headers(headers)
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(limit::TIME)
        .redirect(Policy::none())
        .build()
        .map_err(|error| {
            Error::new(ErrorKind::Unavailable, "http client", innermost_cause(&error))
                .with_help("are certificates installed (`ca-certificates`, or SSL_CERT_FILE)?")
        })
}

fn no_address(base: &str) -> Error {
    Error::new(ErrorKind::Usage, base, "is not an address").with_help("give one like https://api.github.com with --url")
}

/// Sends a request to GitHub.
pub(super) async fn through_octocrab(octocrab: &Octocrab, call: &Call) -> Result<Answer, String> {
    let path = call.path.as_str();
    let json = match &call.body {
        Body::Json(json) => Some(json),
        Body::Empty => None,
        Body::File { .. } | Body::Bytes { .. } => return Err("this forge takes no files".into()),
    };
    let sent = match call.method {
        Method::POST => octocrab._post(path, json).await,
        Method::PATCH => octocrab._patch(path, json).await,
        Method::PUT => octocrab._put(path, json).await,
        Method::DELETE => octocrab._delete(path, json).await,
        _ => octocrab._get(path).await,
    };
    let response = sent.map_err(|error| innermost_cause(&error))?;
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let most = most(call, status);
    let body = limited::read(BodyDataStream::new(response.into_body()), most).await;
    answer(status, headers, body.map_err(|error| innermost_cause(&error))?, most)
}

/// Sends a request to any other address.
pub(super) async fn through_reqwest(client: &reqwest::Client, base: &str, call: &Call) -> Result<Answer, String> {
    let request = client.request(call.method.clone(), format!("{base}{}", call.path));
    let request = match &call.body {
        Body::Empty => request,
        Body::Json(json) => request.json(json),
        Body::File { name, bytes } => {
            let part = reqwest::multipart::Part::bytes(bytes.clone()).file_name(name.clone());
            request.multipart(reqwest::multipart::Form::new().part("file", part))
        }
        Body::Bytes { bytes, .. } => request.header(CONTENT_TYPE, "application/octet-stream").body(bytes.clone()),
    };
    let response = request.send().await.map_err(|error| innermost_cause(&error))?;
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let most = most(call, status);
    let body = limited::read(response.bytes_stream(), most).await;
    answer(status, headers, body.map_err(|error| innermost_cause(&error))?, most)
}

/// Largest number of bytes of the answer to `call` that are read; of a refusal only one line is shown.
fn most(call: &Call, status: u16) -> usize {
    if (200..300).contains(&status) { call.max_bytes } else { limit::WORD }
}

/// The answer from the part of its body that was read. A complete body must be UTF-8; a cut body or a refusal may be any bytes.
fn answer(status: u16, headers: HeaderMap, read: Limited, most: usize) -> Result<Answer, String> {
    let longer_than = (!read.is_complete).then_some(most);
    let is_whole = read.is_complete && (200..300).contains(&status);
    let body = match String::from_utf8(read.bytes) {
        Ok(text) => text,
        Err(_) if is_whole => return Err(format!("answered {status} with bytes that are not UTF-8")),
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    };
    Ok(Answer { status, headers, body, longer_than })
}

/// The innermost reason of an error, which contains no address.
pub(super) fn innermost_cause(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
