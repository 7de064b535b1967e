//! Paths in a checkout whose files may come from a stranger: their place in the repository, found without following links.
//!
//! The text of a path is resolved against the root of the repository, never through the file system. If a change turned a folder
//! into a link, a submodule or a nested repository, the folder is therefore still looked up by its name in the target branch.

use std::path::{Component, Path, PathBuf};

/// The folder of the job's checkout, and the job's working folder.
#[derive(Clone, Debug)]
pub struct Checkout {
    /// The job's workspace; a repository lies in it, or in a folder below (`actions/checkout` with `path:`).
    workspace: PathBuf,
    /// The working folder, against which relative paths are resolved.
    working: PathBuf,
}

/// Place of a path, inside or outside of the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathPlace {
    /// Outside of the workspace: a file of the job itself.
    Outside,
    /// The path is in the repository.
    Inside(RepositoryPath),
    /// It enters the workspace through a link, so that its name in the repository is unknown.
    Unclear,
}

/// A path in the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryPath {
    /// The path from the repository's root, `/`-separated; empty for the root itself.
    pub name: String,
    /// Whether the repository's root was recognised; otherwise the workspace is assumed to be the root.
    pub is_root_known: bool,
    /// Whether a part of the path is a link in the checkout.
    pub has_link: bool,
}

impl Checkout {
    /// The checkout of a job; `workspace` is empty if the job does not name its workspace.
    pub fn new(workspace: &str, working: PathBuf) -> Self {
        let workspace = match workspace {
            "" => working.ancestors().filter(|folder| is_root(folder)).last().unwrap_or(&working).to_owned(),
            given => PathBuf::from(given),
        };
        Self { workspace, working }
    }

    /// Root folder of the repository that contains `path`; `None` outside of the workspace, and if no repository was checked out.
    pub fn root(&self, path: &Path) -> Option<PathBuf> {
        let absolute = plain(&self.working.join(path));
        let workspace = self.around(&absolute)?;
        outermost(&absolute, workspace).map(Path::to_owned)
    }

    /// The beginning of a path that is the workspace: the outermost match, since the change may contain a link to the workspace.
    fn around<'a>(&self, absolute: &'a Path) -> Option<&'a Path> {
        absolute.ancestors().filter(|folder| same(folder, &self.workspace)).last()
    }

    /// Finds the place of `path` by its text.
    pub fn find(&self, path: &Path) -> PathPlace {
        let absolute = plain(&self.working.join(path));
        let Some(workspace) = self.around(&absolute) else {
            return if enters(&absolute, &self.workspace) { PathPlace::Unclear } else { PathPlace::Outside };
        };
        let root = outermost(&absolute, workspace);
        let sure = root.is_some();
        let root = root.unwrap_or(workspace);
        let mut below = absolute.ancestors().take_while(|folder| folder.starts_with(root) && *folder != root);
        let linked = below.any(Path::is_symlink);
        let parts = absolute.strip_prefix(root).unwrap_or(&absolute).components();
        let name: Vec<_> = parts.map(|part| part.as_os_str().to_string_lossy()).collect();
        PathPlace::Inside(RepositoryPath { name: name.join("/"), is_root_known: sure, has_link: linked })
    }
}

/// The outermost repository between a workspace and a path in it; a nested repository or submodule could come from the change.
fn outermost<'a>(absolute: &'a Path, workspace: &Path) -> Option<&'a Path> {
    absolute.ancestors().take_while(|folder| folder.starts_with(workspace)).filter(|folder| is_root(folder)).last()
}

/// Whether a repository was checked out into `folder`. Git refuses to store a file named `.git`, so that no commit can add one.
fn is_root(folder: &Path) -> bool {
    folder.join(".git").symlink_metadata().is_ok()
}

/// Whether two paths name the same folder; the machine may reach a workspace through a link.
fn same(one: &Path, other: &Path) -> bool {
    one == other || one.canonicalize().ok().zip(other.canonicalize().ok()).is_some_and(|(one, other)| one == other)
}

/// Whether the existing part of `path` lies in `folder` after links are followed.
fn enters(path: &Path, folder: &Path) -> bool {
    let there = path.ancestors().find_map(|part| part.canonicalize().ok());
    there.zip(folder.canonicalize().ok()).is_some_and(|(path, folder)| path.starts_with(folder))
}

/// `path` without `.` and `..`, resolved by its text alone.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inside(name: &str, linked: bool) -> PathPlace {
        PathPlace::Inside(RepositoryPath { name: name.into(), is_root_known: true, has_link: linked })
    }

    #[cfg(unix)]
    #[test]
    fn a_path_is_its_text_from_the_outermost_repository_on() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().expect("a folder");
        let [machine, workspace] = ["machine", "real/workspace"].map(|name| folder.path().join(name));
        for name in ["real/workspace/src/.git", "real/workspace/src/sub/.git", "real/workspace/src/ci", "outside"] {
            std::fs::create_dir_all(folder.path().join(name)).expect("a folder");
        }
        symlink(folder.path().join("real"), &machine).expect("a link");
        symlink(folder.path().join("outside"), workspace.join("src/lax")).expect("a link");
        symlink(&workspace, folder.path().join("entry")).expect("a link");
        symlink("..", workspace.join("src/up")).expect("a link");
        let checkout = |given: &Path| Checkout::new(&given.display().to_string(), workspace.clone());
        let checkout = checkout(&machine.join("workspace"));
        for (path, lies) in [
            ("src/precision-gate.yml", inside("precision-gate.yml", false)),
            ("./src/ci/../ci/gate.yml", inside("ci/gate.yml", false)),
            ("src/sub/gate.yml", inside("sub/gate.yml", false)),
            ("src/lax/gate.yml", inside("lax/gate.yml", true)),
            ("src/lax/../../src/ci/gate.yml", inside("ci/gate.yml", false)),
            ("src/up/gate.yml", inside("up/gate.yml", true)),
            ("src", inside("", false)),
            (
                "gate.yml",
                PathPlace::Inside(RepositoryPath { name: "gate.yml".into(), is_root_known: false, has_link: false }),
            ),
            ("../../outside/gate.yml", PathPlace::Outside),
        ] {
            assert_eq!(checkout.find(Path::new(path)), lies, "{path}");
        }
        assert_eq!(checkout.find(&machine.join("workspace/src/gate.yml")), inside("gate.yml", false));
        assert_eq!(checkout.find(&folder.path().join("entry/src/gate.yml")), inside("gate.yml", false));
        let below = folder.path().join("below");
        symlink(workspace.join("src/ci"), &below).expect("a link");
        assert_eq!(checkout.find(&below.join("gate.yml")), PathPlace::Unclear);
        // Without a workspace it is the outermost repository around the working folder.
        let desk = Checkout::new("", workspace.join("src/sub"));
        assert_eq!(desk.find(Path::new("gate.yml")), inside("sub/gate.yml", false));
    }
}
