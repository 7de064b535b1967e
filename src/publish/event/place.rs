//! Place of a job: forge, repository, pull request and commit.

use crate::publish::forge::ForgeKind;
use crate::publish::trust::Origin;

/// Place of a job: forge, repository, pull request and commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The forge; `None` on a machine outside of CI.
    pub forge: Option<ForgeKind>,
    /// Base address of its interface: `https://api.github.com`.
    pub api: String,
    /// `owner/name`; at GitLab a project's path or number.
    pub repository: String,
    /// The event that started the job, as the forge spells it.
    pub event: String,
    /// The pull requests that a comment belongs to.
    pub target: Target,
    /// The commit that is judged; empty where it is not known.
    pub commit: String,
    /// Whose commit it is.
    pub origin: Origin,
    /// Commits that the event itself names: a checkout of another one is not the event's.
    pub commits: Vec<String>,
    /// The commit that is checked out, where it is none that the event names; empty where it cannot be told.
    pub elsewhere: Option<String>,
    /// The pull request that tells the origin where the event does not, and that no comment belongs to: a merge queue's.
    pub asked: Option<u64>,
    /// The branch that a change goes to; empty where the event is about none, or does not say.
    pub target_branch: String,
    /// The repository's default branch; empty where it is not known.
    pub default_branch: String,
    /// The job's page.
    pub run_url: String,
    /// Tells this attempt of the job from every other one.
    pub run: String,
    /// GitLab's number of the pipeline.
    pub pipeline: Option<u64>,
    /// Reason why nothing can be written, where that is known beforehand.
    pub read_only: Option<ReadOnly>,
    /// The job's workspace, with the checked-out repository in it; empty where it is not known.
    pub workspace: String,
}

impl Place {
    /// Whether the job judges a change that is not merged yet.
    pub fn is_change(&self) -> bool {
        !self.target_branch.is_empty() || self.origin != Origin::Own
    }

    /// Notes which commit is checked out, empty where that cannot be told: whose a commit is that the event does not name, the
    /// event cannot tell either. Outside of a CI system that is known there is no event, and flags name the commit.
    pub fn check_out(&mut self, commit: String) {
        if !self.commits.is_empty() && !self.commits.contains(&commit) {
            self.elsewhere = Some(commit);
            self.doubt();
        }
    }

    /// Notes that a flag names another commit than the event is about: whose it is, the event does not tell. Without a forge
    /// there is nobody to ask, and nothing to post to.
    pub fn doubt(&mut self) {
        if self.origin == Origin::Own && self.forge.is_some() {
            self.origin = Origin::Unknown;
        }
    }
}

/// The pull requests that a comment belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// None: a schedule, a tag, a merge queue.
    #[default]
    None,
    /// The pull request of this number.
    Pull(u64),
    /// Open ones whose head is the commit.
    OfCommit,
    /// Open ones of this branch whose head is the commit.
    OfBranch {
        /// Owner of the repository that the branch lies in.
        owner: String,
        /// The branch.
        branch: String,
    },
}

/// Reason why a job's token cannot write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOnly {
    /// The pull request comes from a fork.
    Fork,
    /// Dependabot started the job.
    Dependabot,
}
