//! Trees of files on disk.

use std::fs;
use std::path::{Path, PathBuf};

/// Every file below a folder, sorted.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()) {
        if entry.is_dir() { found.extend(files(&entry)) } else { found.push(entry) }
    }
    found.sort();
    found
}

/// Copies a folder, or a file into a folder.
pub(crate) fn copy(from: &Path, to: &Path) {
    let (root, all) =
        if from.is_dir() { (from, files(from)) } else { (from.parent().expect("a folder"), vec![from.into()]) };
    for file in all {
        let target = to.join(file.strip_prefix(root).expect("below"));
        fs::create_dir_all(target.parent().expect("a folder")).expect("made");
        fs::copy(file, target).expect("copied");
    }
}
