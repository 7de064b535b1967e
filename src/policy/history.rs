//! History: location of the records of runs, and the alert for a broken suite.

use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// Runs that a summary looks at by default: a month of nights.
const USUAL_LAST: NonZeroU32 = NonZeroU32::new(30).expect("invariant: 30 is not 0");

/// History of runs.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct HistoryPolicy {
    /// Location of the records: a folder, `s3://`, `obs://`, or `branch:NAME` of the repository; none where
    /// it is not given. The run of a pull request looks at them and adds none.
    #[schemars(example = &"branch:precision-history")]
    pub location: Option<String>,
    /// The suite whose runs are compared with each other.
    pub suite: Suite,
    /// Number of runs in a row in which the same case has to fail before it is an alert.
    pub alert_after: NonZeroU32,
    /// Number of runs that a summary looks at, this one included.
    pub last: NonZeroU32,
}

impl Default for HistoryPolicy {
    fn default() -> Self {
        Self { location: None, suite: Suite::default(), alert_after: NonZeroU32::MIN, last: USUAL_LAST }
    }
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
