//! `publish RESULT.json`: posts what another job judged, or judges its artifacts again.

use std::path::{Path, PathBuf};

use clap::Args;
use precision_gate::compare::book::Book;
use precision_gate::error::{Error, ErrorKind, Result};
use precision_gate::exit;
use precision_gate::gate::{self, Progress, Request};
use precision_gate::msprobe::dump::Matching;
use precision_gate::policy::Policy;
use precision_gate::publish::comment::Note;
use precision_gate::publish::event::Place;
use precision_gate::publish::forge::Pull;
use precision_gate::publish::{Settings, Story};
use precision_gate::report::{GateResult, Judged, Source, load};

use super::open::{of_damaged, settings};
use super::{PublishFlags, Publishing, Surroundings, Trust};
use crate::cli::{CommonArgs, judge};

/// `publish`
#[derive(Debug, Args)]
pub(crate) struct PublishArgs {
    /// The result of another job
    #[arg(value_name = "RESULT.json")]
    pub(crate) result: PathBuf,
    /// Whether its verdict is believed; its numbers are the other job's either way
    #[arg(long, value_enum, default_value_t = Trust::Result)]
    pub(crate) trust: Trust,
    /// The trusted run, to judge again
    #[arg(long)]
    pub(crate) baseline: Option<String>,
    /// The run to judge again
    #[arg(long)]
    pub(crate) candidate: Option<String>,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
    #[command(flatten)]
    pub(crate) publishing: PublishFlags,
}

/// `precision-gate publish`: exits 0 where the result was fit to be posted, whatever its verdict.
pub(crate) fn publish(args: &PublishArgs) -> Result<u8> {
    let common = &args.common;
    let surroundings = Surroundings::of_process().with(&args.publishing);
    let policy = judge::policy(common.config.as_deref(), common.today.as_deref());
    // A policy that cannot be read is told beside the commit too.
    let of_policy = match &policy {
        Ok(policy) => Some(policy.publish.clone()),
        Err(_) => of_damaged(common.config.as_deref(), &Place::default()),
    };
    let also = (common.documents.lang, common.warn_exit_code);
    let guessed = of_policy.is_none() && args.publishing.key.is_none();
    let settings = settings(&args.publishing, &of_policy.unwrap_or_default(), &surroundings, also);
    let settings = Settings { guessed, ..settings };
    let mut publishing = Publishing::open(&args.publishing, &surroundings, settings, true)?;
    match policy.and_then(|policy| post(args, &policy, &surroundings, &mut publishing)) {
        Ok(()) => publishing.close(exit::PASS),
        Err(error) => {
            publishing.give_up(&error);
            publishing.close(exit::PASS)?;
            Err(error)
        }
    }
}

fn post(
    args: &PublishArgs,
    policy: &Policy,
    surroundings: &Surroundings,
    publishing: &mut Publishing<'_>,
) -> Result<()> {
    let (result, notes) = prepare(args, policy, surroundings, publishing)?;
    let templates = judge::templates(&args.common, policy)?;
    let source_root = args.common.documents.source_root.as_deref().or(policy.source_root.as_deref());
    publishing.finish(&Story { result: &result, templates: &templates, notes: &notes, source_root })
}

/// The result, found to be of the head commit, with what a reader has to know about it.
fn prepare(
    args: &PublishArgs,
    policy: &Policy,
    surroundings: &Surroundings,
    publishing: &mut Publishing<'_>,
) -> Result<(GateResult, Vec<Note>)> {
    let mut result = load::result(&args.result)?;
    let pull = head(surroundings, publishing)?;
    check_commit(&args.result, result.source.as_ref(), surroundings, pull.as_ref())?;
    let mut notes = changed_settings(args, publishing, pull.as_ref());
    if args.trust == Trust::Recompute {
        let source = result.source.take();
        result = recompute(args, policy, source)?;
    } else if surroundings.place.from_fork || pull.is_some_and(|pull| pull.from_fork) {
        notes.push(Note::NumbersOfFork);
    }
    Ok((result, notes))
}

/// The pull request. Where it cannot be asked for, the job's own commit will do.
fn head(surroundings: &Surroundings, publishing: &mut Publishing<'_>) -> Result<Option<Pull>> {
    let Some(session) = publishing.session() else { return Ok(None) };
    match session.head() {
        Err(error) if !surroundings.place.commit.is_empty() => {
            publishing.warn(error);
            Ok(None)
        }
        found => found,
    }
}

/// Refuses a result of any commit but the head.
fn check_commit(path: &Path, source: Option<&Source>, surroundings: &Surroundings, pull: Option<&Pull>) -> Result<()> {
    // The job's commit counts before the pull request's, which may have moved on: then only the comment is left out.
    let of_job = Some(surroundings.place.commit.as_str()).filter(|commit| !commit.is_empty());
    let head = of_job.or(pull.map(|pull| pull.head.as_str())).unwrap_or_default();
    let refuse = |message: String| {
        let error = Error::new(ErrorKind::Usage, path.display().to_string(), message);
        Err(error.with_help("publish the result of a run of the newest commit"))
    };
    match source {
        None => refuse("does not say which commit it is of".into()),
        Some(source) if head.is_empty() || source.commit == head => Ok(()),
        Some(source) => refuse(format!("is of commit {}, and the head commit is {head}", short(&source.commit))),
    }
}

/// The start of what should be a commit, and nothing but its letters and digits.
fn short(commit: &str) -> String {
    commit.chars().filter(char::is_ascii_alphanumeric).take(40).collect()
}

/// Which files that decide differ between the two ends of the pull request.
fn changed_settings(args: &PublishArgs, publishing: &mut Publishing<'_>, pull: Option<&Pull>) -> Vec<Note> {
    let path = judge::policy_path(args.common.config.as_deref());
    let asked = pull.filter(|pull| !pull.base.is_empty() && path.is_relative()).zip(publishing.session());
    let Some((pull, session)) = asked else { return Vec::new() };
    match session.changed(&[path.display().to_string()], &pull.base, &pull.head) {
        Ok(changed) if changed.is_empty() => Vec::new(),
        Ok(changed) => vec![Note::SettingsChanged(changed)],
        Err(error) => {
            publishing.warn(error);
            Vec::new()
        }
    }
}

/// Judges the artifacts again, by this job's policy and program.
fn recompute(args: &PublishArgs, policy: &Policy, source: Option<Source>) -> Result<GateResult> {
    let templates = judge::templates(&args.common, policy)?;
    let request = Request {
        baseline: args.baseline.clone().unwrap_or_else(|| policy.baseline.location.clone()),
        candidate: args.candidate.clone().unwrap_or_else(|| policy.candidate.location.clone()),
        checks: Request::ALL_CHECKS.to_vec(),
        policy: policy.clone(),
        matching: Matching::default(),
    };
    let look = |request: &Request, from: &gate::Surroundings<'_>, progress: &dyn Progress| {
        gate::run_by(request, from, &Book::default(), progress)
    };
    let complete = |judged: &mut Judged, _: &gate::Surroundings<'_>| judged.result.source = source;
    Ok(judge::evaluate(&args.common, &request, &templates, look, complete)?.result)
}
