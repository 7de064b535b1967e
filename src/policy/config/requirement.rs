//! Requirements on a package's versions.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};

/// Requirement on a package's versions.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Requirement {
    /// Nothing.
    Ignore,
    /// The same version on both sides.
    Equal,
    /// The same first two numbers.
    SameMinor,
    /// The same version, whatever stands after `+`.
    EqualWithoutLocalLabel,
    /// Both versions inside a range: `>=a,<b`.
    Range(Vec<(Comparison, String)>),
}

/// Comparison of a version with a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `>=`
    AtLeast,
    /// `>`
    Above,
    /// `<=`
    AtMost,
    /// `<`
    Below,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
}

impl Comparison {
    /// All of them with their text; two-character ones first, because `>` starts `>=`.
    const ALL: [(&'static str, Self); 6] = [
        (">=", Self::AtLeast),
        ("<=", Self::AtMost),
        ("==", Self::Equal),
        ("!=", Self::NotEqual),
        (">", Self::Above),
        ("<", Self::Below),
    ];
}

impl TryFrom<String> for Requirement {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "ignore" => Ok(Self::Ignore),
            "equal" => Ok(Self::Equal),
            "same-minor" => Ok(Self::SameMinor),
            "equal-without-local-label" => Ok(Self::EqualWithoutLocalLabel),
            range => range.split(',').map(bound).collect::<Option<_>>().map(Self::Range).ok_or_else(|| {
                format!(
                    "expects `ignore`, `equal`, `same-minor`, `equal-without-local-label` or a range such as \
                     `>=2.1,<3`, not `{range}`"
                )
            }),
        }
    }
}

fn bound(text: &str) -> Option<(Comparison, String)> {
    let text = text.trim();
    let (sign, comparison) = Comparison::ALL.into_iter().find(|(sign, _)| text.starts_with(sign))?;
    let version = text.strip_prefix(sign)?.trim();
    version.starts_with(|c: char| c.is_ascii_digit()).then(|| (comparison, version.to_owned()))
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ignore => f.write_str("ignore"),
            Self::Equal => f.write_str("equal"),
            Self::SameMinor => f.write_str("same-minor"),
            Self::EqualWithoutLocalLabel => f.write_str("equal-without-local-label"),
            Self::Range(bounds) => {
                let sign =
                    |wanted| Comparison::ALL.iter().find(|(_, known)| *known == wanted).map_or("", |(sign, _)| sign);
                let bounds = bounds.iter().map(|(comparison, version)| format!("{}{version}", sign(*comparison)));
                f.write_str(&bounds.collect::<Vec<_>>().join(","))
            }
        }
    }
}

impl Serialize for Requirement {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for Requirement {
    fn schema_name() -> Cow<'static, str> {
        "Requirement".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "ignore, equal, same-minor, equal-without-local-label, or a range such as >=2.1,<3",
            "examples": [">=2.1,<3"]
        })
    }
}
