//! Opening one side of a run: its location is opened, and its artifacts are listed.

use std::sync::Arc;

use super::baseline_name::{self, LOCK};
use super::discover::{self, Inventory, Search};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::progress::Progress;
use crate::fetch::{ArtifactOrigin, Disk, Fetcher, FileEntry, Files, Location, Opened, Source, Trust};
use crate::gate::training::Training;
use crate::judge::location::{self as rules, OriginFacts};
use crate::policy::Policy;
use crate::policy::location::TrustedLocation;
use crate::read::archive::folder;
use crate::read::{pack, tensor_file};
use crate::result::finding::Finding;
use crate::verdict::Side;

/// Means of opening a side, beside its location.
#[derive(Clone, Copy)]
pub(super) struct Opening<'a> {
    pub(super) fetcher: &'a Fetcher,
    pub(super) policy: &'a Policy,
    pub(super) search: Search<'a>,
    pub(super) progress: &'a dyn Progress,
}

/// Opens `location` and lists its artifacts. A remote location that is missing or refused becomes an empty side with a
/// finding.
///
/// # Errors
/// A local path that does not exist, and failures of the network.
pub(super) fn open(location: &str, side: Side, opening: Opening<'_>) -> Result<Inventory> {
    if let Some(name) = location.strip_prefix(baseline_name::SCHEME) {
        return unpinned(location, name, side, opening);
    }
    let trust = if side == Side::Baseline { Trust::Baseline } else { Trust::Any };
    match opening.fetcher.open(location, trust, opening.progress) {
        Ok(Opened { files, origin }) => {
            let mut inventory = inventory_of_side(files, opening.fetcher, opening.search, opening.progress)?;
            if let Some(origin) = origin.filter(|_| side == Side::Baseline) {
                inventory.location_findings = of_origin(inventory.location(), origin, opening.policy);
            }
            Ok(inventory)
        }
        Err(error) => absent(location, side, opening, &error).unwrap_or(Err(error)),
    }
}

/// [`open`] for the candidate: a missing one is an empty side, where the outcome of the training job explains that.
pub(super) fn open_candidate(location: &str, opening: Opening<'_>, training: Option<Training>) -> Result<Inventory> {
    match open(location, Side::Candidate, opening) {
        Err(error) if error.kind() == ErrorKind::NotFound && training.is_some_and(Training::explains_absence) => {
            empty_inventory(location, opening)
        }
        opened => opened,
    }
}

/// Opens the third run, which both sides are measured against.
///
/// # Errors
/// Any error of opening it, because the comparison that was asked for needs it.
pub(super) fn open_reference(location: &TrustedLocation, opening: Opening<'_>) -> Result<Inventory> {
    let files = opening.fetcher.open(location, Trust::Baseline, opening.progress)?.files;
    inventory_of_side(files, opening.fetcher, opening.search, opening.progress)
}

/// The empty side for a baseline name that no lock file pins, so that it was not resolved before.
fn unpinned(location: &str, name: &str, side: Side, opening: Opening<'_>) -> Result<Inventory> {
    let help = format!("record it: `{}`", baseline_name::record_command(name));
    let reason = format!("{} pins no such baseline for this branch", LOCK);
    empty(location, rules::absence_finding(&rules::MISSING, location, side, &reason, &help), opening)
}

/// A side without files and without findings.
pub(super) fn empty_inventory(location: &str, opening: Opening<'_>) -> Result<Inventory> {
    discover::inventory_of_files(Arc::new(Nothing { location: location.to_owned() }), opening.search, opening.progress)
}

/// A side without files, with the finding that explains it.
fn empty(location: &str, finding: Finding, opening: Opening<'_>) -> Result<Inventory> {
    let mut inventory = empty_inventory(location, opening)?;
    inventory.location_findings = vec![finding];
    Ok(inventory)
}

/// The empty side for a remote location that is missing or refused; `None` where the error ends the run.
fn absent(location: &str, side: Side, opening: Opening<'_>, error: &Error) -> Option<Result<Inventory>> {
    let location = Location::parse(location).ok().filter(Location::is_remote)?.to_string();
    let rule = match error.kind() {
        ErrorKind::NotFound => &rules::MISSING,
        ErrorKind::Corrupt | ErrorKind::LimitExceeded | ErrorKind::Unsupported => &rules::REFUSED,
        _ => return None,
    };
    let help = match (error.help(), side) {
        (Some(help), _) if error.kind() != ErrorKind::NotFound => help.to_owned(),
        (help, Side::Baseline) => {
            let record = format!("record one: `{}`", baseline_name::record_command(""));
            help.map_or_else(|| record.clone(), |help| format!("{help}; or {record}"))
        }
        (help, Side::Candidate) => help.unwrap_or("check that the run has uploaded it").to_owned(),
    };
    let finding = rules::absence_finding(rule, &location, side, error.message(), &help);
    Some(empty(&location, finding, opening))
}

fn of_origin(location: &str, origin: ArtifactOrigin, policy: &Policy) -> Vec<Finding> {
    let facts = OriginFacts {
        what: origin.description,
        commit: origin.commit,
        created: origin.created,
        expires: origin.expires,
        passed_over: origin.passed_over,
        is_proved: origin.proved.is_some(),
    };
    rules::origin_findings(location, &facts, policy.profile, policy.today)
}

/// Lists the artifacts in `files`; a single archive is opened as the folder that it holds.
pub(super) fn inventory_of_side(
    files: Arc<dyn Files>,
    fetcher: &Fetcher,
    search: Search<'_>,
    progress: &dyn Progress,
) -> Result<Inventory> {
    let search = Search { room: Some(fetcher.room()), ..search };
    let Some((source, head)) = single_archive(files.as_ref()) else {
        return discover::inventory_of_files(files, search, progress);
    };
    match folder::open(source, files.location(), fetcher.disk()) {
        Ok(members) => {
            let inventory = discover::inventory_of_files(Arc::new(members), search, progress)?;
            // A zip archive without any known artifact in it is treated as a plain file.
            let is_other = head.starts_with(b"PK") && inventory.is_unknown();
            if is_other { discover::inventory_of_files(files, search, progress) } else { Ok(inventory) }
        }
        Err(error) if head.starts_with(b"PK") && error.kind() == ErrorKind::Corrupt => {
            discover::inventory_of_files(files, search, progress)
        }
        Err(error) => {
            let inventory = discover::inventory_of_files(
                Arc::new(Nothing { location: files.location().to_owned() }),
                search,
                progress,
            )?;
            Ok(inventory.with_damaged(files.list().first().map_or("", |entry| &entry.path), error))
        }
    }
}

/// The folder that a single archive holds, or the files as they are.
pub(super) fn unpacked(files: Arc<dyn Files>, disk: &Arc<Disk>) -> Result<Arc<dyn Files>> {
    match single_archive(files.as_ref()) {
        Some((source, _)) => Ok(Arc::new(folder::open(source, files.location(), disk)?)),
        None => Ok(files),
    }
}

/// The one file of a location, where it is an archive that is neither a config pack nor a file of tensors.
fn single_archive(files: &dyn Files) -> Option<(Source, Vec<u8>)> {
    /// Bytes that hold the magic of a tar archive.
    const HEAD: u64 = 512;
    let [FileEntry { path, .. }] = files.list() else { return None };
    let source = files.open(path).ok()?;
    let mut head = vec![0; usize::try_from(source.len().min(HEAD)).unwrap_or(0)];
    source.read_at(0, &mut head).ok()?;
    let is_ours = || pack::recognise(&source) || tensor_file::holds_members(&head, &source);
    let is_archive =
        folder::recognise(&head) && !(head.starts_with(b"PK") && is_ours()) && !folder::is_packed_text(&source, &head);
    is_archive.then_some((source, head))
}

/// A location without files.
struct Nothing {
    location: String,
}

impl Files for Nothing {
    fn location(&self) -> &str {
        &self.location
    }

    fn list(&self) -> &[FileEntry] {
        &[]
    }

    fn open(&self, path: &str) -> Result<Source> {
        Err(Error::new(ErrorKind::NotFound, path, "is not at the location"))
    }
}
