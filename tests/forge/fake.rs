//! A fake forge: a server of its own per test, with a state, faults to order, and a record of every request.
//!
//! Requests and answers are held against the forge's contract. A violation is kept, and [`Fake::requests`] fails with it.

pub(crate) mod community;
pub(crate) mod github;
pub(crate) mod gitlab;
mod listing;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, MutexGuard};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde_json::Value;

use crate::forge::contract::Contract;

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: String,
    /// Path below the base address, with the query.
    pub(crate) target: String,
    pub(crate) token: String,
    pub(crate) content_type: String,
    pub(crate) body: Vec<u8>,
}

impl Asked {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    pub(crate) fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        let (_, query) = self.target.split_once('?')?;
        query.split('&').filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name).map(|(_, value)| value)
    }
}

/// An answer to be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self { status, body: body.to_string().into_bytes(), ..Self::default() }
    }

    pub(crate) fn empty(status: u16) -> Self {
        Self { status, ..Self::default() }
    }

    pub(crate) fn refusal(status: u16, message: &str) -> Self {
        let body = serde_json::json!({ "message": message, "documentation_url": "https://docs.example/rest", "status": status.to_string() });
        Self::json(status, &body)
    }
}

/// The state of a forge, and what it answers.
pub(crate) trait Brain: Send + 'static {
    fn answer(&mut self, asked: &Asked) -> Reply;
}

/// Fault of an answer.
#[derive(Clone, Debug)]
pub(crate) enum Wrong {
    /// This answer, and nothing done.
    Instead(Reply),
    /// Done, and then this answer.
    Afterwards(Reply),
    /// Done, and the connection breaks in the middle of the answer.
    Cut,
    /// Done, and the answer goes on without end; the first bytes are these, with this status.
    Endless(u16, &'static [u8]),
    /// Nothing done, and every request of the kind waits until the fake ends.
    Silent,
}

/// Bytes of a piece of an endless answer.
pub(crate) const PIECE: usize = 64 << 10;

/// A fault: the next so many requests of a kind go wrong.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) method: &'static str,
    pub(crate) contains: &'static str,
    pub(crate) times: usize,
    pub(crate) wrong: Wrong,
}

/// A running fake.
pub(crate) struct Fake<B> {
    /// Its base address.
    pub(crate) base: String,
    shared: Arc<Shared<B>>,
}

struct Shared<B> {
    brain: Mutex<B>,
    contract: Option<Contract>,
    prefix: &'static str,
    record: Mutex<Vec<(Asked, u16)>>,
    violations: Mutex<Vec<String>>,
    faults: Mutex<Vec<Fault>>,
    /// Bytes of endless answers that were taken by somebody.
    endless: Arc<AtomicUsize>,
    /// Requests of this method wait for each other.
    together: Mutex<Option<(&'static str, Arc<Barrier>)>>,
}

impl<B: Brain> Fake<B> {
    /// Starts a fake whose paths begin with `prefix`.
    pub(crate) fn start(brain: B, contract: Option<Contract>, prefix: &'static str) -> Self {
        let shared = Arc::new(Shared {
            brain: Mutex::new(brain),
            contract,
            prefix,
            record: Mutex::default(),
            violations: Mutex::default(),
            faults: Mutex::default(),
            endless: Arc::default(),
            together: Mutex::default(),
        });
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("a socket");
        let base = format!("http://{}{prefix}", listener.local_addr().expect("an address"));
        let state = Arc::clone(&shared);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build();
            runtime.expect("a runtime").block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).expect("a socket");
                let router = Router::new().fallback(handle::<B>).with_state(state);
                axum::serve(listener, router).await.expect("serves");
            });
        });
        Self { base, shared }
    }

    /// The state.
    pub(crate) fn state(&self) -> MutexGuard<'_, B> {
        self.shared.brain.lock().expect("no panic")
    }

    /// Orders a fault.
    pub(crate) fn fail(&self, method: &'static str, contains: &'static str, times: usize, wrong: Wrong) {
        self.shared.faults.lock().expect("no panic").push(Fault { method, contains, times, wrong });
    }

    /// Bytes that were sent of endless answers.
    pub(crate) fn endless(&self) -> usize {
        self.shared.endless.load(Ordering::SeqCst)
    }

    /// The next two requests of this method wait for each other.
    pub(crate) fn hold_until_two(&self, method: &'static str) {
        *self.shared.together.lock().expect("no panic") = Some((method, Arc::new(Barrier::new(2))));
    }

    /// `METHOD path -> status` of each request since the last call, after a look at the contract's violations.
    pub(crate) fn requests(&self) -> Vec<String> {
        let violations = std::mem::take(&mut *self.shared.violations.lock().expect("no panic"));
        assert!(violations.is_empty(), "against the contract:\n{}", violations.join("\n"));
        let record = std::mem::take(&mut *self.shared.record.lock().expect("no panic"));
        record.iter().map(|(asked, status)| format!("{} {} -> {status}", asked.method, asked.path())).collect()
    }

    /// Those that write.
    pub(crate) fn writes(&self) -> Vec<String> {
        self.requests().into_iter().filter(|line| !line.starts_with("GET ")).collect()
    }

    /// Every request's body and target, for a search for what must not be there.
    pub(crate) fn everything_said(&self) -> String {
        let record = self.shared.record.lock().expect("no panic");
        record
            .iter()
            .map(|(asked, _)| format!("{}\n{}\n", asked.target, String::from_utf8_lossy(&asked.body)))
            .collect()
    }
}

async fn handle<B: Brain>(State(shared): State<Arc<Shared<B>>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body: Bytes = axum::body::to_bytes(body, 64 << 20).await.unwrap_or_default();
    let target = parts.uri.path_and_query().map_or_else(String::new, ToString::to_string);
    let asked = Asked {
        method: parts.method.to_string(),
        target: target.strip_prefix(shared.prefix).unwrap_or(&target).to_owned(),
        token: token(&parts.headers),
        content_type: header(&parts.headers, "content-type"),
        body: body.to_vec(),
    };
    if !target.starts_with(shared.prefix) {
        shared.violation(format!("{target} lies outside of {}", shared.prefix));
    }
    let together = shared.together.lock().expect("no panic").clone();
    if let Some((_, barrier)) = together.filter(|(method, _)| *method == asked.method) {
        let leader = tokio::task::spawn_blocking(move || barrier.wait().is_leader()).await.expect("no panic");
        if leader {
            *shared.together.lock().expect("no panic") = None;
        }
    }
    let (reply, rest) = shared.reply(&asked);
    shared.record.lock().expect("no panic").push((asked, reply.status));
    if matches!(rest, Rest::Silence) {
        std::future::pending::<()>().await;
    }
    response(reply, rest)
}

impl<B: Brain> Shared<B> {
    fn reply(&self, asked: &Asked) -> (Reply, Rest) {
        let broken = self
            .contract
            .as_ref()
            .map(|contract| contract.check_request(&asked.method, &asked.target, &asked.content_type, &asked.body));
        if let Some(Err(wrong)) = broken {
            self.violation(wrong);
        }
        match self.next_fault(asked) {
            Some(Wrong::Instead(reply)) => (reply, Rest::Whole),
            Some(Wrong::Afterwards(reply)) => {
                self.answer(asked);
                (reply, Rest::Whole)
            }
            Some(Wrong::Cut) => (self.answer(asked), Rest::Cut),
            Some(Wrong::Endless(status, start)) => {
                self.answer(asked);
                let reply = Reply { status, body: start.to_vec(), ..Reply::default() };
                (reply, Rest::Endless(Arc::clone(&self.endless)))
            }
            Some(Wrong::Silent) => (Reply::empty(200), Rest::Silence),
            None => (self.answer(asked), Rest::Whole),
        }
    }

    fn answer(&self, asked: &Asked) -> Reply {
        let reply = self.brain.lock().expect("no panic").answer(asked);
        if let Some(contract) = &self.contract
            && let Err(wrong) = contract.check_answer(&asked.method, &asked.target, reply.status, &reply.body)
        {
            self.violation(format!("the fake itself: {wrong}"));
        }
        reply
    }

    fn next_fault(&self, asked: &Asked) -> Option<Wrong> {
        let mut faults = self.faults.lock().expect("no panic");
        let fits = |fault: &&mut Fault| {
            fault.times > 0 && fault.method == asked.method && asked.target.contains(fault.contains)
        };
        let fault = faults.iter_mut().find(fits)?;
        fault.times -= 1;
        Some(fault.wrong.clone())
    }

    fn violation(&self, wrong: String) {
        self.violations.lock().expect("no panic").push(wrong);
    }
}

/// End of an answer whose start was sent.
enum Rest {
    Whole,
    Cut,
    Endless(Arc<AtomicUsize>),
    Silence,
}

fn response(reply: Reply, rest: Rest) -> Response {
    let mut response = Response::builder()
        .status(StatusCode::from_u16(reply.status).expect("a status"))
        .header("content-type", "application/json; charset=utf-8")
        .header("date", "Sat, 21 Nov 2026 18:00:00 GMT");
    for (name, value) in reply.headers {
        response = response.header(name, value);
    }
    let body = match rest {
        Rest::Cut => {
            let half = Bytes::from(reply.body.get(..reply.body.len() / 2).unwrap_or_default().to_vec());
            let parts = [Ok(half), Err(std::io::Error::other("cut"))];
            Body::from_stream(futures_util::stream::iter(parts))
        }
        Rest::Endless(sent) => {
            let start = std::iter::once(Bytes::from(reply.body));
            let more = std::iter::repeat_with(move || {
                sent.fetch_add(PIECE, Ordering::SeqCst);
                Bytes::from_static(&[b' '; PIECE])
            });
            Body::from_stream(futures_util::stream::iter(start.chain(more).map(Ok::<_, std::io::Error>)))
        }
        Rest::Whole | Rest::Silence => Body::from(reply.body),
    };
    response.body(body).expect("a response")
}

fn header(headers: &HeaderMap, name: &str) -> String {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
}

fn token(headers: &HeaderMap) -> String {
    let authorization = header(headers, "authorization");
    let bearer = authorization.rsplit(' ').next().unwrap_or_default().to_owned();
    [bearer, header(headers, "private-token"), header(headers, "job-token")].concat()
}
