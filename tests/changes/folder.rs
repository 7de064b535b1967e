//! Copies of folders that are changed, looked at, and put back.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::places;
use super::tree::files;

/// A change of a folder; paths are below it.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// A file or folder is taken away.
    Gone(PathBuf),
    /// A file is cut.
    Cut(PathBuf, usize),
    /// Part of a file is replaced.
    Edit { file: PathBuf, range: Range<usize>, with: Vec<u8> },
    /// A file has other bytes.
    Rewritten(PathBuf, Vec<u8>),
}

/// Every folder below a folder.
pub(crate) fn folders(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()) {
        if entry.is_dir() {
            found.extend(folders(&entry));
            found.push(entry);
        }
    }
    found.sort();
    found
}

/// A copy of a folder.
pub(crate) struct Copied {
    original: PathBuf,
    folder: tempfile::TempDir,
}

impl Copied {
    pub(crate) fn of(original: &Path) -> Self {
        let copied = Self { original: original.to_owned(), folder: tempfile::tempdir().expect("a folder") };
        copied.restore(Path::new(""));
        copied
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Makes `change`, looks at the copy, and puts the copy back to what it was.
    pub(crate) fn with<T>(&self, change: &Change, look: impl FnOnce(&Path) -> T) -> T {
        let read = |file: &PathBuf| fs::read(self.original.join(file)).expect("readable");
        let write = |file: &PathBuf, bytes: &[u8]| fs::write(self.path().join(file), bytes).expect("written");
        let changed = match change {
            Change::Gone(path) => {
                let gone = self.path().join(path);
                if gone.is_dir() { fs::remove_dir_all(gone) } else { fs::remove_file(gone) }.expect("removed");
                path
            }
            Change::Cut(file, len) => {
                write(file, &read(file)[..*len]);
                file
            }
            Change::Edit { file, range, with } => {
                write(file, &places::replaced(&read(file), range, with));
                file
            }
            Change::Rewritten(file, bytes) => {
                write(file, bytes);
                file
            }
        };
        let seen = look(self.path());
        self.restore(changed);
        seen
    }

    fn restore(&self, path: &Path) {
        let from = self.original.join(path);
        let all = if from.is_dir() { files(&from) } else { vec![from] };
        for file in all {
            let target = self.path().join(file.strip_prefix(&self.original).expect("below"));
            fs::create_dir_all(target.parent().expect("a folder")).expect("made");
            fs::copy(file, target).expect("copied");
        }
    }
}
