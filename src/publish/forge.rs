//! Types that all forges share: their kinds, pull requests, comments and issues.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A kind of forge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "program", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum ForgeKind {
    /// GitHub.com and GitHub Enterprise
    Github,
    /// GitLab.com and self-managed GitLab
    Gitlab,
    /// Gitea and Forgejo (experimental)
    Gitea,
    /// Gitee (experimental)
    Gitee,
    /// GitCode (experimental)
    Gitcode,
}

impl ForgeKind {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Github, Self::Gitlab, Self::Gitea, Self::Gitee, Self::Gitcode];

    /// The name as people write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Github => "GitHub",
            Self::Gitlab => "GitLab",
            Self::Gitea => "Gitea",
            Self::Gitee => "Gitee",
            Self::Gitcode => "GitCode",
        }
    }

    /// The base address of its public instance; `None` where there is none.
    pub fn public_api(self) -> Option<&'static str> {
        match self {
            Self::Github => Some("https://api.github.com"),
            Self::Gitlab => Some("https://gitlab.com/api/v4"),
            Self::Gitea => None,
            Self::Gitee => Some("https://gitee.com/api/v5"),
            Self::Gitcode => Some("https://api.gitcode.com/api/v5"),
        }
    }

    /// Variables that may hold its token, the first that is set counts. `CI_JOB_TOKEN` is none: it cannot write.
    pub fn token_variables(self) -> &'static [&'static str] {
        match self {
            Self::Github => &["INPUT_TOKEN", "PRECISION_GATE_TOKEN", "GITHUB_TOKEN", "GH_TOKEN"],
            Self::Gitlab => &["INPUT_TOKEN", "PRECISION_GATE_TOKEN", "GITLAB_TOKEN"],
            Self::Gitea => &["INPUT_TOKEN", "PRECISION_GATE_TOKEN", "GITEA_TOKEN", "GITHUB_TOKEN"],
            Self::Gitee => &["INPUT_TOKEN", "PRECISION_GATE_TOKEN", "GITEE_TOKEN"],
            Self::Gitcode => &["INPUT_TOKEN", "PRECISION_GATE_TOKEN", "GITCODE_TOKEN"],
        }
    }
}

/// A pull or merge request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pull {
    /// Its number.
    pub number: u64,
    /// The repository that it goes to, by the number that it keeps when it is renamed; empty where the forge does not say.
    pub repository: String,
    /// The newest commit.
    pub head: String,
    /// The commit it is compared with; empty where the forge does not say.
    pub base: String,
    /// The branch it goes to; empty where the forge does not say.
    pub target: String,
    /// Whether it can still be merged.
    pub open: bool,
    /// Whether it comes from another repository, or the forge does not say from which.
    pub from_fork: bool,
}

/// A comment on a pull request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comment {
    /// Its number.
    pub id: u64,
    /// Author: a login, or a number where the forge's identity is one.
    pub author: String,
    /// Its Markdown.
    pub body: String,
    /// Time of its last change, as the forge writes it; empty where it is not asked for.
    pub updated: String,
}

/// The label of every issue of the gate.
pub(crate) const LABEL: &str = "precision-gate";

/// An issue of a forge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Issue {
    /// Its number in the project.
    pub number: u64,
    /// Author, as [`Comment::author`] names people.
    pub author: String,
    /// Its Markdown.
    pub body: String,
    /// Whether it is open.
    pub open: bool,
    /// Whether it has the gate's label.
    pub labelled: bool,
}
