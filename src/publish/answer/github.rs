//! Answers of GitHub, and of the forges that follow it.

use std::num::NonZeroU64;

use serde::Deserialize;

use super::{Read, filled, nullable};
use crate::publish::{forge, tree};

/// A person, a bot or an app.
#[derive(Debug, Deserialize)]
pub struct Login {
    /// The name.
    #[serde(deserialize_with = "filled")]
    pub login: String,
}

/// A comment; its author is null where the account is gone.
#[derive(Debug, Deserialize)]
pub struct Comment {
    id: NonZeroU64,
    #[serde(default)]
    body: Option<String>,
    #[serde(deserialize_with = "nullable")]
    user: Option<Login>,
    /// Gitee and GitCode may leave it out.
    #[serde(default)]
    updated_at: String,
}

impl From<Comment> for forge::Comment {
    fn from(comment: Comment) -> Self {
        Self {
            id: comment.id.get(),
            author: comment.user.map_or_else(String::new, |user| user.login),
            body: comment.body.unwrap_or_default(),
            updated: comment.updated_at,
        }
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
            open: pull.state == "open" || pull.state == "opened",
            from_fork: pull.head.repo.is_none() || pull.head.repo != pull.base.repo,
            head: pull.head.sha,
            base: pull.base.sha,
            target: pull.base.reference,
        }
    }
}

/// A check run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Check {
    /// Its number, never 0 but in a dry run.
    pub id: u64,
    /// The commit.
    pub commit: String,
    /// `in_progress` or `completed`.
    pub status: String,
    /// `success`, `neutral`, `failure`; null until it is completed.
    pub conclusion: Option<String>,
    /// The run that wrote it.
    pub run: Option<String>,
    /// The app that wrote it.
    pub app: Option<String>,
}

/// A check run as the forge shows it.
#[derive(Debug, Deserialize)]
pub struct CheckRun {
    id: NonZeroU64,
    #[serde(deserialize_with = "filled")]
    head_sha: String,
    #[serde(deserialize_with = "filled")]
    status: String,
    #[serde(deserialize_with = "nullable")]
    conclusion: Option<String>,
    #[serde(deserialize_with = "nullable")]
    external_id: Option<String>,
    #[serde(deserialize_with = "nullable")]
    app: Option<App>,
}

#[derive(Debug, Deserialize)]
struct App {
    #[serde(default)]
    slug: Option<String>,
}

impl From<CheckRun> for Check {
    fn from(check: CheckRun) -> Self {
        Self {
            id: check.id.get(),
            commit: check.head_sha,
            status: check.status,
            conclusion: check.conclusion,
            run: check.external_id,
            app: check.app.and_then(|app| app.slug),
        }
    }
}

/// Check runs of a commit.
#[derive(Debug, Deserialize)]
pub struct Checks {
    /// The listed entries.
    pub check_runs: Vec<CheckRun>,
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
    pull_request: Option<serde::de::IgnoredAny>,
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
    pub fn into_issue(self) -> Option<forge::Issue> {
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

/// A branch with its newest commit; Gitea calls its name `id`.
#[derive(Debug, Deserialize)]
pub struct Branch {
    /// The commit.
    pub commit: Commit,
}

/// A commit.
#[derive(Debug, Deserialize)]
pub struct Commit {
    /// Its name.
    #[serde(alias = "id", deserialize_with = "filled")]
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
    pub fn into_entries(self) -> Read<(Vec<tree::Entry>, bool)> {
        if self.truncated {
            return Err("with only part of the folder's entries".to_owned());
        }
        let entry = |entry: Entry| tree::Entry { name: entry.path, id: entry.sha, is_folder: entry.kind == "tree" };
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
#[derive(Debug, Default)]
pub struct Release {
    /// Its number, never 0 but in a dry run.
    pub id: u64,
    /// The tag.
    pub tag: String,
    /// Address for uploads, as a template.
    pub upload_url: String,
    /// Its files.
    pub assets: Vec<Asset>,
}

/// A release as the forge shows it.
#[derive(Debug, Deserialize)]
pub struct ShownRelease {
    id: NonZeroU64,
    tag_name: String,
    upload_url: String,
    assets: Vec<ShownAsset>,
}

impl From<ShownRelease> for Release {
    fn from(release: ShownRelease) -> Self {
        Self {
            id: release.id.get(),
            tag: release.tag_name,
            upload_url: release.upload_url,
            assets: release.assets.into_iter().map(Asset::from).collect(),
        }
    }
}

/// A file of a release.
#[derive(Debug, Default)]
pub struct Asset {
    /// Its number, never 0 but in a dry run.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// Whether all of it is there.
    pub uploaded: bool,
    /// Its length in bytes.
    pub size: u64,
}

/// A file of a release as the forge shows it.
#[derive(Debug, Deserialize)]
pub struct ShownAsset {
    id: NonZeroU64,
    name: String,
    state: String,
    size: u64,
}

impl From<ShownAsset> for Asset {
    fn from(asset: ShownAsset) -> Self {
        Self { id: asset.id.get(), name: asset.name, uploaded: asset.state == "uploaded", size: asset.size }
    }
}
