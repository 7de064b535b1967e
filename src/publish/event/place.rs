//! Place of a job: forge, repository, pull request and commit.

use crate::publish::forge::ForgeKind;
use crate::publish::trust::CommitOrigin;

/// Place of a job: forge, repository, pull request and commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobPlace {
    /// The forge; `None` outside of CI.
    pub forge: Option<ForgeKind>,
    /// Base address of its interface: `https://api.github.com`.
    pub api: String,
    /// `owner/name`; at GitLab a project's path or number.
    pub repository: String,
    /// Name of the event that started the job, as the forge spells it.
    pub event: String,
    /// The pull requests that get a comment.
    pub target: CommentTarget,
    /// The commit that is judged; empty if it is not known.
    pub commit: String,
    /// Owner of the commit.
    pub origin: CommitOrigin,
    /// Commits that the event itself names; a checkout of any other commit does not belong to the event.
    pub commits: Vec<String>,
    /// The commit that is checked out, if the event does not name it; an empty text if that commit is unknown.
    pub other_checkout: Option<String>,
    /// Pull request of a merge queue, from which the origin is found because the event does not tell it. It gets no comment.
    pub asked_pull: Option<u64>,
    /// The target branch of the change; empty if the event is not about a change or does not name the branch.
    pub target_branch: String,
    /// The repository's default branch; empty if it is not known.
    pub default_branch: String,
    /// The job's page.
    pub run_url: String,
    /// Identifier of this attempt of the job.
    pub run: String,
    /// GitLab's number of the pipeline.
    pub pipeline: Option<u64>,
    /// Reason why nothing can be written, if that is known in advance.
    pub read_only: Option<ReadOnly>,
    /// The job's workspace, which contains the checked-out repository; empty if it is not known.
    pub workspace: String,
}

impl JobPlace {
    /// Whether the job judges a change that is not merged yet.
    pub fn is_change(&self) -> bool {
        !self.target_branch.is_empty() || self.origin != CommitOrigin::Own
    }

    /// Records the commit that is checked out, an empty text if it is unknown. If the event does not name that commit, the event cannot
    /// tell its origin either. Outside of the known CI systems there is no event, and flags name the commit.
    pub fn set_checkout(&mut self, commit: String) {
        if !self.commits.is_empty() && !self.commits.contains(&commit) {
            self.other_checkout = Some(commit);
            self.forget_origin();
        }
    }

    /// Records that the event cannot tell the origin, because a flag names another commit than the event. Without a forge nothing
    /// changes, since there is nobody to ask and no place to publish to.
    pub fn forget_origin(&mut self) {
        if self.origin == CommitOrigin::Own && self.forge.is_some() {
            self.origin = CommitOrigin::Unknown;
        }
    }
}

/// The pull requests that get a comment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CommentTarget {
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
