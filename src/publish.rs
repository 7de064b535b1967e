//! Stage 9, *publish*: documents to messages beside a commit.
//!
//! Best effort by design: nothing here changes a verdict, and no verdict waits for it. Each failure becomes one warning.
//! A [`Session`] says "running" at its start and always ends with a verdict or with "did not finish"; comment, check,
//! status and pictures are settled with what is there already, so that repeats and races leave one of each. Forges differ
//! in a [`dialect::Forge`] each, which writes requests and reads answers; [`client`] sends them.
//!
//! Without a pull request (a night, a branch) an [`issue`] keeps a red suite in sight, and a [`webhook`] tells a chat;
//! [`attach`] puts the documents of a sign-off beside a release.
//!
//! Environment, event file and token come in as arguments. A result from elsewhere (`publish RESULT.json`) is data: it is
//! rendered again, and refused where its commit is not the head commit.

pub mod answer;
pub mod attach;
pub mod call;
mod check;
mod check_runs;
pub mod checkout;
pub mod client;
pub mod command;
pub mod comment;
mod desk;
pub mod dialect;
pub mod event;
pub mod forge;
mod forges;
pub mod github;
pub mod gitlab;
mod image;
pub mod instruction;
pub mod issue;
mod labels;
pub mod limit;
mod objects;
pub mod outputs;
pub mod proposal;
mod propose;
pub mod proposer;
pub mod session;
pub mod status;
mod sticky;
pub mod target;
pub mod tracker;
mod transport;
pub mod tree;
pub mod trust;
mod unfinished;
pub mod watch;
pub mod webhook;

pub use desk::Story;
pub use session::Session;
pub use unfinished::Why;

use event::Target;
use forge::ForgeKind;
use secrecy::SecretString;

use crate::policy::publish::{CheckMode, CommentMode, ImageMode, Key, WarnAs, WebhookOn, WebhookShape};
use crate::report::messages::Language;
use event::{Environment, variable};

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
    pub target: Target,
    /// The commit that is judged; empty where only the pull request is known.
    pub commit: String,
    /// The job's page; empty where there is none.
    pub run_url: String,
    /// Tells this run from every other.
    pub run: String,
    /// GitLab's number of the pipeline.
    pub pipeline: Option<u64>,
    /// Settings of publishing.
    pub settings: Settings,
    /// Spreads the repeats of jobs that failed together.
    pub seed: u64,
}

/// Settings of publishing.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Tells the comments and checks of several gates in one repository apart.
    pub key: Key,
    /// Occasions on which the comment is written.
    pub comment: CommentMode,
    /// Form of the verdict beside the commit.
    pub check: CheckMode,
    /// Way of pictures into the comment.
    pub image: ImageMode,
    /// Whether a red suite without a pull request has an issue.
    pub issue: bool,
    /// The chat or system that gets a message.
    pub webhook: Option<WebhookShape>,
    /// Occasions on which it gets a message.
    pub webhook_on: WebhookOn,
    /// Conclusion of a check whose verdict is `warn`.
    pub warn: WarnAs,
    /// Whether the check blocks nothing, whatever the verdict.
    pub report_only: bool,
    /// The login that the token writes as, where it cannot be asked for.
    pub author: Option<String>,
    /// The language.
    pub language: Language,
    /// Whether the policy could not be read, so that these settings are guessed: nothing new is written under a guessed
    /// key.
    pub guessed: bool,
}

impl Settings {
    /// The name of checks and statuses, the same in every run.
    pub fn name(&self) -> String {
        if self.key == Key::default() { "precision-gate".into() } else { format!("precision-gate ({})", self.key) }
    }
}

/// The forge's token, if one is set: from the environment only.
pub fn token(kind: ForgeKind, environment: &Environment) -> Option<SecretString> {
    let mut set = kind.token_variables().iter().filter_map(|name| variable(environment, name));
    set.next().map(|token| SecretString::from(token.to_owned()))
}
