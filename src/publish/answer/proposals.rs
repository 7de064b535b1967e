//! Answers about people and their pull requests.

use std::num::NonZeroU64;

use serde::Deserialize;

use super::filled;

/// A person's rights, at GitHub.
#[derive(Debug, Default, Deserialize)]
pub struct Rights {
    /// `admin`, `write`, `read` or `none`.
    #[serde(deserialize_with = "filled")]
    pub permission: String,
}

/// A pull request with its page; GitLab calls both otherwise.
#[derive(Clone, Debug, Deserialize)]
pub struct Opened {
    /// The number.
    #[serde(alias = "iid")]
    pub number: NonZeroU64,
    /// Its page.
    #[serde(alias = "web_url", deserialize_with = "filled")]
    pub html_url: String,
}

/// The page of a repository.
#[derive(Debug, Default, Deserialize)]
pub struct Page {
    /// Its address.
    #[serde(alias = "web_url", deserialize_with = "filled")]
    pub html_url: String,
}

/// A commit's tree.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct CommitOfTree {
    /// The tree.
    pub tree: super::github::Object,
}
