//! Writes every file that the program makes for a run: reports, tables, noise bands, packs, manifests, records.
//!
//! A folder is opened once, component by component, and everything below goes through its handle (`openat` and its
//! relatives). `rustix` serves that: it is a dependency already, while `cap-std` follows links that stay inside of its
//! folder, and a link from a document to another file of the same checkout is one that must not be followed.
//!
//! * No symbolic link is followed that a checkout could hold: below the current folder, `GITHUB_WORKSPACE` and
//!   `CI_PROJECT_DIR` at no component, elsewhere not at the output folder itself. What lies above belongs to the job.
//! * Nothing is opened for writing in place. A document is made new under a temporary name beside its place and renamed,
//!   so that it appears whole, and neither the target of a link nor the other name of a hard link is touched. Where
//!   something else than a regular file has a document's name, that is an error; a link that appears later is replaced
//!   itself.
//! * A run holds a lock in its folder, so that there is one at a time, and begins by removing the documents of the run
//!   before and the temporary files of killed ones.
//!
//! Killed at any moment, a run leaves a folder where every document is whole and of one run: a document other than
//! `operations.jsonl` is next to the `result.json` of its run, and that next to the `operations.jsonl` it was written
//! with. So `operations.jsonl` appears first and goes last, `result.json` comes next, and everything else after it. Files
//! are not synced: this is about killed processes, not about machines that lose power.

mod dir;
pub mod documents;
mod draft;
mod lock;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use dir::Dir;
pub use documents::{DocumentSet, RESULT};
pub use draft::Draft;

use tempfile::TempDir;

use crate::error::{Error, ErrorKind, Result};
use lock::Lock;

/// The output folder of one run, from its first moment to the last rename.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    set: DocumentSet,
    state: Mutex<State>,
    /// The folder itself where nobody keeps it; goes after what lies in it.
    _scratch: Option<TempDir>,
}

/// Fields go in this order: drafts before the lock.
#[derive(Debug, Default)]
struct State {
    /// Documents that are complete, and not yet in their place.
    drafts: Vec<Draft>,
    held: Option<Held>,
}

#[derive(Debug)]
struct Held {
    dir: Arc<Dir>,
    _lock: Lock,
}

impl Output {
    /// Begins to write the documents of `set` into the folder at `path`: takes its lock and removes those of an earlier
    /// run. A folder that is not there is made once there is something to write, and all of this happens then.
    ///
    /// # Errors
    /// `Usage` where another run holds the folder, or something else than a file or folder stands in the way.
    pub fn begin(path: &Path, set: DocumentSet) -> Result<Self> {
        let output = Self { path: path.to_owned(), set, state: Mutex::default(), _scratch: None };
        if let Some(dir) = Dir::open_existing(path)? {
            output.state().held = Some(Held::take(Arc::new(dir), set)?);
        }
        Ok(output)
    }

    /// As [`begin`](Self::begin), for a folder that may hold files of other programs: without `force`, none of them that has
    /// a document's name is replaced.
    ///
    /// # Errors
    /// As [`begin`](Self::begin); `Usage` for a file that this program did not write.
    pub fn begin_beside_others(path: &Path, set: DocumentSet, force: bool) -> Result<Self> {
        if let Some(dir) = Dir::open_existing(path)?.filter(|_| !force) {
            check_own(&dir, set)?;
        }
        Self::begin(path, set)
    }

    /// Begins to write into a temporary folder that goes with the value: for a result that is only printed.
    ///
    /// # Errors
    /// Where no folder can be made.
    pub fn scratch(set: DocumentSet) -> Result<Self> {
        let folder = tempfile::tempdir().map_err(|error| Error::io("a temporary folder", &error))?;
        let output = Self::begin(folder.path(), set)?;
        Ok(Self { _scratch: Some(folder), ..output })
    }

    /// The folder as it was named.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A document in the making.
    ///
    /// # Errors
    /// As [`begin`](Self::begin); and what creating gives.
    pub fn draft(&self, name: &str) -> Result<Draft> {
        Draft::create(self.dir()?, name)
    }

    /// Keeps a document that is complete until all are.
    pub fn keep(&self, draft: Draft) {
        self.state().drafts.push(draft);
    }

    /// Writes a whole document; it appears with the others.
    ///
    /// # Errors
    /// As [`draft`](Self::draft); and what writing gives.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let mut draft = self.draft(name)?;
        draft.write_bytes(bytes)?;
        self.keep(draft);
        Ok(())
    }

    /// Puts every complete document in its place, and gives the folder back.
    ///
    /// # Errors
    /// Where a document cannot be renamed; nothing is renamed where something other than a file stands in the place of
    /// a document.
    pub fn commit(self) -> Result<()> {
        let mut state = self.state();
        state.drafts.sort_by_key(|draft| self.set.write_order(draft.name()));
        state.drafts.iter().try_for_each(Draft::check)?;
        std::mem::take(&mut state.drafts).into_iter().try_for_each(Draft::commit)
    }

    fn dir(&self) -> Result<Arc<Dir>> {
        let mut state = self.state();
        if let Some(held) = &state.held {
            return Ok(held.dir.clone());
        }
        let held = Held::take(Arc::new(Dir::make(&self.path)?), self.set)?;
        Ok(state.held.insert(held).dir.clone())
    }

    /// Locks the state, also after a panic of another holder: every change of it is whole.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn take(dir: Arc<Dir>, set: DocumentSet) -> Result<Self> {
        let lock = Lock::acquire(dir.clone())?;
        clean(&dir, set)?;
        Ok(Self { dir, _lock: lock })
    }
}

/// Demands that the documents of `set` in a folder are of this program, where their text says whose they are.
fn check_own(dir: &Dir, set: DocumentSet) -> Result<()> {
    let names = dir.names()?;
    let is_told = |name: &&String| set.write_order(name).is_some() && documents::SIGNED.contains(&name.as_str());
    for name in names.iter().filter(is_told).filter(|name| dir.check(name).is_ok()) {
        let head = dir.head(name, documents::HEAD)?.unwrap_or_default();
        if !documents::is_own(&head) {
            return Err(not_own(&dir.place(name))
                .with_help("give another folder with --out, or replace its documents with --force"));
        }
    }
    Ok(())
}

fn not_own(path: &Path) -> Error {
    let message = "is there already, and precision-gate did not write it";
    Error::new(ErrorKind::Usage, path.display().to_string(), message)
}

/// Removes the documents of `set` and what killed runs left, in the order that keeps the rest those of one run.
fn clean(dir: &Dir, set: DocumentSet) -> Result<()> {
    let names = dir.names()?;
    let mut documents: Vec<(u8, &String)> =
        names.iter().filter_map(|name| set.write_order(name).map(|rank| (rank, name))).collect();
    documents.sort();
    let mut refused = None;
    for (_, name) in documents.into_iter().rev() {
        match dir.check(name) {
            Ok(()) => dir.remove(name)?,
            Err(error) => refused = Some(error),
        }
    }
    // Something else than a file under such a name is nothing that this program wrote.
    let left = names.iter().filter(|name| draft::is_draft_name(name) && dir.check(name).is_ok());
    left.map(String::as_str).try_for_each(|name| dir.remove(name))?;
    refused.map_or(Ok(()), Err)
}

/// Files that may be replaced by one that a user named.
#[derive(Clone, Copy, Debug)]
pub enum Over {
    /// Any: the user said so, or only this program gives such a name.
    Any,
    /// Those that this program wrote, as their bytes tell.
    Own(fn(&[u8]) -> bool),
}

impl Over {
    /// Any file with `--force`, else those that `is_own` recognises.
    pub fn forced(force: bool, is_own: fn(&[u8]) -> bool) -> Self {
        if force { Self::Any } else { Self::Own(is_own) }
    }
}

/// Bytes of a file that are looked at to recognise it.
const MOST_LOOKED_AT: u64 = 64 << 20;

/// Writes one file as a whole, at a path that a user named; its folder has to be there.
///
/// # Errors
/// `Usage` where something else than a regular file has its name, or a file that may not be replaced; `NotFound` without a
/// folder; and what writing gives.
pub fn write_file(path: &Path, bytes: &[u8], over: Over) -> Result<()> {
    let (folder, name) = split(path)?;
    let dir = Dir::open_for_file(folder)?;
    if let Over::Own(is_own) = over
        && dir.head(name, MOST_LOOKED_AT)?.is_some_and(|there| there != bytes && !is_own(&there))
    {
        return Err(not_own(path).with_help("give another name with --out, or replace it with --force"));
    }
    write_whole(dir, name, bytes)
}

/// Writes one file as a whole below `root`; folders between are made, and none of them may be a link.
///
/// # Errors
/// As [`write_file`].
pub fn write_below(root: &Path, path: &str, bytes: &[u8]) -> Result<()> {
    let (folder, name) = split(Path::new(path))?;
    write_whole(Dir::make_for_file(root)?.make_below(folder)?, name, bytes)
}

/// Removes one file below `root`, following no link; one that is not there is no error.
///
/// # Errors
/// As [`write_file`].
pub(crate) fn remove_below(root: &Path, path: &str) -> Result<()> {
    let (folder, name) = split(Path::new(path))?;
    let Some(root) = Dir::open_existing_for_file(root)? else { return Ok(()) };
    root.open_below(folder)?.map_or(Ok(()), |dir| dir.remove(name))
}

/// Makes the folder at `path`, reached as the folder of a file that a user named.
///
/// # Errors
/// As [`write_file`].
pub(crate) fn make_folder(path: &Path) -> Result<()> {
    Dir::make_for_file(path).map(drop)
}

/// Flag that opens a file only where it is not a link.
#[cfg(feature = "network")]
pub(crate) fn no_link() -> i32 {
    rustix::fs::OFlags::NOFOLLOW.bits().cast_signed()
}

fn write_whole(dir: Dir, name: &str, bytes: &[u8]) -> Result<()> {
    let mut draft = Draft::create(Arc::new(dir), name)?;
    draft.write_bytes(bytes)?;
    draft.commit()
}

/// Folder and name of a file.
fn split(path: &Path) -> Result<(&Path, &str)> {
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| {
        let error = Error::new(ErrorKind::Usage, path.display().to_string(), "names no file");
        error.with_help("give a path that ends with the name of a file")
    })?;
    Ok((path.parent().unwrap_or(Path::new("")), name))
}
