//! Settings of publishing, from the flags of a command and from the job that it runs in.

use clap::Args;
use precision_gate::policy::publish::{
    CheckMode, CommentMode, ImageMode, Key, PublishPolicy, WarnAs, WebhookOn, WebhookShape,
};
use precision_gate::publish::PublishSettings;
use precision_gate::publish::event::{self, JobPlace, JobVariables};
use precision_gate::publish::forge::ForgeKind;
use precision_gate::report::messages::Language;

/// Flags about publishing. The token comes from the environment only: `INPUT_TOKEN`, `PRECISION_GATE_TOKEN`, or the
/// forge's own (`GITHUB_TOKEN`, `GITLAB_TOKEN` ...).
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Publishing")]
pub(crate) struct PublishFlags {
    /// Forge [default: the one that runs the job]
    #[arg(long, value_enum)]
    pub(crate) forge: Option<ForgeKind>,
    /// Address of the forge's API [default: that of the job, or the public one]
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Repository [default: that of the job]
    #[arg(long, value_name = "OWNER/NAME")]
    pub(crate) repo: Option<String>,
    /// Number of the pull or merge request [default: that of the job]
    #[arg(long, value_name = "N")]
    pub(crate) number: Option<u64>,
    /// Commit that is judged [default: the head of the pull request, or the commit of the job]
    #[arg(long, value_name = "COMMIT")]
    pub(crate) sha: Option<String>,
    /// Name that tells several gates in one repository apart [default: default]
    #[arg(long)]
    pub(crate) key: Option<Key>,
    /// Condition for writing the comment [default: always]
    #[arg(long, value_enum)]
    pub(crate) comment: Option<CommentMode>,
    /// Form of the verdict at the commit [default: check on GitHub; none in a GitLab job, which is a status itself]
    #[arg(long, value_enum)]
    pub(crate) check: Option<CheckMode>,
    /// Way to put pictures into the comment [default: auto]
    #[arg(long, value_enum)]
    pub(crate) image: Option<ImageMode>,
    /// Open an issue if the gate blocks without a pull request, and close it when it passes again
    #[arg(long)]
    pub(crate) issue: bool,
    /// Send a message to a chat at PRECISION_GATE_WEBHOOK, signed with PRECISION_GATE_WEBHOOK_SECRET if it is set
    #[arg(long, value_enum, value_name = "SHAPE")]
    pub(crate) webhook: Option<WebhookShape>,
    /// Condition for a message to the chat [default: alert]
    #[arg(long, value_enum, value_name = "WHEN")]
    pub(crate) webhook_on: Option<WebhookOn>,
    /// Login of the token, if the forge does not tell it
    #[arg(long, value_name = "LOGIN")]
    pub(crate) author: Option<String>,
    /// Shell command that gets the comment on its standard input
    #[arg(long, value_name = "COMMAND")]
    pub(crate) post_command: Option<String>,
    /// Exit with 3 if something could not be published
    #[arg(long)]
    pub(crate) strict_publish: bool,
    /// Print the requests, and send nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Facts that the process takes from outside.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings {
    /// Environment variables.
    pub(crate) environment: JobVariables,
    /// Forge, repository and commit that the gate runs for.
    pub(crate) place: JobPlace,
}

impl Surroundings {
    /// Reads the variables of this process. A variable that is no text is left out.
    pub(crate) fn of_process() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        let environment: JobVariables = std::env::vars_os().filter_map(text).collect();
        let event = event::event_file(&environment).and_then(|path| std::fs::read_to_string(path).ok());
        let place = event::locate(&environment, event.as_deref());
        Self { environment, place }
    }

    /// Applies the flags, which take precedence over the job's variables.
    pub(crate) fn with(mut self, flags: &PublishFlags) -> Self {
        let place = &mut self.place;
        place.forge = flags.forge.or(place.forge);
        if let Some(url) = &flags.url {
            place.api.clone_from(url);
        }
        if let Some(repository) = &flags.repo {
            place.repository.clone_from(repository);
        }
        if let Some(number) = flags.number
            && place.target != event::CommentTarget::Pull(number)
        {
            // The event tells nothing of another pull request: the forge is asked for its head, its target and its origin.
            place.target = event::CommentTarget::Pull(number);
            place.target_branch.clear();
            place.commit.clear();
            place.pipeline = None;
            place.forget_origin();
        }
        if let Some(commit) = flags.sha.as_ref().filter(|commit| **commit != place.commit) {
            place.commit.clone_from(commit);
            place.pipeline = None;
            place.forget_origin();
        }
        self
    }
}

/// A number that nobody outside of this process can know.
pub(crate) fn nonce() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish()
}

/// Settings of publishing: flags take precedence over the policy, the policy over defaults.
pub(crate) fn settings(
    flags: &PublishFlags,
    policy: &PublishPolicy,
    surroundings: &Surroundings,
    (language, warn_exit_code): (Language, u8),
) -> PublishSettings {
    let inside_gitlab = surroundings.environment.contains_key("GITLAB_CI");
    let check = match surroundings.place.forge {
        Some(ForgeKind::Gitlab) if inside_gitlab => CheckMode::None,
        Some(ForgeKind::Github) | None => CheckMode::Check,
        Some(_) => CheckMode::Status,
    };
    // A job that fails on warnings has a check that does.
    let warn = if warn_exit_code == 0 { WarnAs::Neutral } else { WarnAs::Failure };
    PublishSettings {
        key: flags.key.clone().or_else(|| policy.key.clone()).unwrap_or_default(),
        comment: flags.comment.or(policy.comment).unwrap_or_default(),
        check: flags.check.or(policy.check).unwrap_or(check),
        image: flags.image.or(policy.image).unwrap_or_default(),
        warn: policy.warn.unwrap_or(warn),
        issue: flags.issue || policy.issue.unwrap_or(false),
        webhook: flags.webhook.or(policy.webhook),
        webhook_on: flags.webhook_on.or(policy.webhook_on).unwrap_or_default(),
        report_only: false,
        author: flags.author.clone(),
        language,
        guessed: false,
    }
}
