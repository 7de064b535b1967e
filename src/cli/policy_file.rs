//! The policy file of a command, and the day it is read as of.

use std::path::{Path, PathBuf};

use precision_gate::error::{Error, ErrorKind, Result};
use precision_gate::fetch::Digest;
use precision_gate::judge::register;
use precision_gate::policy::Policy;
use precision_gate::policy::value::Date;

/// Policy file that is read without being named.
const DEFAULT_POLICY: &str = "precision-gate.yml";

/// The policy of `config`, or of the default file where there is one, as of `today`.
pub(crate) fn policy(config: Option<&Path>, today: Option<&str>) -> Result<Policy> {
    let path = policy_path(config);
    let text = match config {
        None => text_of(&path)?,
        Some(path) => Some(read(path)?),
    };
    policy_of_text(&path, text.as_deref(), today)
}

/// The policy file: the one named, or the default one.
pub(crate) fn policy_path(config: Option<&Path>) -> PathBuf {
    config.unwrap_or(Path::new(DEFAULT_POLICY)).to_owned()
}

/// The policy that `text` of the file `path` says, or the defaults where there is none.
pub(crate) fn policy_of_text(path: &Path, text: Option<&str>, today: Option<&str>) -> Result<Policy> {
    let today = self::today(today)?;
    let codes: Vec<&str> = register::all().map(|rule| rule.code).collect();
    let policy = text.map(|text| Policy::parse(&path.display().to_string(), text, &codes)).transpose()?;
    let digest = text.map_or_else(String::new, |text| Digest::of(text.as_bytes()).to_string());
    Ok(Policy { today, digest, ..policy.unwrap_or_default() })
}

/// A file's text; `None` where there is no such file.
pub(crate) fn text_of(path: &Path) -> Result<Option<String>> {
    if path.exists() { read(path).map(Some) } else { Ok(None) }
}

/// A file's text.
pub(crate) fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| Error::io(path.display().to_string(), &error))
}

/// The date given, or the current UTC date.
pub(crate) fn today(given: Option<&str>) -> Result<Date> {
    let today = given.map_or_else(|| jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(), str::to_owned);
    Date::try_from(today).map_err(|error| Error::new(ErrorKind::Usage, "--today", error))
}
