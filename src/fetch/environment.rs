//! The environment as an argument: variables that the tools of services read, and the home folder with their files.
//!
//! The library never reads the variables of the process; `main` passes them in, and tests pass the variables that they need.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use secrecy::SecretString;

/// Variables by name. An empty variable counts as unset.
#[derive(Clone, Default)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// The variable's value.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The first of several variables that is set.
    pub fn first(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.get(name))
    }

    /// The first of several variables that is set, as a secret.
    pub fn secret(&self, names: &[&str]) -> Option<SecretString> {
        self.first(names).map(SecretString::from)
    }

    /// The file that `variable` names, or the one at `path` below the home folder.
    pub fn file(&self, variable: &str, path: &str) -> Option<PathBuf> {
        let named = self.get(variable).map(PathBuf::from);
        named.or_else(|| self.get("HOME").map(|home| Path::new(home).join(path)))
    }

    /// Whether a variable is set to a word for yes.
    pub fn is_on(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| matches!(value.to_ascii_lowercase().as_str(), "1" | "true" | "yes"))
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        Self(variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

/// Shows the names only, since values contain tokens.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_variable_is_unset_and_no_value_is_shown() {
        let environment: Environment = [("TOKEN", "s3cret"), ("EMPTY", "")].into_iter().collect();
        assert_eq!(environment.get("EMPTY"), None);
        assert_eq!(environment.first(&["EMPTY", "TOKEN"]), Some("s3cret"));
        assert!(!format!("{environment:?}").contains("s3cret"));
    }
}
