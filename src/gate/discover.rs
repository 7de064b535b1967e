//! Discovery: what lies in a folder, recognised by content.
//!
//! A file's first bytes say which reader it belongs to; its name never does. What is not recognised is listed
//! with the reason, and what is recognised and cannot be read is damage, not absence.

mod digest;

use std::collections::BTreeSet;
use std::sync::Arc;

use digest::Extent;
use rayon::prelude::*;

use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{FileEntry, Files, Source};
use crate::gate::Progress;
use crate::judge::finding::Finding;
use crate::judge::rule::artifacts as rules;
use crate::read::archive::{Archive, Limits};
use crate::read::checkpoint::{self, CheckpointPlace};
use crate::read::curve::log::LogPattern;
use crate::read::curve::{self, CurveFile};
use crate::read::dump::{self, DumpFolder};
use crate::read::pack::Pack;
use crate::report::ArtifactRow;
use crate::verdict::{CheckId, Side};

/// Bytes of a file that are looked at to recognise it.
const HEAD: usize = 64 * 1024;

/// Why a sound zip archive is not read.
const OTHER_ARCHIVE: &str = "a zip archive that is neither a config pack nor a checkpoint";

/// What lies on one side.
pub struct Inventory {
    files: Arc<dyn Files>,
    /// Configuration packs.
    pub packs: Vec<Pack>,
    /// Files with training curves.
    pub curves: Vec<CurveFile>,
    /// Dump folders, one per step and rank.
    pub dumps: Vec<DumpFolder>,
    /// Checkpoints, one per file or index.
    pub checkpoints: Vec<CheckpointPlace>,
    /// What is to be said of the location itself.
    pub about: Vec<Finding>,
    seen: Vec<Seen>,
}

/// One file or folder and what became of it.
struct Seen {
    path: String,
    check: Option<CheckId>,
    kind: &'static str,
    outcome: Outcome,
}

enum Outcome {
    Read(String),
    Damaged(Error),
    Ignored(String),
}

/// Looks at every file of a side.
///
/// `pattern` says how the user's own log lines look, which no content tells.
pub fn look(files: Arc<dyn Files>, pattern: Option<&LogPattern>, progress: &dyn Progress) -> Result<Inventory> {
    let mut inventory = Inventory {
        files: files.clone(),
        packs: vec![],
        curves: vec![],
        dumps: vec![],
        checkpoints: vec![],
        about: vec![],
        seen: vec![],
    };
    for (path, reason) in files.left_out() {
        inventory.note(path.clone(), None, "", Outcome::Ignored(reason.clone()));
    }
    let data_folders = dump::data_folders(files.as_ref());
    let entries: Vec<&FileEntry> =
        files.list().iter().filter(|entry| !is_tensor_data(&entry.path, &data_folders)).collect();
    let recognised: Vec<Recognised> = entries
        .par_iter()
        .map(|entry| {
            let recognised = recognise(&files, &entry.path, pattern);
            progress.advance(1);
            recognised
        })
        .collect();
    for (entry, recognised) in entries.into_iter().zip(recognised) {
        inventory.take(entry.path.clone(), recognised);
    }
    inventory.checkpoints = checkpoint::without_shards(std::mem::take(&mut inventory.checkpoints));
    Ok(inventory)
}

/// Files inside a dump's data folder belong to the dump beside it and are opened through its records.
fn is_tensor_data(path: &str, data_folders: &BTreeSet<String>) -> bool {
    path.split('/').rev().skip(1).any(|folder| folder == "dump_tensor_data")
        || path.rsplit_once('/').is_some_and(|(folder, _)| data_folders.contains(folder))
}

/// What a file turned out to be.
enum Recognised {
    Pack(Result<Box<Pack>>),
    Curve(Result<CurveFile>),
    Dump(Box<DumpFolder>),
    DumpPart,
    Checkpoint(Result<checkpoint::Recognised>),
    Ignored(String),
    Unreadable(Error),
}

fn recognise(files: &Arc<dyn Files>, path: &str, pattern: Option<&LogPattern>) -> Recognised {
    let source = match files.open(path) {
        Ok(source) => source,
        Err(error) => return Recognised::Unreadable(error),
    };
    match head(&source) {
        Ok(head) => match dump::recognise(files, path, &head) {
            Some(folder) => Recognised::Dump(Box::new(folder)),
            None if dump::is_part(files.as_ref(), path) => Recognised::DumpPart,
            None => recognise_content(source, &head, pattern),
        },
        Err(error) => Recognised::Unreadable(error),
    }
}

fn head(source: &Source) -> Result<Vec<u8>> {
    let len = usize::try_from(source.len()).map_or(HEAD, |len| len.min(HEAD));
    let mut head = vec![0; len];
    source.read_at(0, &mut head)?;
    Ok(head)
}

fn recognise_content(source: Source, head: &[u8], pattern: Option<&LogPattern>) -> Recognised {
    if head.is_empty() {
        return Recognised::Ignored("empty file".into());
    }
    if head.starts_with(b"PK") && crate::read::pack::recognise(&source) {
        return Recognised::Pack(crate::read::pack::read(source).map(Box::new));
    }
    if let Some(recognised) = checkpoint::recognise(head, &source) {
        return Recognised::Checkpoint(recognised);
    }
    if head.starts_with(b"PK") {
        return if let Err(error) = Archive::open(source, Limits { members: usize::MAX, total_bytes: u64::MAX }) {
            Recognised::Unreadable(error)
        } else {
            Recognised::Ignored(OTHER_ARCHIVE.into())
        };
    }
    let by_pattern = pattern.and_then(|pattern| curve::recognise_pattern(head, source.as_ref(), pattern));
    if let Some(format) = by_pattern.or_else(|| curve::recognise(head, source.as_ref())) {
        return Recognised::Curve(curve::read(source, format));
    }
    Recognised::Ignored("not a format the gate knows".into())
}

impl Inventory {
    fn note(&mut self, path: String, check: Option<CheckId>, kind: &'static str, outcome: Outcome) {
        self.seen.push(Seen { path, check, kind, outcome });
    }

    fn take(&mut self, path: String, recognised: Recognised) {
        match recognised {
            Recognised::Pack(Ok(pack)) => {
                self.note(path, Some(CheckId::Config), "config pack", Outcome::Read(String::new()));
                self.packs.push(*pack);
            }
            Recognised::Curve(Ok(curve)) => {
                self.note(path, Some(CheckId::Loss), curve.format, Outcome::Read(String::new()));
                self.curves.push(curve);
            }
            Recognised::Dump(dump) => {
                self.note(path, Some(CheckId::Dump), "dump", Outcome::Read(String::new()));
                self.dumps.push(*dump);
            }
            Recognised::DumpPart => {
                self.note(path, Some(CheckId::Dump), "dump", Outcome::Read("part of the dump beside it".into()))
            }
            Recognised::Checkpoint(recognised) => self.take_checkpoint(path, recognised),
            Recognised::Pack(Err(error)) => {
                self.note(path, Some(CheckId::Config), "config pack", Outcome::Damaged(error))
            }
            Recognised::Curve(Err(error)) => {
                self.note(path, Some(CheckId::Loss), "training curve", Outcome::Damaged(error))
            }
            Recognised::Unreadable(error) => self.note(path, None, "", Outcome::Damaged(error)),
            Recognised::Ignored(reason) => self.note(path, None, "", Outcome::Ignored(reason)),
        }
    }

    fn take_checkpoint(&mut self, path: String, recognised: Result<checkpoint::Recognised>) {
        let place = match recognised {
            Ok(checkpoint::Recognised::File) => CheckpointPlace::file(path.clone()),
            Ok(checkpoint::Recognised::Index(shards)) => CheckpointPlace::sharded(path.clone(), shards),
            Ok(checkpoint::Recognised::Other(reason)) => {
                return self.note(path, None, "", Outcome::Ignored(reason));
            }
            Err(error) => return self.note(path, Some(CheckId::Checkpoint), "checkpoint", Outcome::Damaged(error)),
        };
        self.note(path, Some(CheckId::Checkpoint), "checkpoint", Outcome::Read(String::new()));
        self.checkpoints.push(place);
    }

    /// The same with one more file, which cannot be read.
    #[must_use]
    pub(super) fn with_damaged(mut self, path: &str, error: Error) -> Self {
        self.note(path.to_owned(), None, "archive", Outcome::Damaged(error));
        self
    }

    /// Whether nothing in it belongs to any check.
    pub(super) fn is_unknown(&self) -> bool {
        self.seen.iter().all(|seen| seen.check.is_none())
    }

    /// The side's files.
    pub fn all_files(&self) -> &dyn Files {
        self.files.as_ref()
    }

    /// A single file that was given for one check belongs to it: nothing the gate knows is damage then.
    pub fn expect_file_of(&mut self, check: CheckId) {
        let [entry] = self.files.list() else { return };
        let named = self.files.location().ends_with(&entry.path);
        let [seen] = self.seen.as_mut_slice() else { return };
        if !named || seen.check.is_some() {
            return;
        }
        if let Outcome::Ignored(reason) = &seen.outcome {
            let message = format!("{reason}, given for the {} check", check.as_str());
            let kind = if reason == OTHER_ARCHIVE { ErrorKind::Unsupported } else { ErrorKind::Corrupt };
            let error = Error::new(kind, &seen.path, message);
            seen.outcome = Outcome::Damaged(error.with_help("give the file that the run wrote, and whole"));
        }
        seen.check = Some(check);
    }

    /// The location as the user gave it.
    pub fn location(&self) -> &str {
        self.files.location()
    }

    /// How many files were looked at.
    pub fn files(&self) -> usize {
        self.files.list().len()
    }

    /// Whether anything belongs to `check`, readable or not.
    pub fn has(&self, check: CheckId) -> bool {
        self.seen.iter().any(|seen| seen.check == Some(check))
    }

    /// Whether anything of `check` is damaged, so that no reader could open it.
    pub fn has_damaged(&self, check: CheckId) -> bool {
        let damaged =
            |seen: &Seen| matches!(&seen.outcome, Outcome::Damaged(error) if error.kind() == ErrorKind::Corrupt);
        self.seen.iter().any(|seen| seen.check == Some(check) && damaged(seen))
    }

    /// Digest of what was judged.
    pub fn digest(&self) -> String {
        let content: BTreeSet<&str> = self
            .seen
            .iter()
            .filter(|seen| matches!(seen.check, Some(CheckId::Config | CheckId::Loss | CheckId::Dump)))
            .map(|seen| seen.path.as_str())
            .collect();
        let ignored: BTreeSet<&str> =
            self.seen.iter().filter(|seen| seen.check.is_none()).map(|seen| seen.path.as_str()).collect();
        digest::of(self.files.as_ref(), |entry| match entry.path.as_str() {
            path if content.contains(path) => Extent::Content,
            path if ignored.contains(path) => Extent::Name,
            _ => Extent::Directory,
        })
    }

    /// The table of what was found.
    pub fn rows(&self, side: Side) -> Vec<ArtifactRow> {
        let row = |seen: &Seen| {
            let (status, note) = match &seen.outcome {
                Outcome::Read(note) => ("read", note.clone()),
                Outcome::Damaged(error) => ("damaged", error.message().to_owned()),
                Outcome::Ignored(reason) => ("ignored", reason.clone()),
            };
            ArtifactRow { side, path: seen.path.clone(), kind: seen.kind.into(), status: status.into(), note }
        };
        self.seen.iter().map(row).collect()
    }

    /// One finding per damaged file of the checks that run.
    pub fn damage_findings(&self, side: Side, checks: &[CheckId]) -> Vec<Finding> {
        let damaged = |seen: &Seen| {
            let Outcome::Damaged(error) = &seen.outcome else { return None };
            if seen.check.is_some_and(|check| !checks.contains(&check)) {
                return None;
            }
            let rule = if error.kind() == ErrorKind::Unsupported { &rules::UNSUPPORTED } else { &rules::DAMAGED };
            Some(
                Finding::new(rule, &seen.path)
                    .of_check(seen.check.unwrap_or(CheckId::Artifacts))
                    .with("side", side.as_str())
                    .with("reason", error.message())
                    .with("help", error.help().unwrap_or_default()),
            )
        };
        self.seen.iter().filter_map(damaged).collect()
    }
}
