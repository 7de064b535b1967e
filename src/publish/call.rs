//! Requests as values: a forge's dialect writes them, the client sends them and `--dry-run` prints them.

use reqwest::Method;
use serde::Serialize;
use serde_json::Value;

use super::limit;
pub(super) use crate::fetch::encode_segment as segment;
use crate::fetch::permission::Need;

/// Body of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// Nothing.
    Empty,
    /// JSON.
    Json(Value),
    /// A form with one file in its field `file`.
    File {
        /// The file's name.
        name: String,
        /// Its content.
        bytes: Vec<u8>,
    },
    /// The raw bytes of a file.
    Bytes {
        /// Base address that replaces the API's own: GitHub accepts files on another host. The caller has made sure that the token may
        /// be sent there.
        base: Option<String>,
        /// Its content.
        bytes: Vec<u8>,
    },
}

/// One request. It contains no token: the client adds it.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Method.
    pub method: Method,
    /// Path below the base address, with the query.
    pub path: String,
    /// Body.
    pub body: Body,
    /// Purpose, as messages name it: `list the comments`.
    pub purpose: &'static str,
    /// The permission that its token needs.
    pub need: Need,
    /// Largest number of bytes of its answer that are read.
    pub max_bytes: usize,
}

impl Call {
    /// A request that reads.
    pub fn get(purpose: &'static str, need: Need, path: impl Into<String>) -> Self {
        Self { method: Method::GET, path: path.into(), body: Body::Empty, purpose, need, max_bytes: limit::THING }
    }

    /// A request that reads a page of a list.
    pub fn page(purpose: &'static str, need: Need, path: impl Into<String>) -> Self {
        Self { max_bytes: limit::PAGE, ..Self::get(purpose, need, path) }
    }

    /// A request that creates, with a body of JSON.
    pub fn post(purpose: &'static str, need: Need, path: impl Into<String>, body: impl Serialize) -> Self {
        let body = Body::Json(serde_json::to_value(body).unwrap_or_default());
        Self { method: Method::POST, body, ..Self::get(purpose, need, path) }
    }

    /// A request that changes, with a body of JSON.
    pub fn patch(purpose: &'static str, need: Need, path: impl Into<String>, body: impl Serialize) -> Self {
        Self { method: Method::PATCH, ..Self::post(purpose, need, path, body) }
    }

    /// A request that replaces, with a body of JSON.
    pub fn put(purpose: &'static str, need: Need, path: impl Into<String>, body: impl Serialize) -> Self {
        Self { method: Method::PUT, ..Self::post(purpose, need, path, body) }
    }

    /// A request that removes.
    pub fn delete(purpose: &'static str, need: Need, path: impl Into<String>) -> Self {
        Self { method: Method::DELETE, max_bytes: limit::WORD, ..Self::get(purpose, need, path) }
    }
}

/// A path of several parts, each encoded.
pub fn segments(path: &str) -> String {
    path.split('/').map(segment).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::{segment, segments};

    #[test]
    fn paths_are_encoded_part_by_part() {
        assert_eq!(segment("group/my model"), "group%2Fmy%20model");
        assert_eq!(segments("ci/gate?.yml"), "ci/gate%3F.yml");
    }
}
