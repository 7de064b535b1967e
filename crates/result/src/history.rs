//! A run in the light of those before it.

use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::time::Time;
use super::trend::Trend;
use crate::verdict::{CheckId, Verdict};

/// Summary of the history for one run: `history` in `result.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// The suite.
    pub suite: Suite,
    /// Location of the records, without anything secret.
    pub location: String,
    /// The runs looked at, oldest first; the last is this one.
    pub last: Vec<Past>,
    /// Number of runs in a row in which a case has to fail before it is an alert.
    pub alert_after: NonZeroU32,
    /// Number of runs in a row in which the same case has failed, this one included; 0 where the verdict does not
    /// block.
    pub failed: u32,
    /// Whether that is often enough: someone has to look.
    pub alert: bool,
    /// Rules that have failed each of these times.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<Case>,
    /// Between which runs it broke; only where the verdict blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Since>,
    /// Differences between the last green and the first red run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<Change>,
    /// The commits between them, the newest first, where a repository with both was at hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commits: Option<Commits>,
    /// Trends of the rules whose values move, the worst first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trends: Vec<Trend>,
    /// Records that could not be read, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
}

/// A run, as far as a summary names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Past {
    /// Time at which it was judged.
    pub time: Time,
    /// The commit; empty where it is not known.
    pub commit: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The job's page; empty where it is not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub run: String,
}

/// Between which runs a suite broke.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Since {
    /// The last run before it that did not block; null where none of those looked at did not.
    pub green: Option<Past>,
    /// The first run in which the case that fails now has failed, and in every one since.
    pub red: Past,
}

impl Since {
    /// The commands that narrow a range of commits down: what `git bisect` is told. `None` where one of the commits is not
    /// known, or the code is the same.
    pub fn bisect(&self) -> Option<String> {
        let (green, red) = (&self.green.as_ref()?.commit, &self.red.commit);
        let is_commit =
            |text: &str| (7..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        (green != red && is_commit(green) && is_commit(red)).then(|| format!("git bisect start {red} {green}"))
    }
}

/// Commits of a range, as far as they are named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Commits {
    /// Total number.
    pub total: u64,
    /// The newest of them.
    pub list: Vec<Commit>,
}

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Commit {
    /// Its name.
    pub id: String,
    /// The first line of its message.
    pub subject: String,
}

/// Something that can block: a rule of a unit, or what stands in its place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Case {
    /// The check.
    pub check: CheckId,
    /// A metric, a step and rank, a checkpoint, a checker; empty for the check as a whole.
    pub unit: String,
    /// The rule's name, or a finding's code; empty for the unit as a whole.
    pub rule: String,
}

impl Case {
    /// The case in a few words.
    pub fn name(&self) -> String {
        let parts = [self.check.as_str(), &self.unit, &self.rule];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// Kind of the thing that differs.
    pub kind: ChangeKind,
    /// Name of the package, variable or rule; empty where there is only one of the kind.
    pub name: String,
    /// Value before; empty where it was not known.
    pub before: String,
    /// Value after; empty where it is not known.
    pub after: String,
}

/// Kinds of things that can differ between runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// The commit judged.
    Commit,
    /// The version of a package or part.
    Version,
    /// An environment variable.
    Environment,
    /// The digest of all packages, settings, or of data and weights.
    Content,
    /// The label of the candidate.
    Candidate,
    /// The baseline: its name, its manifest, or what was judged of it.
    Baseline,
    /// The policy file's text.
    Policy,
    /// The profile.
    Profile,
    /// Limits of a rule.
    Limit,
    /// The version of the gate.
    Tool,
}

/// A suite's name: 1 to 64 letters, digits, `.`, `_` and `-`, of which the first is a letter or a digit, so that it is a
/// folder's name everywhere and leads nowhere else.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Suite(String);

impl Suite {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for Suite {
    fn default() -> Self {
        Self("default".into())
    }
}

impl FromStr for Suite {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let starts = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
        if starts && text.len() <= 64 && text.bytes().all(plain) {
            return Ok(Self(text.to_owned()));
        }
        Err(format!(
            "expects 1 to 64 letters, digits, `.`, `_` or `-` that begin with a letter or a digit, not `{text}`"
        ))
    }
}

impl TryFrom<String> for Suite {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Suite> for String {
    fn from(suite: Suite) -> Self {
        suite.0
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl JsonSchema for Suite {
    fn schema_name() -> Cow<'static, str> {
        "Suite".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", "examples": ["nightly"]})
    }
}

#[cfg(test)]
mod tests {
    use super::Suite;

    #[test]
    fn a_suite_is_a_folder_name_and_nothing_else() {
        for (text, fits) in [
            ("gpt-7b.nightly_1", true),
            ("7", true),
            ("", false),
            (".", false),
            ("..", false),
            ("../x", false),
            ("a/b", false),
            ("-rf", false),
            ("a\0", false),
            ("模型", false),
        ] {
            assert_eq!(text.parse::<Suite>().is_ok(), fits, "{text}");
        }
        assert!("k".repeat(65).parse::<Suite>().is_err());
    }
}
