//! Python files below a folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::MOST_BYTES;
use super::module::{Module, Unread, UnreadReason};

/// Folders whose files are not the project's own, or do not train.
const LEFT_OUT: &[&str] = &["tests", "test", "docs", "build", "third_party", "site-packages", "venv", "node_modules"];
/// Folders within each other that are searched: a bound for trees made to be deep.
const MOST_FOLDERS: usize = 100;
/// Entries that are looked at: fifty times the largest project that was measured.
const MOST_ENTRIES: usize = 5_000_000;

/// Python files of a tree.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Paths below the folder, `/`-separated, in order.
    pub files: Vec<String>,
    /// Names of packages and modules at the root, or below its `src`.
    pub packages: BTreeSet<String>,
    /// Folder that the paths are below.
    pub root: PathBuf,
    /// Files that are links, and what they lead to.
    pub links: BTreeMap<String, PathBuf>,
    /// Those of the links that leave the folder: what they lead to is not read.
    leaving: BTreeSet<String>,
}

/// Finds the Python files at `path`: of a folder all that are not left out by default, or the one file.
///
/// Links to folders are not followed, and files whose link leaves the folder are not read.
///
/// # Errors
/// Where the path is not there, or the folder cannot be read.
pub fn find(path: &Path) -> std::io::Result<Found> {
    if fs::metadata(path)?.is_file() {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let root = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut found = Found { files: vec![name.clone()], root: root.to_owned(), ..Found::default() };
        if path.is_symlink() {
            found.links.insert(name, fs::canonicalize(path)?);
        }
        return Ok(found);
    }
    let mut found = Found { root: path.to_owned(), ..Found::default() };
    let whole = fs::canonicalize(path)?;
    let mut left = MOST_ENTRIES;
    let mut folders = vec![(String::new(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let entries = match fs::read_dir(path.join(&folder)) {
            Ok(entries) => entries,
            Err(error) if folder.is_empty() => return Err(error),
            // Its files cannot be files of the project that anybody runs here.
            Err(_) => continue,
        };
        for entry in entries.flatten() {
            left = left.saturating_sub(1);
            if left == 0 {
                return Err(std::io::Error::other(format!("more than {MOST_ENTRIES} files and folders")));
            }
            let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
            let below = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                found.note_package(&folder, &name);
                if depth < MOST_FOLDERS && !name.starts_with('.') && !LEFT_OUT.contains(&name.as_str()) {
                    folders.push((below, depth + 1));
                }
            } else if is_judged(&name) && (kind.is_file() || kind.is_symlink() && found.note_link(&below, &whole)) {
                found.note_package(&folder, name.trim_end_matches(".py"));
                found.files.push(below);
            }
        }
    }
    found.files.sort_unstable();
    Ok(found)
}

impl Found {
    fn note_package(&mut self, folder: &str, name: &str) {
        if folder.is_empty() || folder == "src" {
            self.packages.insert(name.to_owned());
        }
    }

    /// Keeps what a link leads to; whether that is a file.
    fn note_link(&mut self, link: &str, whole: &Path) -> bool {
        let Ok(target) = fs::canonicalize(self.root.join(link)) else { return false };
        if !target.is_file() {
            return false;
        }
        if !target.starts_with(whole) {
            self.leaving.insert(link.to_owned());
        }
        self.links.insert(link.to_owned(), target);
        true
    }

    /// Size of a file of these in bytes; 0 where it cannot be asked.
    pub fn size(&self, file: &str) -> u64 {
        fs::metadata(self.root.join(file)).map_or(0, |about| about.len())
    }

    /// Reads a file of these.
    ///
    /// # Errors
    /// Line and reason where it is no Python that can be read.
    pub fn read(&self, file: &str) -> Result<Module, Unread> {
        if self.leaving.contains(file) {
            return Err(Unread::whole(UnreadReason::Outside));
        }
        let refused = |error: std::io::Error| Unread::whole(UnreadReason::Refused(error.to_string()));
        let opened = fs::File::open(self.root.join(file)).map_err(refused)?;
        let mut bytes = Vec::new();
        opened.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(refused)?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(Unread::whole(UnreadReason::Large));
        }
        Module::parse(file, bytes)
    }
}

fn is_judged(name: &str) -> bool {
    let Some(stem) = name.strip_suffix(".py") else { return false };
    !(stem.starts_with("test_") || stem.ends_with("_test") || stem == "conftest" || stem.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::{UnreadReason, find};

    #[test]
    fn only_files_of_the_project_are_found() {
        let root = tempfile::tempdir().expect("a folder");
        for file in [
            "a.py",
            "src/b.py",
            "tests/c.py",
            "pkg/test_d.py",
            "pkg/e_test.py",
            "conftest.py",
            ".venv/f.py",
            "g.txt",
            "pkg/site-packages/h.py",
        ] {
            let path = root.path().join(file);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(path, "").expect("written");
        }
        let outside = tempfile::tempdir().expect("a folder");
        std::fs::write(outside.path().join("x.py"), "").expect("written");
        std::os::unix::fs::symlink(outside.path().join("x.py"), root.path().join("leaves.py")).expect("a link");
        std::os::unix::fs::symlink(root.path().join("a.py"), root.path().join("stays.py")).expect("a link");
        std::os::unix::fs::symlink(root.path(), root.path().join("again")).expect("a link");
        let found = find(root.path()).expect("a folder");
        assert_eq!(found.files, ["a.py", "leaves.py", "src/b.py", "stays.py"]);
        assert_eq!(found.links.keys().collect::<Vec<_>>(), ["leaves.py", "stays.py"]);
        let outside = found.read("leaves.py").expect_err("not read");
        assert!(matches!(outside.reason, UnreadReason::Outside) && found.read("stays.py").is_ok());
        assert!(found.packages.contains("pkg") && found.packages.contains("b"));
        assert_eq!(find(&root.path().join("tests/c.py")).expect("a file").files, ["c.py"]);
        assert!(find(&root.path().join("none")).is_err());
    }
}
