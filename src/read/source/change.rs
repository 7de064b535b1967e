//! A change of source code, from a unified diff or from two commits, and the lines of each file that it touches.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use precision_gate_source::read::diff::Diff;
use precision_gate_source::read::files::{Found, Kind};
use precision_gate_source::read::{Lines, MOST_BYTES, Touched};

use super::blob::{has_same_lines, is_blob};
use crate::fetch::writable::{Blobs, ChangedFile, CommitEntry, Commits, EntryKind};

static NOTHING: Touched = Touched::Nothing;
static WHOLE: Touched = Touched::Whole;

/// A change.
#[derive(Clone, Debug)]
pub enum SourceChange {
    /// A unified diff that was made for this tree.
    Diff(Diff),
    /// The difference between two commits.
    Commits(CommitChange),
}

impl SourceChange {
    /// Extent of the change in a file of a tree. `content` is `None` if the file could not be read.
    pub fn touched(&self, found: &Found, file: &str, content: Option<&[u8]>) -> &Touched {
        match self {
            Self::Diff(diff) => of_diff(diff, found, file, content.unwrap_or_default()),
            Self::Commits(change) => change.touched(found, file, content),
        }
    }
}

/// Extent of a unified diff in a file. Diffs count lines that end with LF.
fn of_diff<'a>(diff: &'a Diff, found: &Found, file: &str, content: &[u8]) -> &'a Touched {
    let text = |path: &Path| path.to_string_lossy().replace('\\', "/");
    let root = fs::canonicalize(&found.root).unwrap_or_else(|_| found.root.clone());
    if let Some(target) = found.links.get(file) {
        let (folder, name) = (target.parent().unwrap_or(target), target.file_name().unwrap_or_default());
        // The file is reached through a link. If the diff changes links, the path may lead to another file than before.
        let is_touched = diff.has_links()
            || diff.touched(file, &text(&root)).is_some()
            || diff.touched(&name.to_string_lossy(), &text(folder)).is_some();
        return if is_touched { &WHOLE } else { &NOTHING };
    }
    match diff.touched(file, &text(&root)) {
        None => &NOTHING,
        Some(Touched::Lines(_)) if !Lines::end_by_line_feeds(content) => &WHOLE,
        Some(touched) => touched,
    }
}

/// Difference between two commits, the later of which is checked out. A file counts as changed unless it is known to be unchanged.
#[derive(Clone, Debug)]
pub struct CommitChange {
    /// Folder of the repository.
    root: PathBuf,
    /// Files of the later commit, by their path in the repository.
    files: BTreeMap<String, CommitEntry>,
    /// Extents of the changes in files that differ, by their path in the repository.
    touched: BTreeMap<String, Touched>,
    /// Whether the change includes a link, a submodule, or a name that cannot be read.
    has_links: bool,
    /// Targets of the links in the change.
    linked: BTreeSet<PathBuf>,
}

impl CommitChange {
    /// Reads the difference between two commits.
    ///
    /// # Errors
    /// Message with the reason if git cannot give the difference.
    pub fn read(commits: &Commits) -> Result<Self, String> {
        let root = commits.root().to_owned();
        let mut change = Self {
            files: commits.files()?.into_iter().collect(),
            touched: BTreeMap::new(),
            has_links: false,
            linked: BTreeSet::new(),
            root,
        };
        let mut blobs = commits.blobs()?;
        for file in commits.changed_files()? {
            let is_link =
                [file.old.kind, file.new.kind].iter().any(|kind| matches!(kind, EntryKind::Link | EntryKind::Other));
            change.has_links |= is_link || file.path.is_none();
            let Some(path) = file.path.clone() else { continue };
            if is_link {
                change.linked.extend(fs::canonicalize(change.root.join(&path)));
            }
            change.touched.insert(path, between(&file, &mut blobs));
        }
        Ok(change)
    }

    fn touched(&self, found: &Found, file: &str, content: Option<&[u8]>) -> &Touched {
        self.known(found, file, content).unwrap_or(&WHOLE)
    }

    /// Extent of the change in a file; `None` if it is not known.
    fn known(&self, found: &Found, file: &str, content: Option<&[u8]>) -> Option<&Touched> {
        let root = fs::canonicalize(&found.root).ok()?;
        let named = root.join(file);
        let real = fs::canonicalize(&named).ok()?;
        let path = real.strip_prefix(&self.root).ok()?.to_str()?;
        let entry = self.files.get(path).filter(|entry| entry.kind == EntryKind::File)?;
        let is_stored = match content {
            Some(content) => has_same_lines(content, &entry.id),
            None => is_stored(&real, &entry.id),
        };
        let is_of_linked = real.ancestors().any(|folder| self.linked.contains(folder));
        let is_led_elsewhere = self.has_links && is_behind_link(&found.root);
        if !is_stored || is_of_linked || is_led_elsewhere {
            return None;
        }
        let touched = self.touched.get(path).unwrap_or(&NOTHING);
        if named == real {
            return Some(touched);
        }
        // The file is reached through a link. Its earlier lines under this name are only known if the file and all links are unchanged.
        let is_known = !self.has_links && *touched == NOTHING && self.links_are_stored(&root, file);
        is_known.then_some(&NOTHING)
    }

    /// Whether all links on the path to a file are the same as in the commit.
    fn links_are_stored(&self, root: &Path, file: &str) -> bool {
        let named = root.join(file);
        let on_the_way = named.ancestors().take_while(|path| *path != root);
        on_the_way.filter(|path| path.is_symlink()).all(|link| {
            let path = link.strip_prefix(&self.root).ok().and_then(Path::to_str);
            let entry = path.and_then(|path| self.files.get(path)).filter(|entry| entry.kind == EntryKind::Link);
            let target = fs::read_link(link).ok();
            let target = target.as_deref().and_then(Path::to_str).unwrap_or_default().as_bytes();
            entry.is_some_and(|entry| is_blob(target, target.len() as u64, &entry.id).unwrap_or(false))
        })
    }
}

/// Whether any part of a path is a link.
fn is_behind_link(path: &Path) -> bool {
    std::path::absolute(path).is_ok_and(|path| path.ancestors().any(Path::is_symlink))
}

/// Whether the file at a path has this blob id.
fn is_stored(path: &Path, id: &str) -> bool {
    let open = || -> std::io::Result<bool> {
        let file = fs::File::open(path)?;
        let size = file.metadata()?.len();
        is_blob(file, size, id)
    };
    open().unwrap_or(false)
}

/// Lines of a file that differ. They are only computed for files that are judged; any other changed file counts as a whole.
fn between(file: &ChangedFile, blobs: &mut Blobs) -> Touched {
    if file.old == file.new {
        return Touched::Nothing;
    }
    let is_judged =
        file.path.as_ref().is_some_and(|path| path.ends_with(".py") || Kind::from_file_name(path).is_some());
    if !is_judged || file.old.kind != EntryKind::File || file.new.kind != EntryKind::File {
        return Touched::Whole;
    }
    match (blobs.content(&file.old.id, MOST_BYTES), blobs.content(&file.new.id, MOST_BYTES)) {
        (Some(old), Some(new)) => Touched::between(&old, &new),
        _ => Touched::Whole,
    }
}
