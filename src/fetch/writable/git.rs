//! The `git` program, in a repository that is given by its exact path. It uses the user's remotes and credentials, which no library
//! supports as well.
//!
//! A folder of a checkout may look like a repository, with a configuration that names programs. Git therefore never searches for a
//! repository itself: the folder `.git`, which no commit can add, is found here and passed to it. Hooks, replaced objects, objects
//! fetched on demand and protocols that run programs are switched off.

use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::error::{Error, ErrorKind, Result};

/// Largest number of characters of git's error text in a message.
const LONGEST: usize = 300;
/// Exit code of a wrapper script or the loader if the program does not exist or a library is missing.
const NOT_RUN: i32 = 127;
/// Author of commits.
const IDENTITY: [(&str, &str); 2] = [("NAME", "precision-gate"), ("EMAIL", "precision-gate@localhost")];

/// Settings that are switched off in every call.
const SETTINGS: [&str; 5] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "safe.bareRepository=explicit",
    "protocol.ext.allow=never",
];
/// Variables of every call.
const VARIABLES: [(&str, &str); 6] = [
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_ALLOW_PROTOCOL", "file:git:http:https:ssh"),
    ("LC_ALL", "C"),
];
/// Variables that would lead a call into another repository.
const REMOVED: [&str; 8] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_EXTERNAL_DIFF",
];

/// The program in one repository.
#[derive(Clone)]
pub(super) struct Git {
    /// The folder with `.git` in it.
    root: PathBuf,
}

/// Result of a call.
pub(super) struct GitOutput {
    /// Whether the exit code was 0.
    pub(super) ok: bool,
    /// Its output.
    pub(super) stdout: Vec<u8>,
    /// Git's error text in one line, without passwords in addresses.
    pub(super) complaint: String,
}

/// Input of a call beside its arguments.
#[derive(Clone, Copy, Default)]
pub(super) struct GitInput<'a> {
    /// Standard input.
    pub(super) input: &'a [u8],
    /// An index instead of the working tree's.
    pub(super) index: Option<&'a Path>,
}

impl Git {
    /// Git in the repository whose checkout contains `folder`; `None` if there is none.
    pub(super) fn from_folder(folder: &Path) -> Option<Self> {
        let folder = folder.canonicalize().ok()?;
        let root = folder.ancestors().find(|folder| folder.join(".git").exists())?;
        Some(Self { root: root.to_owned() })
    }

    /// The folder with `.git` in it.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The command with its settings, which never prompts.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.current_dir(&self.root).arg("--git-dir").arg(self.root.join(".git"));
        SETTINGS.iter().for_each(|setting| {
            command.args(["-c", setting]);
        });
        REMOVED.iter().for_each(|name| {
            command.env_remove(name);
        });
        command.args(arguments).envs(VARIABLES);
        for (name, value) in IDENTITY {
            command.env(format!("GIT_AUTHOR_{name}"), value).env(format!("GIT_COMMITTER_{name}"), value);
        }
        command
    }

    /// Starts git for questions and answers line by line.
    ///
    /// # Errors
    /// Where there is no such program.
    pub(super) fn start(&self, arguments: &[&str]) -> io::Result<Child> {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()
    }

    /// The output of a call, of at most `most` bytes.
    ///
    /// # Errors
    /// A reason in words: no such program, git's error text where the call fails, too long an output.
    pub(super) fn limited_output(&self, arguments: &[&str], most: u64) -> std::result::Result<Vec<u8>, String> {
        let mut command = self.command(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| no_git(&error.to_string()).to_string())?;
        let mut output = Vec::new();
        let read = match child.stdout.take() {
            Some(pipe) => pipe.take(most + 1).read_to_end(&mut output),
            None => Ok(0),
        };
        let called = arguments.first().copied().unwrap_or_default();
        // Git ends by itself when nobody reads its output any more.
        let ended = child.wait_with_output().map_err(|error| format!("git {called}: {error}"))?;
        read.map_err(|error| format!("git {called}: {error}"))?;
        if output.len() as u64 > most {
            return Err(format!("git {called} lists more than {} MiB of names", most >> 20));
        }
        if !ended.status.success() {
            return Err(format!("git {called} failed: {}", complaint(&String::from_utf8_lossy(&ended.stderr))));
        }
        Ok(output)
    }

    /// Runs git.
    ///
    /// # Errors
    /// `Usage` where there is no such program.
    pub(super) fn run(&self, arguments: &[&str], with: GitInput<'_>) -> Result<GitOutput> {
        let mut command = self.command(arguments);
        if let Some(index) = with.index {
            command.env("GIT_INDEX_FILE", index);
        }
        let ended = fed(command, with.input).map_err(|error| no_git(&error.to_string()))?;
        let complaint = complaint(&String::from_utf8_lossy(&ended.stderr));
        if ended.status.code() == Some(NOT_RUN) {
            return Err(no_git(&complaint));
        }
        Ok(GitOutput { ok: ended.status.success(), stdout: ended.stdout, complaint })
    }

    /// The output of a call that must not fail, without the line break at its end.
    ///
    /// # Errors
    /// As [`run`](Self::run); `Unavailable` with git's error text where the call fails.
    pub(super) fn text(&self, arguments: &[&str], with: GitInput<'_>) -> Result<String> {
        let ran = self.run(arguments, with)?;
        if !ran.ok {
            return Err(git_error(arguments, &ran));
        }
        Ok(String::from_utf8_lossy(&ran.stdout).trim_end().to_owned())
    }
}

/// The error of a call that failed.
pub(super) fn git_error(arguments: &[&str], ran: &GitOutput) -> Error {
    let command = arguments.first().copied().unwrap_or_default();
    Error::new(ErrorKind::Unavailable, format!("git {command}"), &ran.complaint)
}

fn fed(mut command: Command, input: &[u8]) -> io::Result<std::process::Output> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    if let Some(mut pipe) = child.stdin.take() {
        // A call that does not read its input to the end reports the reason by its exit code.
        let _closed = pipe.write_all(input);
    }
    child.wait_with_output()
}

fn no_git(reason: &str) -> Error {
    let message = format!("the program cannot be run: {reason}");
    Error::new(ErrorKind::Usage, "git", message)
        .with_help("install git, or keep the records in a folder, in s3:// or in obs://")
}

/// Error text of git in one line, with its last line first, since earlier attempts do not help the reader.
fn complaint(text: &str) -> String {
    let telling =
        |line: &&str| ["fatal:", "error:", "remote:", "!"].iter().any(|start| line.trim_start().starts_with(start));
    let lines: Vec<&str> = text.lines().filter(telling).collect();
    let told = if lines.is_empty() { text.lines().map(str::trim).collect() } else { lines };
    let line = told.join("; ");
    let line: String = without_passwords(&line).chars().filter(|c| !c.is_control()).take(LONGEST).collect();
    if line.trim().is_empty() { "failed, and says no more".to_owned() } else { line }
}

/// `scheme://user:password@host` as `scheme://host`.
fn without_passwords(text: &str) -> String {
    let clean = |word: &str| match word.split_once("://") {
        Some((before, after)) => {
            let (host, rest) = after.split_at(after.find('/').unwrap_or(after.len()));
            format!("{before}://{}{rest}", host.rsplit('@').next().unwrap_or_default())
        }
        None => word.to_owned(),
    };
    text.split(' ').map(clean).collect::<Vec<_>>().join(" ")
}

/// The commits after `from` up to `to` in the repository around `folder`: their number, and hashes and subjects of the newest `most`.
/// Subjects are text of the commits' authors.
///
/// `None` if they cannot be listed: no git, no repository, a clone that lacks them, names that are not commits.
pub fn commits_between(folder: &Path, from: &str, to: &str, most: usize) -> Option<(u64, Vec<(String, String)>)> {
    let is_name = |text: &str| text.len() >= 7 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_name(from) || !is_name(to) {
        return None;
    }
    let git = Git::from_folder(folder)?;
    let range = format!("{from}..{to}");
    let total = git.text(&["rev-list", "--count", &range], GitInput::default()).ok()?.parse().ok()?;
    let most = format!("--max-count={most}");
    let log = ["log", &most, "--format=%H %s", "--no-color", "--no-ext-diff", "--no-show-signature", &range];
    let listed = git.text(&log, GitInput::default()).ok()?;
    let commit = |line: &str| {
        let (id, subject) = line.split_once(' ').unwrap_or((line, ""));
        (id.to_owned(), subject.to_owned())
    };
    Some((total, listed.lines().map(commit).collect()))
}

/// The address of the repository's remote `origin`, around `folder`; `None` where there is none.
pub fn origin_of(folder: &Path) -> Option<String> {
    Git::from_folder(folder)?.text(&["remote", "get-url", "origin"], GitInput::default()).ok()
}

#[cfg(test)]
mod tests {
    use super::complaint;

    #[test]
    fn a_complaint_is_one_line_without_passwords() {
        let said = "Cloning...\nfatal: unable to access 'https://bot:s3cret@host.example/a.git/': 403\nhint: x\n";
        assert_eq!(complaint(said), "fatal: unable to access 'https://host.example/a.git/': 403");
        assert_eq!(complaint(""), "failed, and says no more");
    }
}
