//! Forge, repository, pull request and commit of a job, from the variables of a CI system.
//!
//! Pure functions over the environment and the event file, which come in as arguments. What cannot be told from them
//! alone (the pull request of a pushed commit) is left as a [`Target`] that the forge is asked about.

mod github;
mod gitlab;

use std::collections::BTreeMap;

use serde_json::Value;

use super::forge::ForgeKind;
use super::trust::Origin;

/// Environment variables by name.
pub type Environment = BTreeMap<String, String>;

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

/// The address of the event file that [`locate`] needs, if the CI system writes one.
pub fn event_file(environment: &Environment) -> Option<&str> {
    variable(environment, "GITHUB_EVENT_PATH")
}

/// Reads the place of the job. `event` is the content of the event file; text that is no JSON counts as none.
pub fn locate(environment: &Environment, event: Option<&str>) -> Place {
    let event: Value = event.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    if is_true(environment, "GITLAB_CI") {
        gitlab::locate(environment)
    } else if is_true(environment, "GITHUB_ACTIONS") || is_gitea(environment) {
        github::locate(environment, &event)
    } else {
        Place::default()
    }
}

/// Somebody's new words on a pull request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// The text.
    pub text: String,
    /// The person, as the forge is asked about people: a login at GitHub, a number at GitLab.
    pub by: String,
    /// The person's name, for people.
    pub name: String,
    /// Time of the comment, as the forge writes it; empty for a job that somebody started.
    pub at: String,
}

/// Variable in which a job that somebody starts is told what to answer.
pub const ANSWER: &str = "PRECISION_GATE_ANSWER";

/// The words of a new comment at GitHub, or of a manual job's variable at GitLab; `None` where neither is there.
pub fn said(environment: &Environment, event: Option<&str>) -> Option<Said> {
    if is_true(environment, "GITLAB_CI") {
        return gitlab::said(environment);
    }
    let event: Value = event.and_then(|text| serde_json::from_str(text).ok())?;
    github::said(variable(environment, "GITHUB_EVENT_NAME")?, &event)
}

/// Whether workflow commands, outputs and summaries are read: GitHub's runner and those made after it.
pub fn has_workflow_commands(environment: &Environment) -> bool {
    is_true(environment, "GITHUB_ACTIONS")
}

/// A variable that is set; an empty one counts as unset.
pub fn variable<'a>(environment: &'a Environment, name: &str) -> Option<&'a str> {
    environment.get(name).map(String::as_str).filter(|value| !value.is_empty())
}

fn is_true(environment: &Environment, name: &str) -> bool {
    variable(environment, name) == Some("true")
}

fn is_gitea(environment: &Environment) -> bool {
    is_true(environment, "GITEA_ACTIONS") || is_true(environment, "FORGEJO_ACTIONS")
}

/// A text of an event or variable; empty where it is not there.
fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
