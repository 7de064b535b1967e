//! One HTTP client for web servers and forges: redirects that carry no token to another host, and the meaning of a status.

use std::net::SocketAddr;
use std::ops::Range;
use std::time::Duration;

use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, StatusCode, Url, redirect};
use secrecy::{ExposeSecret, SecretString};

use super::limited;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::asked;
use crate::fetch::location::without_secrets;
use crate::fetch::retry::{Failure, RetrySign};
use crate::fetch::settings::Patience;

/// Largest number of redirects that are followed: an API, its storage, and one or two mirrors.
const MAX_REDIRECTS: usize = 5;

/// Builds clients. Bodies are not decoded, since a decoded body would have other lengths and ranges.
#[derive(Clone, Debug, Default)]
pub(super) struct Clients {
    /// Longest silence to wait through.
    pub(super) patience: Patience,
    /// Addresses of hosts that no name service knows.
    pub(super) resolve: Vec<(String, SocketAddr)>,
}

impl Clients {
    /// Builds a client. It may follow `redirects` by itself only if its requests never carry a token of the gate.
    pub(super) fn build(&self, redirects: bool) -> Result<Client> {
        // Every TLS user of the process shares this provider; a second installation changes nothing.
        let _installed = rustls::crypto::ring::default_provider().install_default();
        let policy = if redirects { redirect::Policy::limited(MAX_REDIRECTS) } else { redirect::Policy::none() };
        let mut builder = Client::builder()
            .user_agent(concat!("precision-gate/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(self.patience.connect)
            .read_timeout(self.patience.silence)
            .redirect(policy)
            // Over HTTP/2 all answers share a window, so that an answer that waits for room would block one that a reader waits for.
            .http1_only()
            .no_gzip();
        for (host, address) in &self.resolve {
            builder = builder.resolve(host, *address);
        }
        builder.build().map_err(|error| Error::new(ErrorKind::Internal, "network", error.without_url()))
    }
}

#[derive(Clone)]
pub(super) struct WebRequest {
    /// Address of the request.
    pub(super) url: Url,
    /// Headers for the first host only, such as tokens.
    pub(super) private: HeaderMap,
    /// Headers for every host on the way.
    pub(super) headers: HeaderMap,
}

impl WebRequest {
    /// Asks for `url` and no more.
    pub(super) fn new(url: Url) -> Self {
        Self { url, private: HeaderMap::new(), headers: HeaderMap::new() }
    }

    /// Adds a header that every host may see.
    #[must_use]
    pub(super) fn with_header(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
        self
    }

    /// Adds a secret for the first host.
    #[must_use]
    pub(super) fn with_secret(mut self, name: HeaderName, prefix: &str, secret: &SecretString) -> Self {
        if let Ok(mut value) = HeaderValue::from_str(&format!("{prefix}{}", secret.expose_secret())) {
            value.set_sensitive(true);
            self.private.insert(name, value);
        }
        self
    }

    /// Requests a range only; its end is exclusive.
    #[must_use]
    pub(super) fn range(self, range: &Range<u64>) -> Self {
        let value = format!("bytes={}-{}", range.start, range.end.saturating_sub(1));
        self.with_header(header::RANGE, &value)
    }

    /// Name in messages.
    pub(super) fn display_name(&self) -> String {
        without_secrets(&self.url)
    }
}

/// Sends `ask`, follows redirects, and returns the answer if its status reports success.
pub(super) async fn get(client: &Client, ask: &WebRequest) -> Result<Response, Failure> {
    let mut url = ask.url.clone();
    for _ in 0..=MAX_REDIRECTS {
        let mut request = client.get(url.clone()).headers(ask.headers.clone());
        if is_same_origin(&url, &ask.url) {
            request = request.headers(ask.private.clone());
        }
        let response = request.send().await.map_err(|error| broken_connection(&ask.display_name(), &error))?;
        let target = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
        match target.filter(|_| response.status().is_redirection()).map(|target| url.join(target)) {
            Some(Ok(next)) if url.scheme() == "https" && next.scheme() != "https" => {
                return Err(refused(ask, "it redirects from https to an unprotected address"));
            }
            Some(Ok(next)) => url = next,
            Some(Err(_)) => return Err(refused(ask, "it redirects to no address")),
            None => return checked(ask, response),
        }
    }
    Err(refused(ask, "it redirects without end"))
}

fn is_same_origin(a: &Url, b: &Url) -> bool {
    a.scheme() == b.scheme() && a.host_str() == b.host_str() && a.port_or_known_default() == b.port_or_known_default()
}

fn refused(ask: &WebRequest, message: &str) -> Failure {
    Failure::permanent(Error::new(ErrorKind::Denied, ask.display_name(), message))
}

/// The failure of a broken connection. The error's own text is not used, since it contains the address, which may be signed.
pub(super) fn broken_connection(shown: &str, error: &reqwest::Error) -> Failure {
    let what = if error.is_timeout() {
        "no answer in time"
    } else if error.is_connect() {
        "cannot connect"
    } else {
        "the connection broke"
    };
    let mut message = what.to_owned();
    let mut source = std::error::Error::source(error);
    while let Some(deeper) = source {
        // The innermost reason is the informative one: a refused connection, an unknown name.
        if deeper.source().is_none() {
            message = format!("{what}: {deeper}");
        }
        source = deeper.source();
    }
    Failure::temporary(shown, message)
}

fn checked(ask: &WebRequest, response: Response) -> Result<Response, Failure> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    Err(status_failure(&ask.display_name(), status, response.headers()))
}

/// Turns a status other than success into a failure, with the wait that the server asks for.
pub(super) fn status_failure(shown: &str, status: StatusCode, headers: &HeaderMap) -> Failure {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    // The body of a refusal is not read.
    let again = RetrySign::from_answer(status.as_u16(), header, String::new);
    let permanent = |kind, message: String| Failure::permanent(Error::new(kind, shown, message));
    match status.as_u16() {
        403 if again != RetrySign::Never => {
            Failure { again, ..Failure::temporary(shown, "the service's rate limit is reached (403)") }
        }
        _ if again != RetrySign::Never => {
            Failure { again, ..Failure::temporary(shown, format!("the service answers {status}")) }
        }
        401 | 403 | 407 => permanent(ErrorKind::Denied, format!("access is denied ({status})")),
        404 => permanent(ErrorKind::NotFound, "is not there (404)".into()),
        410 => permanent(ErrorKind::NotFound, "has expired (410)".into()),
        412 | 416 => permanent(ErrorKind::Corrupt, format!("was replaced while it was read ({status})")),
        _ => permanent(ErrorKind::Unavailable, format!("the service answers {status}")),
    }
}

/// The text of an answer, of at most `most` bytes and within `time`, so that a server that sends endlessly or very slowly cannot
/// block the run.
pub(super) async fn text(
    client: &Client,
    ask: &WebRequest,
    most: usize,
    time: Duration,
) -> Result<(Vec<u8>, HeaderMap), Failure> {
    let shown = ask.display_name();
    let asked = async {
        let response = get(client, ask).await?;
        let headers = response.headers().clone();
        let read =
            limited::read(response.bytes_stream(), most).await.map_err(|error| broken_connection(&shown, &error))?;
        Ok((read, headers))
    };
    let in_time = tokio::time::timeout(time, asked).await;
    match in_time.unwrap_or_else(|_| {
        Err(Failure::temporary(&shown, format!("no complete answer in {}", asked::wait_in_words(time))))
    })? {
        (read, headers) if read.is_complete => Ok((read.bytes, headers)),
        _ => {
            let message = format!("the answer is longer than {}", limited::limit_in_words(most));
            Err(Failure::permanent(Error::new(ErrorKind::Unavailable, shown, message)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_says_whether_another_try_may_help() {
        let headers = |pairs: &[(&'static str, &str)]| {
            pairs
                .iter()
                .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_str(value).expect("header")))
                .collect()
        };
        for (status, pairs, kind, again) in [
            (404, vec![], ErrorKind::NotFound, RetrySign::Never),
            (410, vec![], ErrorKind::NotFound, RetrySign::Never),
            (403, vec![], ErrorKind::Denied, RetrySign::Never),
            (403, vec![("retry-after", "7")], ErrorKind::Unavailable, RetrySign::Limited(Some(Duration::from_secs(7)))),
            (
                403,
                vec![
                    ("x-ratelimit-remaining", "0"),
                    ("x-ratelimit-reset", "1700000030"),
                    ("date", "Tue, 14 Nov 2023 22:13:20 GMT"),
                ],
                ErrorKind::Unavailable,
                RetrySign::Limited(Some(Duration::from_secs(31))),
            ),
            (503, vec![], ErrorKind::Unavailable, RetrySign::Unclear(None)),
            (400, vec![], ErrorKind::Unavailable, RetrySign::Never),
        ] {
            let headers: HeaderMap = headers(&pairs);
            let found = status_failure("x", StatusCode::from_u16(status).expect("status"), &headers);
            assert_eq!((found.error.kind(), found.again), (kind, again), "{status}");
        }
    }

    /// A server that answers with pieces of a length, without end.
    fn endless(length: usize, pause: Duration) -> WebRequest {
        use std::io::{Read, Write};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}/", listener.local_addr().expect("an address"));
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
                while stream.write_all(&vec![b' '; length]).is_ok() {
                    std::thread::sleep(pause);
                }
            }
        });
        WebRequest::new(Url::parse(&address).expect("an address"))
    }

    #[tokio::test]
    async fn a_text_without_end_is_read_up_to_its_limits() {
        let client = Clients::default().build(false).expect("a client");
        let long = text(&client, &endless(1 << 16, Duration::ZERO), 1 << 20, Duration::from_secs(60)).await;
        let failure = long.expect_err("too long");
        assert_eq!((failure.error.message(), failure.again), ("the answer is longer than 1 MiB", RetrySign::Never));
        let slow = text(&client, &endless(1, Duration::from_millis(20)), 1 << 20, Duration::from_millis(200)).await;
        let failure = slow.expect_err("too slow");
        assert_eq!((failure.error.message(), failure.again), ("no complete answer in 0 s", RetrySign::Unclear(None)));
    }
}
