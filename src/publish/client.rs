//! Sends requests: to GitHub through octocrab, to the other forges through reqwest, and in a dry run not at all.
//!
//! octocrab's own retries, which may send a creating request twice, are not compiled in: `limit::RETRY` decides. An answer counts
//! only if it has the promised shape ([`super::answer`]); it is read with limits on size and time ([`super::limit`]).

use std::fmt;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use octocrab::Octocrab;
use reqwest::Method;
use secrecy::{ExposeSecret, SecretString};

use super::answer::{Answer, Read};
use super::call::{Body, Call};
use super::forge::ForgeKind;
use super::limit;
use super::transport::{bearer_client, job_client, octocrab, through_octocrab, through_reqwest, token_client};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::asked;
use crate::fetch::permission::Need;
use crate::fetch::retry::{RetrySign, spread_wait};

/// Sends requests to one forge.
pub(crate) struct Client {
    base: String,
    token: SecretString,
    transport: Transport,
    /// Longest time for one request and its answer.
    time: Duration,
    /// Time spent so far on waits and on requests without an answer.
    waited: Mutex<Duration>,
    /// Number that spreads the retries of jobs that failed at the same time.
    seed: u64,
}

enum Transport {
    Octocrab(Octocrab),
    Rest(reqwest::Client),
    /// A dry run, with the requests that would have been sent.
    Dry(Mutex<Vec<Call>>),
}

/// A request that did not succeed.
#[derive(Debug)]
pub struct Failure {
    /// The status of the forge's answer; `None` without an answer.
    pub status: Option<u16>,
    /// The request, as messages show it.
    pub request: String,
    /// Purpose of the request, as messages name it.
    pub purpose: &'static str,
    /// The permission that it needs.
    pub need: Need,
    /// Reason that the forge or the connection gives.
    pub message: String,
}

/// Reason why something was not done.
#[derive(Debug)]
pub(super) enum Undone {
    /// An error of the gate itself, such as a bad template or setting.
    GateError(Error),
    /// A request that did not succeed.
    RequestFailed(Failure),
}

impl From<Error> for Undone {
    fn from(error: Error) -> Self {
        Self::GateError(error)
    }
}

impl From<Failure> for Undone {
    fn from(failure: Failure) -> Self {
        Self::RequestFailed(failure)
    }
}

impl Client {
    /// A client of the forge at `base`. Must be called inside a tokio runtime.
    pub(crate) fn new(kind: ForgeKind, base: &str, token: SecretString, seed: u64) -> Result<Self> {
        let token = checked(&token)?;
        let transport = match kind {
            ForgeKind::Github | ForgeKind::Gitea => Transport::Octocrab(octocrab(base, &token)?),
            _ => Transport::Rest(token_client(kind, &token)?),
        };
        Ok(Self {
            base: base.trim_end_matches('/').to_owned(),
            token,
            transport,
            time: limit::TIME,
            waited: Mutex::default(),
            seed,
        })
    }

    /// A client that authenticates as a GitLab job by the job's `token`. Must be called inside a tokio runtime.
    pub(super) fn of_job(base: &str, token: &SecretString, seed: u64) -> Result<Self> {
        let token = checked(token)?;
        Ok(Self { transport: Transport::Rest(job_client(&token)?), token, seed, ..Self::dry(base) })
    }

    /// A client that sends nothing; every query finds nothing.
    pub(crate) fn dry(base: &str) -> Self {
        Self {
            base: base.trim_end_matches('/').to_owned(),
            token: SecretString::from(String::new()),
            transport: Transport::Dry(Mutex::default()),
            time: limit::TIME,
            waited: Mutex::default(),
            seed: 0,
        }
    }

    /// Whether nothing is sent.
    pub(crate) fn is_dry(&self) -> bool {
        matches!(self.transport, Transport::Dry(_))
    }

    /// Method, address and body of each request that a dry run would have sent; empty for a client that sends.
    pub(crate) fn planned_requests(&self) -> String {
        let Transport::Dry(calls) = &self.transport else { return String::new() };
        let calls = calls.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        calls.iter().map(|call| shown(&self.base, call)).collect()
    }

    /// Sends a request that may be repeated without harm: one that reads, or one that sets a state.
    pub(crate) async fn send(&self, call: &Call) -> Result<Answer, Failure> {
        let mut tries = 0;
        loop {
            tries += 1;
            let sent = self.once(call).await;
            match self.next(again(&sent), tries) {
                Some(wait) => self.wait(wait).await,
                None => return self.settled(call, sent, tries),
            }
        }
    }

    /// Sends a request that may be repeated, and reads its answer. A successful answer with an unexpected body is a failure.
    pub(crate) async fn ask<T: Default>(&self, call: &Call, read: impl Fn(&Answer) -> Read<T>) -> Result<T, Failure> {
        let answer = self.send(call).await?;
        self.read(call, &answer, read)
    }

    /// Sends a request that creates something. After a failure that may have taken effect, and after an unreadable answer, `look`
    /// searches for the created thing. The request is repeated only if the forge did not report success and `look` finds nothing.
    pub(crate) async fn create<T: Default>(
        &self,
        call: &Call,
        read: impl Fn(&Answer) -> Read<T>,
        look: impl AsyncFn() -> Result<Option<T>, Failure>,
    ) -> Result<T, Failure> {
        let mut tries = 0;
        loop {
            tries += 1;
            let sent = self.once(call).await;
            let again = again(&sent);
            let Some(wait) = self.next(again, tries) else {
                let said_success = sent.as_ref().is_ok_and(Answer::is_success);
                let settled = self.settled(call, sent, tries);
                return match settled.and_then(|answer| self.read(call, &answer, read)) {
                    Err(failure) if said_success => look().await?.ok_or(failure),
                    read => read,
                };
            };
            self.wait(wait).await;
            if matches!(again, RetrySign::Unclear(_))
                && let Some(found) = look().await?
            {
                return Ok(found);
            }
        }
    }

    /// Reads an answer whose status reports success.
    pub(super) fn read<T: Default>(
        &self,
        call: &Call,
        answer: &Answer,
        read: impl Fn(&Answer) -> Read<T>,
    ) -> Result<T, Failure> {
        if self.is_dry() {
            return Ok(T::default());
        }
        read(answer).map_err(|lacks| {
            let lacks: String = lacks.chars().filter(|character| !character.is_control()).take(300).collect();
            self.failure_of_answer(call, &format!("answered {} {lacks}", answer.status))
        })
    }

    fn settled(&self, call: &Call, sent: Result<Answer, String>, tries: u32) -> Result<Answer, Failure> {
        let (status, said) = match sent {
            Ok(answer) if answer.is_success() => match answer.too_long_message() {
                None => return Ok(answer),
                Some(said) => (None, format!("answered {} {said}", answer.status)),
            },
            Ok(answer) => {
                let said = format!("answered {} {}", answer.status, answer.message());
                (Some(answer.status), format!("{}{}", said.trim_end(), answer.too_long_a_wait(self.waited())))
            }
            Err(error) => (None, error),
        };
        let tried = if tries > 1 { format!(" (tried {tries} times)") } else { String::new() };
        Err(Failure { status, ..self.failure_of_answer(call, &format!("{}{tried}", said.trim_end())) })
    }

    /// The failure of a request whose answer is not as expected; `said` is the reason.
    pub(super) fn failure_of_answer(&self, call: &Call, said: &str) -> Failure {
        let path = call.path.split('?').next().unwrap_or_default();
        Failure {
            status: None,
            request: format!("{} {}{path}", call.method, self.base),
            purpose: call.purpose,
            need: call.need,
            message: self.without_token(said),
        }
    }

    /// The wait before the next try; `None` if there is no further try.
    fn next(&self, again: RetrySign, tries: u32) -> Option<Duration> {
        limit::RETRY.next_wait(tries, again, self.waited())
    }

    fn waited(&self) -> Duration {
        *self.waited.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn add_waited(&self, wait: Duration) {
        let mut waited = self.waited.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *waited = waited.saturating_add(wait);
    }

    async fn wait(&self, wait: Duration) {
        self.add_waited(wait);
        tokio::time::sleep(spread_wait(wait, self.seed)).await;
    }

    /// Makes one try within the time limit of a request; the error names the broken part.
    async fn once(&self, call: &Call) -> Result<Answer, String> {
        let begun = Instant::now();
        let sent = tokio::time::timeout(self.time, self.through_transport(call)).await;
        let sent = sent.unwrap_or_else(|_| Err(format!("no complete answer in {}", asked::wait_in_words(self.time))));
        if sent.is_err() {
            // Time spent on a silent server counts like a wait that a server asks for.
            self.add_waited(begun.elapsed());
        }
        sent
    }

    async fn through_transport(&self, call: &Call) -> Result<Answer, String> {
        match &self.transport {
            Transport::Octocrab(octocrab) => match &call.body {
                // octocrab sends its token to its own address only, so another client sends files.
                Body::Bytes { base, .. } => {
                    let client = bearer_client(&self.token).map_err(|error| error.to_string())?;
                    through_reqwest(&client, base.as_ref().unwrap_or(&self.base), call).await
                }
                _ => through_octocrab(octocrab, call).await,
            },
            Transport::Rest(client) => through_reqwest(client, &self.base, call).await,
            Transport::Dry(calls) => {
                calls.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(call.clone());
                let body = if call.method == Method::GET { "[]" } else { "" };
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

/// Whether another try may help after the result of this one; a broken connection may have delivered the request.
fn again(sent: &Result<Answer, String>) -> RetrySign {
    sent.as_ref().map_or(RetrySign::Unclear(None), Answer::retry_sign)
}

/// Checks that a token is a valid header value: anything else would cause a panic or add a header.
fn checked(token: &SecretString) -> Result<SecretString> {
    let text = token.expose_secret().trim();
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        let error = Error::new(ErrorKind::Usage, "token", "is empty or holds characters that no token has");
        return Err(error.with_help("check the secret's value: one line, no spaces, no quotes"));
    }
    Ok(SecretString::from(text.to_owned()))
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
    format!("{} {base}{}\n{body}\n", call.method, call.path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::permission::Permission;

    const MOST_WAITING: Duration = limit::RETRY.most_waiting;

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

    /// A server that answers each request with `head`, and then a byte now and then, for ever.
    fn dripping(head: &'static str) -> String {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || drip(stream, head));
            }
        });
        base
    }

    fn drip(mut stream: std::net::TcpStream, head: &str) {
        use std::io::{Read, Write};
        let mut request = [0; 4096];
        let _ = stream.read(&mut request);
        let _ = stream.write_all(head.as_bytes());
        while stream.write_all(b"x").is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    #[tokio::test]
    async fn an_answer_that_comes_byte_by_byte_has_its_time() {
        let heads = [
            "HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n[",
            "HTTP/1.1 500 No\r\n\r\n",
            "HTTP/1.1 200 OK\r\nx-drip: ",
        ];
        for (kind, head) in
            [ForgeKind::Github, ForgeKind::Gitlab].into_iter().flat_map(|kind| heads.map(|head| (kind, head)))
        {
            let mut client = Client::new(kind, &dripping(head), "token".to_owned().into(), 0).expect("a client");
            client.time = Duration::from_millis(200);
            // No repeats: what may be waited is spent.
            client.add_waited(MOST_WAITING);
            let call = Call::page("list the comments", Permission::PullRequests.read(), "/comments");
            let failure = client.ask(&call, |answer| answer.read::<Vec<u8>>("a list")).await.expect_err("no answer");
            assert!(failure.message.contains("no complete answer in"), "{kind:?} {head}: {failure:?}");
        }
    }

    #[tokio::test]
    async fn time_without_an_answer_counts_as_waited() {
        let mut client =
            Client::new(ForgeKind::Github, &dripping("HTTP/1.1 200 OK\r\nx-drip: "), "token".to_owned().into(), 0)
                .expect("a client");
        client.time = Duration::from_millis(50);
        client.once(&Call::get("ask", Permission::Metadata.read(), "/user")).await.expect_err("no answer");
        assert!(client.waited() >= Duration::from_millis(50));
        client.add_waited(Duration::MAX);
        assert_eq!(client.next(RetrySign::Unclear(None), 1), None);
    }
}
