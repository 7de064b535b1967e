//! Variables of a job, and texts of its event.

use std::collections::BTreeMap;

use serde_json::Value;

/// Environment variables by name.
pub type JobVariables = BTreeMap<String, String>;

/// The value of a variable; an empty one counts as unset.
pub fn variable<'a>(environment: &'a JobVariables, name: &str) -> Option<&'a str> {
    environment.get(name).map(String::as_str).filter(|value| !value.is_empty())
}

pub(super) fn is_true(environment: &JobVariables, name: &str) -> bool {
    variable(environment, name) == Some("true")
}

pub(super) fn is_gitea(environment: &JobVariables) -> bool {
    is_true(environment, "GITEA_ACTIONS") || is_true(environment, "FORGEJO_ACTIONS")
}

/// A text of an event; empty if it is absent or not a text.
pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
