//! The job that publishes: its commit, pull request and forge, and its settings.

use secrecy::SecretString;

use super::event::{CommentTarget, JobVariables, variable};
use super::forge::ForgeKind;
use crate::policy::publish::{CheckMode, CommentMode, ImageMode, Key, WarnAs, WebhookOn, WebhookShape};
use crate::report::messages::Language;

/// Commit, pull request and forge that a run publishes to.
#[derive(Clone, Debug)]
pub struct Job {
    /// The forge.
    pub kind: ForgeKind,
    /// Base address of its interface.
    pub api: String,
    /// `owner/name`, or a project's number.
    pub repository: String,
    /// The pull requests that the comment belongs to.
    pub target: CommentTarget,
    /// The commit that is judged; empty if only the pull request is known.
    pub commit: String,
    /// The job's page; empty where there is none.
    pub run_url: String,
    /// Identifier of this run, different for every run.
    pub run: String,
    /// GitLab's number of the pipeline.
    pub pipeline: Option<u64>,
    /// Settings of publishing.
    pub settings: PublishSettings,
    /// Number that spreads the retries of jobs that failed at the same time.
    pub seed: u64,
}

/// Settings of publishing.
#[derive(Clone, Debug)]
pub struct PublishSettings {
    /// Key that distinguishes the comments and checks of several gates in one repository.
    pub key: Key,
    /// Occasions on which the comment is written.
    pub comment: CommentMode,
    /// Form of the verdict beside the commit.
    pub check: CheckMode,
    /// Method by which pictures get into the comment.
    pub image: ImageMode,
    /// Whether a red suite without a pull request gets an issue.
    pub issue: bool,
    /// The chat or system that gets a message.
    pub webhook: Option<WebhookShape>,
    /// Occasions on which it gets a message.
    pub webhook_on: WebhookOn,
    /// Conclusion of a check whose verdict is `warn`.
    pub warn: WarnAs,
    /// Whether the check never blocks, whatever the verdict.
    pub report_only: bool,
    /// The login of the token's user, for tokens that cannot ask for it.
    pub author: Option<String>,
    /// The language.
    pub language: Language,
    /// Whether these settings are guessed because the policy could not be read; no new comment is created under a guessed key.
    pub guessed: bool,
}

impl PublishSettings {
    /// The name of checks and statuses, the same in every run.
    pub fn name(&self) -> String {
        if self.key == Key::default() { "precision-gate".into() } else { format!("precision-gate ({})", self.key) }
    }
}

/// The forge's token, if one is set: from the environment only.
pub fn forge_token(kind: ForgeKind, environment: &JobVariables) -> Option<SecretString> {
    let mut set = kind.token_variables().iter().filter_map(|name| variable(environment, name));
    set.next().map(|token| SecretString::from(token.to_owned()))
}
