//! Files of the base commit: what a pull request may not change about its own judgement.
//!
//! They are read from the local repository where it holds the commit, else from the forge. Both are told apart from "the
//! file is not there", so that nobody relaxes a gate by being unreachable.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, ErrorKind, Result};

/// Asks the forge for a file's text at a commit, by its path in the repository.
pub type Remote<'a> = Box<dyn FnMut(&str, &str) -> Result<Option<String>> + 'a>;

/// The base commit's files.
pub struct Base<'a> {
    /// The commit.
    pub commit: &'a str,
    /// Folder of the checked-out repository.
    pub root: &'a Path,
    /// The forge, where there is a token for it.
    pub remote: Option<Remote<'a>>,
}

impl std::fmt::Debug for Base<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Base").field("commit", &self.commit).finish_non_exhaustive()
    }
}

impl Base<'_> {
    /// Whether the repository decides about `path`: one outside of it does not belong to the pull request.
    pub fn holds(&self, path: &Path) -> bool {
        self.below_root(path).is_some()
    }

    /// The text of `path` at the base commit; `None` where it was not there.
    pub fn read(&mut self, path: &Path) -> Result<Option<String>> {
        if let Some(found) = local(self.commit, path) {
            return Ok(found);
        }
        let name = self.below_root(path).map(|path| path.to_string_lossy().replace('\\', "/"));
        match (&mut self.remote, name) {
            (Some(remote), Some(name)) => remote(&name, self.commit),
            _ => Err(self.unreachable(path)),
        }
    }

    fn below_root(&self, path: &Path) -> Option<PathBuf> {
        let (folder, name) = (resolved(folder_of(path))?, path.file_name()?);
        folder.join(name).strip_prefix(resolved(self.root)?).ok().map(Path::to_owned)
    }

    fn unreachable(&self, path: &Path) -> Error {
        let commit = self.commit.get(..12).unwrap_or(self.commit);
        let message = format!("the base commit {commit} is not at hand, and a fork's own version does not count");
        Error::new(ErrorKind::Unavailable, path.display().to_string(), message).with_help(
            "check out with the full history (`fetch-depth: 0`, GIT_DEPTH: 0), or give a token that may read the repository",
        )
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A folder without links, so that two names of one folder are not taken for two.
fn resolved(folder: &Path) -> Option<PathBuf> {
    folder.canonicalize().or_else(|_| std::path::absolute(folder)).ok()
}

/// The file at the commit, from the repository around it. `None` where that cannot tell: no git, no such commit, or a
/// clone that leaves out what is asked for.
fn local(commit: &str, path: &Path) -> Option<Option<String>> {
    if commit.is_empty() || !commit.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let name = path.file_name()?.to_str()?;
    let git = |arguments: &[&str]| {
        let ran = Command::new("git").arg("-C").arg(folder_of(path)).args(arguments).output().ok()?;
        ran.status.success().then_some(ran.stdout)
    };
    if git(&["ls-tree", commit, &format!("./{name}")])?.is_empty() {
        return Some(None);
    }
    let bytes = git(&["cat-file", "blob", &format!("{commit}:./{name}")])?;
    String::from_utf8(bytes).ok().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git(folder: &Path, arguments: &[&str]) -> String {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@b"];
        let ran = Command::new("git").arg("-C").arg(folder).args(identity).args(arguments).output().expect("git");
        assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8_lossy(&ran.stdout).trim().to_owned()
    }

    #[test]
    fn the_base_commit_decides_wherever_it_can_be_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        let file = root.join("gate.yml");
        git(root, &["init", "-q"]);
        std::fs::write(&file, "profile: strict\n").expect("written");
        git(root, &["add", "."]);
        git(root, &["commit", "-qm", "base"]);
        let commit = git(root, &["rev-parse", "HEAD"]);
        std::fs::write(&file, "profile: default\n").expect("written");

        let mut base = Base { commit: &commit, root, remote: None };
        assert_eq!(base.read(&file).expect("read").as_deref(), Some("profile: strict\n"));
        assert_eq!(base.read(&root.join("new.yml")).expect("read"), None);
        assert!(base.holds(&file) && !base.holds(Path::new("/elsewhere/gate.yml")));

        let unknown = "0123456789012345678901234567890123456789";
        let mut asked = Vec::new();
        let remote = |path: &str, commit: &str| {
            asked.push((path.to_owned(), commit.to_owned()));
            Ok(Some("profile: release\n".to_owned()))
        };
        let mut base = Base { commit: unknown, root, remote: Some(Box::new(remote)) };
        assert_eq!(base.read(&file).expect("read").as_deref(), Some("profile: release\n"));
        drop(base);
        assert_eq!(asked, [("gate.yml".to_owned(), unknown.to_owned())]);
        let error = Base { commit: unknown, root, remote: None }.read(&file).expect_err("not at hand");
        assert_eq!(error.kind(), ErrorKind::Unavailable);
    }
}
