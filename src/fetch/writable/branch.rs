//! A branch of the repository as a writable place.
//!
//! A branch is read and written with git's plumbing commands and a separate index, so that the working tree, its index and the
//! checked-out branch are not touched. Each write is a commit on top of the remote's tip; if another job was faster, the remote
//! rejects the push, and the same change is made again on top of the new tip.

use std::path::Path;
use std::sync::Arc;

use super::git::{Git, GitInput, git_error};
use super::place::{BRANCH, Writable};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::files::{FileEntry, Files};
use crate::fetch::retry::{Retry, RetrySign, spread_wait};
use crate::fetch::source::{MemorySource, Source};

/// Largest number of pushes that may be rejected because other jobs were faster. With each rejection another job has written; for
/// more parallel jobs than this, a bucket is the better place.
const MOST_RACES: u32 = 40;
/// Largest file that is read from a branch: it is held in memory.
const LARGEST: u64 = 64 << 20;
/// Mark in commit messages that keeps the push from starting pipelines.
const NO_PIPELINE: &str = "[skip ci]";
/// Advice if a branch cannot be used.
const OTHERWISE: &str = "keep the records in a folder, in s3:// or in obs://";

/// A branch at a remote.
pub(super) struct Branch {
    git: Git,
    remote: String,
    /// `refs/heads/NAME`
    reference: String,
    /// `branch:NAME`
    location: String,
    retry: Retry,
}

impl Branch {
    /// The branch `name` of the repository around `folder`, at its remote `origin`, or the only one it has.
    ///
    /// # Errors
    /// `Usage` where that is not a name of a branch, there is no git, no repository or no remote.
    pub(super) fn open(folder: &Path, name: &str, retry: Retry) -> Result<Self> {
        let location = format!("{BRANCH}{name}");
        let wrong = |message: &str| Error::new(ErrorKind::Usage, &location, message);
        if !is_name(name) {
            return Err(wrong("is not a branch name").with_help("write branch:precision-history"));
        }
        let git = Git::from_folder(folder).ok_or_else(|| {
            wrong("there is no git repository here")
                .with_help(format!("run it in a checked-out repository, or {OTHERWISE}"))
        })?;
        let remotes = git.run(&["remote"], GitInput::default())?;
        if !remotes.ok {
            return Err(
                wrong(&remotes.complaint).with_help(format!("run it in a checked-out repository, or {OTHERWISE}"))
            );
        }
        let remotes = String::from_utf8_lossy(&remotes.stdout).into_owned();
        let first = || remotes.lines().next();
        let remote = remotes.lines().find(|remote| *remote == "origin").or_else(first).ok_or_else(|| {
            wrong("the repository has no remote")
                .with_help(format!("add one (`git remote add origin URL`), or {OTHERWISE}"))
        })?;
        Ok(Self { git, remote: remote.to_owned(), reference: format!("refs/heads/{name}"), location, retry })
    }

    /// Fetches the tip that the remote has; `None` if the branch does not exist yet.
    fn tip(&self) -> Result<Option<String>> {
        let mut tried = 0;
        loop {
            match self.tip_once() {
                Err(error) if error.kind() == ErrorKind::Unavailable => self.pause(&mut tried, error)?,
                other => return other,
            }
        }
    }

    fn tip_once(&self) -> Result<Option<String>> {
        let listed = self.git.text(&["ls-remote", "--heads", &self.remote, &self.reference], GitInput::default())?;
        let fits =
            |line: &str| line.split_once('\t').filter(|(_, name)| *name == self.reference).map(|(id, _)| id.to_owned());
        let Some(tip) = listed.lines().find_map(fits) else { return Ok(None) };
        if !self.git.run(&["cat-file", "-e", &format!("{tip}^{{commit}}")], GitInput::default())?.ok {
            let fetch = ["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", &self.remote, &self.reference];
            self.git.text(&fetch, GitInput::default())?;
        }
        Ok(Some(tip))
    }

    /// Waits before the next try, or returns `error` if there is none.
    fn pause(&self, tried: &mut u32, error: Error) -> Result<()> {
        *tried += 1;
        if *tried >= self.retry.tries {
            let message = format!("{}: {} (gave up after {tried} tries)", error.subject(), error.message());
            let help = format!("the job needs the right to push (GitHub: `contents: write`); or {OTHERWISE}");
            return Err(Error::new(ErrorKind::Unavailable, &self.location, message).with_help(help));
        }
        self.sleep(*tried);
        Ok(())
    }

    /// Sleeps for a time that differs between processes, so that those which started together do not retry together.
    fn sleep(&self, tried: u32) {
        let wait = self.retry.wait(tried.min(4), RetrySign::Unclear(None));
        std::thread::sleep(spread_wait(wait, u64::from(std::process::id() % 32) * 8));
    }

    /// Commits the index lines that `edit` makes for the tip, and repeats that until the remote accepts the push. Without lines there is
    /// no commit.
    fn commit(&self, message: &str, edit: &dyn Fn(Option<&str>) -> Result<Vec<u8>>) -> Result<()> {
        let (mut races, mut tried) = (0, 0);
        loop {
            let tip = self.tip()?;
            let lines = edit(tip.as_deref())?;
            if lines.is_empty() {
                return Ok(());
            }
            let commit = self.commit_lines(tip.as_deref(), &lines, message)?;
            let push = ["push", "--quiet", "--no-verify", &self.remote, &format!("{commit}:{}", self.reference)];
            let ran = self.git.run(&push, GitInput::default())?;
            if ran.ok {
                return Ok(());
            }
            // The remote's tip tells whether another job was faster: if it has not changed, the push failed for another reason.
            if self.tip()? == tip {
                self.pause(&mut tried, git_error(&push, &ran))?;
            } else if races < MOST_RACES {
                races += 1;
                self.sleep(races);
            } else {
                let error = Error::new(ErrorKind::Unavailable, &self.location, "too many jobs write at the same time");
                return Err(error.with_help(OTHERWISE));
            }
        }
    }

    /// A commit on top of `tip` with `lines` put into its tree.
    fn commit_lines(&self, tip: Option<&str>, lines: &[u8], message: &str) -> Result<String> {
        let folder = self.git.text(&["rev-parse", "--absolute-git-dir"], GitInput::default())?;
        let folder = tempfile::Builder::new().prefix("precision-gate-").tempdir_in(&folder);
        let folder = folder.map_err(|error| Error::io(&self.location, &error).with_help(OTHERWISE))?;
        // A separate index for this call; git creates the file.
        let index = folder.path().join("index");
        let with = GitInput { index: Some(&index), ..GitInput::default() };
        self.git.text(&["read-tree", tip.unwrap_or("--empty")], with)?;
        self.git.text(&["update-index", "-z", "--index-info"], GitInput { input: lines, ..with })?;
        let tree = self.git.text(&["write-tree"], with)?;
        let mut arguments = vec!["commit-tree", &tree, "-m", message];
        arguments.extend(tip.iter().flat_map(|tip| ["-p", tip]));
        self.git.text(&arguments, GitInput::default())
    }

    /// Files below `folder` of a commit.
    fn listing(&self, tip: &str, folder: &str) -> Result<Vec<Blob>> {
        let mut arguments = vec!["ls-tree", "-r", "-l", "-z", "--full-tree", tip];
        let below = format!("{folder}/");
        if !folder.is_empty() {
            arguments.extend(["--", &below]);
        }
        let ran = self.git.run(&arguments, GitInput::default())?;
        if !ran.ok {
            return Err(git_error(&arguments, &ran));
        }
        let text = String::from_utf8_lossy(&ran.stdout);
        let prefix = if folder.is_empty() { "" } else { &below };
        Ok(text.split('\0').filter_map(|line| Blob::parse(line, prefix)).collect())
    }
}

impl Writable for Branch {
    fn location(&self) -> &str {
        &self.location
    }

    fn files(&self, folder: &str) -> Result<Arc<dyn Files>> {
        let missing = |message: &str| Error::new(ErrorKind::NotFound, &self.location, message);
        let tip = self.tip()?.ok_or_else(|| missing("the remote has no such branch yet"))?;
        let blobs = self.listing(&tip, folder)?;
        if blobs.is_empty() && !folder.is_empty() {
            return Err(missing(&format!("holds nothing below `{folder}`")));
        }
        let entries = blobs.iter().map(|blob| blob.entry.clone()).collect();
        Ok(Arc::new(BranchFiles { git: self.git.clone(), location: self.location.clone(), entries, blobs }))
    }

    fn put(&self, path: &str, bytes: &[u8]) -> Result<()> {
        let blob =
            self.git.text(&["hash-object", "-w", "--stdin"], GitInput { input: bytes, ..GitInput::default() })?;
        self.commit(&format!("Record {path} {NO_PIPELINE}"), &|tip| {
            let is_there = |tip: &str| self.git.run(&["cat-file", "-e", &format!("{tip}:{path}")], GitInput::default());
            let is_there = tip.map(is_there).transpose()?.is_some_and(|ran| ran.ok);
            Ok(if is_there { Vec::new() } else { format!("100644 {blob}\t{path}\0").into_bytes() })
        })
    }

    fn remove(&self, paths: &[String]) -> Result<()> {
        self.commit(&format!("Remove {} records {NO_PIPELINE}", paths.len()), &|tip| {
            let Some(tip) = tip else { return Ok(Vec::new()) };
            let there = self.listing(tip, "")?;
            let gone = there.iter().filter(|blob| paths.contains(&blob.entry.path));
            // Mode 0 removes an entry from the index; the line needs the id of an object nevertheless.
            Ok(gone.flat_map(|blob| format!("0 {}\t{}\0", blob.id, blob.entry.path).into_bytes()).collect())
        })
    }
}

/// Whether git accepts the text as the name of a branch and cannot mistake it for an option or a pattern.
fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte);
    let part = |part: &str| {
        !part.is_empty() && !part.starts_with(['.', '-']) && !part.ends_with('.') && !part.ends_with(".lock")
    };
    name.len() <= 200 && name.bytes().all(plain) && !name.contains("..") && name.split('/').all(part)
}

/// A file of a commit.
#[derive(Clone)]
struct Blob {
    id: String,
    entry: FileEntry,
}

impl Blob {
    /// A line of `ls-tree -l`; `None` for links, submodules and what is not a line.
    fn parse(line: &str, prefix: &str) -> Option<Self> {
        let (facts, path) = line.split_once('\t')?;
        let mut facts = facts.split_ascii_whitespace();
        let (mode, kind, id, len) = (facts.next()?, facts.next()?, facts.next()?, facts.next()?);
        let is_file = kind == "blob" && mode.starts_with("100");
        let entry = FileEntry { path: path.strip_prefix(prefix)?.to_owned(), len: len.parse().ok()? };
        is_file.then(|| Self { id: id.to_owned(), entry })
    }
}

/// The files of a commit.
struct BranchFiles {
    git: Git,
    location: String,
    entries: Vec<FileEntry>,
    blobs: Vec<Blob>,
}

impl Files for BranchFiles {
    fn location(&self) -> &str {
        &self.location
    }

    fn list(&self) -> &[FileEntry] {
        &self.entries
    }

    /// Reads the file as a whole, as git gives it.
    fn open(&self, path: &str) -> Result<Source> {
        let absent = || Error::new(ErrorKind::NotFound, path, "is not in the branch");
        let blob = self.blobs.iter().find(|blob| blob.entry.path == path).ok_or_else(absent)?;
        if blob.entry.len > LARGEST {
            let message = format!("{} bytes, and files of a branch are read up to {LARGEST}", blob.entry.len);
            return Err(Error::new(ErrorKind::LimitExceeded, path, message));
        }
        let arguments = ["cat-file", "blob", &blob.id];
        let ran = self.git.run(&arguments, GitInput::default())?;
        if ran.ok { Ok(Arc::new(MemorySource::new(path, ran.stdout))) } else { Err(git_error(&arguments, &ran)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_name_is_no_option_and_no_pattern() {
        for (name, fits) in [
            ("precision-history", true),
            ("gate/history.v1", true),
            ("", false),
            ("--force", false),
            ("a..b", false),
            ("a/-b", false),
            ("a/", false),
            ("x.lock", false),
            ("a b", false),
            ("a:refs/heads/main", false),
            ("*", false),
            ("@{u}", false),
        ] {
            assert_eq!(is_name(name), fits, "{name}");
        }
    }
}
