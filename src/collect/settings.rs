//! Settings from launch scripts, YAML and JSON files, by msprobe's rules.
//!
//! Nested keys are joined with dots; `null` is left out; a list without objects stays whole, others are expanded
//! by position. A setting with different values in two files becomes msprobe's record of duplicate values.

use std::path::{Path, PathBuf};

use super::shell;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::local::LocalFile;
use crate::fetch::read_all as read_bytes;
use crate::read::json::{self, Json};
use crate::read::pack::PackSettings;

/// Largest file with settings.
const MAX_FILE: u64 = 16 << 20;
/// Deepest nesting that is read.
const MAX_DEPTH: usize = 200;

/// Settings of all files, in the order given.
pub(super) fn read_all(paths: &[PathBuf], notes: &mut Vec<String>) -> Result<PackSettings> {
    let mut all = PackSettings::new();
    for path in paths {
        let settings = read(path)?;
        if settings.is_empty() {
            notes.push(format!("{}: no settings found", path.display()));
        }
        for (name, value) in settings {
            add(&mut all, name, value);
        }
    }
    Ok(all)
}

fn read(path: &Path) -> Result<PackSettings> {
    let name = path.display().to_string();
    let bytes = read_bytes(&LocalFile::open(path, &name)?, MAX_FILE)?;
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase()).unwrap_or_default();
    let text = || String::from_utf8(bytes.clone()).map_err(|_| Error::corrupt(&name, "is not UTF-8"));
    let document = match extension.as_str() {
        "sh" => return Ok(shell::settings(&text()?)),
        "json" => json::parse_bytes(&name, &bytes)?,
        "yaml" | "yml" => {
            let value: serde_yaml::Value = serde_yaml::from_str(&text()?)
                .map_err(|error| Error::corrupt(&name, error).with_help("give a file with one YAML document"))?;
            from_yaml(value, &name, 0)?
        }
        _ => {
            let error = Error::new(ErrorKind::Usage, name, "settings are read from .sh, .yaml, .yml and .json files");
            return Err(error.with_help("leave the file out, or give it a name with its real ending"));
        }
    };
    let mut settings = PackSettings::new();
    flatten(document, "", &mut settings);
    Ok(settings)
}

/// Adds a setting; different values of one setting are collected as msprobe does.
fn add(all: &mut PackSettings, name: String, value: Json) {
    let Some((_, known)) = all.iter_mut().find(|(known, _)| *known == name) else {
        return all.push((name, value));
    };
    if *known == value {
        return;
    }
    if known.get("description").and_then(Json::as_str) == Some("duplicate_value")
        && let Json::Object(entries) = known
        && let Some((_, Json::Array(values))) = entries.iter_mut().find(|(key, _)| key == "values")
    {
        return values.push(value);
    }
    let values = Json::Array(vec![known.clone(), value]);
    *known =
        Json::Object(vec![("description".into(), Json::Text("duplicate_value".into())), ("values".into(), values)]);
}

fn flatten(value: Json, prefix: &str, settings: &mut PackSettings) {
    let joined = |key: &str| if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") };
    match value {
        Json::Null => {}
        Json::Object(entries) => entries.into_iter().for_each(|(key, value)| flatten(value, &joined(&key), settings)),
        Json::Array(items) if items.iter().any(|item| matches!(item, Json::Object(_) | Json::Null)) => {
            for (index, item) in items.into_iter().enumerate() {
                flatten(item, &joined(&index.to_string()), settings);
            }
        }
        other => settings.push((prefix.to_owned(), other)),
    }
}

/// Converts YAML 1.2 to JSON, with the boolean words of YAML 1.1 that PyYAML accepts.
fn from_yaml(value: serde_yaml::Value, name: &str, depth: usize) -> Result<Json> {
    use serde_yaml::Value;
    if depth > MAX_DEPTH {
        let message = format!("nested deeper than {MAX_DEPTH} levels");
        return Err(Error::new(ErrorKind::LimitExceeded, name, message));
    }
    Ok(match value {
        Value::Null => Json::Null,
        Value::Bool(value) => Json::Bool(value),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(value), _) => Json::Int(value),
            (None, Some(value)) if number.is_f64() => Json::Float(value),
            _ => Json::BigInt(number.to_string()),
        },
        Value::String(text) => match text.as_str() {
            "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Json::Bool(true),
            "no" | "No" | "NO" | "off" | "Off" | "OFF" => Json::Bool(false),
            _ => Json::Text(text),
        },
        Value::Sequence(items) => {
            Json::Array(items.into_iter().map(|item| from_yaml(item, name, depth + 1)).collect::<Result<_>>()?)
        }
        Value::Mapping(entries) => {
            let entry = |(key, value): (Value, Value)| {
                let key = match from_yaml(key, name, depth + 1)? {
                    Json::Text(text) => text,
                    other => json::to_text(&other),
                };
                Ok((key, from_yaml(value, name, depth + 1)?))
            };
            Json::Object(entries.into_iter().map(entry).collect::<Result<_>>()?)
        }
        Value::Tagged(tagged) => from_yaml(tagged.value, name, depth + 1)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn yaml(text: &str) -> String {
        let mut settings = PackSettings::new();
        flatten(from_yaml(serde_yaml::from_str(text).expect("YAML"), "t", 0).expect("read"), "", &mut settings);
        json::to_text(&Json::Object(settings))
    }

    #[test]
    fn nested_keys_are_joined_and_lists_kept() {
        let text =
            "optim: {lr: 0.001, betas: [0.9, 0.95], off: null}\nstages: [{name: warm}, {name: decay}]\nflag: yes\n";
        assert_eq!(
            yaml(text),
            r#"{"optim.lr": 0.001, "optim.betas": [0.9, 0.95], "stages.0.name": "warm", "stages.1.name": "decay", "flag": true}"#
        );
    }

    #[test]
    fn contradictions_are_collected() {
        let mut all = PackSettings::new();
        for value in [1, 1, 2, 3] {
            add(&mut all, "seed".into(), Json::Int(value));
        }
        assert_eq!(
            json::to_text(&Json::Object(all)),
            r#"{"seed": {"description": "duplicate_value", "values": [1, 2, 3]}}"#
        );
    }
}
