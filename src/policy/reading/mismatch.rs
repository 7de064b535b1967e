//! Search for the first place of a policy that does not fit its schema: a wrong kind of value, an unknown or missing key, or a
//! word that is not among the choices.

use serde_yaml::Value;

use super::expected::{Expected, Kind, joined};
use super::path::{Path, PathStep};
use crate::nearest::{did_you_mean, nearest};

/// Most characters of a text that a message quotes.
const QUOTED: usize = 40;

/// A place, what is wrong there, and an example of what is right.
pub(super) struct Mismatch {
    pub(super) path: Path,
    pub(super) message: String,
    pub(super) example: Option<String>,
}

/// The first mismatch of a document, from top to bottom.
pub(super) fn mismatch(expected: Expected<'_>, value: &Value) -> Option<Mismatch> {
    Search { whole: expected }.look(expected, value, &Path::default())
}

#[derive(Clone, Copy)]
struct Search<'a> {
    whole: Expected<'a>,
}

impl Search<'_> {
    fn look(self, expected: Expected<'_>, value: &Value, path: &Path) -> Option<Mismatch> {
        let forms = expected.forms();
        let Some(form) = forms.iter().copied().find(|form| form.kind().is_none_or(|kind| is_of_kind(kind, value)))
        else {
            return Some(self.wrong(expected, value, path));
        };
        match value {
            Value::Mapping(section) => self.section(form, section, path),
            Value::Sequence(list) => {
                let entry = form.entry()?;
                let mut entries = list.iter().enumerate();
                entries.find_map(|(index, value)| self.look(entry, value, &path.to(PathStep::Index(index))))
            }
            Value::String(text) => self.word(form, text, path),
            _ => None,
        }
    }

    fn section(self, form: Expected<'_>, section: &serde_yaml::Mapping, path: &Path) -> Option<Mismatch> {
        let inside = section.iter().find_map(|(key, value)| {
            let key = match key {
                Value::String(key) => key.clone(),
                Value::Number(key) => key.to_string(),
                Value::Bool(key) => key.to_string(),
                _ => return None,
            };
            match form.key(&key) {
                Some(expected) => self.look(expected, value, &path.key(&key)),
                None => Some(self.unknown(form, &key, path)),
            }
        });
        inside.or_else(|| {
            let missing: Vec<String> = form
                .required()
                .into_iter()
                .filter(|key| !section.contains_key(key))
                .map(|key| format!("`{key}`"))
                .collect();
            let message = || format!("{} lacks {}", path.shown(), missing.join(", "));
            (!missing.is_empty()).then(|| found(path, message(), form))
        })
    }

    fn unknown(self, form: Expected<'_>, key: &str, path: &Path) -> Mismatch {
        let there = path.key(key);
        let keys = form.keys();
        if let Some(meant) = nearest(key, keys.iter().copied()) {
            let meant = path.key(meant);
            let message = format!("unknown key `{there}`; did you mean `{meant}`?");
            let example = self.whole.at(&meant).map(|expected| meant.example(&expected.sample()));
            return Mismatch { path: there, message, example };
        }
        let elsewhere = elsewhere(self.whole, key, &Path::default());
        let elsewhere: Vec<String> = elsewhere.iter().map(|path| format!("`{path}`")).collect();
        let message = if elsewhere.is_empty() {
            let inside = if path.is_empty() { "a policy".to_owned() } else { path.shown() };
            format!("unknown key `{there}`; {inside} has the keys {}", keys.join(", "))
        } else {
            format!("unknown key `{there}`; did you mean {}?", joined(&elsewhere))
        };
        Mismatch { path: there, message, example: None }
    }

    fn word(self, form: Expected<'_>, text: &str, path: &Path) -> Option<Mismatch> {
        let choices = form.choices();
        if choices.is_empty() || choices.contains(&text) {
            return None;
        }
        let meant = did_you_mean(text, choices);
        let message = format!("{} expects {}, not `{}`{meant}", path.shown(), form.words(), quote(text));
        Some(found(path, message, form))
    }

    fn wrong(self, expected: Expected<'_>, value: &Value, path: &Path) -> Mismatch {
        found(path, sentence(expected, value, path), expected)
    }
}

/// Sentence that a value is not what is expected at a path.
pub(super) fn sentence(expected: Expected<'_>, value: &Value, path: &Path) -> String {
    let shown = path.shown();
    if let Some(most) = expected.most().filter(|most| value.as_f64().is_some_and(|value| value > *most)) {
        return format!("{shown} expects at most {most}, not {}", described(value));
    }
    let percent = expected.kind().filter(|kind| *kind == Kind::Number).and_then(|_| of_percent(value));
    let percent = percent.map_or_else(String::new, |number| format!("; write {number}"));
    format!("{shown} expects {}, not {}{percent}", expected.words(), described(value))
}

fn found(path: &Path, message: String, expected: Expected<'_>) -> Mismatch {
    Mismatch { path: path.clone(), message, example: Some(path.example(&expected.sample())) }
}

/// Whether a value is of a kind, or is converted to it when it is read.
fn is_of_kind(kind: Kind, value: &Value) -> bool {
    match (kind, value) {
        (Kind::Section, Value::Mapping(_)) | (Kind::List, Value::Sequence(_)) | (Kind::Switch, Value::Bool(_)) => true,
        // `label: 910` is a text.
        (Kind::Text, Value::String(_) | Value::Number(_) | Value::Bool(_)) => true,
        (Kind::Number, Value::Number(_)) => true,
        (Kind::Whole, Value::Number(number)) => number.is_i64() || number.is_u64(),
        _ => false,
    }
}

/// Paths at which sections elsewhere in the policy have the key.
fn elsewhere(expected: Expected<'_>, key: &str, path: &Path) -> Vec<Path> {
    let inside = expected.keys().into_iter().flat_map(|name| {
        let below = path.key(name);
        if name == key && !path.is_empty() {
            return vec![below];
        }
        expected
            .key(name)
            .filter(|inner| inner.kind() == Some(Kind::Section))
            .map_or_else(Vec::new, |inner| elsewhere(inner, key, &below))
    });
    inside.collect()
}

/// The number that a text such as `5%` means.
fn of_percent(value: &Value) -> Option<f64> {
    let number: f64 = value.as_str()?.strip_suffix('%')?.trim().parse().ok()?;
    Some(number / 100.0)
}

fn described(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(value) => format!("`{value}`"),
        Value::Number(value) => format!("`{value}`"),
        Value::String(text) => format!("the text `{}`", quote(text)),
        Value::Sequence(_) => "a list".to_owned(),
        Value::Mapping(section) => match section.keys().next().and_then(Value::as_str) {
            Some(key) => format!("a section with the key `{}`", quote(key)),
            None => "an empty section".to_owned(),
        },
        Value::Tagged(tagged) => format!("a value with the tag `{}`", quote(&tagged.tag.to_string())),
    }
}

fn quote(text: &str) -> String {
    let short: String = text.chars().take(QUOTED).collect();
    let more = if short.len() < text.len() { "..." } else { "" };
    format!("{}{more}", short.escape_debug())
}
