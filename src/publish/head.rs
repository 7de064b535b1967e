//! The commit that a repository has checked out, read without running git in it.

use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

/// Largest number of bytes of a file of references that are read.
const MOST_BYTES: u64 = 16 << 20;

/// The commit checked out into `root`; `None` if it cannot be found, as in a repository with the reftable format.
pub fn checked_out_commit(root: &Path) -> Option<String> {
    let folder = folder(root)?;
    let head = text(&folder.join("HEAD"))?;
    if let Some(commit) = as_commit(&head) {
        return Some(commit);
    }
    let reference = head.strip_prefix("ref:")?.trim();
    let is_plain = Path::new(reference).components().all(|part| matches!(part, Component::Normal(_)));
    if !is_plain || !reference.starts_with("refs/") {
        return None;
    }
    // A linked working tree has its own HEAD and shares the branches of the main one.
    let shared = text(&folder.join("commondir")).map_or_else(|| folder.clone(), |common| folder.join(common.trim()));
    let loose = [&folder, &shared].into_iter().find_map(|folder| as_commit(&text(&folder.join(reference))?));
    loose.or_else(|| packed(&text(&shared.join("packed-refs"))?, reference))
}

/// The folder that holds HEAD: `.git`, or the folder that a file of that name points at.
fn folder(root: &Path) -> Option<PathBuf> {
    let found = root.join(".git");
    if found.is_dir() {
        return Some(found);
    }
    Some(root.join(text(&found)?.strip_prefix("gitdir:")?.trim()))
}

fn text(path: &Path) -> Option<String> {
    let mut text = String::new();
    let file = File::open(path).ok().filter(|file| file.metadata().is_ok_and(|found| found.is_file()))?;
    file.take(MOST_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

/// The full hash of a commit, SHA-1 or SHA-256; `None` for any other text.
fn as_commit(text: &str) -> Option<String> {
    let text = text.trim();
    let is_name = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_name.then(|| text.to_ascii_lowercase())
}

/// The commit of a reference in a file of packed references, which has one per line.
fn packed(text: &str, reference: &str) -> Option<String> {
    let named =
        |line: &str| line.split_once(' ').filter(|(_, name)| *name == reference).and_then(|(of, _)| as_commit(of));
    text.lines().find_map(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMIT: &str = "1111111111111111111111111111111111111111";

    fn of(files: &[(&str, &str)]) -> Option<String> {
        let root = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("written");
        }
        checked_out_commit(root.path())
    }

    #[test]
    fn a_commit_is_found_wherever_git_keeps_it() {
        let (head, packed) = ("ref: refs/heads/a/b\n", format!("# pack-refs\n{COMMIT} refs/heads/a/b\n^{COMMIT}\n"));
        for files in [
            &[(".git/HEAD", COMMIT)][..],
            &[(".git/HEAD", head), (".git/refs/heads/a/b", COMMIT)],
            &[(".git/HEAD", head), (".git/packed-refs", &packed)],
            &[(".git", "gitdir: kept/.git\n"), ("kept/.git/HEAD", COMMIT)],
            &[
                (".git", "gitdir: main/worktrees/w\n"),
                ("main/worktrees/w/HEAD", head),
                ("main/worktrees/w/commondir", "../..\n"),
                ("main/refs/heads/a/b", COMMIT),
            ],
        ] {
            assert_eq!(of(files).as_deref(), Some(COMMIT), "{files:?}");
        }
    }

    #[test]
    fn what_is_no_commit_is_none() {
        for files in [
            &[][..],
            &[(".git/HEAD", "ref: refs/heads/main\n")],
            &[(".git/HEAD", "ref: refs/heads/.invalid\n"), (".git/reftable/tables.list", "x")],
            &[(".git/HEAD", "ref: ../outside\n"), ("outside", COMMIT)],
            &[(".git/HEAD", "ref: refs/../../outside\n"), ("outside", COMMIT)],
            &[(".git/HEAD", "11111111\n")],
        ] {
            assert_eq!(of(files), None, "{files:?}");
        }
    }

    /// Held against git itself.
    #[test]
    fn git_says_the_same() {
        let root = tempfile::tempdir().expect("a folder");
        let git = |arguments: &[&str]| {
            let identity = ["-c", "user.name=a", "-c", "user.email=a@b"];
            let ran =
                std::process::Command::new("git").arg("-C").arg(root.path()).args(identity).args(arguments).output();
            ran.ok()
                .filter(|ran| ran.status.success())
                .map(|ran| String::from_utf8_lossy(&ran.stdout).trim().to_owned())
        };
        if git(&["init", "-q", "-b", "main"]).is_none() {
            return;
        }
        git(&["commit", "-q", "--allow-empty", "-m", "one"]).expect("a commit");
        let head = || git(&["rev-parse", "HEAD"]);
        assert_eq!(checked_out_commit(root.path()), head());
        git(&["pack-refs", "--all"]).expect("packed");
        assert_eq!(checked_out_commit(root.path()), head());
        git(&["checkout", "-q", "--detach"]).expect("detached");
        assert_eq!(checked_out_commit(root.path()), head());
    }
}
