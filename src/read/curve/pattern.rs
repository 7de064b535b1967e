//! The user's own pattern for log lines.

use regex::Regex;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use crate::read::metric;

/// A regular expression for log lines: named groups, `step` among them where lines are numbered.
#[derive(Clone, Debug)]
pub struct LogPattern(pub(super) Regex);

impl LogPattern {
    /// Checks a pattern: it must compile, and name at least one metric.
    pub fn parse(pattern: &str) -> Result<Self, String> {
        let regex = Regex::new(pattern).map_err(|error| error.to_string())?;
        if regex.capture_names().flatten().any(|name| metric::step_rank(name).is_none()) {
            return Ok(Self(regex));
        }
        Err("names no metric: write a group such as `(?<loss>\\S+)`, and `(?<step>\\d+)` beside it".into())
    }
}

impl<'de> Deserialize<'de> for LogPattern {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for LogPattern {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "LogPattern".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": "regex"})
    }
}
