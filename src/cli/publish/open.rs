//! One run's publishing: opened before judging, closed after it, whatever came of it.

use std::path::Path;

use precision_gate::error::{Error, ErrorKind, Result};
use precision_gate::exit;
use precision_gate::policy::publish::{PublishPolicy, WebhookOn, WebhookShape};
use precision_gate::publish::comment::{self, CommentText};
use precision_gate::publish::event::{self, JobPlace, JobVariables, ReadOnly, has_workflow_commands, variable};
use precision_gate::publish::forge::ForgeKind;
use precision_gate::publish::marker::Marker;
use precision_gate::publish::trust::CommitOrigin;
use precision_gate::publish::webhook::{self, Hook};
use precision_gate::publish::{
    Job, PublishSettings, Session, Story, UnfinishedReason, command, forge_token, issue, worst_story,
};
use precision_gate::read::json::Json;
use precision_gate::redact::Redactor;
use precision_gate::report::annotations;
use precision_gate::report::escape::TextTarget;
use precision_gate::report::summary::COMMENT_LIMIT;
use precision_gate::report::writer::Writer;

use crate::cli::surroundings::{PublishFlags, Surroundings, nonce};
use crate::cli::{policy_file, show, speech};

/// Publishing that was asked for, or its absence.
#[derive(Debug)]
pub(crate) struct Publishing<'a> {
    flags: &'a PublishFlags,
    surroundings: &'a Surroundings,
    settings: PublishSettings,
    session: Option<Session>,
    warnings: Vec<Error>,
    notices: Vec<String>,
}

impl<'a> Publishing<'a> {
    /// Opens what is `wanted`. Missing rights are a warning or a notice, a missing address is bad usage.
    pub(crate) fn open(
        flags: &'a PublishFlags,
        surroundings: &'a Surroundings,
        settings: PublishSettings,
        wanted: bool,
    ) -> Result<Self> {
        let mut publishing =
            Self { flags, surroundings, settings, session: None, warnings: Vec::new(), notices: Vec::new() };
        if !wanted && !flags.dry_run {
            return Ok(publishing);
        }
        if let Some(why) = surroundings.place.read_only.filter(|_| !flags.dry_run) {
            let phrase = match why {
                ReadOnly::Fork => "publish_fork",
                ReadOnly::Dependabot => "publish_dependabot",
            };
            publishing.notices.push(Writer::new(publishing.settings.language, TextTarget::Plain).word(phrase)?);
            return Ok(publishing);
        }
        let job = publishing.job()?;
        let token = forge_token(job.kind, &surroundings.environment).filter(|_| !flags.dry_run);
        if token.is_none() && !flags.dry_run {
            publishing.warnings.push(no_token(job.kind));
            return Ok(publishing);
        }
        match Session::new(job, token) {
            Ok(session) => publishing.session = Some(session),
            Err(error) => publishing.warnings.push(error),
        }
        Ok(publishing)
    }

    fn job(&self) -> Result<Job> {
        let place = &self.surroundings.place;
        let kind = place.forge.ok_or_else(|| unknown("the forge", "--forge"))?;
        let api = Some(place.api.as_str()).filter(|api| !api.is_empty()).or(kind.public_api());
        if place.repository.is_empty() {
            return Err(unknown("the repository", "--repo"));
        }
        Ok(Job {
            kind,
            api: api.ok_or_else(|| unknown("the address of its API", "--url"))?.to_owned(),
            repository: place.repository.clone(),
            target: place.target.clone(),
            commit: place.commit.clone(),
            run_url: place.run_url.clone(),
            run: place.run.clone(),
            pipeline: place.pipeline,
            settings: self.settings.clone(),
            seed: nonce(),
        })
    }

    /// The open session.
    pub(crate) fn session(&mut self) -> Option<&mut Session> {
        self.session.as_mut()
    }

    /// Keeps a warning for the end.
    pub(crate) fn warn(&mut self, warning: Error) {
        self.warnings.push(warning);
    }

    /// Says that the run has begun.
    pub(crate) fn begin(&mut self) {
        if let Some(session) = &mut self.session {
            session.begin(end);
        }
    }

    /// Says that there is no verdict, because of `error`.
    pub(crate) fn give_up(&mut self, error: &Error) {
        if let Some(session) = &mut self.session {
            let redactor = redactor(&self.surroundings.environment);
            let help = error.help().map(|help| redactor.text(help)).unwrap_or_default();
            session.give_up(&UnfinishedReason::Refused { reason: redactor.text(&error.to_string()), help });
        }
    }

    /// Publishes what was found; a chat and a command are told the worst.
    pub(crate) fn finish(&mut self, stories: &[Story<'_>]) -> Result<()> {
        if let Some(session) = &mut self.session {
            session.finish(stories)?;
        }
        let Some(story) = worst_story(stories) else { return Ok(()) };
        if let Some(shape) = self.settings.webhook
            && (self.settings.webhook_on == WebhookOn::Always
                || issue::SuiteState::from_result(story.result) == issue::SuiteState::Red)
        {
            let told = self.tell_webhook(shape, story);
            self.warnings.extend(told.err());
        }
        let Some(given) = &self.flags.post_command else { return Ok(()) };
        let place = &self.surroundings.place;
        let number = if let event::CommentTarget::Pull(number) = place.target { number } else { 0 };
        let text = comment::compose(&CommentText {
            result: story.result,
            language: self.settings.language,
            templates: story.templates,
            marker: &Marker::of_comment(&place.repository, number, &self.settings.key),
            pictures: &[],
            diagram: true,
            notes: story.notes,
            commit: &place.commit,
            run_url: &place.run_url,
            limit: COMMENT_LIMIT,
        })?;
        if self.flags.dry_run {
            return show::say(&format!("COMMAND {given}\n{text}\n"));
        }
        self.warnings.extend(command::hand_over(given, &text).err());
        Ok(())
    }

    /// Sends the message to a chat; a failure, of a user's template too, is a warning.
    fn tell_webhook(&self, shape: WebhookShape, story: &Story<'_>) -> Result<()> {
        let place = &self.surroundings.place;
        let message = webhook::message(
            shape,
            &webhook::MessageText {
                result: story.result,
                language: self.settings.language,
                templates: story.templates,
                key: &self.settings.key,
                repository: &place.repository,
                commit: &place.commit,
                run_url: &place.run_url,
            },
        )?;
        if self.flags.dry_run {
            return show::say(&format!("POST {}\n{message:#}\n", webhook::ADDRESS));
        }
        let secret = |name| variable(&self.surroundings.environment, name).map(|text| text.trim().to_owned().into());
        let address = secret(webhook::ADDRESS).ok_or_else(no_address)?;
        let now_ms = jiff::Timestamp::now().as_millisecond();
        webhook::post(&Hook { shape, address, secret: secret(webhook::SECRET), now_ms, seed: nonce() }, message)
    }

    /// Prints failures and the requests that a dry run would have sent, and gives the exit code.
    pub(crate) fn close(mut self, code: u8) -> Result<u8> {
        if let Some(session) = self.session.take() {
            self.warnings.extend_from_slice(session.warnings());
            self.notices.extend_from_slice(session.notices());
            if self.flags.dry_run {
                show::say(&session.planned_requests())?;
            }
        }
        let commands = has_workflow_commands(&self.surroundings.environment);
        for notice in &self.notices {
            tell("notice", notice, commands)?;
        }
        for warning in &self.warnings {
            warn(warning, commands)?;
        }
        let strict = self.flags.strict_publish && !self.warnings.is_empty();
        Ok(if strict { exit::UNAVAILABLE } else { code })
    }
}

/// Ends the process on a signal, once that was told beside the commit.
#[allow(clippy::exit, reason = "the thread that waits for a signal has no other way")]
fn end(code: i32) {
    std::process::exit(code);
}

/// A warning with its way out.
pub(super) fn warn(warning: &Error, commands: bool) -> Result<()> {
    tell("warning", &speech::line(warning), commands)
}

/// One line for a person, and an annotation where a runner reads them.
fn tell(kind: &str, text: &str, commands: bool) -> Result<()> {
    if commands {
        return show::say(&(annotations::command(kind, &[("title", "precision-gate")], text) + "\n"));
    }
    speech::tell(if kind == "notice" { speech::Weight::Notice } else { speech::Weight::Warning }, text);
    Ok(())
}

/// The publishing section of a policy that is refused; `None` for a stranger's policy, and where there is none to read.
pub(crate) fn of_damaged(config: Option<&Path>, place: &JobPlace) -> Option<PublishPolicy> {
    let text =
        policy_file::text_of(&policy_file::policy_path(config)).ok()?.filter(|_| place.origin == CommitOrigin::Own)?;
    PublishPolicy::from_damaged(&text)
}

/// Cuts the values of this job's secret variables out of texts.
fn redactor(environment: &JobVariables) -> Redactor {
    let named: Vec<(&str, Json)> =
        environment.iter().map(|(name, value)| (name.as_str(), Json::Text(value.as_str().into()))).collect();
    Redactor::new(named.iter().map(|(name, value)| (*name, value)))
}

fn no_address() -> Error {
    Error::new(ErrorKind::Denied, "the webhook is not told", format!("{} is not set", webhook::ADDRESS))
        .with_help("set it in the job's environment, from a secret; a fork's job has none")
}

/// Something that a job of CI would tell.
pub(super) fn unknown(what: &str, flag: &str) -> Error {
    Error::new(ErrorKind::Usage, "", format!("publishing needs to know {what}"))
        .with_help(format!("give {flag}; inside a job of GitHub or GitLab it is known"))
}

pub(super) fn no_token(kind: ForgeKind) -> Error {
    let names = kind.token_variables().join(", ");
    let message = format!("no token: none of {names} is set");
    Error::new(ErrorKind::Denied, "nothing is published", message).with_help(match kind {
        ForgeKind::Gitlab => {
            "set PRECISION_GATE_TOKEN to a project access token with the scope `api`; a protected variable is empty on \
             branches that are not protected"
        }
        _ => "hand the job's token over: `token: ${{ github.token }}`, or GITHUB_TOKEN in `env`",
    })
}
