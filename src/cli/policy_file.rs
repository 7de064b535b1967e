//! The policy file of a command, and the day it is read as of.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use precision_gate::error::{Error, ErrorKind, Result};
use precision_gate::fetch::Digest;
use precision_gate::judge::register;
use precision_gate::policy::Policy;
use precision_gate::policy::value::Date;

/// Policy file that is read without being named.
const DEFAULT_POLICY: &str = "precision-gate.yml";

/// Bytes of a policy or of a mapping that are read: a mapping of a hundred thousand names takes half of it.
const MOST_BYTES: u64 = 16 << 20;

/// The policy of `config`, or of the default file where there is one, as of `today`, in a job whose files are its own.
pub(crate) fn policy(config: Option<&Path>, today: Option<&str>) -> Result<Policy> {
    let path = policy_path(config);
    let text = match config {
        None => text_of(&path)?,
        Some(path) => Some(read(path)?),
    };
    policy_of_text(&path, text.as_deref(), today).map(Policy::trust_own_files)
}

/// The policy file: the one named, or the default one.
pub(crate) fn policy_path(config: Option<&Path>) -> PathBuf {
    config.unwrap_or(Path::new(DEFAULT_POLICY)).to_owned()
}

/// The policy that `text` of the file `path` says, or the defaults where there is none.
pub(crate) fn policy_of_text(path: &Path, text: Option<&str>, today: Option<&str>) -> Result<Policy> {
    let today = self::today(today)?;
    let is_there = text.is_some();
    let codes: Vec<&str> = register::all_rules().map(|rule| rule.code).collect();
    let name = path.display().to_string();
    let text = text.unwrap_or_default();
    let policy = Policy::parse(&name, text, &codes)?.as_of(today, &name, text)?;
    let digest = if is_there { Digest::of(text.as_bytes()).to_string() } else { String::new() };
    Ok(Policy { digest, ..policy })
}

/// A file's text; `None` where there is no such file.
pub(crate) fn text_of(path: &Path) -> Result<Option<String>> {
    if path.exists() { read(path).map(Some) } else { Ok(None) }
}

/// A file's text. What has no end, as a pipe or a device, is not read.
pub(crate) fn read(path: &Path) -> Result<String> {
    let name = path.display().to_string();
    let io = |error: std::io::Error| Error::io(&name, &error);
    if !fs::metadata(path).map_err(io)?.is_file() {
        return Err(Error::new(ErrorKind::Usage, name, "is not a regular file")
            .with_help("give a file with text in it; a folder, a pipe or a device is not read"));
    }
    let mut text = String::new();
    File::open(path).map_err(io)?.take(MOST_BYTES + 1).read_to_string(&mut text).map_err(io)?;
    if text.len() as u64 > MOST_BYTES {
        return Err(Error::new(ErrorKind::LimitExceeded, name, format!("is longer than {MOST_BYTES} bytes")));
    }
    Ok(text)
}

/// The date given, or the current UTC date.
pub(crate) fn today(given: Option<&str>) -> Result<Date> {
    let today = given.map_or_else(|| jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(), str::to_owned);
    Date::try_from(today).map_err(|error| Error::new(ErrorKind::Usage, "--today", error))
}
