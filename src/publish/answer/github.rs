//! Answers of GitHub, and of the forges that follow it.

use std::num::NonZeroU64;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

use super::{Read, filled, nullable, positive};
use crate::publish::{forge, tree};

/// A person, a bot or an app.
#[derive(Debug, Deserialize)]
pub struct Login {
    /// The name.
    #[serde(deserialize_with = "filled")]
    pub login: String,
}

/// A comment; its author is null where the account is gone. GitCode's `id` may be a text of its own; later calls want the
/// number beside it.
#[derive(Debug, Deserialize)]
#[serde(try_from = "ShownComment")]
pub struct Comment(forge::Comment);

#[derive(Debug, Deserialize)]
struct ShownComment {
    id: Id,
    #[serde(default)]
    note_id: Option<NonZeroU64>,
    #[serde(default)]
    body: Option<String>,
    #[serde(deserialize_with = "nullable")]
    user: Option<Login>,
    /// Gitee and GitCode may leave it out.
    #[serde(default)]
    updated_at: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Id {
    Number(NonZeroU64),
    Other(IgnoredAny),
}

impl TryFrom<ShownComment> for Comment {
    type Error = &'static str;

    fn try_from(shown: ShownComment) -> Result<Self, Self::Error> {
        let id = match (shown.note_id, shown.id) {
            (Some(id), _) | (None, Id::Number(id)) => id,
            (None, Id::Other(_)) => return Err("no number above zero among its ids"),
        };
        Ok(Self(forge::Comment {
            id: id.get(),
            author: shown.user.map_or_else(String::new, |user| user.login),
            body: shown.body.unwrap_or_default(),
            updated: shown.updated_at.unwrap_or_default(),
        }))
    }
}

impl From<Comment> for forge::Comment {
    fn from(comment: Comment) -> Self {
        comment.0
    }
}

/// A pull request; Gitee and GitCode say `opened` too.
#[derive(Debug, Deserialize)]
pub struct Pull {
    number: NonZeroU64,
    state: String,
    head: End,
    base: End,
}

#[derive(Debug, Deserialize)]
struct End {
    #[serde(deserialize_with = "filled")]
    sha: String,
    /// The branch; some forges leave it out.
    #[serde(default, rename = "ref")]
    reference: String,
    /// Null where the repository was deleted.
    #[serde(default)]
    repo: Option<Repo>,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
struct Repo {
    id: u64,
}

impl From<Pull> for forge::Pull {
    fn from(pull: Pull) -> Self {
        Self {
            number: pull.number.get(),
            repository: pull.base.repo.as_ref().map(|repo| repo.id.to_string()).unwrap_or_default(),
            open: pull.state == "open" || pull.state == "opened",
            from_fork: pull.head.repo.is_none() || pull.head.repo != pull.base.repo,
            head: pull.head.sha,
            base: pull.base.sha,
            target: pull.base.reference,
        }
    }
}

/// A check run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Check {
    /// Its number, never 0 but in a dry run.
    #[serde(deserialize_with = "positive")]
    pub id: u64,
    /// The commit.
    #[serde(rename = "head_sha", deserialize_with = "filled")]
    pub commit: String,
    /// `in_progress` or `completed`.
    #[serde(deserialize_with = "filled")]
    pub status: String,
    /// `success`, `neutral`, `failure`; null until it is completed.
    #[serde(deserialize_with = "nullable")]
    pub conclusion: Option<String>,
    /// The run that wrote it.
    #[serde(rename = "external_id", deserialize_with = "nullable")]
    pub run: Option<String>,
    /// The app that wrote it.
    #[serde(deserialize_with = "slug")]
    pub app: Option<String>,
}

/// The short name of an app, which may be null.
fn slug<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    struct App {
        #[serde(default)]
        slug: Option<String>,
    }
    Ok(nullable::<D, App>(from)?.and_then(|app| app.slug))
}

/// Check runs of a commit.
#[derive(Debug, Deserialize)]
pub struct Checks {
    /// The listed entries.
    pub check_runs: Vec<Check>,
}

/// A commit's status; Gitea calls its state `status`.
#[derive(Debug, Deserialize)]
pub struct Status {
    /// `pending`, `success`, `failure`, `error`.
    #[serde(alias = "status")]
    pub state: String,
    /// The name.
    pub context: String,
}

/// A file of the contents API.
#[derive(Debug, Deserialize)]
pub struct File {
    /// `base64`; another one where the file is too large to be told.
    pub encoding: String,
    /// The content, in lines.
    pub content: String,
}

/// An issue; its author is null where the account is gone.
#[derive(Debug, Deserialize)]
pub struct Issue {
    number: NonZeroU64,
    state: String,
    #[serde(default)]
    body: Option<String>,
    #[serde(deserialize_with = "nullable")]
    user: Option<Login>,
    labels: Vec<Label>,
    #[serde(default)]
    pull_request: Option<IgnoredAny>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Label {
    Name(String),
    Whole {
        #[serde(default)]
        name: Option<String>,
    },
}

impl Label {
    fn is_own(&self) -> bool {
        match self {
            Self::Name(name) | Self::Whole { name: Some(name) } => name == forge::LABEL,
            Self::Whole { name: None } => false,
        }
    }
}

impl Issue {
    /// The issue; `None` for a pull request, which is one here.
    pub(crate) fn into_issue(self) -> Option<forge::Issue> {
        if self.pull_request.is_some() {
            return None;
        }
        Some(forge::Issue {
            number: self.number.get(),
            author: self.user.map_or_else(String::new, |user| user.login),
            body: self.body.unwrap_or_default(),
            open: self.state == "open",
            labelled: self.labels.iter().any(Label::is_own),
        })
    }
}

/// The repository.
#[derive(Debug, Default, Deserialize)]
pub struct Repository {
    /// `owner/name`
    pub full_name: String,
    /// Its page.
    pub html_url: String,
    /// Whether only members see it.
    pub private: bool,
}

/// Something that is named by its content.
#[derive(Debug, Default, Deserialize)]
pub struct Object {
    /// The name.
    #[serde(deserialize_with = "filled")]
    pub sha: String,
}

/// A reference to a commit.
#[derive(Debug, Default, Deserialize)]
pub struct Reference {
    /// Its commit.
    pub object: Object,
}

/// The files of a commit, or the entries of a folder.
#[derive(Debug, Default, Deserialize)]
pub struct Tree {
    /// The listed entries.
    pub tree: Vec<Entry>,
    /// Whether the forge left some out.
    #[serde(default)]
    pub truncated: bool,
}

impl Tree {
    /// The entries of a folder; a part of them tells nothing.
    pub(crate) fn into_entries(self) -> Read<(Vec<tree::TreeEntry>, bool)> {
        if self.truncated {
            return Err("with only part of the folder's entries".to_owned());
        }
        let entry = |entry: Entry| tree::TreeEntry { name: entry.path, id: entry.sha, is_folder: entry.kind == "tree" };
        Ok((self.tree.into_iter().map(entry).collect(), false))
    }
}

/// A file of a commit.
#[derive(Debug, Deserialize)]
pub struct Entry {
    /// The path.
    pub path: String,
    /// `blob` for a file.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its content's name.
    pub sha: String,
}

/// A release.
#[derive(Debug, Default, Deserialize)]
pub struct Release {
    /// Its number, never 0 but in a dry run.
    #[serde(deserialize_with = "positive")]
    pub id: u64,
    /// The tag.
    #[serde(rename = "tag_name")]
    pub tag: String,
    /// Address for uploads, as a template.
    pub upload_url: String,
    /// Its files.
    pub assets: Vec<Asset>,
}

/// A file of a release.
#[derive(Debug, Default, Deserialize)]
pub struct Asset {
    /// Its number, never 0 but in a dry run.
    #[serde(deserialize_with = "positive")]
    pub id: u64,
    /// Its name.
    pub name: String,
    /// `uploaded` where all of it is there.
    pub state: String,
    /// Its length in bytes.
    pub size: u64,
}

#[cfg(test)]
mod tests {
    use super::Comment;
    use crate::publish::forge;

    #[test]
    fn the_number_counts_whichever_field_holds_it() {
        for (text, id) in [
            (r#"{"id":5,"body":"x","user":{"login":"a"}}"#, Some(5)),
            (r#"{"id":"5abc","note_id":7,"body":"x","user":{"login":"a"}}"#, Some(7)),
            (r#"{"id":"5abc","body":"x","user":{"login":"a"}}"#, None),
            (r#"{"id":0,"body":"x","user":{"login":"a"}}"#, None),
            (r#"{"note_id":7,"body":"x","user":{"login":"a"}}"#, None),
        ] {
            let read = serde_json::from_str::<Comment>(text).ok();
            assert_eq!(read.map(|comment| forge::Comment::from(comment).id), id, "{text}");
        }
    }
}
