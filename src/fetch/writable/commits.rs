//! Two commits of the repository that a checkout belongs to: the files that differ, and their contents.
//!
//! The author of the later commit must not influence which of its parts are seen. Everything therefore comes from git's object
//! database: lists of names, modes and ids, and files as they were stored. Attributes, filters, hooks and configuration of the
//! change have no effect, and neither the index nor the working tree is read.

use std::io::{self, BufRead, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout};

use super::git::{Git, GitInput};

/// Largest size in bytes of a list of files: two million files.
const MOST_LISTED: u64 = 256 << 20;
/// Largest number of bytes of all files of a change that are read; nobody reviews a larger change.
const MOST_READ: u64 = 1 << 30;
/// Largest number of characters of a line of git's answer.
const LONGEST: u64 = 200;

/// Kind of an entry of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// No entry: the file is new or was removed.
    Absent,
    /// A file.
    File,
    /// A link; its content is what it leads to.
    Link,
    /// Anything else: a submodule.
    Other,
}

impl EntryKind {
    fn of(mode: &[u8]) -> Self {
        match mode {
            b"000000" => Self::Absent,
            b"120000" => Self::Link,
            _ if mode.starts_with(b"100") => Self::File,
            _ => Self::Other,
        }
    }
}

/// A file of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitEntry {
    /// Its kind.
    pub kind: EntryKind,
    /// Id of its content.
    pub id: String,
}

/// A file that differs between two commits.
#[derive(Clone, Debug)]
pub struct ChangedFile {
    /// Path in the repository; `None` where it is no UTF-8.
    pub path: Option<String>,
    /// The earlier commit's.
    pub old: CommitEntry,
    /// The later commit's.
    pub new: CommitEntry,
}

/// Two commits.
pub struct Commits {
    git: Git,
    base: String,
    head: String,
}

/// The first and the last commit of a change: the commit where the checkout around `folder` left the first known one of `bases`, and
/// the commit that is checked out.
///
/// # Errors
/// A reason in words: no git, no repository, a clone without the history that both have in common.
pub fn change_since(folder: &Path, bases: &[String]) -> Result<Commits, String> {
    let Some(git) = Git::from_folder(folder) else { return Err("the source is in no checkout of git".into()) };
    let commit = |name: &str| {
        let name = format!("{name}^{{commit}}");
        git.text(&["rev-parse", "--verify", "--quiet", "--end-of-options", &name], GitInput::default())
    };
    let head = commit("HEAD").map_err(|error| format!("the checkout has no commit: {error}"))?;
    let known = bases.iter().filter(|base| !base.is_empty()).filter_map(|base| Some((base, commit(base).ok()?)));
    // A branch of this clone at the checked-out commit may be the change's own branch with the name of the target.
    let is_apart = |(base, commit): &(&String, String)| !base.starts_with("refs/heads/") || *commit != head;
    let mut common =
        known.filter(is_apart).map(|(_, base)| git.text(&["merge-base", &base, &head], GitInput::default()));
    match common.find_map(Result::ok) {
        Some(base) => Ok(Commits { base, head, git: git.clone() }),
        None => Err(format!("the checkout does not hold the history in common with {}", bases.join(" or "))),
    }
}

impl Commits {
    /// The folder that the repository is checked out in.
    pub fn root(&self) -> &Path {
        self.git.root()
    }

    /// All files of the later commit, by path; without those whose names are no UTF-8.
    ///
    /// # Errors
    /// A reason in words.
    pub fn files(&self) -> Result<Vec<(String, CommitEntry)>, String> {
        let list = self.git.limited_output(&["ls-tree", "-r", "-z", "--full-tree", &self.head], MOST_LISTED)?;
        let entry = |line: &[u8]| {
            let tab = memchr::memchr(b'\t', line)?;
            let mut words = line.get(..tab)?.split(|byte| *byte == b' ');
            let kind = EntryKind::of(words.next()?);
            let id = String::from_utf8_lossy(words.nth(1)?).into_owned();
            Some((String::from_utf8(line.get(tab + 1..)?.to_vec()).ok()?, CommitEntry { kind, id }))
        };
        Ok(list.split(|byte| *byte == 0).filter_map(entry).collect())
    }

    /// The files that differ, without looking for renames.
    ///
    /// # Errors
    /// A reason in words.
    pub(crate) fn changed_files(&self) -> Result<Vec<ChangedFile>, String> {
        let call = ["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--ignore-submodules=none"];
        let call = [&call[..], &["--no-ext-diff", "--no-textconv", &self.base, &self.head]].concat();
        let list = self.git.limited_output(&call, MOST_LISTED)?;
        let mut parts = list.split(|byte| *byte == 0);
        let mut changed = Vec::new();
        while let Some(about) = parts.next().and_then(|part| part.strip_prefix(b":")) {
            let words: Vec<&[u8]> = about.split(|byte| *byte == b' ').collect();
            let (Some(path), [old, new, old_id, new_id, ..]) = (parts.next(), words.as_slice()) else {
                return Err("git diff-tree answers in an unknown form".into());
            };
            let entry =
                |mode, id| CommitEntry { kind: EntryKind::of(mode), id: String::from_utf8_lossy(id).into_owned() };
            let path = String::from_utf8(path.to_vec()).ok();
            changed.push(ChangedFile { path, old: entry(old, old_id), new: entry(new, new_id) });
        }
        Ok(changed)
    }

    /// Opens the contents of files.
    ///
    /// # Errors
    /// A reason in words.
    pub fn blobs(&self) -> Result<Blobs, String> {
        let open = |option: &str| Answers::open(&self.git, option).map_err(|error| format!("git cat-file: {error}"));
        let form = "%(objecttype) %(objectsize)";
        let (sizes, contents) = (open(&format!("--batch-check={form}"))?, open(&format!("--batch={form}"))?);
        Ok(Blobs { sizes, contents, left: MOST_READ })
    }
}

/// Contents of files, as they were stored.
pub struct Blobs {
    sizes: Answers,
    contents: Answers,
    /// Number of bytes that may still be read.
    left: u64,
}

impl Blobs {
    /// The content with this id; `None` if the clone lacks it, it has more than `most` bytes, or too much was read already.
    pub fn content(&mut self, id: &str, most: u64) -> Option<Vec<u8>> {
        let size = self.sizes.size(id)?;
        if size > most || size > self.left {
            return None;
        }
        self.left -= size;
        let size = self.contents.size(id).filter(|told| *told == size)?;
        let mut content = Vec::new();
        // A line break ends each answer.
        (&mut self.contents.output).take(size + 1).read_to_end(&mut content).ok()?;
        (content.pop() == Some(b'\n') && content.len() as u64 == size).then_some(content)
    }
}

/// A running `git cat-file`, which answers for one id after the other.
struct Answers {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Answers {
    fn open(git: &Git, option: &str) -> io::Result<Self> {
        let mut child = git.start(&["cat-file", option])?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (Some(input), Some(output)) = (input, output) else { return Err(io::Error::other("no pipe")) };
        Ok(Self { child, input, output: BufReader::new(output) })
    }

    /// Asks for an id; the size of its content in bytes.
    fn size(&mut self, id: &str) -> Option<u64> {
        self.input.write_all(format!("{id}\n").as_bytes()).ok()?;
        self.input.flush().ok()?;
        let mut line = String::new();
        (&mut self.output).take(LONGEST).read_line(&mut line).ok()?;
        line.strip_prefix("blob ")?.trim_end().parse().ok()
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}
