//! A server that stores files, speaks as a web server or as S3, and fails as it is told.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use futures_util::StreamExt;
use precision_gate::fetch::{CacheSettings, Environment, Fetcher, Patience, Retry, Settings};

/// Fault of an answer.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// This status and no body.
    Status(u16),
    /// This status, with `Retry-After: 0`.
    SlowDown(u16),
    /// The connection is cut after so many bytes of the body.
    Cut(usize),
    /// So many bytes, and the body is said to be no longer.
    Short(usize),
    /// The body arrives in small pieces with pauses.
    Trickle,
    /// Nothing at all for longer than anyone waits.
    Silence,
    /// To another address.
    Redirect(String),
    /// The file as if it had been replaced: other bytes, another entity tag.
    Replaced(Vec<u8>),
}

/// One request, as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) path: String,
    pub(crate) range: Option<String>,
    pub(crate) headers: HeaderMap,
}

/// A running server; it ends with the process.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    files: Mutex<BTreeMap<String, Vec<u8>>>,
    faults: Mutex<BTreeMap<String, VecDeque<Fault>>>,
    seen: Mutex<Vec<Seen>>,
    without_ranges: Mutex<bool>,
}

impl Server {
    /// Starts one without files.
    pub(crate) fn start() -> Self {
        let shared = Arc::<Shared>::default();
        let router = Router::new().fallback(answer).with_state(shared.clone());
        Self { address: serve(router), shared }
    }

    /// Puts a file at `path`, which starts with `/`.
    pub(crate) fn put(&self, path: &str, bytes: &[u8]) {
        self.shared.files.lock().expect("no panic").insert(path.to_owned(), bytes.to_vec());
    }

    /// The next answers about `path` fail like this, in this order.
    pub(crate) fn fail(&self, path: &str, faults: &[Fault]) {
        self.shared.faults.lock().expect("no panic").insert(path.to_owned(), faults.iter().cloned().collect());
    }

    /// From now on ranges are ignored.
    pub(crate) fn forget_ranges(&self) {
        *self.shared.without_ranges.lock().expect("no panic") = true;
    }

    /// Requests that arrived so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().expect("no panic").clone()
    }

    /// `http://127.0.0.1:port` and `path`.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

/// Serves `router` on a free port.
pub(crate) fn serve(router: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a socket");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).expect("a socket");
            axum::serve(listener, router).await.expect("served");
        });
    });
    address
}

/// A fetcher that is quick to give up, with a cache of its own and these variables.
pub(crate) fn fetcher(folder: &std::path::Path, variables: &[(&str, &str)]) -> Fetcher {
    Fetcher::new(settings(folder, variables))
}

/// The settings of [`fetcher`].
pub(crate) fn settings(folder: &std::path::Path, variables: &[(&str, &str)]) -> Settings {
    Settings {
        environment: variables.iter().copied().collect::<Environment>(),
        cache: CacheSettings { folder: Some(folder.join("cache")), limit: 1 << 30 },
        retry: Retry { tries: 3, first_wait: Duration::from_millis(5), ..Retry::default() },
        patience: Patience { connect: Duration::from_secs(2), silence: Duration::from_secs(2) },
        ..Settings::default()
    }
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let path = decoded(request.uri().path());
    let range = request.headers().get(header::RANGE).and_then(|range| range.to_str().ok()).map(str::to_owned);
    let seen = Seen { path: path.clone(), range: range.clone(), headers: request.headers().clone() };
    shared.seen.lock().expect("no panic").push(seen);
    let fault = shared.faults.lock().expect("no panic").get_mut(&path).and_then(VecDeque::pop_front);
    let query = request.uri().query().unwrap_or_default().to_owned();
    let found = shared.files.lock().expect("no panic").get(&path).cloned();
    let range = range.filter(|_| !*shared.without_ranges.lock().expect("no panic"));
    match (fault, found) {
        (Some(Fault::Status(status)), _) => status_only(status),
        (Some(Fault::SlowDown(status)), _) => {
            let mut response = status_only(status);
            response.headers_mut().insert(header::RETRY_AFTER, "0".parse().expect("a header"));
            response
        }
        (Some(Fault::Silence), _) => {
            tokio::time::sleep(Duration::from_secs(30)).await;
            status_only(500)
        }
        (Some(Fault::Redirect(to)), _) => {
            Response::builder().status(302).header(header::LOCATION, to).body(Body::empty()).expect("a response")
        }
        (Some(Fault::Replaced(bytes)), _) => file(&bytes, range.as_deref(), None),
        (fault, Some(bytes)) => file(&bytes, range.as_deref(), fault.as_ref()),
        (_, None) if query.contains("list-type=2") => listing(&shared, &path, &query),
        (_, None) if path.ends_with('/') => folder(&shared, &path),
        (_, None) => status_only(404),
    }
}

fn status_only(status: u16) -> Response {
    Response::builder().status(status).body(Body::empty()).expect("a response")
}

/// A file or its range, well or not.
fn file(bytes: &[u8], range: Option<&str>, fault: Option<&Fault>) -> Response {
    let bounds = range.and_then(|range| {
        let (start, end) = range.strip_prefix("bytes=")?.split_once('-')?;
        let start: usize = start.parse().ok()?;
        Some((start, end.parse().map_or(bytes.len(), |end: usize| (end + 1).min(bytes.len()))))
    });
    if bounds.is_some_and(|(start, _)| start >= bytes.len()) {
        return status_only(416);
    }
    let (start, end) = bounds.unwrap_or((0, bytes.len()));
    let part = bytes[start..end].to_vec();
    let some = bytes.iter().step_by(4099).map(|byte| u32::from(*byte)).sum::<u32>();
    let etag = format!("\"{some:x}-{}\"", bytes.len());
    let mut response = Response::builder().header(header::ETAG, etag).header(header::ACCEPT_RANGES, "bytes");
    if bounds.is_some() {
        response = response
            .status(StatusCode::PARTIAL_CONTENT)
            .header(header::CONTENT_RANGE, format!("bytes {start}-{}/{}", end - 1, bytes.len()));
    }
    let len = match fault {
        Some(Fault::Short(len)) => (*len).min(part.len()),
        _ => part.len(),
    };
    response.header(header::CONTENT_LENGTH, len).body(body(part, fault)).expect("a response")
}

fn body(part: Vec<u8>, fault: Option<&Fault>) -> Body {
    match fault {
        Some(Fault::Cut(len)) => {
            let whole = part[..(*len).min(part.len())].to_vec();
            Body::from_stream(futures_util::stream::iter([Some(whole), None]).then(|piece| async {
                if piece.is_none() {
                    // So that what came before is on its way.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                piece.ok_or_else(|| std::io::Error::from(std::io::ErrorKind::ConnectionReset))
            }))
        }
        Some(Fault::Short(len)) => Body::from(part[..(*len).min(part.len())].to_vec()),
        Some(Fault::Trickle) => {
            let pieces: Vec<Vec<u8>> = part.chunks((part.len() / 8).max(1)).map(<[u8]>::to_vec).collect();
            Body::from_stream(futures_util::stream::iter(pieces).then(|piece| async {
                tokio::time::sleep(Duration::from_millis(60)).await;
                Ok::<_, std::io::Error>(piece)
            }))
        }
        _ => Body::from(part),
    }
}

/// As nginx lists a folder with `autoindex_format json`.
fn folder(shared: &Shared, path: &str) -> Response {
    let mut rows = BTreeMap::new();
    for (name, bytes) in shared.files.lock().expect("no panic").iter() {
        let Some(rest) = name.strip_prefix(path) else { continue };
        match rest.split_once('/') {
            Some((folder, _)) => {
                rows.insert(folder.to_owned(), serde_json::json!({ "name": folder, "type": "directory" }))
            }
            None => {
                rows.insert(rest.to_owned(), serde_json::json!({ "name": rest, "type": "file", "size": bytes.len() }))
            }
        };
    }
    if rows.is_empty() {
        return status_only(404);
    }
    let rows: Vec<_> = rows.into_values().collect();
    Response::builder().body(Body::from(serde_json::to_vec(&rows).expect("JSON"))).expect("a response")
}

/// As S3 lists a bucket, three keys a page.
fn listing(shared: &Shared, path: &str, query: &str) -> Response {
    let of = |name: &str| {
        let value = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
        decoded(&value.unwrap_or_default().replace('+', " "))
    };
    let (bucket, prefix, from) = (path.trim_end_matches('/'), of("prefix"), of("continuation-token"));
    let mut xml = String::from("<?xml version=\"1.0\"?><ListBucketResult>");
    let (mut keys, mut is_truncated) = (0, false);
    for (name, bytes) in shared.files.lock().expect("no panic").iter() {
        let Some(key) = name.strip_prefix(bucket).and_then(|key| key.strip_prefix('/')) else { continue };
        if !key.starts_with(&prefix) || key <= from.as_str() {
            continue;
        }
        if keys == 3 {
            is_truncated = true;
            break;
        }
        keys += 1;
        let next =
            if keys == 3 { format!("<NextContinuationToken>{key}</NextContinuationToken>") } else { String::new() };
        write!(
            xml,
            "<Contents><Key>{key}</Key><Size>{}</Size><ETag>&quot;x&quot;</ETag><LastModified>2026-11-21T00:00:00.000Z</LastModified></Contents>{next}",
            bytes.len()
        )
        .expect("text");
    }
    write!(xml, "<IsTruncated>{is_truncated}</IsTruncated></ListBucketResult>").expect("text");
    Response::builder().body(Body::from(xml)).expect("a response")
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, others @ ..] = rest {
        match (first, others) {
            (b'%', [high, low, after @ ..]) => {
                let digits = [*high, *low];
                bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).expect("ASCII"), 16).expect("hexadecimal"));
                rest = after;
            }
            _ => {
                bytes.push(*first);
                rest = others;
            }
        }
    }
    String::from_utf8(bytes).expect("UTF-8")
}
