//! The forges that the gate speaks to: each its dialect, and what goes beyond it.

use std::ops::Deref;

use super::community::Community;
use super::dialect::Forge;
use super::forge::ForgeKind;
use super::github::GitHub;
use super::gitlab::GitLab;

/// A repository's forge, of any kind.
#[derive(Debug)]
pub(super) enum AnyForge {
    /// GitHub, and Gitea, which follows it.
    GitHub(GitHub),
    /// GitLab.
    GitLab(GitLab),
    /// Gitee and GitCode.
    Community(Community),
}

impl AnyForge {
    /// The forge of `repository`.
    pub(super) fn of(kind: ForgeKind, repository: &str) -> Self {
        match kind {
            ForgeKind::Github | ForgeKind::Gitea => Self::GitHub(GitHub::new(kind, repository)),
            ForgeKind::Gitlab => Self::GitLab(GitLab::new(repository)),
            ForgeKind::Gitee | ForgeKind::Gitcode => Self::Community(Community::new(kind, repository)),
        }
    }

    /// The dialect that all of them have.
    pub(super) fn dialect(&self) -> &(dyn Forge + 'static) {
        match self {
            Self::GitHub(forge) => forge,
            Self::GitLab(forge) => forge,
            Self::Community(forge) => forge,
        }
    }

    /// GitHub's dialect beyond this, where it is spoken: Gitea follows it only so far.
    pub(super) fn as_github(&self) -> Option<&GitHub> {
        match self {
            Self::GitHub(forge) if forge.kind() == ForgeKind::Github => Some(forge),
            _ => None,
        }
    }

    /// GitLab's dialect beyond this, where it is spoken.
    pub(super) fn as_gitlab(&self) -> Option<&GitLab> {
        if let Self::GitLab(forge) = self { Some(forge) } else { None }
    }

    /// The dialect of Gitee and GitCode beyond this, where it is spoken.
    pub(super) fn as_community(&self) -> Option<&Community> {
        if let Self::Community(forge) = self { Some(forge) } else { None }
    }
}

impl Deref for AnyForge {
    type Target = dyn Forge;

    fn deref(&self) -> &Self::Target {
        self.dialect()
    }
}
