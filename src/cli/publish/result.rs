//! `publish`: posts what another job judged, checked and added up anew, or judges what it uploaded.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use precision_gate::compare::measurements::Measurements;
use precision_gate::error::{Error, ErrorKind, Result};
use precision_gate::exit;
use precision_gate::gate::recheck::{self, Against, Rechecked};
use precision_gate::gate::training::Training;
use precision_gate::gate::{self, Progress, Request, UncheckedRequest};
use precision_gate::msprobe::dump::Matching;
use precision_gate::publish::comment::Note;
use precision_gate::publish::forge::Pull;
use precision_gate::publish::trust::CommitOrigin;
use precision_gate::publish::{PublishSettings, Story};
use precision_gate::report::JudgedRun;
use precision_gate::report::rewrite::rewrite;
use precision_gate::result::{GateResult, Source};

use super::judgements::{Commit, Judgement, every};
use super::open::{Publishing, of_damaged};
use super::upload::{MOST_BYTES, Upload, refuse_inside};
use crate::cli::flags::CommonArgs;
use crate::cli::surroundings::{PublishFlags, Surroundings, settings};
use crate::cli::training::TrainingFlags;
use crate::cli::trusted::{Purpose, Trusted, trusted};
use crate::cli::{fetching, judge, policy_file, show};

/// `publish`
#[derive(Debug, Args)]
pub(crate) struct PublishArgs {
    /// Result of another job; it is checked before it is published
    #[arg(value_name = "RESULT.json")]
    pub(crate) result: Option<OsString>,
    /// Folder of uploaded artifacts to judge as the candidate, in place of a result
    #[arg(long, value_name = "DIR")]
    pub(crate) judge: Option<PathBuf>,
    /// The baseline, for --judge [default: that of the policy file]
    #[arg(long, value_name = "LOCATION")]
    pub(crate) baseline: Option<String>,
    /// Size that the uploaded folder may have, for --judge [default: 10GiB]
    #[arg(long, value_name = "SIZE", value_parser = fetching::size)]
    pub(crate) max_input: Option<u64>,
    #[command(flatten)]
    pub(crate) training: TrainingFlags,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
    #[command(flatten)]
    pub(crate) publishing: PublishFlags,
}

/// Input that is published.
#[derive(Clone, Copy, Debug)]
enum Input<'a> {
    /// A result.
    Result(&'a Path),
    /// A folder of artifacts.
    Artifacts(&'a Path),
}

impl PublishArgs {
    /// The one thing that is to be published. An input of an action that is not set comes as an empty text.
    fn input(&self) -> Result<Input<'_>> {
        let result = self.result.as_deref().filter(|path| !path.is_empty()).map(Path::new);
        let help = "give the result of another job, or --judge with the folder of what it uploaded";
        match (result, self.judge.as_deref()) {
            (Some(path), None) if self.baseline.is_none() => Ok(Input::Result(path)),
            (Some(_), None) => Err(Error::new(ErrorKind::Usage, "--baseline", "is for --judge alone").with_help(help)),
            (None, Some(folder)) => Ok(Input::Artifacts(folder)),
            (Some(_), Some(_)) => {
                Err(Error::new(ErrorKind::Usage, "--judge", "takes the place of RESULT.json").with_help(help))
            }
            (None, None) => Err(Error::new(ErrorKind::Usage, "publish", "nothing to publish is given").with_help(help)),
        }
    }
}

/// Facts that the input is held against: none of them comes from the input.
struct Given {
    /// Policy and templates that count.
    trusted: Trusted,
    /// The pull request, as the forge tells it.
    pull: Option<Pull>,
    /// The commit judged, its repository and its target branch, as the event and the forge tell them.
    source: Source,
}

impl Given {
    /// The job's commit counts before the pull request's, which may have moved on: then only the comment is left out.
    fn of(trusted: Trusted, surroundings: &Surroundings, publishing: &mut Publishing<'_>) -> Result<Self> {
        let pull = head(surroundings, publishing)?;
        let place = &surroundings.place;
        let of_job = Some(place.commit.as_str()).filter(|commit| !commit.is_empty());
        let commit = of_job.or(pull.as_ref().map(|pull| pull.head.as_str())).unwrap_or_default().to_owned();
        Ok(Self::new(trusted, pull, &commit, surroundings))
    }

    fn new(trusted: Trusted, pull: Option<Pull>, commit: &str, surroundings: &Surroundings) -> Self {
        let repository = surroundings.place.repository.clone();
        let source = Source { commit: commit.to_owned(), repository, target: trusted.target() };
        Self { trusted, pull, source }
    }

    /// Whose numbers an untrusted result holds; `None` where they are of the repository itself.
    fn numbers(&self, surroundings: &Surroundings) -> Option<Note> {
        match &self.pull {
            _ if surroundings.place.origin == CommitOrigin::Fork => Some(Note::NumbersOfFork),
            Some(pull) if pull.from_fork => Some(Note::NumbersOfFork),
            Some(pull) if !pull.head.is_empty() => None,
            _ => Some(Note::NumbersOfOther),
        }
    }

    /// Remark that the target branch has moved since the run was judged by it.
    fn moved(&self, result: &GateResult) -> Option<Note> {
        let now = self.source.target.as_ref()?;
        let then = result.source.as_ref()?.target.as_ref()?;
        (then != now).then(|| Note::TargetMoved { branch: now.branch.clone(), commit: now.commit.clone() })
    }
}

/// `precision-gate publish`: exits 0 where the result was fit to be posted, whatever its verdict.
pub(crate) fn publish(args: &PublishArgs) -> Result<u8> {
    let common = &args.common;
    let surroundings = Surroundings::of_process().with(&args.publishing);
    let input = args.input()?;
    let trusted = trust(args, input, &surroundings);
    // A policy that cannot be read is told beside the commit too.
    let of_policy = match &trusted {
        Ok(trusted) => Some(trusted.policy.publish.clone()),
        Err(_) => of_damaged(common.config.as_deref(), &surroundings.place),
    };
    let also = (common.documents.lang, common.warn_exit_code);
    let guessed = of_policy.is_none() && args.publishing.key.is_none();
    let settings = settings(&args.publishing, &of_policy.unwrap_or_default(), &surroundings, also);
    let report_only = trusted.as_ref().map_or(common.report_only, |trusted| trusted.policy.report_only);
    let settings = PublishSettings { guessed, report_only, ..settings };
    let mut publishing = Publishing::open(&args.publishing, &surroundings, settings, true)?;
    // Judging takes its time, and an older verdict gives way for it.
    if matches!(input, Input::Artifacts(_)) {
        publishing.begin();
    }
    match trusted.and_then(|trusted| post(args, input, trusted, &surroundings, &mut publishing)) {
        Ok(code) => publishing.close(code),
        Err(error) => {
            publishing.give_up(&error);
            publishing.close(exit::PASS)?;
            Err(error)
        }
    }
}

/// Reads the policy and templates that count; never from anything that was uploaded.
fn trust(args: &PublishArgs, input: Input<'_>, surroundings: &Surroundings) -> Result<Trusted> {
    if let Input::Artifacts(folder) = input {
        refuse_inside(folder, &policy_file::policy_path(args.common.config.as_deref()), "policy")?;
        if let Some(baseline) = &args.baseline {
            refuse_inside(folder, Path::new(baseline), "baseline")?;
        }
    }
    trusted(&args.common, &args.publishing, surroundings, Purpose::PostOfOther)
}

fn post(
    args: &PublishArgs,
    input: Input<'_>,
    trusted: Trusted,
    surroundings: &Surroundings,
    publishing: &mut Publishing<'_>,
) -> Result<u8> {
    let given = Given::of(trusted, surroundings, publishing)?;
    let (pull, commit) = (given.pull.clone(), given.source.commit.clone());
    let notes = changed_settings(args, publishing, given.pull.as_ref());
    let training = args.training.outcome(|warning| publishing.warn(warning));
    let judge =
        |common: &CommonArgs, given, notes| judgement(args, (input, training), surroundings, (common, given, notes));
    let first = judge(&args.common, given, notes)?;
    let of = Commit { commit: &commit, common: &args.common, flags: &args.publishing, surroundings };
    let judgements = every(first, &of, publishing, |_, common, trusted| {
        judge(common, Given::new(trusted, pull.clone(), &commit, surroundings), Vec::new())
    })?;
    let stories: Vec<Story<'_>> = judgements.iter().map(Judgement::story).collect();
    publishing.finish(&stories).map_err(|error| match input {
        Input::Result(path) => show::undrawable(path, error),
        Input::Artifacts(_) => error,
    })?;
    Ok(judgements.iter().map(|judgement| judgement.code).max().unwrap_or_default())
}

/// Judgement of the input by the policy of one branch; documents go where `common` says.
fn judgement(
    args: &PublishArgs,
    (input, training): (Input<'_>, Option<Training>),
    surroundings: &Surroundings,
    (common, given, mut notes): (&CommonArgs, Given, Vec<Note>),
) -> Result<Judgement> {
    let trusted = &given.trusted;
    let (templates, source_root, target) = (trusted.templates.clone(), trusted.source_root.clone(), trusted.target());
    let settings = trusted.settings(&args.publishing, surroundings, (common.documents.lang, common.warn_exit_code));
    let (result, code) = match input {
        Input::Result(path) => {
            notes.extend(given.numbers(surroundings));
            (checked(common, path, &given, &mut notes)?, exit::PASS)
        }
        Input::Artifacts(folder) => judged(args, (folder, training), (common, given), &mut notes)?,
    };
    Ok(Judgement { result, code, target, templates, notes, source_root, settings })
}

/// The result of another job, found to be of the head commit and free of contradictions, with its verdicts added up anew.
fn checked(common: &CommonArgs, path: &Path, given: &Given, notes: &mut Vec<Note>) -> Result<GateResult> {
    let name = path.display().to_string();
    let result = recheck::read(path)?;
    check_commit(&name, result.source.as_ref(), &given.source.commit)?;
    notes.extend(given.moved(&result));
    let operations = recheck::operations_digest(path)?;
    let against = Against {
        name: &name,
        policy: &given.trusted.policy,
        repository: &given.source.repository,
        operations: operations.as_deref(),
    };
    let Rechecked { mut result, claimed } = recheck::recheck(result, &against)?;
    // Whether it blocks is for the policy here to say.
    result.report_only = given.trusted.policy.report_only;
    rewrite(&mut result, &name, common.documents.lang)?;
    if claimed != result.verdict {
        notes.push(Note::OtherVerdict { claimed, found: result.verdict });
    }
    Ok(result)
}

/// The pull request. Where it cannot be asked for, the job's own commit will do.
fn head(surroundings: &Surroundings, publishing: &mut Publishing<'_>) -> Result<Option<Pull>> {
    let Some(session) = publishing.session() else { return Ok(None) };
    match session.head_pull() {
        Err(error) if !surroundings.place.commit.is_empty() => {
            publishing.warn(error);
            Ok(None)
        }
        found => found,
    }
}

/// Refuses a result of any commit but the head.
fn check_commit(name: &str, source: Option<&Source>, head: &str) -> Result<()> {
    let refuse = |message: String| {
        let error = Error::new(ErrorKind::Usage, name, message);
        Err(error.with_help("publish the result of a run of the newest commit"))
    };
    match source {
        None => refuse("does not say which commit it is of".into()),
        Some(source) if head.is_empty() || source.commit == head => Ok(()),
        Some(source) => refuse(format!("is of commit {}, and the head commit is {head}", short(&source.commit))),
    }
}

/// Start of a text that should be a commit, without anything but letters and digits.
fn short(commit: &str) -> String {
    commit.chars().filter(char::is_ascii_alphanumeric).take(40).collect()
}

/// Files that decide and differ between the two ends of the pull request.
fn changed_settings(args: &PublishArgs, publishing: &mut Publishing<'_>, pull: Option<&Pull>) -> Vec<Note> {
    let path = policy_file::policy_path(args.common.config.as_deref());
    let asked = pull.filter(|pull| !pull.base.is_empty() && path.is_relative()).zip(publishing.session());
    let Some((pull, session)) = asked else { return Vec::new() };
    match session.changed_paths(&[path.display().to_string()], &pull.base, &pull.head) {
        Ok(changed) if changed.is_empty() => Vec::new(),
        Ok(changed) => vec![Note::SettingsChanged(changed)],
        Err(error) => {
            publishing.warn(error);
            Vec::new()
        }
    }
}

/// Judges uploaded artifacts, by this job's policy, baseline and program. Nothing in them says what they are of.
fn judged(
    args: &PublishArgs,
    (folder, training): (&Path, Option<Training>),
    (common, given): (&CommonArgs, Given),
    notes: &mut Vec<Note>,
) -> Result<(GateResult, u8)> {
    let upload = Upload::measure(folder, args.max_input.unwrap_or(MOST_BYTES))?;
    if upload.files == 0 {
        std::fs::create_dir_all(folder).map_err(|error| Error::io(folder.display().to_string(), &error))?;
        notes.push(Note::NothingUploaded);
    } else {
        notes.push(Note::JudgedHere);
    }
    let output = judge::begin(common)?;
    let Given { trusted, source, .. } = given;
    let policy = &trusted.policy;
    let request = UncheckedRequest {
        baseline: args
            .baseline
            .clone()
            .unwrap_or_else(|| policy.baseline.location.written().into_iter().next().unwrap_or_default()),
        candidate: as_path(folder),
        checks: Request::ALL_CHECKS.to_vec(),
        policy: policy.clone(),
        matching: Matching::default(),
        several: Default::default(),
    };
    let look = |request: &Request, from: &gate::Surroundings<'_>, progress: &dyn Progress| {
        let from = gate::Surroundings { training, ..*from };
        gate::run_by(request, &from, &Measurements::default(), progress)
    };
    let source = Some(source).filter(|source| !source.commit.is_empty());
    let complete = |judged: &mut JudgedRun, _: &gate::Surroundings<'_>| judged.result.source = source;
    let judged = judge::evaluate(common, output, &trusted.case(request)?, look, complete)?;
    // A verdict is posted whatever it is; a baseline that could not be fetched is another matter.
    let code = if judged.code == exit::UNAVAILABLE { exit::UNAVAILABLE } else { exit::PASS };
    Ok((judged.result, code))
}

/// The folder as a location that is taken for nothing else.
fn as_path(folder: &Path) -> String {
    let text = folder.display().to_string();
    if folder.is_relative() && text.contains(':') { format!("./{text}") } else { text }
}
