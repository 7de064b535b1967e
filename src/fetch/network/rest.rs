//! Reading a forge's REST API: JSON with paging, retried.

use std::time::Duration;

use reqwest::header::{self, HeaderMap};
use reqwest::{Client, Url};
use serde::de::DeserializeOwned;

use super::web::{self, WebRequest};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::location::encode_segment;
use crate::fetch::retry::Retry;

/// Largest size of an answer in bytes: a hundred runs, jobs or releases, the longest entries of the API with up to 300 KB each.
const MAX_ANSWER: usize = 32 << 20;
/// Longest time for one answer, however slowly it arrives.
const ANSWER_TIME: Duration = Duration::from_secs(60);
/// Largest number of pages of a list that are read: 10 000 entries.
const MAX_PAGES: usize = 100;

/// A forge's API.
pub(super) struct Rest<'a> {
    pub(super) client: &'a Client,
    pub(super) retry: Retry,
    /// A request to the API's root, with its token; its path has no slash at the end.
    pub(super) root: WebRequest,
    /// Advice if access is denied or something is not found.
    pub(super) help: String,
}

impl Rest<'_> {
    /// The request for a path of `segments` below the root, with `query`.
    pub(super) fn ask(&self, segments: &[&str], query: &[(&str, &str)]) -> WebRequest {
        let mut ask = self.root.clone();
        let path: Vec<String> = segments.iter().map(|segment| encode_segment(segment)).collect();
        ask.url.set_path(&format!("{}/{}", ask.url.path().trim_end_matches('/'), path.join("/")));
        if !query.is_empty() {
            ask.url.query_pairs_mut().extend_pairs(query);
        }
        ask
    }

    /// Requests one JSON answer.
    pub(super) async fn one<T: DeserializeOwned>(&self, segments: &[&str], query: &[(&str, &str)]) -> Result<T> {
        Ok(self.answer(&self.ask(segments, query)).await?.0)
    }

    /// Entries of a paged list, until `enough` says that no more are needed.
    pub(super) async fn all<P: DeserializeOwned, T>(
        &self,
        segments: &[&str],
        query: &[(&str, &str)],
        entries: impl Fn(P) -> Vec<T>,
        enough: impl Fn(&[T]) -> bool,
    ) -> Result<Vec<T>> {
        let mut found = Vec::new();
        let mut ask = self.ask(segments, query);
        for _ in 0..MAX_PAGES {
            let (page, headers) = self.answer(&ask).await?;
            found.extend(entries(page));
            match next(&headers).and_then(|address| ask.url.join(&address).ok()) {
                Some(url) if !enough(&found) && is_below(&url, &self.root.url) => ask.url = url,
                _ => break,
            }
        }
        Ok(found)
    }

    async fn answer<T: DeserializeOwned>(&self, ask: &WebRequest) -> Result<(T, HeaderMap)> {
        let shown = ask.display_name();
        let answer = self.retry.run(async || web::text(self.client, ask, MAX_ANSWER, ANSWER_TIME).await);
        let (text, headers) = answer.await.map_err(|error| self.explain(error))?;
        let value = serde_json::from_slice(&text).map_err(|error| {
            Error::new(ErrorKind::Unavailable, &shown, format!("the answer is not what the API promises: {error}"))
        })?;
        Ok((value, headers))
    }

    /// Adds the usual reason to an error.
    pub(super) fn explain(&self, error: Error) -> Error {
        match error.kind() {
            ErrorKind::Denied | ErrorKind::NotFound if error.help().is_none() => error.with_help(&self.help),
            _ => error,
        }
    }
}

/// The address of the next page (RFC 8288).
fn next(headers: &HeaderMap) -> Option<String> {
    let links = headers.get(header::LINK)?.to_str().ok()?;
    links.split(',').find_map(|link| {
        let (address, rest) = link.trim().strip_prefix('<')?.split_once('>')?;
        rest.split(';').any(|part| part.trim() == "rel=\"next\"").then(|| address.to_owned())
    })
}

/// Whether a page belongs to the API itself; the token is sent nowhere else.
fn is_below(url: &Url, root: &Url) -> bool {
    url.origin() == root.origin()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_found_among_links() {
        let mut headers = HeaderMap::new();
        let links = "<https://h/a?page=1>; rel=\"prev\", <https://h/a?page=3>; rel=\"next\"";
        headers.insert(header::LINK, links.parse().expect("header"));
        assert_eq!(next(&headers).as_deref(), Some("https://h/a?page=3"));
        headers.insert(header::LINK, "<https://h/a?page=1>; rel=\"prev\"".parse().expect("header"));
        assert_eq!(next(&headers), None);
    }
}
