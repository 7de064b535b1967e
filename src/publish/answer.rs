//! Answers of forges, and the parts of them that are used.
//!
//! A successful status counts only if the answer is as the forge's contract promises: JSON with the needed fields in their types,
//! ids above zero, lists where lists are due. Anything else (an empty body, `null`, the HTML page of a proxy) does not count as an
//! answer, and it stays uncertain whether the request took effect. The shapes are those of `tests/contracts/*.openapi.json`;
//! further fields are ignored.

pub mod github;
pub mod gitlab;
pub mod proposals;

use std::num::NonZeroU64;
use std::time::Duration;

use reqwest::header::HeaderMap;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::limit;
use crate::fetch::retry::RetrySign;
use crate::fetch::{asked, limited};

/// The value read from an answer, or the reason why it cannot be read: `without a comment: missing field`.
pub type Read<T> = Result<T, String>;

/// Answer of a forge, whatever its status.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, or its start if it is longer than the limit.
    pub body: String,
    /// The limit in bytes, if the body is longer than it.
    pub longer_than: Option<usize>,
}

impl Answer {
    /// A header; `None` if it is absent, unreadable or empty.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok().filter(|value| !value.is_empty())
    }

    /// Whether the status reports success.
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Reads the body as JSON of the shape `T`; an error reports that `what` is missing, and why.
    pub fn read<T: DeserializeOwned>(&self, what: &str) -> Read<T> {
        let why = match self.body.trim_start().chars().next() {
            None => "the body is empty".to_owned(),
            Some('<') => "the body is a page of HTML".to_owned(),
            Some(_) => match serde_json::from_str(&self.body) {
                Ok(value) => return Ok(value),
                Err(error) => error.to_string(),
            },
        };
        Err(format!("without {what}: {why}"))
    }

    /// The forge's reason for a refusal, in one short line.
    pub fn message(&self) -> String {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Refusal {
            message: Value,
            error: Value,
            error_message: Value,
        }
        if self.body.len() > limit::WORD {
            return String::new();
        }
        let refusal: Refusal = serde_json::from_str(&self.body).unwrap_or_default();
        let said = [refusal.message, refusal.error, refusal.error_message].into_iter().find(|value| !value.is_null());
        let said =
            said.map_or_else(String::new, |value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        said.chars().filter(|character| !character.is_control()).take(200).collect()
    }

    /// Information about whether another try may help.
    pub(super) fn retry_sign(&self) -> RetrySign {
        RetrySign::from_answer(self.status, |name| self.header(name), || self.message())
    }

    /// Reason not to repeat a request although its answer allows it: the answer asks for a longer wait than the run has left after
    /// `waited`. Empty if the wait fits.
    pub(super) fn too_long_a_wait(&self, waited: Duration) -> String {
        limit::RETRY.too_long_wait(self.retry_sign(), waited).map_or_else(String::new, |wait| {
            let (wait, most) = (asked::wait_in_words(wait), asked::wait_in_words(limit::RETRY.most_waiting));
            format!("; it asks to wait {wait}, and one run waits at most {most} in all")
        })
    }

    /// Message that the answer is longer than its limit; `None` if it is not.
    pub(crate) fn too_long_message(&self) -> Option<String> {
        self.longer_than.map(|most| format!("with more than {}, which is not read", limited::limit_in_words(most)))
    }
}

/// A repository, with the field that every forge uses for its default branch.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct DefaultBranch {
    /// The branch.
    #[serde(deserialize_with = "filled")]
    pub default_branch: String,
}

/// A branch, with the field that every forge uses for its newest commit.
#[derive(Debug, Deserialize)]
pub struct Branch {
    /// The commit.
    pub commit: Tip,
}

/// The newest commit of a branch; GitLab and Gitea call its hash `id`.
#[derive(Debug, Deserialize)]
pub struct Tip {
    /// Its name.
    #[serde(alias = "id", deserialize_with = "filled")]
    pub sha: String,
}

/// Checks that the answer holds the value that was sent; `what` names it in the error.
pub(super) fn check_same(what: &str, sent: &str, shown: &str) -> Read<()> {
    if sent == shown { Ok(()) } else { Err(format!("with a {what} other than the one sent")) }
}

/// Checks that the answer holds the commit that was sent, of which `sent` may be the start.
pub(super) fn check_same_commit(sent: &str, shown: &str) -> Read<()> {
    let is_same = !sent.is_empty() && shown.to_ascii_lowercase().starts_with(&sent.to_ascii_lowercase());
    if is_same { Ok(()) } else { Err("with a commit other than the one sent".to_owned()) }
}

/// Converts every item of a list.
pub(super) fn convert_each<T: Into<U>, U>(list: Vec<T>) -> Vec<U> {
    list.into_iter().map(Into::into).collect()
}

/// Reads a number above zero.
fn positive<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    NonZeroU64::deserialize(from).map(NonZeroU64::get)
}

/// Reads a text that is not empty.
fn filled<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    if text.is_empty() { Err(serde::de::Error::custom("an empty text")) } else { Ok(text) }
}

/// Reads a field that may be null but must not be missing.
fn nullable<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(from)
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderValue, RETRY_AFTER};

    use super::*;

    fn answer(body: &str) -> Answer {
        Answer { status: 200, body: body.into(), ..Answer::default() }
    }

    #[test]
    fn what_is_no_answer_is_said_in_words() {
        for (body, said) in [
            ("", "without a list of comments: the body is empty"),
            (" \n", "without a list of comments: the body is empty"),
            ("<html>", "without a list of comments: the body is a page of HTML"),
            ("null", "without a list of comments: invalid type: null, expected a sequence"),
            ("{}", "without a list of comments: invalid type: map, expected a sequence"),
            ("[{\"id\":1", "without a list of comments: EOF while parsing"),
            ("[{\"body\":\"x\",\"user\":null}]", "without a list of comments: missing field `id`"),
            ("[{\"id\":0,\"user\":null}]", "without a list of comments: no number above zero among its ids"),
            ("[{\"id\":\"1\",\"user\":null}]", "without a list of comments: no number above zero among its ids"),
            ("[{\"id\":1,\"body\":\"x\"}]", "without a list of comments: missing field `user`"),
        ] {
            let error = answer(body).read::<Vec<github::Comment>>("a list of comments").err().unwrap_or_default();
            assert!(error.starts_with(said), "{body}: {error}");
        }
    }

    #[test]
    fn a_commit_may_be_given_by_its_start_and_never_by_nothing() {
        let whole = "1111111111111111111111111111111111111111";
        for (sent, shown, same) in
            [(whole, whole, true), ("1111111", whole, true), ("", whole, false), (whole, "", false)]
        {
            assert_eq!(check_same_commit(sent, shown).is_ok(), same, "{sent} {shown}");
        }
    }

    #[test]
    fn a_wait_that_nobody_waits_for_is_told() {
        let most = "and one run waits at most 5 minutes in all";
        for (status, wait, said) in [
            (429, "10000", format!("; it asks to wait 2 hours, {most}")),
            (503, "99999999999999999999999", format!("; it asks to wait 10 years or more, {most}")),
            (429, "300", String::new()),
            (429, "-300", String::new()),
            (404, "10000", String::new()),
        ] {
            let headers = [(RETRY_AFTER, HeaderValue::from_static(wait))].into_iter().collect();
            let answer = Answer { status, headers, ..Answer::default() };
            assert_eq!(answer.too_long_a_wait(Duration::ZERO), said, "{status} {wait}");
        }
    }

    #[test]
    fn a_refusal_says_one_short_line() {
        assert_eq!(answer("{\"message\":\"a\\nb\"}").message(), "ab");
        assert_eq!(answer("{\"message\":{\"base\":[\"x\"]}}").message(), "{\"base\":[\"x\"]}");
        for body in ["", "null", "[]", "<html>", "{\"message\""] {
            assert_eq!(answer(body).message(), "");
        }
    }
}
