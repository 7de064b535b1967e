//! Source: which files and lines the check judges, and how severe its rules are.

use std::collections::BTreeMap;

use globset::{Glob, GlobBuilder, GlobMatcher};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};

use crate::verdict::Severity;

/// Python source.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct SourcePolicy {
    /// Files that are judged; all if empty.
    pub paths: Vec<PathPattern>,
    /// Files that are left out, beside tests, documents and packages of others.
    pub ignore: Vec<PathPattern>,
    /// Severity per rule, in place of its default.
    pub rules: BTreeMap<String, RuleSetting>,
    /// Whether only lines that a change touches count, where the change is known.
    pub changed_only: ChangedOnly,
}

/// Whether only changed lines count: they do unless the policy says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct ChangedOnly(pub bool);

impl Default for ChangedOnly {
    fn default() -> Self {
        Self(true)
    }
}

/// Severity of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RuleSetting {
    /// It blocks.
    Fail,
    /// It is shown beside the line.
    Warn,
    /// It is listed, and no more.
    Info,
    /// It is not looked for.
    Off,
}

impl RuleSetting {
    /// The severity; `None` for a rule that is off.
    pub fn severity(self) -> Option<Severity> {
        match self {
            Self::Fail => Some(Severity::Fail),
            Self::Warn => Some(Severity::Warn),
            Self::Info => Some(Severity::Info),
            Self::Off => None,
        }
    }
}

impl SourcePolicy {
    /// Severity that the policy gives a rule; `None` where it says nothing.
    pub(crate) fn rule_setting(&self, code: &str) -> Option<RuleSetting> {
        self.rules.get(code).copied()
    }

    /// Whether a file is judged.
    pub fn covers(&self, path: &str) -> bool {
        let is_named = self.paths.is_empty() || self.paths.iter().any(|pattern| pattern.matches(path));
        is_named && !self.ignore.iter().any(|pattern| pattern.matches(path))
    }
}

/// A pattern of paths: `*` stays within a folder, `**` crosses folders, and a folder stands for all in it.
#[derive(Clone, Deserialize)]
#[serde(try_from = "String")]
pub struct PathPattern {
    whole: GlobMatcher,
    within: GlobMatcher,
}

impl PathPattern {
    /// Whether a path fits, or lies in a folder that does.
    pub fn matches(&self, path: &str) -> bool {
        self.whole.is_match(path) || self.within.is_match(path)
    }

    /// The pattern, without `./` before and `/` after it.
    pub fn as_str(&self) -> &str {
        self.whole.glob().glob()
    }
}

impl std::fmt::Debug for PathPattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("PathPattern").field(&self.as_str()).finish()
    }
}

impl TryFrom<String> for PathPattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let plain = text.trim_start_matches("./").trim_end_matches('/');
        if plain.is_empty() {
            return Err("expects a pattern of paths such as src/**, not an empty text".into());
        }
        let glob = |pattern: &str| {
            let glob: Result<Glob, _> = GlobBuilder::new(pattern).literal_separator(true).build();
            glob.map(|glob| glob.compile_matcher()).map_err(|error| format!("expects a pattern of paths: {error}"))
        };
        Ok(Self { whole: glob(plain)?, within: glob(&format!("{plain}/**"))? })
    }
}

impl Serialize for PathPattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl JsonSchema for PathPattern {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "PathPattern".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "description": "pattern of paths: * ** ? [...] {a,b}", "examples": ["src/**"]})
    }
}

#[cfg(test)]
mod tests {
    use super::SourcePolicy;

    #[test]
    fn folders_and_patterns_choose_files() {
        let policy: SourcePolicy = serde_yaml::from_str(
            "paths: [\"src/**\", train.py]\nignore: [src/legacy/]\nrules: {cudnn-benchmark: off}\n",
        )
        .expect("sound");
        for (path, is_judged) in [
            ("src/a.py", true),
            ("src/b/c.py", true),
            ("train.py", true),
            ("src/legacy/old.py", false),
            ("lib/src/a.py", false),
            ("other.py", false),
        ] {
            assert_eq!(policy.covers(path), is_judged, "{path}");
        }
        assert!(policy.rule_setting("cudnn-benchmark").is_some_and(|setting| setting.severity().is_none()));
        assert!(policy.changed_only.0);
    }
}
