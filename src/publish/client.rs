//! Sends requests: to GitHub through octocrab, to the others through reqwest, and in a dry run nowhere at all.
//!
//! octocrab runs on reqwest too, so that proxies (`HTTPS_PROXY`, `NO_PROXY`) and private certificates
//! (`SSL_CERT_FILE`) work alike. Redirects are not followed: a header with a token would travel along. octocrab's own
//! repeats, which send a creating request twice, are not built in; [`retry`] decides.

use std::fmt;
use std::sync::Mutex;
use std::time::Duration;

use octocrab::Octocrab;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::call::{Answer, Body, Call, Method};
use super::forge::{Forge, ForgeKind};
use super::retry::{self, MOST_WAITING, Next};
use crate::error::{Error, ErrorKind, Result};

/// Time to reach a server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Time for one request and its answer.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Sends requests to one forge.
pub struct Client {
    base: String,
    token: SecretString,
    transport: Transport,
    waited: Mutex<Duration>,
    /// Spreads the repeats of jobs that failed together.
    seed: u64,
}

enum Transport {
    Octocrab(Octocrab),
    Rest(reqwest::Client),
    /// Writes down what would be sent.
    Dry(Mutex<Vec<Call>>),
}

/// A request that did not succeed.
#[derive(Debug)]
pub struct Failure {
    /// The forge's answer; `None` where there was none.
    pub status: Option<u16>,
    /// The request, as far as messages show it.
    pub request: String,
    /// What it was for.
    pub purpose: &'static str,
    /// What the forge or the connection says.
    pub message: String,
}

impl Client {
    /// A client of the forge at `base`. Must be called inside a tokio runtime.
    pub fn new(kind: ForgeKind, base: &str, token: SecretString, seed: u64) -> Result<Self> {
        let token = checked(&token)?;
        let transport = match kind {
            ForgeKind::Github | ForgeKind::Gitea => Transport::Octocrab(octocrab(base, &token)?),
            _ => Transport::Rest(rest(kind, &token)?),
        };
        Ok(Self { base: base.trim_end_matches('/').to_owned(), token, transport, waited: Mutex::default(), seed })
    }

    /// A client that sends nothing and answers every question with "there is none".
    pub fn dry(base: &str) -> Self {
        Self {
            base: base.trim_end_matches('/').to_owned(),
            token: SecretString::from(String::new()),
            transport: Transport::Dry(Mutex::default()),
            waited: Mutex::default(),
            seed: 0,
        }
    }

    /// Whether nothing is sent.
    pub fn is_dry(&self) -> bool {
        matches!(self.transport, Transport::Dry(_))
    }

    /// What a dry run would have sent: method, address and body of each request.
    pub fn planned(&self) -> String {
        let Transport::Dry(calls) = &self.transport else { return String::new() };
        let calls = calls.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        calls.iter().map(|call| shown(&self.base, call)).collect()
    }

    /// Sends a request that may be repeated as it is: one that reads, or that says what shall be.
    pub async fn send(&self, call: &Call) -> Result<Answer, Failure> {
        let mut tries = 0;
        loop {
            tries += 1;
            let sent = self.once(call).await;
            match retry::after(sent.as_ref().ok(), tries) {
                Next::Limited(wait) | Next::Unclear(wait) if self.may_wait(wait) => self.wait(wait).await,
                _ => return self.settled(call, sent, tries),
            }
        }
    }

    /// Sends a request that creates something. After a failure that may have taken effect, `look` finds what was
    /// created, and it is repeated only where there is nothing.
    pub async fn create(
        &self,
        call: &Call,
        look: impl AsyncFn() -> Result<Option<Value>, Failure>,
    ) -> Result<Value, Failure> {
        let mut tries = 0;
        loop {
            tries += 1;
            let sent = self.once(call).await;
            match retry::after(sent.as_ref().ok(), tries) {
                Next::Limited(wait) if self.may_wait(wait) => self.wait(wait).await,
                Next::Unclear(wait) if self.may_wait(wait) => {
                    self.wait(wait).await;
                    if let Some(found) = look().await? {
                        return Ok(found);
                    }
                }
                _ => return self.settled(call, sent, tries).map(|answer| answer.json()),
            }
        }
    }

    fn settled(&self, call: &Call, sent: Result<Answer, String>, tries: u32) -> Result<Answer, Failure> {
        let (status, said) = match sent {
            Ok(answer) if answer.is_success() => return Ok(answer),
            Ok(answer) => (Some(answer.status), format!("answered {} {}", answer.status, answer.message())),
            Err(error) => (None, error),
        };
        let tried = if tries > 1 { format!(" (tried {tries} times)") } else { String::new() };
        Err(Failure { status, ..self.failed(call, &format!("{}{tried}", said.trim_end())) })
    }

    /// A failure of a request for what its answer says.
    pub(super) fn failed(&self, call: &Call, said: &str) -> Failure {
        let path = call.path.split('?').next().unwrap_or_default();
        Failure {
            status: None,
            request: format!("{} {}{path}", call.method.as_str(), self.base),
            purpose: call.purpose,
            message: self.without_token(said),
        }
    }

    fn may_wait(&self, wait: Duration) -> bool {
        let waited = self.waited.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *waited + wait <= MOST_WAITING
    }

    async fn wait(&self, wait: Duration) {
        *self.waited.lock().unwrap_or_else(std::sync::PoisonError::into_inner) += wait;
        // Up to a quarter more, from the run's own number.
        let share = u32::try_from(self.seed % 256).unwrap_or(0);
        tokio::time::sleep(wait + wait * share / 1024).await;
    }

    /// One try; an error says what broke.
    async fn once(&self, call: &Call) -> Result<Answer, String> {
        match &self.transport {
            Transport::Octocrab(octocrab) => match &call.body {
                // octocrab sends its token to its own address only.
                Body::Bytes { base, .. } => {
                    let client = bearer(&self.token).map_err(|error| error.to_string())?;
                    through_reqwest(&client, base.as_ref().unwrap_or(&self.base), call).await
                }
                _ => through_octocrab(octocrab, call).await,
            },
            Transport::Rest(client) => through_reqwest(client, &self.base, call).await,
            Transport::Dry(calls) => {
                calls.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(call.clone());
                let body = if call.method == Method::Get { "[]" } else { r#"{"id": 0}"# };
                Ok(Answer { status: 200, body: body.into(), ..Answer::default() })
            }
        }
    }

    fn without_token(&self, text: &str) -> String {
        let token = self.token.expose_secret();
        if token.is_empty() { text.to_owned() } else { text.replace(token, "***") }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("base", &self.base).finish_non_exhaustive()
    }
}

impl Failure {
    /// The failure as an error, with the way out that the forge's dialect knows.
    pub fn into_error(self, forge: &dyn Forge) -> Error {
        let kind = match self.status {
            Some(401 | 403 | 404 | 410 | 422) => ErrorKind::Denied,
            _ => ErrorKind::Unavailable,
        };
        let help = match self.status {
            Some(status) => forge.help(status, &self),
            None if self.message.contains("certificate") => {
                Some("name the file of the authority that signed the server's certificate in SSL_CERT_FILE".into())
            }
            None => None,
        };
        let error =
            Error::new(kind, format!("could not {}", self.purpose), format!("{} {}", self.request, self.message));
        match help {
            Some(help) => error.with_help(help),
            None => error,
        }
    }
}

/// A token as a header takes it: anything else would end in a panic or in a header of its own.
fn checked(token: &SecretString) -> Result<SecretString> {
    let text = token.expose_secret().trim();
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        let error = Error::new(ErrorKind::Usage, "token", "is empty or holds characters that no token has");
        return Err(error.with_help("check the secret's value: one line, no spaces, no quotes"));
    }
    Ok(SecretString::from(text.to_owned()))
}

fn octocrab(base: &str, token: &SecretString) -> Result<Octocrab> {
    let http = http_client(HeaderMap::new())?;
    Octocrab::builder()
        .base_uri(base)
        .map_err(|_| no_address(base))?
        .personal_token(token.clone())
        .add_header(ACCEPT, "application/vnd.github+json".into())
        .build_with_reqwest(http)
        .map_err(|error| Error::new(ErrorKind::Internal, "http client", error))
}

fn rest(kind: ForgeKind, token: &SecretString) -> Result<reqwest::Client> {
    let (name, value) = match kind {
        ForgeKind::Gitee => (AUTHORIZATION, format!("token {}", token.expose_secret())),
        _ => (HeaderName::from_static("private-token"), token.expose_secret().to_owned()),
    };
    with_header(name, &value)
}

/// A client for what octocrab does not send.
fn bearer(token: &SecretString) -> Result<reqwest::Client> {
    with_header(AUTHORIZATION, &format!("Bearer {}", token.expose_secret()))
}

fn with_header(name: HeaderName, value: &str) -> Result<reqwest::Client> {
    let mut value =
        HeaderValue::from_str(value).map_err(|_| Error::new(ErrorKind::Usage, "token", "fits no header"))?;
    value.set_sensitive(true);
    http_client(HeaderMap::from_iter([(name, value)]))
}

/// A client that follows no redirects: a header with a token would travel along.
pub(super) fn http_client(headers: HeaderMap) -> Result<reqwest::Client> {
    // Another part of the program may have chosen it before: then there is nothing to do.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .user_agent(concat!("precision-gate/", env!("CARGO_PKG_VERSION")))
        .default_headers(headers)
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(TIMEOUT)
        .redirect(Policy::none())
        .build()
        .map_err(|error| {
            Error::new(ErrorKind::Unavailable, "http client", cause(&error))
                .with_help("are certificates installed (`ca-certificates`, or SSL_CERT_FILE)?")
        })
}

fn no_address(base: &str) -> Error {
    Error::new(ErrorKind::Usage, base, "is no address").with_help("give one like https://api.github.com with --url")
}

async fn through_octocrab(octocrab: &Octocrab, call: &Call) -> Result<Answer, String> {
    let path = call.path.as_str();
    let json = match &call.body {
        Body::Json(json) => Some(json),
        Body::Empty => None,
        Body::File { .. } | Body::Bytes { .. } => return Err("this forge takes no files".into()),
    };
    let sent = match call.method {
        Method::Get => octocrab._get(path).await,
        Method::Post => octocrab._post(path, json).await,
        Method::Patch => octocrab._patch(path, json).await,
        Method::Put => octocrab._put(path, json).await,
        Method::Delete => octocrab._delete(path, json).await,
    };
    let response = sent.map_err(|error| cause(&error))?;
    let (status, headers) = (response.status().as_u16(), kept(response.headers()));
    let body = octocrab.body_to_string(response).await.map_err(|error| cause(&error))?;
    Ok(Answer { status, headers, body })
}

async fn through_reqwest(client: &reqwest::Client, base: &str, call: &Call) -> Result<Answer, String> {
    let url = format!("{base}{}", call.path);
    let request = match call.method {
        Method::Get => client.get(url),
        Method::Post => client.post(url),
        Method::Patch => client.patch(url),
        Method::Put => client.put(url),
        Method::Delete => client.delete(url),
    };
    let request = match &call.body {
        Body::Empty => request,
        Body::Json(json) => request.json(json),
        Body::File { name, bytes } => {
            let part = reqwest::multipart::Part::bytes(bytes.clone()).file_name(name.clone());
            request.multipart(reqwest::multipart::Form::new().part("file", part))
        }
        Body::Bytes { bytes, .. } => request.header(CONTENT_TYPE, "application/octet-stream").body(bytes.clone()),
    };
    let response = request.send().await.map_err(|error| cause(&error))?;
    let (status, headers) = (response.status().as_u16(), kept(response.headers()));
    let body = response.text().await.map_err(|error| cause(&error))?;
    Ok(Answer { status, headers, body })
}

fn kept(headers: &HeaderMap) -> std::collections::BTreeMap<String, String> {
    let text = |name: &'static str| Some((name.to_owned(), headers.get(name)?.to_str().ok()?.to_owned()));
    Answer::HEADERS.into_iter().filter_map(text).collect()
}

/// The innermost reason, which names no address.
pub(super) fn cause(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

/// A request as `--dry-run` prints it.
fn shown(base: &str, call: &Call) -> String {
    let body = match &call.body {
        Body::Empty => String::new(),
        Body::Json(json) if json.get("encoding").is_some() => "a picture, in base64\n".into(),
        Body::Json(json) => format!("{json:#}\n"),
        Body::File { name, bytes } => format!("file {name}, {} bytes\n", bytes.len()),
        Body::Bytes { bytes, .. } => format!("{} bytes\n", bytes.len()),
    };
    let base = match &call.body {
        Body::Bytes { base: Some(base), .. } => base,
        _ => base,
    };
    format!("{} {base}{}\n{body}\n", call.method.as_str(), call.path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn no_client_shows_its_token() {
        let token = "ghp_0123456789abcdefghij";
        for kind in ForgeKind::ALL {
            let client = Client::new(kind, "https://forge.example", token.to_owned().into(), 1).expect("a client");
            assert!(!format!("{client:?}").contains(token));
            assert_eq!(client.without_token(&format!("a {token} b")), "a *** b");
        }
    }

    #[tokio::test]
    async fn a_token_of_two_lines_is_refused() {
        for token in ["", " ", "a\nb", "a b", "ü"] {
            let refused = Client::new(ForgeKind::Github, "https://forge.example", token.to_owned().into(), 1);
            assert!(refused.is_err_and(|error| error.kind() == ErrorKind::Usage), "{token:?}");
        }
    }
}
