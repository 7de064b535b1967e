//! Reading of policy files, whose errors name the key by its path, its line, what the key expects and an example.
//!
//! Expectations come from the JSON Schema that is made of the same types, so that a new key is explained without a text
//! of its own.

mod expected;
mod mismatch;
mod path;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_yaml::Value;

#[cfg(test)]
use super::Policy;
use super::nesting;
use crate::error::{Error, ErrorKind, Result};
use expected::Expected;
use mismatch::{Mismatch, mismatch};

pub(super) use path::{Path, PathStep};

/// A policy file's text, and the name by which messages call it.
#[derive(Clone, Copy, Debug)]
pub(super) struct File<'a> {
    pub(super) name: &'a str,
    pub(super) text: &'a str,
}

impl File<'_> {
    /// Reads a policy, or a part of one; an empty text is the default.
    ///
    /// # Errors
    /// `Policy`, with the key's path, its line and column, what it expects and an example.
    pub(super) fn read<T: Default + DeserializeOwned + JsonSchema>(self) -> Result<T> {
        if let Some(line) = nesting::too_deep(self.text) {
            let place = format!("{}:{line}", self.name);
            return Err(Error::new(ErrorKind::Policy, place, "brackets are nested deeper than a policy ever needs"));
        }
        // Reading into a map would silently keep the last of two equal keys, so the text is parsed as a YAML value first.
        let value: Value = serde_yaml::from_str(self.text).map_err(|error| self.no_yaml(&error))?;
        let parser = serde_yaml::Deserializer::from_str(self.text);
        let read: Result<Option<T>, _> = serde_path_to_error::deserialize(parser);
        match read {
            Ok(read) => Ok(read.unwrap_or_default()),
            Err(error) => Err(self.explain(&error, &value, &schemars::schema_for!(T).to_value())),
        }
    }

    /// An error about the key at `path`, without the help that a schema gives.
    pub(super) fn refuse(self, path: &Path, message: impl std::fmt::Display) -> Error {
        Error::new(ErrorKind::Policy, self.place(path), format!("{} {message}", path.shown()))
    }

    fn explain(
        self,
        error: &serde_path_to_error::Error<serde_yaml::Error>,
        value: &Value,
        schema: &serde_json::Value,
    ) -> Error {
        let expected = Expected::from_schema(schema);
        let path = Path::of(error.path());
        let found = mismatch(expected, value).filter(|found| found.path.is_below(&path));
        let found = found.unwrap_or_else(|| refused(expected, value, path, &path::bare(error)));
        let place = match found.path.is_empty() {
            true => self.name.to_owned(),
            false => self.place(&found.path),
        };
        Error::new(ErrorKind::Policy, place, found.message).with_help(help(found.example.as_deref()))
    }

    /// `name:line:column` of the key or the entry of a list at `path`.
    fn place(self, path: &Path) -> String {
        match path.position(self.text) {
            Some((line, column)) => format!("{}:{line}:{column}", self.name),
            None => self.name.to_owned(),
        }
    }

    fn no_yaml(self, error: &serde_yaml::Error) -> Error {
        let place = error.location().map_or_else(String::new, |at| format!(":{}:{}", at.line(), at.column()));
        let said = error.to_string();
        let (message, help) = match said.split_once("duplicate entry with key ") {
            Some((_, key)) => {
                (format!("the section that begins here has the key {} twice", key_of(key)), "keep one of the two")
            }
            None => {
                (format!("is not valid YAML: {said}"), "check the indentation, quotes and brackets up to this line")
            }
        };
        Error::new(ErrorKind::Policy, format!("{}{place}", self.name), message).with_help(help)
    }
}

/// Extracts the key from the end of a parser's message, where it stands in quotes and before its place.
fn key_of(said: &str) -> String {
    let (key, _) = said.rsplit_once(" at line ").unwrap_or((said, ""));
    format!("`{}`", key.trim_matches('"'))
}

/// Mismatch that the type of a value reports: a number out of range, a text that is no date.
fn refused(expected: Expected<'_>, value: &Value, path: Path, said: &str) -> Mismatch {
    let declared = expected.at(&path);
    let example = declared.map(|expected| path.example(&expected.sample()));
    // The parser's own words name types of the program.
    let is_of_parser = ["invalid type", "invalid value"].iter().any(|begin| said.starts_with(begin));
    let message = match (declared, path.value(value)) {
        (Some(expected), Some(value)) if is_of_parser => mismatch::sentence(expected, value, &path),
        _ => format!("{} {said}", path.shown()),
    };
    Mismatch { path, message, example }
}

fn help(example: Option<&str>) -> String {
    let more = "`precision-gate schema config` prints all keys";
    example.map_or_else(|| more.to_owned(), |example| format!("for example `{example}`; {more}"))
}

#[cfg(test)]
mod tests;
