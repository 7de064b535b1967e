//! Pattern for lines of a training log: as people write one, `iter {step} loss {loss}`, or a regular expression.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// `{loss}`: no regular expression holds one, since a repetition begins with a digit.
static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\{([A-Za-z_]\w*)\}").expect("invariant: the pattern is a constant, and tests use it")
});

/// A regular expression for log lines.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String")]
pub struct LogPattern(String);

impl LogPattern {
    /// The expression; it compiles and names a group.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for LogPattern {
    type Error = String;

    fn try_from(pattern: String) -> Result<Self, String> {
        let pattern = if PLACE.is_match(&pattern) { expression(&pattern) } else { pattern };
        let regex = Regex::new(&pattern).map_err(|error| format!("is not a valid regular expression: {error}"))?;
        if regex.capture_names().flatten().all(|name| name == "step") {
            return Err("names no metric; write `{step}` and `{loss}` in place of the numbers of a line".into());
        }
        Ok(Self(pattern))
    }
}

/// The expression of a line with names in place of its numbers: any white space is any other, the rest is literal.
fn expression(line: &str) -> String {
    let mut expression = String::new();
    let mut end = 0;
    for place in PLACE.captures_iter(line) {
        let (whole, [name]) = place.extract();
        let at = place.get_match().start();
        expression.push_str(&literal(line.get(end..at).unwrap_or_default()));
        let value = if name == "step" { r"\d+" } else { r"[-+.\w]*[.\w]" };
        expression.push_str(&format!("(?<{name}>{value})"));
        end = at + whole.len();
    }
    expression + &literal(line.get(end..).unwrap_or_default())
}

fn literal(text: &str) -> String {
    let mut words = text.split_whitespace().map(regex::escape).collect::<Vec<_>>().join(r"\s+");
    if text.starts_with(char::is_whitespace) {
        words.insert_str(0, r"\s+");
    }
    if text.ends_with(char::is_whitespace) && !text.trim().is_empty() {
        words.push_str(r"\s+");
    }
    words
}

impl JsonSchema for LogPattern {
    fn schema_name() -> Cow<'static, str> {
        "LogPattern".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A line of the log with {step} and {loss} in place of its numbers, or a regular expression with these groups.",
            "examples": ["iter {step} loss {loss}"]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_names_in_place_of_numbers_is_a_pattern() {
        for (pattern, line, step, loss) in [
            ("iter {step} loss {loss}", "[rank0] iter 12  loss 2.5e-01, lr 1e-4", "12", "2.5e-01"),
            ("it={step} (l={loss})", "it=7 (l=-inf)", "7", "-inf"),
            ("{step}: {loss}", "3: nan.", "3", "nan."),
            (r"it=(?<step>\d+) l=(?<loss>\S+)", "it=7 l=1.5", "7", "1.5"),
        ] {
            let pattern = LogPattern::try_from(pattern.to_owned()).expect(pattern);
            let regex = Regex::new(pattern.as_str()).expect("compiles");
            let found = regex.captures(line).unwrap_or_else(|| panic!("{pattern:?} {line}"));
            assert_eq!((&found["step"], &found["loss"]), (step, loss), "{line}");
        }
    }

    #[test]
    fn a_pattern_without_a_metric_is_refused() {
        for pattern in ["iter {step}", "", r"(?<step>\d+)", "loss"] {
            let error = LogPattern::try_from(pattern.to_owned()).expect_err(pattern);
            assert!(error.contains("names no metric"), "{error}");
        }
        assert!(LogPattern::try_from("({loss}".to_owned()).is_ok(), "text around the names is literal");
        assert!(LogPattern::try_from(r"((?<loss>\S+)".to_owned()).is_err());
    }
}
