//! What decides about a pull request, in the version that may decide.
//!
//! For a pull request from a fork, policy, waivers, limits and templates are the base commit's. For any pull request the
//! comment says which of them it changes.

use std::path::{Path, PathBuf};

use precision_gate::error::{Error, ErrorKind, Result};
use precision_gate::policy::Policy;
use precision_gate::policy::publish::PublishPolicy;
use precision_gate::publish::base::{Base, Remote};
use precision_gate::publish::comment::Note;
use precision_gate::publish::event::Place;
use precision_gate::publish::{Job, Session, token};
use precision_gate::report::messages::Language;
use precision_gate::report::templates::Templates;

use super::open::settings;
use super::{PublishFlags, Surroundings};
use crate::cli::{CommonArgs, judge};

/// What decides.
#[derive(Debug)]
pub(crate) struct Trusted {
    /// The policy.
    pub(crate) policy: Policy,
    /// Templates of documents.
    pub(crate) templates: Templates,
    /// What a reader has to know about them.
    pub(crate) notes: Vec<Note>,
}

/// Reads what decides, given where the gate runs. The forge is asked about a fork, and for a note where one is `posted`.
pub(crate) fn trusted(
    common: &CommonArgs,
    flags: &PublishFlags,
    surroundings: &Surroundings,
    posted: bool,
) -> Result<Trusted> {
    let place = &surroundings.place;
    if place.base_commit.is_empty() {
        return if place.from_fork && !place.event.starts_with("workflow_run") {
            Err(no_base(place))
        } else {
            own(common)
        };
    }
    let root = if place.root.is_empty() { PathBuf::from(".") } else { PathBuf::from(&place.root) };
    let remote = if (place.from_fork || posted) && !flags.dry_run { remote(flags, surroundings) } else { None };
    let mut base = Base { commit: &place.base_commit, root: &root, remote };
    if place.from_fork { of_base(common, &mut base) } else { compared(common, &mut base) }
}

/// What lies in the working folder.
fn own(common: &CommonArgs) -> Result<Trusted> {
    let policy = judge::policy(common.config.as_deref(), common.today.as_deref())?;
    let templates = judge::templates(common, &policy)?;
    Ok(Trusted { policy, templates, notes: Vec::new() })
}

/// The base commit's version of everything that lies in the repository.
fn of_base(common: &CommonArgs, base: &mut Base<'_>) -> Result<Trusted> {
    let path = judge::policy_path(common.config.as_deref());
    let mut changed = Vec::new();
    let text = version(base, &path, &mut changed)?;
    if text.is_none() && common.config.is_some() {
        let error = Error::new(ErrorKind::NotFound, path.display().to_string(), "is not in the base commit");
        return Err(error.with_help("a policy counts for forks once it is on the target branch"));
    }
    let policy = judge::policy_of_text(&path, text.as_deref(), common.today.as_deref())?;
    for noise in policy.loss.noise.0.iter().map(Path::new).filter(|noise| noise.is_file()) {
        if base.holds(noise) && version(base, noise, &mut Vec::new())? != judge::text_of(noise)? {
            let error = Error::new(ErrorKind::Policy, noise.display().to_string(), "differs from the base commit's");
            return Err(error.with_help("a pull request from a fork cannot bring a noise band of its own"));
        }
    }
    let folder = common.documents.templates.clone().or_else(|| policy.templates.clone());
    let templates = match folder {
        None => Templates::shipped(),
        Some(folder) => Templates::with(&folder, |path| version(base, path, &mut changed))?,
    };
    let notes = if changed.is_empty() { vec![] } else { vec![Note::SettingsOfBase(changed)] };
    Ok(Trusted { policy, templates, notes })
}

/// The working folder's version, with a note of what differs from the base commit, where that can be told.
fn compared(common: &CommonArgs, base: &mut Base<'_>) -> Result<Trusted> {
    let mut trusted = own(common)?;
    let mut files = vec![judge::policy_path(common.config.as_deref())];
    let folder = common.documents.templates.clone().or_else(|| trusted.policy.templates.clone());
    files.extend(folder.iter().flat_map(|folder| Templates::FILES.map(|name| folder.join(name))));
    files.extend(trusted.policy.loss.noise.0.iter().map(PathBuf::from).filter(|path| path.is_file()));
    let mut changed = Vec::new();
    files.retain(|file| base.holds(file));
    for file in &files {
        if base.read(file).is_ok_and(|text| judge::text_of(file).is_ok_and(|own| own != text)) {
            changed.push(file.display().to_string());
        }
    }
    if !changed.is_empty() {
        trusted.notes.push(Note::SettingsChanged(changed));
    }
    Ok(trusted)
}

/// The version that counts: the base commit's of a file in the repository, else the file itself.
fn version(base: &mut Base<'_>, path: &Path, changed: &mut Vec<String>) -> Result<Option<String>> {
    if !base.holds(path) {
        return judge::text_of(path);
    }
    let text = base.read(path)?;
    if judge::text_of(path).ok() != Some(text.clone()) {
        changed.push(path.display().to_string());
    }
    Ok(text)
}

/// Asks the forge for a file; a session is opened at the first question.
fn remote<'a>(flags: &'a PublishFlags, surroundings: &'a Surroundings) -> Option<Remote<'a>> {
    let place = &surroundings.place;
    let kind = place.forge?;
    let token = token(kind, &surroundings.environment)?;
    let api = if place.api.is_empty() { kind.public_api()?.to_owned() } else { place.api.clone() };
    let job = Job {
        kind,
        api,
        repository: place.repository.clone(),
        target: place.target.clone(),
        commit: place.commit.clone(),
        run_url: String::new(),
        run: String::new(),
        pipeline: None,
        settings: settings(flags, &PublishPolicy::default(), surroundings, (Language::default(), 0)),
        seed: 0,
    };
    let mut session = None;
    Some(Box::new(move |path: &str, commit: &str| {
        if session.is_none() {
            session = Some(Session::new(job.clone(), Some(token.clone()))?);
        }
        session.as_mut().map_or(Ok(None), |session| session.file(path, commit))
    }))
}

fn no_base(place: &Place) -> Error {
    let message = format!("the job of a fork ({}) does not say which commit it starts from", place.event);
    Error::new(ErrorKind::Usage, "", message)
        .with_help("run it in a merge request pipeline, whose CI_MERGE_REQUEST_DIFF_BASE_SHA is set")
}
