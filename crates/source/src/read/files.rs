//! Python files below a folder.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::module::{Unread, UnreadReason};

/// Folders whose files are not the project's own, or do not train.
const LEFT_OUT: &[&str] = &["tests", "test", "docs", "build", "third_party", "site-packages", "venv", "node_modules"];
/// Folders within each other that are searched: a bound for trees made to be deep.
const MOST_FOLDERS: usize = 100;
/// Entries that are looked at: fifty times the largest project that was measured.
const MOST_ENTRIES: usize = 5_000_000;

/// Kind of a file, which its name tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Python.
    Python,
    /// Cells of Python.
    Notebook,
    /// A configuration.
    Yaml,
    /// A configuration.
    Json,
    /// A script of a shell.
    Shell,
    /// Packages to install.
    Requirements,
    /// Steps that make an image.
    Image,
}

impl Kind {
    /// The kind of a file by its name; `None` for one that says nothing about devices.
    pub fn from_file_name(name: &str) -> Option<Self> {
        let name = name.rsplit('/').next().unwrap_or(name);
        let lower = name.to_ascii_lowercase();
        let ending = lower.rsplit_once('.').map_or("", |(_, ending)| ending);
        let is_requirements = lower.starts_with("requirements") || lower.ends_with("requirements.txt");
        match ending {
            _ if name.starts_with('.') => None,
            "py" => is_judged(name).then_some(Self::Python),
            "ipynb" => Some(Self::Notebook),
            "yaml" | "yml" => Some(Self::Yaml),
            "json" => Some(Self::Json),
            "sh" | "bash" | "slurm" | "sbatch" => Some(Self::Shell),
            "txt" | "in" if is_requirements => Some(Self::Requirements),
            "dockerfile" => Some(Self::Image),
            _ if lower.starts_with("dockerfile") || lower == "containerfile" => Some(Self::Image),
            _ => None,
        }
    }

    /// Largest file of the kind that is read, in bytes; a larger one holds data.
    pub fn most(self) -> u64 {
        match self {
            Self::Python | Self::Notebook => super::MOST_BYTES,
            _ => 256 << 10,
        }
    }
}

/// Files of a tree.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Paths below the folder, `/`-separated, in order.
    pub files: Vec<String>,
    /// The same of files that are not Python.
    pub others: Vec<String>,
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
/// A link to a folder of the tree is followed where its files are not found by themselves; files whose link leaves the tree are
/// not read.
///
/// # Errors
/// Where the path is not there, or the folder cannot be read.
pub fn find(path: &Path) -> std::io::Result<Found> {
    if fs::metadata(path)?.is_file() {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let root = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let is_other = !matches!(Kind::from_file_name(&name), None | Some(Kind::Python));
        let (files, others) =
            if is_other { (Vec::new(), vec![name.clone()]) } else { (vec![name.clone()], Vec::new()) };
        let mut found = Found { files, others, root: root.to_owned(), ..Found::default() };
        if path.is_symlink() {
            found.links.insert(name, fs::canonicalize(path)?);
        }
        return Ok(found);
    }
    let mut search = Search {
        found: Found { root: path.to_owned(), ..Found::default() },
        whole: fs::canonicalize(path)?,
        left: MOST_ENTRIES,
        seen: HashSet::new(),
        linked: BTreeSet::new(),
    };
    search.below(String::new(), false)?;
    // A folder that is left out, or hidden, is the project's own where a link shows it under another name.
    while let Some(link) = search.linked.pop_first() {
        search.below(link, true)?;
    }
    let mut found = search.found;
    found.files.sort_unstable();
    found.others.sort_unstable();
    Ok(found)
}

/// A search under way.
struct Search {
    found: Found,
    /// The folder that is searched, without links.
    whole: PathBuf,
    /// Entries that are still looked at.
    left: usize,
    /// Folders that were searched, without links.
    seen: HashSet<PathBuf>,
    /// Links to folders, by path.
    linked: BTreeSet<String>,
}

impl Search {
    /// Searches a folder, which a link leads to or not.
    fn below(&mut self, start: String, is_linked: bool) -> std::io::Result<()> {
        let mut folders = vec![(start, 0)];
        while let Some((folder, depth)) = folders.pop() {
            let real = fs::canonicalize(self.found.root.join(&folder)).unwrap_or_default();
            if !real.starts_with(&self.whole) || !self.seen.insert(real) {
                continue;
            }
            let entries = match fs::read_dir(self.found.root.join(&folder)) {
                Ok(entries) => entries,
                Err(error) if folder.is_empty() => return Err(error),
                // Its files cannot be files of the project that anybody runs here.
                Err(_) => continue,
            };
            for entry in entries.flatten() {
                self.left = self.left.saturating_sub(1);
                if self.left == 0 {
                    return Err(std::io::Error::other(format!("more than {MOST_ENTRIES} files and folders")));
                }
                let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
                let below = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
                let Ok(kind) = entry.file_type() else { continue };
                let is_folder = kind.is_dir() || kind.is_symlink() && entry.path().is_dir();
                if is_folder {
                    self.found.note_package(&folder, &name);
                    let is_searched = !name.starts_with('.') && !LEFT_OUT.contains(&name.as_str());
                    match kind.is_dir() {
                        true if is_searched && depth < MOST_FOLDERS => folders.push((below, depth + 1)),
                        false if is_searched => drop(self.linked.insert(below)),
                        _ => {}
                    }
                } else if is_judged(&name) && self.is_file(&below, kind, is_linked) {
                    self.found.note_package(&folder, name.trim_end_matches(".py"));
                    self.found.files.push(below);
                } else if !matches!(Kind::from_file_name(&name), None | Some(Kind::Python))
                    && self.is_file(&below, kind, is_linked)
                {
                    self.found.others.push(below);
                }
            }
        }
        Ok(())
    }

    /// Whether an entry is a file, or leads to one.
    fn is_file(&mut self, below: &str, kind: fs::FileType, is_linked: bool) -> bool {
        match kind.is_symlink() || is_linked {
            true => self.found.note_link(below, &self.whole),
            false => kind.is_file(),
        }
    }
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

    /// The content of a file of these, up to `most` bytes.
    ///
    /// # Errors
    /// The reason where it is not read.
    pub fn content(&self, file: &str, most: u64) -> Result<Vec<u8>, Unread> {
        if self.leaving.contains(file) {
            return Err(Unread::whole_file(UnreadReason::Outside));
        }
        let refused = |error: std::io::Error| Unread::whole_file(UnreadReason::Refused(error.to_string()));
        let opened = fs::File::open(self.root.join(file)).map_err(refused)?;
        let mut bytes = Vec::new();
        opened.take(most + 1).read_to_end(&mut bytes).map_err(refused)?;
        if bytes.len() as u64 > most {
            return Err(Unread::whole_file(UnreadReason::Large(most)));
        }
        Ok(bytes)
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
        std::os::unix::fs::symlink("src", root.path().join("same")).expect("a link");
        std::os::unix::fs::symlink("../.venv", root.path().join("src/shown")).expect("a link");
        std::os::unix::fs::symlink(outside.path(), root.path().join("elsewhere")).expect("a link");
        let found = find(root.path()).expect("a folder");
        assert_eq!(found.files, ["a.py", "leaves.py", "src/b.py", "src/shown/f.py", "stays.py"]);
        assert_eq!(found.links.keys().collect::<Vec<_>>(), ["leaves.py", "src/shown/f.py", "stays.py"]);
        let outside = found.content("leaves.py", 100).expect_err("not read");
        assert!(matches!(outside.reason, UnreadReason::Outside) && found.content("stays.py", 100).is_ok());
        assert!(found.packages.contains("pkg") && found.packages.contains("b"));
        assert_eq!(find(&root.path().join("tests/c.py")).expect("a file").files, ["c.py"]);
        assert!(find(&root.path().join("none")).is_err());
    }
}
