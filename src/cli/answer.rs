//! `precision-gate answer`: what a comment on a pull request asks for becomes a proposal that people review (docs/answers.md).
//!
//! Only the word of somebody who may write to the repository counts, and only where the gate's own comment was about the
//! commit that still is the newest one. The proposal begins at the tip of the target branch, and nothing is merged.

use std::path::{Path, PathBuf};

use clap::Args;
use minijinja::context;
use precision_gate::documentation;
use precision_gate::error::{Error, ErrorKind, Result};
use precision_gate::exit;
use precision_gate::gate::baseline::lock::Lock;
use precision_gate::gate::baseline::manifest::{BaselineOrigin, Manifest};
use precision_gate::gate::baseline_name::LOCK;
use precision_gate::gate::promote::{Promotion, promote_for_review};
use precision_gate::policy::Policy;
use precision_gate::policy::amend::with_waiver;
use precision_gate::policy::publish::PublishPolicy;
use precision_gate::policy::value::Date;
use precision_gate::publish::Session;
use precision_gate::publish::event::{self, ANSWER, CommentTarget as Asked, UserMessage};
use precision_gate::publish::forge::{ForgeKind, Pull};
use precision_gate::publish::instruction::{COMMAND, Instruction};
use precision_gate::publish::proposal::{Proposal, ProposedFile};
use precision_gate::report::escape::TextTarget;
use precision_gate::report::messages::Language;
use precision_gate::report::waiver;
use precision_gate::report::writer::Writer;
use secrecy::SecretString;

use super::fetching::FetchArgs;
use super::pinned::as_pinned;
use super::proposing::{Onto, Words};
use super::publish::Publishing;
use super::surroundings::{PublishFlags, Surroundings, settings};
use super::{policy_file, progress, proposing, show};

/// `answer`
#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    /// Policy file in the repository [default: precision-gate.yml]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Root of the checked-out target branch, for `accept-baseline`
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
    /// Language of the answer [default: `lang` of the policy file, else that of the locale]
    #[arg(long, value_enum, default_value_t = Language::En, hide_default_value = true)]
    lang: Language,
    /// Date to judge by [default: today, in UTC]
    #[arg(long, value_name = "YYYY-MM-DD")]
    today: Option<String>,
    /// Login of the token, if the forge does not tell it
    #[arg(long, value_name = "LOGIN")]
    author: Option<String>,
    /// Print the requests, and send nothing
    #[arg(long)]
    dry_run: bool,
    /// Print the result and errors only
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    fetching: FetchArgs,
}

/// Reason why nothing is proposed, as the commenter reads it.
enum Refusal {
    /// A phrase of `publish.yaml` and its context.
    Known(&'static str, minijinja::Value),
    /// Another error.
    Error(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// A proposal for what was asked, or why there is none.
type Answered<T> = std::result::Result<T, Refusal>;

/// `precision-gate answer`: exits 0 where something was proposed, and where nobody asked who may; 1 where it was refused.
pub(crate) fn answer(args: &AnswerArgs) -> Result<u8> {
    let flags = PublishFlags { author: args.author.clone(), dry_run: args.dry_run, ..PublishFlags::default() };
    let surroundings = Surroundings::of_process();
    let Some((said, instruction)) = instruction(&surroundings)? else { return Ok(exit::PASS) };
    let Asked::Pull(number) = surroundings.place.target else {
        return Err(Error::new(ErrorKind::Usage, "answer", "this job is about no pull request"));
    };
    let settings = settings(&flags, &PublishPolicy::default(), &surroundings, (args.lang, 0));
    let mut publishing = Publishing::open(&flags, &surroundings, settings, true)?;
    let Some(session) = publishing.session() else { return publishing.close(exit::UNAVAILABLE) };
    let said = by_whom(said, &surroundings, session, number)?;
    let asked = Request { args, said: &said, number };
    let mut case = Case { asked, surroundings: &surroundings, session };
    let code = case.answer(instruction)?;
    publishing.close(code)
}

/// The instruction and who gave it; `None`, with a word to the log, where there is none.
fn instruction(surroundings: &Surroundings) -> Result<Option<(UserMessage, Result<Instruction>)>> {
    let environment = &surroundings.environment;
    let event = event::event_file(environment).and_then(|path| std::fs::read_to_string(path).ok());
    let Some(said) = event::user_message(environment, event.as_deref()) else {
        return Err(Error::new(ErrorKind::Usage, "answer", "there is no new comment on a pull request").with_help(
            format!(
                "run it in a workflow on `issue_comment`, or in a job of GitLab with {ANSWER}: {}",
                documentation!("answers.md")
            ),
        ));
    };
    let found = Instruction::parse(&said.text).map(|instruction| (said, instruction));
    if found.is_none() {
        show::sentences(&format!("the comment does not begin with `{COMMAND}`: nothing to do\n"))?;
    }
    Ok(found)
}

/// The words with the person who said them: of a job of GitLab, GitLab is asked who started it.
fn by_whom(said: UserMessage, surroundings: &Surroundings, session: &mut Session, number: u64) -> Result<UserMessage> {
    if surroundings.place.forge != Some(ForgeKind::Gitlab) {
        return Ok(said);
    }
    let refuse = |reason: &str| {
        let help =
            concat!("run it as a job of the merge request's own project: ", documentation!("answers.md#on-gitlab"));
        Error::new(ErrorKind::Usage, "CI_JOB_TOKEN", reason).with_help(help)
    };
    let token = event::variable(&surroundings.environment, "CI_JOB_TOKEN").ok_or_else(|| refuse("is not set"))?;
    let starter = session.starter(&SecretString::from(token))?;
    let project = session.pull(number)?.unwrap_or_default().repository;
    if starter.project != project {
        return Err(refuse("is of a job of another project"));
    }
    Ok(UserMessage { author: starter.id, name: starter.name, ..said })
}

/// One comment, and the forge that it stands on.
struct Case<'a> {
    asked: Request<'a>,
    surroundings: &'a Surroundings,
    session: &'a mut Session,
}

/// The question, and the person who asked it.
#[derive(Clone, Copy)]
struct Request<'a> {
    args: &'a AnswerArgs,
    said: &'a UserMessage,
    number: u64,
}

impl Case<'_> {
    fn answer(&mut self, instruction: Result<Instruction>) -> Result<u8> {
        let Request { said, number, args } = self.asked;
        if !self.session.may_write(&said.author)? {
            // Whoever may not write gets no answer either: a bot that speaks to everybody is a nuisance.
            show::sentences(&format!("{} may not write to the repository: nothing is done\n", said.name))?;
            return Ok(exit::PASS);
        }
        let (text, code) = match self.proposal(instruction) {
            Ok(proposal) => (proposing::propose(self.session, &proposal, args.lang)?, exit::PASS),
            Err(refusal) => (refused(&refusal, args.lang)?, exit::FAIL),
        };
        self.session.reply(number, &text)?;
        show::say(&format!("{text}\n"))?;
        Ok(code)
    }

    fn proposal(&mut self, instruction: Result<Instruction>) -> Answered<Proposal> {
        let instruction = instruction?;
        let pull = self.session.pull(self.asked.number)?.unwrap_or_default();
        self.check(&pull)?;
        let tip = self.session.tip(&pull.target)?;
        let mut onto = Onto { session: self.session, branch: pull.target.clone(), tip };
        match instruction {
            Instruction::Waive { code, place, until, reason } => {
                self.asked.waiver(&pull, &mut onto, (&code, &place), until, &reason)
            }
            Instruction::AcceptBaseline { name, reason } => self.asked.baseline(&pull, &mut onto, &name, &reason),
        }
    }

    /// That the pull request is open, and the result that was answered is still about its newest commit.
    fn check(&mut self, pull: &Pull) -> Answered<()> {
        if !pull.open {
            return Err(Refusal::Known("publish_answer_closed", context! {}));
        }
        let place = &self.surroundings.place;
        let is_current = if place.forge == Some(ForgeKind::Gitlab) {
            place.commit == pull.head
        } else {
            // A result that changed after the comment was not what the comment answered.
            let judged = self.session.judged_commits(pull)?;
            judged.iter().any(|(commit, updated)| *commit == pull.head && *updated <= self.asked.said.time)
        };
        if is_current {
            Ok(())
        } else {
            Err(Refusal::Known("publish_answer_moved", context! { commit => short(&pull.head) }))
        }
    }
}

impl Request<'_> {
    fn waiver(
        self,
        pull: &Pull,
        onto: &mut Onto<'_>,
        (code, place): (&str, &str),
        until: Date,
        reason: &str,
    ) -> Answered<Proposal> {
        let fields = waiver::requested_waiver(code, place, &until.to_string(), (reason, &self.said.name))
            .ok_or_else(|| Refusal::Known("publish_answer_code", context! { code }))?;
        let (path, before) = self.policy_file(onto)?;
        let text = with_waiver(before.as_deref().unwrap_or_default(), &fields);
        self.verify(&path, before.as_deref(), &text)?;
        let context = context! { code, place, until => until.to_string(), reason, ..self.context(pull) };
        let file = ProposedFile { path, text, is_there: before.is_some() };
        let name = format!("waive-{code}-{}", self.number);
        Ok(onto.proposal(
            vec![file],
            &Words { name: &name, kind: "waiver", context: &context, language: self.args.lang },
        )?)
    }

    /// That the amended policy differs from the one before by its first waiver alone, and holds today.
    fn verify(self, path: &str, before: Option<&str>, after: &str) -> Answered<()> {
        let (before, mut after) = (self.policy(path, before)?, self.policy(path, Some(after))?);
        let is_one_more = after.waivers.len() == before.waivers.len() + 1;
        after.waivers = after.waivers.iter().skip(usize::from(is_one_more)).cloned().collect();
        after.digest.clone_from(&before.digest);
        if format!("{before:?}") == format!("{after:?}") {
            return Ok(());
        }
        Err(Refusal::Known("publish_answer_layout", context! { path }))
    }

    fn baseline(self, pull: &Pull, onto: &mut Onto<'_>, name: &str, reason: &str) -> Answered<Proposal> {
        if pull.from_fork {
            return Err(Refusal::Known("publish_answer_fork", context! {}));
        }
        let root = &self.args.root;
        let other = |path: &str| Refusal::Known("publish_answer_checkout", context! { path });
        let lock = onto.same_text(root, LOCK)?.ok_or_else(|| other(LOCK))?;
        let lock = if lock.is_empty() { Lock::default() } else { Lock::parse(LOCK, lock.as_bytes())? };
        let missing = || Refusal::Known("publish_answer_no_baseline", context! { name, target => &pull.target });
        let pin = lock.find(&pull.target, name).ok_or_else(missing)?;
        onto.same_text(root, &pin.manifest)?.ok_or_else(|| other(&pin.manifest))?;
        let old = as_pinned(pin, Manifest::read(&root.join(&pin.manifest))?)?;
        let location = location_of(&old.location, &old.recorded.commit, &pull.head).ok_or_else(|| {
            Refusal::Known("publish_answer_location", context! { name => &old.name, location => &old.location })
        })?;
        let reason = if reason.is_empty() { format!("accepted in #{}", self.number) } else { reason.to_owned() };
        let promotion = Promotion {
            root: root.clone(),
            name: old.name,
            location,
            branch: pin.branch.clone(),
            reason,
            by: self.said.name.clone(),
            recorded: BaselineOrigin { commit: pull.head.clone(), ..BaselineOrigin::default() },
            noise: old.noise,
            accept_change: true,
        };
        let (path, text) = self.policy_file(onto)?;
        let policy = self.policy(&path, text.as_deref())?;
        let progress = progress::progress_on_stderr(self.args.quiet);
        let promoted = promote_for_review(&promotion, &policy, &self.args.fetching.fetcher(), progress.as_ref())?;
        drop(progress);
        let context = self.context(pull);
        Ok(onto.baseline(&promotion, &promoted, &self.number.to_string(), (context, self.args.lang))?)
    }

    fn context(self, pull: &Pull) -> minijinja::Value {
        context! { by => &self.said.name, number => self.number.to_string(), commit => short(&pull.head) }
    }

    /// Path of the policy file in the repository, and its text at the tip.
    fn policy_file(self, onto: &mut Onto<'_>) -> Result<(String, Option<String>)> {
        let path = policy_file::policy_path(self.args.config.as_deref()).to_string_lossy().replace('\\', "/");
        let text = onto.session.file(&path, &onto.tip)?;
        Ok((path, text))
    }

    fn policy(self, path: &str, text: Option<&str>) -> Result<Policy> {
        policy_file::policy_of_text(Path::new(path), text, self.args.today.as_deref())
    }
}

fn refused(refusal: &Refusal, language: Language) -> Result<String> {
    let writer = Writer::new(language, TextTarget::Markdown);
    let reason = match refusal {
        Refusal::Known(key, context) => writer.phrase(key, context)?,
        Refusal::Error(error) => {
            let help = error.help().unwrap_or_default();
            writer.phrase("publish_answer_error", &context! { reason => error.to_string(), help })?
        }
    };
    Ok(format!("{} {reason}", writer.word("publish_answer_refused")?))
}

/// The `location` of a baseline that was recorded at the commit `own`, with `commit` in its place, whole or by its start.
/// `None` where the location names no commit.
fn location_of(location: &str, own: &str, commit: &str) -> Option<String> {
    let is_known = |length: &usize| *length >= 7 && *length <= own.len().min(commit.len());
    [own.len(), 12, 8, 7].into_iter().filter(is_known).find_map(|length| {
        let (own, new) = (own.get(..length)?, commit.get(..length)?);
        location.contains(own).then(|| location.replace(own, new))
    })
}

fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_names_the_commit_whole_or_by_its_start() {
        let own = "0123456789abcdef0123456789abcdef01234567";
        let new = "fedcba9876543210fedcba9876543210fedcba98";
        let at = |location: &str, own: &str| location_of(location, own, new);
        assert_eq!(at(&format!("s3://golden/{own}/gpu"), own), Some(format!("s3://golden/{new}/gpu")));
        assert_eq!(at("s3://golden/0123456789ab/gpu", own).as_deref(), Some("s3://golden/fedcba987654/gpu"));
        assert_eq!(at("s3://golden/glm-0123456", own).as_deref(), Some("s3://golden/glm-fedcba9"));
        for (location, commit) in [("s3://golden/2026-11", own), ("s3://golden/0123456", ""), ("runs/012", "012")] {
            assert_eq!(at(location, commit), None, "{location}");
        }
    }
}
