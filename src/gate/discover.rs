//! Discovery: what lies in a folder, recognised by content.
//!
//! A file's first bytes decide which check it belongs to; its name never does. Each check has a [`Recogniser`]. A file that
//! is not recognised is listed with the reason; one that is recognised and cannot be read is damaged, not absent.

mod digest;
pub(super) mod mistaken;
mod recognise;

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use rayon::prelude::*;

use crate::error::{Error, ErrorKind, Result};
use crate::fetch::progress::Progress;
use crate::fetch::{FileEntry, Files, Room, Source};
use crate::judge::rule::artifacts as rules;
use crate::read::archive::{Archive, ArchiveLimits};
use crate::read::curve::log::{self, LogPattern};
use crate::read::dump::ToolPart;
use crate::read::pack::UnpackedMember;
use crate::read::{dump, json, msprobe_settings, overflow_check, pack};
use crate::result::ArtifactRow;
use crate::result::finding::Finding;
use crate::verdict::{CheckId, Side};

use digest::DigestedFiles;
pub use digest::Extent;
pub use recognise::{Artifacts, FileSample, Keep, RecognisedFile, Recogniser, RecognitionEvidence};

/// Bytes of a file that are looked at to recognise it.
const HEAD: usize = 64 * 1024;

/// Reason why a sound zip archive is not read.
const OTHER_ARCHIVE: &str = "a zip archive that is neither a config pack nor a checkpoint";

/// Reason for not reading any other file.
const UNKNOWN: &str = "unknown format";

/// Reason for not reading a text that looks like a training log.
const UNREAD_LOG: &str = "no loss values recognised; set `loss.log-pattern` to read it";

/// Reason for not judging an output of msprobe's `overflow_check`; it is only shown.
const OVERFLOW_CHECK: &str = "an answer of msprobe's overflow_check";

/// Reason for not reading an empty file.
const EMPTY: &str = "empty file";

/// Reason for not reading truncated JSON.
const CUT_JSON: &str = "JSON that is cut before its kind can be recognised";

/// Advice for a damaged file.
const WHOLE: &str = "give the complete file, as the run wrote it";

/// Artifacts of one side.
pub struct Inventory {
    files: Arc<DigestedFiles>,
    artifacts: Artifacts,
    /// Extent of each check's files that the digest covers.
    extents: BTreeMap<CheckId, Extent>,
    /// Findings about the location itself.
    pub location_findings: Vec<Finding>,
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

/// Search of a side.
#[derive(Clone, Copy)]
pub struct Search<'a> {
    /// Recognisers of all checks, in the order of the table.
    pub recognisers: &'a [Recogniser],
    /// Pattern of the user's own log lines, which content alone does not show.
    pub pattern: Option<&'a LogPattern>,
    /// Room for the points of curves; `None` for all memory of the machine.
    pub room: Option<&'a Arc<Room>>,
}

/// Looks at every file of a side.
pub fn inventory_of_files(files: Arc<dyn Files>, search: Search<'_>, progress: &dyn Progress) -> Result<Inventory> {
    let digested = Arc::new(DigestedFiles::new(files));
    let files: Arc<dyn Files> = digested.clone();
    let mut inventory = Inventory {
        files: digested,
        artifacts: Artifacts::default(),
        extents: search.recognisers.iter().map(|recogniser| (recogniser.check, recogniser.extent)).collect(),
        location_findings: vec![],
        seen: vec![],
    };
    for (path, reason) in files.skipped() {
        inventory.note(path.clone(), None, "", Outcome::Ignored(reason.clone()));
    }
    let data_folders = dump::data_folders(files.as_ref());
    // The names of tensor files show neither order nor partner; the records beside the folder hold both.
    let are_tensors_alone = mistaken::is_tensor_folder(files.location());
    let entries: Vec<&FileEntry> =
        files.list().iter().filter(|entry| !are_tensors_alone && !is_tensor_data(&entry.path, &data_folders)).collect();
    let unlimited = Room::unlimited();
    let room = search.room.unwrap_or(&unlimited);
    let found: Vec<Found> = entries
        .par_iter()
        .map(|entry| {
            let found = recognise(&files, &entry.path, search, room);
            progress.advance(1);
            found
        })
        .collect();
    for (entry, found) in entries.into_iter().zip(found) {
        inventory.take(entry.path.clone(), found);
    }
    // A tool's dump consists of many files; only all of them together show which belong to one step and rank.
    for folder in dump::tool_dumps(&files, inventory.artifacts.all::<ToolPart>()) {
        inventory.artifacts.push(folder);
    }
    for pack in pack::packs_of_folders(inventory.artifacts.all::<UnpackedMember>()) {
        inventory.artifacts.push(pack);
    }
    Ok(inventory)
}

/// Files inside a dump's data folder belong to the dump beside it and are opened through its records.
fn is_tensor_data(path: &str, data_folders: &BTreeSet<String>) -> bool {
    path.split('/').rev().skip(1).any(|folder| folder == mistaken::TENSORS)
        || path.rsplit_once('/').is_some_and(|(folder, _)| data_folders.contains(folder))
}

/// Kind of a file.
enum Found {
    /// File of a check.
    Of(CheckId, RecognisedFile),
    /// File of no check, with the reason.
    Ignored(&'static str),
    Unreadable(Error),
}

fn recognise(files: &Arc<dyn Files>, path: &str, search: Search<'_>, room: &Arc<Room>) -> Found {
    let source = match files.open(path) {
        Ok(source) => source,
        Err(error) => return Found::Unreadable(error),
    };
    match head(&source) {
        Ok(head) => {
            let sample = FileSample { files, path, source: &source, head: &head, pattern: search.pattern, room };
            recognise_sample(&sample, search.recognisers)
        }
        Err(error) => Found::Unreadable(error),
    }
}

pub(super) fn head(source: &Source) -> Result<Vec<u8>> {
    let len = usize::try_from(source.len()).map_or(HEAD, |len| len.min(HEAD));
    let mut head = vec![0; len];
    source.read_at(0, &mut head)?;
    Ok(head)
}

/// Asks the recognisers of all checks in turn, those with the surest evidence first.
fn recognise_sample(sample: &FileSample<'_>, recognisers: &[Recogniser]) -> Found {
    let ask = |by| {
        let mut asked = recognisers.iter().filter(|recogniser| recogniser.evidence == by);
        asked.find_map(|recogniser| Some(Found::Of(recogniser.check, (recogniser.recognise)(sample)?)))
    };
    if msprobe_settings::recognise(sample.head) {
        return Found::Ignored("the configuration of msprobe");
    }
    if overflow_check::recognise(sample.head) {
        return Found::Ignored(OVERFLOW_CHECK);
    }
    if let Some(reason) = mistaken::mistaken_file_reason(sample.path, sample.head) {
        return Found::Ignored(reason);
    }
    let found = ask(RecognitionEvidence::Place).or_else(|| {
        if sample.head.is_empty() {
            return Some(Found::Ignored(EMPTY));
        }
        ask(RecognitionEvidence::Signature)
            .or_else(|| other_archive(sample))
            .or_else(|| ask(RecognitionEvidence::Lines))
    });
    found.unwrap_or_else(|| {
        Found::Ignored(if is_cut_json(sample) {
            CUT_JSON
        } else if log::resembles_log(sample.head) {
            UNREAD_LOG
        } else {
            UNKNOWN
        })
    })
}

/// Whether a file was looked at to its end and is of no known format.
fn is_unknown(reason: &str) -> bool {
    [UNKNOWN, UNREAD_LOG].contains(&reason)
}

/// Whether a file begins as JSON and ends before its last bracket.
fn is_cut_json(sample: &FileSample<'_>) -> bool {
    let whole = sample.source.len() == sample.head.len() as u64;
    matches!(sample.head.trim_ascii_start().first(), Some(b'{' | b'['))
        && whole
        && json::parse_bytes(sample.path, sample.head).is_err()
        && ends_early(sample.head)
}

/// Whether a text is JSON up to its end. A log line may begin like JSON (`[rank0] step 1`), and is invalid early on. A text
/// with NaN or Infinity counts as JSON too, although the parser rejects it where they stand.
fn ends_early(text: &[u8]) -> bool {
    let has = |word: &[u8]| memchr::memmem::find(text, word).is_some();
    let read = serde_json::from_slice::<serde::de::IgnoredAny>(text);
    read.is_err_and(|error| error.is_eof()) || has(b"NaN") || has(b"Infinity")
}

/// A zip archive that no check knows.
fn other_archive(sample: &FileSample<'_>) -> Option<Found> {
    if !sample.head.starts_with(b"PK") {
        return None;
    }
    let limits = ArchiveLimits { members: usize::MAX, total_bytes: u64::MAX };
    Some(match Archive::open(sample.source.clone(), limits) {
        Err(error) => Found::Unreadable(error),
        Ok(_) => Found::Ignored(OTHER_ARCHIVE),
    })
}

impl Inventory {
    fn note(&mut self, path: String, check: Option<CheckId>, kind: &'static str, outcome: Outcome) {
        self.seen.push(Seen { path, check, kind, outcome });
    }

    fn take(&mut self, path: String, found: Found) {
        match found {
            Found::Of(check, RecognisedFile::Read { kind, note, keep }) => {
                self.note(path, Some(check), kind, Outcome::Read(note.into()));
                keep(&mut self.artifacts);
            }
            Found::Of(check, RecognisedFile::Damaged { kind, error }) => {
                self.note(path, Some(check), kind, Outcome::Damaged(error));
            }
            Found::Of(_, RecognisedFile::Ignored(reason)) => self.note(path, None, "", Outcome::Ignored(reason)),
            Found::Ignored(reason) => self.note(path, None, "", Outcome::Ignored(reason.into())),
            Found::Unreadable(error) => self.note(path, None, "", Outcome::Damaged(error)),
        }
    }

    /// Artifacts of one type, in the order of the side's files.
    pub fn artifacts<T: Any>(&self) -> &[T] {
        self.artifacts.all()
    }

    /// Outputs of msprobe's `overflow_check`, which are shown and never judged.
    pub(super) fn overflow_checks(&self) -> Vec<Source> {
        let is_answer = |seen: &&Seen| matches!(&seen.outcome, Outcome::Ignored(reason) if reason == OVERFLOW_CHECK);
        self.seen.iter().filter(is_answer).filter_map(|seen| self.files.open(&seen.path).ok()).collect()
    }

    /// Adds a file that cannot be read.
    #[must_use]
    pub(super) fn with_damaged(mut self, path: &str, error: Error) -> Self {
        self.note(path.to_owned(), None, "archive", Outcome::Damaged(error));
        self
    }

    /// Whether nothing in it belongs to any check.
    pub(super) fn is_unknown(&self) -> bool {
        self.seen.iter().all(|seen| seen.check.is_none())
    }

    /// Whether there are tensors of a dump and nothing that names them.
    pub(super) fn holds_tensors_alone(&self) -> bool {
        !self.files.list().is_empty() && self.files_of(CheckId::Dump).len() == self.files.list().len()
    }

    /// The first file that is not read for this reason.
    pub(super) fn first_ignored(&self, reason: &str) -> Option<&str> {
        let is_so = |seen: &&Seen| matches!(&seen.outcome, Outcome::Ignored(why) if why == reason);
        self.seen.iter().find(is_so).map(|seen| seen.path.as_str())
    }

    /// Whether a file is not read for this reason.
    pub(super) fn has_ignored(&self, reason: &str) -> bool {
        self.first_ignored(reason).is_some()
    }

    /// The side's files.
    pub(crate) fn all_files(&self) -> &dyn Files {
        self.files.as_ref()
    }

    /// Assigns a single file, given for one check, to that check, so that an unrecognised file counts as damaged. `explain`
    /// may give the error; `Some(None)` from it leaves the file as it is, because another finding reports it.
    pub(crate) fn expect_file_of(&mut self, check: CheckId, explain: impl Fn(&Source) -> Option<Option<Error>>) {
        let [entry] = self.files.list() else { return };
        let named = self.files.location().ends_with(&entry.path);
        let [seen] = self.seen.as_mut_slice() else { return };
        if !named || seen.check.is_some() {
            return;
        }
        if let Outcome::Ignored(reason) = &seen.outcome {
            let kind = if reason == OTHER_ARCHIVE { ErrorKind::Unsupported } else { ErrorKind::Corrupt };
            let explained =
                self.files.open(&seen.path).ok().filter(|_| is_unknown(reason)).and_then(|file| explain(&file));
            if matches!(explained, Some(None)) {
                return;
            }
            seen.outcome = Outcome::Damaged(explained.flatten().unwrap_or_else(|| {
                let message = format!("{reason}; it holds nothing for the {} check", check.as_str());
                Error::new(kind, &seen.path, message).with_help("give the file that the run wrote, and whole")
            }));
        }
        seen.check = Some(check);
    }

    /// Marks empty and truncated files as damaged where the other side has an artifact at the same path.
    pub(crate) fn mark_cut_twins_damaged(&mut self, other: &Self) {
        let by_path: HashMap<&str, &Seen> = other.seen.iter().map(|seen| (seen.path.as_str(), seen)).collect();
        for seen in &mut self.seen {
            let Outcome::Ignored(reason) = &seen.outcome else { continue };
            let twin = by_path.get(seen.path.as_str()).filter(|twin| matches!(twin.outcome, Outcome::Read(_)));
            let Some((twin, check)) = twin.and_then(|twin| Some((twin, twin.check?))) else { continue };
            if reason == EMPTY || reason == CUT_JSON {
                let message = format!("{reason}; in the other run it is a {}", twin.kind);
                let error = Error::corrupt(&seen.path, message).with_help(WHOLE);
                (seen.check, seen.kind, seen.outcome) = (Some(check), twin.kind, Outcome::Damaged(error));
            }
        }
    }

    /// The location as the user gave it.
    pub fn location(&self) -> &str {
        self.files.location()
    }

    /// Number of files of the side.
    pub(crate) fn file_count(&self) -> usize {
        self.files.list().len()
    }

    /// The first result of `explain` for a text that looks like a training log and was not recognised as one.
    pub(crate) fn unread_log<T>(&self, explain: impl Fn(&Source) -> Option<T>) -> Option<T> {
        self.unread_logs().find_map(|file| explain(&file))
    }

    /// Texts that look like a training log and were not recognised as one; at most 16.
    pub(crate) fn unread_logs(&self) -> impl Iterator<Item = Source> {
        /// Files that are looked at once more.
        const MOST_FILES: usize = 16;
        let is_unread = |seen: &&Seen| matches!(&seen.outcome, Outcome::Ignored(reason) if reason == UNREAD_LOG);
        let unread = self.seen.iter().filter(is_unread).take(MOST_FILES);
        unread.filter_map(|seen| self.files.open(&seen.path).ok())
    }

    /// Whether anything belongs to `check`, readable or not.
    pub(crate) fn has_files_of(&self, check: CheckId) -> bool {
        self.seen.iter().any(|seen| seen.check == Some(check))
    }

    /// Whether anything of `check` could be read.
    pub(super) fn has_read(&self, check: CheckId) -> bool {
        self.seen.iter().any(|seen| seen.check == Some(check) && matches!(seen.outcome, Outcome::Read(_)))
    }

    /// Whether anything of `check` is damaged, so that no reader could open it.
    pub(crate) fn has_damaged(&self, check: CheckId) -> bool {
        let damaged =
            |seen: &Seen| matches!(&seen.outcome, Outcome::Damaged(error) if error.kind() == ErrorKind::Corrupt);
        self.seen.iter().any(|seen| seen.check == Some(check) && damaged(seen))
    }

    /// Digest of what was judged. It is cheap once the checks have read the files.
    pub fn digest(&self) -> String {
        self.files.overall_digest(self.extents())
    }

    /// Computes the digests that the checks may ask for; those of remote tensors follow when the tensors are read.
    pub(super) fn take_digests(&self) {
        self.files.take_unread_digests(self.extents());
    }

    /// Extent of each file that its digest covers.
    fn extents(&self) -> impl Fn(&FileEntry) -> Extent + Sync {
        let extent = |seen: &Seen| match seen.check {
            Some(check) => self.extents.get(&check).copied().unwrap_or(Extent::Content),
            None => Extent::Name,
        };
        let extents: HashMap<&str, Extent> = self.seen.iter().map(|seen| (seen.path.as_str(), extent(seen))).collect();
        // Files that discovery skipped are tensor data of a dump.
        move |entry| extents.get(entry.path.as_str()).copied().unwrap_or(Extent::Directory)
    }

    /// The files of `check`. Files that discovery skipped are tensor data, and belong to the dump check.
    pub(super) fn files_of(&self, check: CheckId) -> Vec<&FileEntry> {
        let checks: HashMap<&str, Option<CheckId>> =
            self.seen.iter().map(|seen| (seen.path.as_str(), seen.check)).collect();
        let of = |entry: &&FileEntry| checks.get(entry.path.as_str()).copied().unwrap_or(Some(CheckId::Dump));
        self.files.list().iter().filter(|entry| of(entry) == Some(check)).collect()
    }

    /// Whether the file at `path` holds the same bytes on the `other` side; `None` where the digests taken do not decide it.
    pub(super) fn has_same_content(&self, other: &Self, path: &str) -> Option<bool> {
        let [left, right] = [self, other].map(|side| side.files.known_digest(path));
        let (left, right) = (left?, right?);
        let is_whole = left.extent == Extent::Content && right.extent == Extent::Content;
        (is_whole || left.digest != right.digest).then_some(left.digest == right.digest)
    }

    /// The table of what was found.
    pub(crate) fn artifact_rows(&self, side: Side) -> Vec<ArtifactRow> {
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
    pub(crate) fn damage_findings(&self, side: Side, checks: &[CheckId]) -> Vec<Finding> {
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
