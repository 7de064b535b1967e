//! Redaction: values that look secret reach no output.
//!
//! Three nets, one behind the other: a value whose name looks secret is replaced; a text that holds such a value
//! anywhere has it cut out; and credentials of well-known shapes are cut out wherever they stand. Names are
//! judged word by word, so that `max_tokens`, `pad_token` and `query_key` stay what they are.

mod name;
mod shape;

pub(crate) use name::looks_secret;
pub(crate) use shape::REDACTED;

use std::collections::BTreeSet;

use crate::read::json::Json;

/// Shortest secret that is looked for inside other texts; shorter ones would hit by chance.
const SHORTEST: usize = 6;

/// Replaces secrets.
#[derive(Clone, Debug, Default)]
pub struct Redactor {
    /// Longest first, so that a secret inside a secret does not leave the rest of the longer one.
    secrets: Vec<String>,
}

impl Redactor {
    /// Learns the values of all `named` settings whose names look secret.
    pub fn new<'a>(named: impl IntoIterator<Item = (&'a str, &'a Json)>) -> Self {
        let mut secrets = BTreeSet::new();
        for (name, value) in named {
            learn(name, value, &mut secrets);
        }
        let mut secrets: Vec<String> = secrets.into_iter().collect();
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self { secrets }
    }

    /// `text` without secrets.
    pub fn text(&self, text: &str) -> String {
        let mut text = shape::without_credentials(text);
        for secret in &self.secrets {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), REDACTED);
            }
        }
        text
    }

    /// The text of the setting `name`, redacted where it looks secret.
    pub fn setting(&self, name: &str, text: &str) -> String {
        if looks_secret(name) && !text.is_empty() { REDACTED.to_owned() } else { self.text(text) }
    }

    /// The value of the setting `name` without secrets, nested ones included; types are kept where nothing is
    /// replaced.
    pub fn value(&self, name: &str, value: &Json) -> Json {
        match value {
            Json::Null | Json::Bool(_) => value.clone(),
            Json::Object(entries) if !looks_secret(name) => {
                let entry = |(key, value): &(String, Json)| (key.clone(), self.value(key, value));
                Json::Object(entries.iter().map(entry).collect())
            }
            Json::Array(items) if !looks_secret(name) => {
                Json::Array(items.iter().map(|item| self.value("", item)).collect())
            }
            Json::Text(text) => Json::Text(self.setting(name, text)),
            _ if looks_secret(name) => Json::Text(REDACTED.into()),
            other => other.clone(),
        }
    }
}

fn learn(name: &str, value: &Json, secrets: &mut BTreeSet<String>) {
    match value {
        Json::Text(text) if looks_secret(name) && text.len() >= SHORTEST && text != REDACTED => {
            secrets.insert(text.clone());
        }
        Json::Object(entries) => {
            for (key, value) in entries {
                learn(if looks_secret(name) { name } else { key }, value, secrets);
            }
        }
        Json::Array(items) => items.iter().for_each(|item| learn(name, item, secrets)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> Json {
        Json::Text(value.into())
    }

    #[test]
    fn a_learnt_secret_is_cut_out_of_every_text() {
        let secret = text("correct-horse");
        let redactor = Redactor::new([("DB_PASSWORD", &secret), ("LR", &Json::Float(0.1))]);
        assert_eq!(redactor.text("login(\"x\", correct-horse)"), "login(\"x\", <redacted>)");
        assert_eq!(redactor.setting("db.password", "other"), REDACTED);
        assert_eq!(redactor.setting("lr", "0.1"), "0.1");
    }

    #[test]
    fn nested_values_are_reached_and_types_kept() {
        let value = Json::Object(vec![
            ("api_key".into(), text("0123456789")),
            ("list".into(), Json::Array(vec![Json::Int(1), text("0123456789")])),
        ]);
        let redactor = Redactor::new([("wandb", &value)]);
        let expected = Json::Object(vec![
            ("api_key".into(), text(REDACTED)),
            ("list".into(), Json::Array(vec![Json::Int(1), text(REDACTED)])),
        ]);
        assert_eq!(redactor.value("wandb", &value), expected);
        assert_eq!(redactor.value("pin.password", &Json::Int(1234)), text(REDACTED));
    }
}
