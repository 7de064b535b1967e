//! The results to sign off: their paths, names and neighbouring files.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::FileRecord;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::Digest;
use crate::output::documents::{LINES, lines_beside};
use crate::policy::publish::Key;
use crate::policy::signoff::SignoffPolicy;
use crate::result::GateResult;
use crate::result::load;

/// The file of a result.
const RESULT: &str = "result.json";
/// The default output folder, which names no suite.
const OUTPUT: &str = "precision-gate-out";

/// A result as the command line names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResultArgument {
    /// The suite.
    pub suite: Key,
    /// Its `result.json`.
    pub path: PathBuf,
}

/// A result that was read, with digests of its files.
#[derive(Clone, Debug)]
pub struct LoadedResult {
    /// The suite.
    pub suite: String,
    /// The file, for messages.
    pub path: String,
    /// The result.
    pub result: GateResult,
    /// The files read, the result first.
    pub files: Vec<FileRecord>,
}

/// A result that could not be read.
#[derive(Clone, Debug)]
pub struct UnreadResult {
    /// The suite.
    pub suite: String,
    /// Reason.
    pub error: Error,
}

/// All results that were given.
#[derive(Clone, Debug, Default)]
pub struct SignoffResults {
    /// Results, required suites first in the policy's order, then others by name.
    pub loaded: Vec<LoadedResult>,
    /// Results that could not be read.
    pub unread: Vec<UnreadResult>,
}

impl SignoffResults {
    /// Reads the results that `arguments` name.
    ///
    /// # Errors
    /// `NotFound`, and `Usage` for an argument that names no suite. A damaged result is no error here, but becomes a refusal.
    pub fn load(arguments: &[String], policy: &SignoffPolicy) -> Result<Self> {
        let mut results = Self::default();
        for argument in arguments {
            let given = ResultArgument::parse(argument)?;
            match given.load() {
                Ok(one) => results.loaded.push(one),
                Err(error) if error.kind() == ErrorKind::NotFound => return Err(error),
                Err(error) => results.unread.push(UnreadResult { suite: given.suite.to_string(), error }),
            }
        }
        let place = |suite: &str| policy.suites.iter().position(|demand| demand.name.as_str() == suite);
        results.loaded.sort_by_cached_key(|one| (place(&one.suite).unwrap_or(usize::MAX), one.suite.clone()));
        Ok(results)
    }
}

impl ResultArgument {
    /// Reads `NAME=PATH`, or a path whose folder names the suite. For a folder `precision-gate-out`, its parent names the suite. A
    /// folder stands for the `result.json` in it.
    ///
    /// # Errors
    /// `Usage` where no name can be derived.
    pub(crate) fn parse(argument: &str) -> Result<Self> {
        let named = argument.split_once('=').filter(|_| !Path::new(argument).exists());
        let (name, path) = match named {
            Some((name, path)) => (Some(name.to_owned()), path),
            None => (None, argument),
        };
        let mut path = PathBuf::from(path);
        if path.is_dir() {
            path.push(RESULT);
        }
        let name = name.or_else(|| folder_name(&path)).unwrap_or_default();
        let suite = name.parse().map_err(|error| {
            Error::new(ErrorKind::Usage, argument, format!("names no suite: {error}"))
                .with_help(format!("say which suite it is: `NAME={}`", path.display()))
        })?;
        Ok(Self { suite, path })
    }

    /// Reads the result, and takes the digests of the files that were read.
    ///
    /// # Errors
    /// `NotFound`, and what a damaged result gives.
    pub(crate) fn load(&self) -> Result<LoadedResult> {
        let path = self.path.display().to_string();
        let text = load::text(&self.path)?;
        let result = load::parse(&path, &text)?;
        let mut files = vec![FileRecord::from_content(format!("{}/{RESULT}", self.suite), text.as_bytes())];
        if let Some(lines) = lines_beside(&self.path) {
            let name = lines.file_name().unwrap_or_default().display();
            files.push(FileRecord::from_file(format!("{}/{name}", self.suite), &lines)?);
        }
        Ok(LoadedResult { suite: self.suite.to_string(), path, result, files })
    }
}

/// The folder that holds `path`, by name.
fn folder_name(path: &Path) -> Option<String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = folder.canonicalize().ok()?;
    let name = |folder: &Path| folder.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    match name(&folder) {
        Some(output) if output == OUTPUT => folder.parent().and_then(name),
        other => other,
    }
}

impl LoadedResult {
    /// The digest of the operations that lie beside the result, if any do (`sha256:…`).
    pub fn operations_digest(&self) -> Option<String> {
        let file = self.files.iter().find(|file| LINES.iter().any(|lines| file.name.ends_with(lines)))?;
        Some(format!("sha256:{}", file.sha256))
    }
}

impl FileRecord {
    /// The record of a content.
    pub(crate) fn from_content(name: String, content: &[u8]) -> Self {
        Self { name, bytes: content.len() as u64, sha256: Digest::of(content).hex() }
    }

    /// The record of a file, read piece by piece.
    fn from_file(name: String, path: &Path) -> Result<Self> {
        let read = || {
            let mut file = File::open(path)?;
            Ok((file.metadata()?.len(), Digest::of_reader(&mut file)?.hex()))
        };
        let (bytes, sha256) = read().map_err(|error: std::io::Error| Error::io(path.display().to_string(), &error))?;
        Ok(Self { name, bytes, sha256 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_is_named_by_hand_or_by_its_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        for name in ["llama/precision-gate-out", "qwen", "a=b"] {
            std::fs::create_dir_all(at(name)).expect("a folder");
        }
        let of = |argument: String| ResultArgument::parse(&argument).map(|given| given.suite.to_string());
        for (argument, suite) in [
            (at("qwen").display().to_string(), "qwen"),
            (at("qwen/result.json").display().to_string(), "qwen"),
            (at("llama/precision-gate-out").display().to_string(), "llama"),
            (format!("moe={}", at("qwen").display()), "moe"),
        ] {
            assert_eq!(of(argument).expect("a name"), suite);
        }
        let error = of(at("a=b").display().to_string()).expect_err("no key");
        assert!(error.help().is_some_and(|help| help.contains("NAME=")), "{error}");
    }
}
