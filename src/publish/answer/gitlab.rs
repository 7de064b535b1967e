//! Answers of GitLab.

use std::num::NonZeroU64;

use serde::Deserialize;

use super::filled;
use crate::publish::{forge, tree};

/// A person or a bot.
#[derive(Debug, Deserialize)]
pub(crate) struct User {
    /// The number.
    pub id: NonZeroU64,
}

/// A member of a project, of its own or by a group.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Member {
    /// 10 guest, 20 reporter, 30 developer, 40 maintainer, 50 owner.
    pub access_level: u64,
}

#[derive(Debug, Deserialize)]
struct Author {
    /// 0 for notes of the system itself, which may name nobody.
    id: u64,
}

/// A note.
#[derive(Debug, Deserialize)]
pub struct Note {
    id: NonZeroU64,
    body: String,
    author: Author,
    system: bool,
}

impl Note {
    /// The comment; `None` for what the system wrote.
    pub(crate) fn into_comment(self) -> Option<forge::Comment> {
        (!self.system).then(|| self.into())
    }
}

impl From<Note> for forge::Comment {
    fn from(note: Note) -> Self {
        Self { id: note.id.get(), author: note.author.id.to_string(), body: note.body, ..Self::default() }
    }
}

/// A merge request.
#[derive(Debug, Deserialize)]
pub struct MergeRequest {
    iid: NonZeroU64,
    state: String,
    #[serde(deserialize_with = "filled")]
    sha: String,
    /// Lists leave it out.
    #[serde(default)]
    diff_refs: Option<DiffRefs>,
    #[serde(default)]
    source_project_id: Option<u64>,
    #[serde(default)]
    target_project_id: Option<u64>,
    #[serde(default)]
    target_branch: String,
}

#[derive(Debug, Deserialize)]
struct DiffRefs {
    #[serde(default)]
    base_sha: Option<String>,
}

impl From<MergeRequest> for forge::Pull {
    fn from(request: MergeRequest) -> Self {
        Self {
            number: request.iid.get(),
            repository: request.target_project_id.map(|id| id.to_string()).unwrap_or_default(),
            head: request.sha,
            base: request.diff_refs.and_then(|refs| refs.base_sha).unwrap_or_default(),
            open: request.state == "opened",
            target: request.target_branch,
            from_fork: request.source_project_id.is_none() || request.source_project_id != request.target_project_id,
        }
    }
}

/// An entry of a folder.
#[derive(Debug, Deserialize)]
pub struct Entry {
    name: String,
    #[serde(deserialize_with = "filled")]
    id: String,
    #[serde(rename = "type")]
    kind: String,
}

impl From<Entry> for tree::TreeEntry {
    fn from(entry: Entry) -> Self {
        Self { is_folder: entry.kind == "tree", name: entry.name, id: entry.id }
    }
}

/// A commit's status.
#[derive(Debug, Deserialize)]
pub struct Status {
    /// `running`, `success`, `failed`.
    pub status: String,
    /// The name.
    pub name: String,
    /// The commit.
    pub sha: String,
}

/// An issue.
#[derive(Debug, Deserialize)]
pub struct Issue {
    iid: NonZeroU64,
    author: Author,
    description: Option<String>,
    state: String,
    labels: Vec<String>,
}

impl From<Issue> for forge::Issue {
    fn from(found: Issue) -> Self {
        Self {
            number: found.iid.get(),
            author: found.author.id.to_string(),
            body: found.description.unwrap_or_default(),
            open: found.state == "opened",
            labelled: found.labels.iter().any(|label| label == forge::LABEL),
        }
    }
}

/// An uploaded picture.
#[derive(Debug, Default, Deserialize)]
pub struct Upload {
    /// Address of the file.
    #[serde(deserialize_with = "filled")]
    pub url: String,
}

/// A link of a release.
#[derive(Debug, Default, Deserialize)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// Address that the link leads to.
    pub url: String,
}
