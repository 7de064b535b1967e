//! Policy, templates and baselines of a run, read from where they may come from (`publish::trust` says from where).
//!
//! For a change of the repository's own, files of the checkout decide, and the comment says which of them the change touches.
//! For a stranger's change everything is read at the tip of the target branch, through the forge's interface.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};

use precision_gate::documentation;
use precision_gate::error::{Error, ErrorKind, Result};
use precision_gate::fetch::Location;
use precision_gate::gate::baseline::lock::Lock;
use precision_gate::gate::baseline::manifest::Manifest;
use precision_gate::gate::baseline_name::{LOCK, SCHEME};
use precision_gate::gate::{Request, UncheckedRequest};
use precision_gate::judge::location::IN_CHANGE;
use precision_gate::judge::rule::policy::UNREAD;
use precision_gate::policy::Policy;
use precision_gate::policy::input::InputKind;
use precision_gate::publish::checkout::{Checkout, PathPlace, RepositoryPath};
use precision_gate::publish::comment::Note;
use precision_gate::publish::event::{self, JobPlace, ReadOnly};
use precision_gate::publish::forge::{ForgeKind, Pull};
use precision_gate::publish::head;
use precision_gate::publish::target::{PathChange, TargetBranch};
use precision_gate::publish::trust::{CommitOrigin, FileRights, InputSource, input_source};
use precision_gate::publish::{Job, PublishSettings, Session, forge_token};
use precision_gate::report::messages::Language;
use precision_gate::report::templates::Templates;
use precision_gate::result;
use precision_gate::result::finding::Finding;
use tempfile::NamedTempFile;

use super::flags::CommonArgs;
use super::surroundings::{PublishFlags, Surroundings, settings};
use super::{fetching, pinned, policy_file, requests};

/// Files that decide about a run.
#[derive(Debug)]
pub(crate) struct Trusted {
    /// The policy.
    pub(crate) policy: Policy,
    /// Templates of documents.
    pub(crate) templates: Templates,
    /// Remarks about them for the reader of the report.
    pub(crate) notes: Vec<Note>,
    /// The newest commit of the pull request, where the forge was asked for it.
    pub(crate) head: String,
    /// Folder whose lines findings point at: as flag or policy name it, else the checkout; `None` outside of one.
    pub(crate) source_root: Option<PathBuf>,
    findings: Vec<Finding>,
    ground: Ground,
    checkout: Checkout,
}

/// Use that a verdict is put to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// It is shown here.
    Show,
    /// It is posted too, beside the commit.
    Post,
    /// That of another job is posted.
    PostOfOther,
}

/// Place that files that decide are read from.
#[derive(Debug)]
enum Ground {
    /// The checkout.
    Checkout,
    /// The target branch's tip.
    Target(Box<TargetBranch>),
    /// No place: the job has no token of the repository that the change goes to.
    Unread,
}

/// Files that a case's locations became.
#[derive(Debug, Default)]
struct Kept {
    /// The manifest of the named baseline.
    manifest: Option<Manifest>,
    /// The location of each noise band or repeat, by what the policy calls it.
    noise: BTreeMap<String, String>,
    /// Files of the target branch.
    files: Vec<NamedTempFile>,
}

/// A request with everything that decides about it.
#[derive(Debug)]
pub(crate) struct Case {
    /// The request; a named baseline has become its location.
    pub(crate) request: Request,
    /// The baseline's manifest, where it was named.
    pub(crate) manifest: Option<Manifest>,
    /// Findings known before the run; each counts as any finding.
    pub(crate) about: Vec<Finding>,
    /// Templates of documents.
    pub(crate) templates: Templates,
    /// Remarks for the reader of the report.
    pub(crate) notes: Vec<Note>,
    /// The newest commit of the pull request, where the forge was asked for it.
    pub(crate) head: String,
    /// The target branch's tip, where it decided.
    pub(crate) target: Option<result::Target>,
    /// Whether the change is a stranger's.
    pub(crate) standing: FileRights,
    /// Folder whose lines findings point at.
    pub(crate) source_root: Option<PathBuf>,
    /// Files of the target branch that the request names; they go with it.
    _files: Vec<NamedTempFile>,
}

/// Reads what decides, given where the gate runs. The forge is asked about a stranger's change, and for a note where a
/// verdict is posted.
pub(crate) fn trusted(
    common: &CommonArgs,
    flags: &PublishFlags,
    surroundings: &Surroundings,
    purpose: Purpose,
) -> Result<Trusted> {
    let surroundings = &checked_out(common, surroundings)?;
    let (ground, head) = ground(flags, surroundings, purpose)?;
    let mut trusted = on(common, surroundings, (ground, head))?;
    if purpose == Purpose::Post && matches!(trusted.ground, Ground::Checkout) {
        trusted.note_changes(common, flags, surroundings);
    }
    Ok(trusted)
}

/// The same by the policy of another branch, which another request of the commit goes to.
pub(crate) fn trusted_at(
    common: &CommonArgs,
    flags: &PublishFlags,
    surroundings: &Surroundings,
    (branch, head): (&str, &str),
) -> Result<Trusted> {
    let surroundings = &checked_out(common, surroundings)?;
    let session = session(flags, surroundings)?.ok_or_else(|| no_token(surroundings))?;
    let target = TargetBranch::open(session, branch, surroundings.place.other_checkout.as_deref().unwrap_or(head))?;
    on(common, surroundings, (Ground::Target(Box::new(target)), head.to_owned()))
}

/// The surroundings, which know whether the deciding files are of another commit than the event's.
fn checked_out(common: &CommonArgs, surroundings: &Surroundings) -> Result<Surroundings> {
    let mut surroundings = surroundings.clone();
    if let Some(commit) = commit_of_files(common, &surroundings.place)? {
        surroundings.place.set_checkout(commit);
    }
    Ok(surroundings)
}

/// The commit that the deciding files are of, empty where it cannot be told; `None` where none of them lies in a checkout.
fn commit_of_files(common: &CommonArgs, place: &JobPlace) -> Result<Option<String>> {
    let checkout = checkout(place)?;
    let policy = policy_file::policy_path(common.config.as_deref());
    let root = [policy.as_path(), Path::new("")].into_iter().find_map(|path| checkout.root(path));
    if let Some(root) = root {
        return Ok(Some(head::checked_out_commit(&root).unwrap_or_default()));
    }
    let is_unpacked = policy.exists() && checkout.find(&policy) != PathPlace::Outside;
    Ok(is_unpacked.then(String::new))
}

/// The checkout of the job.
fn checkout(place: &JobPlace) -> Result<Checkout> {
    let working = std::env::current_dir().map_err(|error| Error::io("the working folder", &error))?;
    Ok(Checkout::new(&place.workspace, working))
}

/// Reads what decides on `ground`.
fn on(common: &CommonArgs, surroundings: &Surroundings, (ground, head): (Ground, String)) -> Result<Trusted> {
    let working = std::env::current_dir().map_err(|error| Error::io("the working folder", &error))?;
    let checkouts = [PathBuf::from(&surroundings.place.workspace), working];
    let mut trusted = Trusted {
        policy: Policy::default(),
        templates: Templates::shipped(),
        notes: Vec::new(),
        head,
        source_root: None,
        findings: Vec::new(),
        ground,
        checkout: checkout(&surroundings.place)?,
    };
    trusted.read(common)?;
    let of_policy = trusted.policy.source_root.as_ref().map(|named| PathBuf::from(named.written()));
    let named = common.documents.source_root.clone().or(of_policy);
    let found = || checkouts.into_iter().find(|folder| folder.is_absolute() && folder.join(".git").exists());
    trusted.source_root = named.or_else(found);
    Ok(trusted)
}

/// Place that files that decide are read from, and the pull request's newest commit where the forge was asked.
fn ground(flags: &PublishFlags, surroundings: &Surroundings, purpose: Purpose) -> Result<(Ground, String)> {
    let place = &surroundings.place;
    if input_source(place.origin.file_rights(), InputKind::Policy) == InputSource::Checkout {
        return Ok((Ground::Checkout, String::new()));
    }
    let Some(mut session) = session(flags, surroundings)? else {
        // A fork's own pipeline has no token of the target project.
        return match (place.forge, place.read_only) {
            (Some(ForgeKind::Gitlab), Some(ReadOnly::Fork)) => Ok((Ground::Unread, String::new())),
            _ => Err(no_token(surroundings)),
        };
    };
    let is_posted = purpose != Purpose::Show && place.read_only.is_none();
    let is_told = place.origin == CommitOrigin::Fork && !place.target_branch.is_empty() && !place.commit.is_empty();
    let pull = if is_told { None } else { pull(&mut session, surroundings)? };
    if place.origin == CommitOrigin::Unknown && pull.as_ref().is_some_and(|pull| is_own(pull, surroundings)) {
        return Ok((Ground::Checkout, pull.map(|pull| pull.head).unwrap_or_default()));
    }
    let of_pull = pull.as_ref().map_or("", |pull| pull.head.as_str());
    let head = if place.commit.is_empty() { of_pull } else { place.commit.as_str() };
    let branch = if is_posted {
        requests::branches(&mut session, place, head)?.into_iter().next()
    } else {
        let asked = pull.as_ref().map_or("", |pull| pull.target.as_str());
        let known = [place.target_branch.as_str(), asked, place.default_branch.as_str()];
        known.into_iter().find(|branch| !branch.is_empty()).map(str::to_owned)
    };
    let branch = branch.map_or_else(|| session.default_branch(), Ok)?;
    if branch.is_empty() {
        return Err(no_branch(surroundings));
    }
    let target = TargetBranch::open(session, &branch, place.other_checkout.as_deref().unwrap_or(head))?;
    Ok((Ground::Target(Box::new(target)), of_pull.to_owned()))
}

/// Whether the forge says that the judged commit is the repository's own.
fn is_own(pull: &Pull, surroundings: &Surroundings) -> bool {
    let place = &surroundings.place;
    let is_checked_out = place.other_checkout.as_ref().is_none_or(|commit| *commit == pull.head);
    // A merge queue's commit is made of the pull request's, and is not its head.
    !pull.from_fork
        && is_checked_out
        && (place.asked_pull.is_some() || place.commit.is_empty() || place.commit == pull.head)
}

/// The pull request that the event, a flag or a merge queue names.
fn pull(session: &mut Session, surroundings: &Surroundings) -> Result<Option<Pull>> {
    let place = &surroundings.place;
    match (place.asked_pull, &place.target) {
        (Some(number), _) => session.pull(number),
        (None, event::CommentTarget::Pull(number)) => session.pull(*number),
        (None, event::CommentTarget::None) => Ok(None),
        (None, event::CommentTarget::OfCommit | event::CommentTarget::OfBranch { .. }) => session.head_pull(),
    }
}

impl Trusted {
    /// Reads policy and templates.
    fn read(&mut self, common: &CommonArgs) -> Result<()> {
        if matches!(self.ground, Ground::Unread) {
            self.policy = policy_file::policy_of_text(Path::new(""), None, common.today.as_deref())?;
            self.policy.report_only |= common.report_only;
            self.findings
                .push(Finding::new(&UNREAD, policy_file::policy_path(common.config.as_deref()).display().to_string()));
            return Ok(());
        }
        let mut changed = Vec::new();
        let path = policy_file::policy_path(common.config.as_deref());
        let text = self.version(&path, &mut changed)?;
        if text.is_none() && common.config.is_some() {
            return Err(self.no_policy(&path));
        }
        self.policy = policy_file::policy_of_text(&path, text.as_deref(), common.today.as_deref())?;
        self.policy.report_only |= common.report_only;
        let folder = self.templates_folder(common);
        self.templates = match (folder, &self.ground) {
            (None, _) => Templates::shipped(),
            (Some(folder), Ground::Checkout) => Templates::with_folder(&folder)?,
            (Some(folder), _) => Templates::with_reader(&folder, |path| self.version(path, &mut changed))?,
        };
        if !changed.is_empty() {
            self.notes.push(Note::SettingsOfBase(changed));
        }
        Ok(())
    }

    /// The version of a file that counts, and its name in `changed` where that is not the checkout's.
    fn version(&mut self, path: &Path, changed: &mut Vec<String>) -> Result<Option<String>> {
        let Ground::Target(target) = &mut self.ground else { return policy_file::text_of(path) };
        let inside = match self.checkout.find(path) {
            PathPlace::Outside => return policy_file::text_of(path),
            PathPlace::Unclear => return Err(unclear(path)),
            PathPlace::Inside(inside) => inside,
        };
        let text = target.text(&inside.name)?;
        if text.is_none() && !inside.is_root_known && path.symlink_metadata().is_ok() {
            return Err(no_root(path));
        }
        if policy_file::text_of(path).ok() != Some(text.clone()) {
            changed.push(path.display().to_string());
        }
        Ok(text)
    }

    fn no_policy(&self, path: &Path) -> Error {
        let Ground::Target(target) = &self.ground else {
            return Error::new(ErrorKind::NotFound, path.display().to_string(), "there is no such policy file");
        };
        let message = format!("is not on the target branch {} ({})", target.branch, short(&target.commit));
        Error::new(ErrorKind::NotFound, path.display().to_string(), message)
            .with_help("a policy counts for forks once it is on the target branch")
    }

    /// Adds a remark about the deciding files that the change touches, where the forge tells.
    fn note_changes(&mut self, common: &CommonArgs, flags: &PublishFlags, surroundings: &Surroundings) {
        let place = &surroundings.place;
        if place.target_branch.is_empty() || flags.dry_run {
            return;
        }
        let Ok(Some(session)) = session(flags, surroundings) else { return };
        let Ok(mut target) = TargetBranch::open(session, &place.target_branch, &place.commit) else { return };
        let mut files = vec![policy_file::policy_path(common.config.as_deref()), PathBuf::from(LOCK)];
        let folder = self.templates_folder(common);
        files.extend(folder.iter().flat_map(|folder| Templates::FILES.map(|name| folder.join(name))));
        let decides = |input| matches!(input, InputKind::NoiseBand | InputKind::Repeats | InputKind::BaselineFiles);
        let named = self.policy.locations().into_iter().filter(|(_, input, _)| decides(*input));
        let named: BTreeSet<PathBuf> = named.map(|(.., named)| named.written().into()).collect();
        files.extend(named.into_iter().filter(|path| path.is_file()));
        let differs = |path: &PathBuf| match self.checkout.find(path) {
            PathPlace::Inside(inside) => {
                target.text(&inside.name).is_ok_and(|text| policy_file::text_of(path).is_ok_and(|own| own != text))
            }
            _ => false,
        };
        files.retain(differs);
        if !files.is_empty() {
            let files = files.iter().map(|file| file.display().to_string()).collect();
            self.notes.push(Note::SettingsChanged(files));
        }
    }

    /// Settings of publishing, by this policy; `also` is the language and the exit code of a warning.
    pub(crate) fn settings(
        &self,
        flags: &PublishFlags,
        surroundings: &Surroundings,
        also: (Language, u8),
    ) -> PublishSettings {
        let settings = settings(flags, &self.policy.publish, surroundings, also);
        PublishSettings { report_only: self.policy.report_only, ..settings }
    }

    /// The target branch's tip, where it decides.
    pub(crate) fn target(&self) -> Option<result::Target> {
        match &self.ground {
            Ground::Target(target) => {
                Some(result::Target { branch: target.branch.clone(), commit: target.commit.clone() })
            }
            Ground::Checkout | Ground::Unread => None,
        }
    }

    /// The request, with every location that it names held, and the named baseline and the noise band resolved to files.
    ///
    /// # Errors
    /// Where a file cannot be read; `Policy` where a manifest is not the pinned one.
    pub(crate) fn case(mut self, asked: UncheckedRequest) -> Result<Case> {
        let mut kept = Kept::default();
        let request = asked.resolve_locations(&mut |input, written| self.location(input, written, &mut kept))?;
        let target = self.target();
        let standing = if matches!(self.ground, Ground::Checkout) { FileRights::Own } else { FileRights::Stranger };
        let Self { templates, notes, findings, head, source_root, .. } = self;
        let Kept { manifest, files, .. } = kept;
        let about = findings;
        Ok(Case { request, manifest, about, templates, notes, head, target, standing, source_root, _files: files })
    }

    /// The location that counts in place of the one that the policy or a flag names as `input`.
    fn location(&mut self, input: InputKind, written: &str, kept: &mut Kept) -> Result<String> {
        match input {
            InputKind::BaselineFiles => {
                if let Some(name) = written.strip_prefix(SCHEME) {
                    kept.manifest = self.named(name)?;
                }
                let manifest = kept.manifest.as_ref().filter(|_| written.starts_with(SCHEME));
                let location = manifest.map_or_else(|| written.to_owned(), |manifest| manifest.location.clone());
                self.hold(&location, input)?;
                Ok(location)
            }
            InputKind::NoiseBand | InputKind::Repeats => {
                if let Some(known) = kept.noise.get(written) {
                    return Ok(known.clone());
                }
                let location = self.noise(written.to_owned(), &mut kept.files)?;
                kept.noise.insert(written.to_owned(), location.clone());
                Ok(location)
            }
            // Each template is read by its own name; the rest is the job's, or data.
            InputKind::Templates | InputKind::Folders | InputKind::History | InputKind::Candidate => {
                Ok(written.to_owned())
            }
            InputKind::Policy | InputKind::Lock | InputKind::Request | InputKind::Secrets => {
                Err(Error::new(ErrorKind::Internal, written, "is named by no policy"))
            }
        }
    }

    /// Folder with templates: as the flag, else the policy names it.
    fn templates_folder(&self, common: &CommonArgs) -> Option<PathBuf> {
        let of_policy = || self.policy.templates.as_ref().map(|named| PathBuf::from(named.written()));
        common.documents.templates.clone().or_else(of_policy)
    }

    /// The manifest of a named baseline, where one is pinned for the branch.
    fn named(&mut self, name: &str) -> Result<Option<Manifest>> {
        let root = Path::new(".");
        let Ground::Target(target) = &self.ground else {
            return pinned::find(root, name, None, &fetching::environment());
        };
        let branch = target.branch.clone();
        let path = root.join(LOCK);
        let Some(text) = self.version(&path, &mut Vec::new())? else { return Ok(None) };
        let lock = Lock::parse(LOCK, text.as_bytes())?;
        let Some(pin) = lock.find(&branch, name) else { return Ok(None) };
        let text = self.version(&root.join(&pin.manifest), &mut Vec::new())?.unwrap_or_default();
        pinned::as_pinned(pin, Manifest::parse(&pin.manifest, text.as_bytes())?).map(Some)
    }

    /// The location of a noise band or of repeats: a file of the target branch is put into a folder of the run's own.
    fn noise(&mut self, location: String, files: &mut Vec<NamedTempFile>) -> Result<String> {
        let path = Path::new(&location);
        let is_file = matches!(Location::parse(&location)?, Location::Local(_)) && path.is_file();
        if !is_file || !matches!(self.ground, Ground::Target(_)) {
            self.hold(&location, InputKind::Repeats)?;
            return Ok(location);
        }
        if self.checkout.find(path) == PathPlace::Outside {
            return Ok(location);
        }
        let mut changed = Vec::new();
        let Some(text) = self.version(path, &mut changed)? else {
            self.findings.push(in_change(&location, InputKind::NoiseBand));
            return Ok(location);
        };
        if !changed.is_empty() {
            self.notes.push(Note::SettingsOfBase(changed));
        }
        let failed = |error: std::io::Error| Error::io(&location, &error);
        let mut file = NamedTempFile::new().map_err(failed)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        let kept = file.path().display().to_string();
        files.push(file);
        Ok(kept)
    }

    /// Holds a local folder of the checkout against the target branch: what a stranger's change edits does not count.
    fn hold(&mut self, location: &str, input: InputKind) -> Result<()> {
        let Location::Local(path) = Location::parse(location)? else { return Ok(()) };
        let Ground::Target(target) = &mut self.ground else { return Ok(()) };
        if path.is_empty() {
            return Ok(());
        }
        let is_kept = match self.checkout.find(Path::new(&path)) {
            PathPlace::Outside => true,
            PathPlace::Unclear | PathPlace::Inside(RepositoryPath { has_link: true, .. }) => false,
            PathPlace::Inside(inside) => is_kept(&inside, target)?,
        };
        if !is_kept {
            self.findings.push(in_change(location, input));
        }
        Ok(())
    }
}

/// Whether the change leaves a path as it is on the target branch. Where the repository's root is not known (an archive in
/// place of a checkout), whatever the path could be called in it is asked for.
fn is_kept(inside: &RepositoryPath, target: &mut TargetBranch) -> Result<bool> {
    let parts: Vec<&str> = inside.name.split('/').collect();
    let names = if inside.is_root_known { 1 } else { parts.len() };
    for start in 0..names {
        let name = parts.get(start..).unwrap_or_default().join("/");
        if target.change_of(&name)? == PathChange::Some {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A session that reads; `None` without a token.
fn session(flags: &PublishFlags, surroundings: &Surroundings) -> Result<Option<Session>> {
    let place = &surroundings.place;
    let Some(kind) = place.forge else { return Ok(None) };
    let Some(token) = forge_token(kind, &surroundings.environment) else { return Ok(None) };
    let api = if place.api.is_empty() { kind.public_api().unwrap_or_default() } else { &place.api };
    let job = Job {
        kind,
        api: api.to_owned(),
        repository: place.repository.clone(),
        target: place.target.clone(),
        commit: place.commit.clone(),
        run_url: String::new(),
        run: String::new(),
        pipeline: None,
        settings: settings(flags, &Policy::default().publish, surroundings, (Language::default(), 0)),
        seed: 0,
    };
    Session::new(job, Some(token)).map(Some)
}

fn in_change(location: &str, input: InputKind) -> Finding {
    let what = if input == InputKind::BaselineFiles { "baseline" } else { "noise" };
    Finding::new(&IN_CHANGE, location).with("what", what)
}

fn no_token(surroundings: &Surroundings) -> Error {
    let event = surroundings.place.event.as_str();
    let event = if event.is_empty() { String::new() } else { format!(" (event {event})") };
    let message =
        format!("the change may come from a fork{event}, and there is no token to read the target branch with");
    Error::new(ErrorKind::Unavailable, "the target branch's policy", message).with_help(concat!(
        "give the job a token that may read the repository (GitHub: `contents: read` and `token: ${{ github.token }}`); ",
        documentation!("security.md"),
        " says why the change's own policy does not count"
    ))
}

fn no_branch(surroundings: &Surroundings) -> Error {
    let event = surroundings.place.event.as_str();
    let message = format!("nothing says which branch the change goes to ({event})");
    Error::new(ErrorKind::Unavailable, "the target branch's policy", message)
        .with_help("name the pull request with --number")
}

fn unclear(path: &Path) -> Error {
    let message = "leads into the checkout through a link, so that its name in the repository cannot be told";
    Error::new(ErrorKind::Policy, path.display().to_string(), message).with_help("name the file itself")
}

fn no_root(path: &Path) -> Error {
    let message = "lies in a checkout without its .git folder, so that its name in the repository cannot be told";
    Error::new(ErrorKind::Unavailable, path.display().to_string(), message)
        .with_help("check out with git (actions/checkout falls back to an archive where git is missing)")
}

/// The start of a commit's name.
fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}
