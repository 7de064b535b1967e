//! The forges that the gate speaks to, each by its dialect.

use super::dialect::Forge;
use super::forge::ForgeKind;
use super::github::GitHub;
use super::gitlab::GitLab;

/// The dialect of the forge of `repository`.
pub(super) fn forge_of(kind: ForgeKind, repository: &str) -> Box<dyn Forge> {
    match kind {
        ForgeKind::Gitlab => Box::new(GitLab::new(repository)),
        ForgeKind::Github | ForgeKind::Gitea | ForgeKind::Gitee | ForgeKind::Gitcode => {
            Box::new(GitHub::new(kind, repository))
        }
    }
}
