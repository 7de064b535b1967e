//! Places of findings that are lines of source.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Family of a rule about source: what goes wrong where it is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// The code does not run on the other device, or runs as other code there.
    Portability,
    /// Two runs of it do not compute the same numbers.
    Comparability,
    /// The numbers themselves are wrong or less precise.
    Numerics,
    /// The file or its comments cannot be judged.
    Reading,
}

impl Family {
    /// The name as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Portability => "portability",
            Self::Comparability => "comparability",
            Self::Numerics => "numerics",
            Self::Reading => "reading",
        }
    }
}

/// A place in a file of source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinePlace {
    /// Path below the folder that was judged, `/`-separated.
    pub file: String,
    /// Line, from 1.
    pub line: u64,
    /// Column, from 1, in code points.
    pub column: u64,
}

/// The place of a finding about source, and how it counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePlace {
    /// File, line and column.
    pub at: LinePlace,
    /// Family of the rule.
    pub family: Family,
    /// Whether the change touches the line; `None` where no change was given.
    pub changed: Option<bool>,
    /// Whether it counts for the verdict, as far as its severity does.
    pub counts: bool,
    /// Replacement that repairs it and is safe to make.
    pub fix: Option<Replacement>,
}

impl SourcePlace {
    /// The place as waivers and messages name it: `train.py:7`.
    pub fn name(&self) -> String {
        format!("{}:{}", self.at.file, self.at.line)
    }
}

/// Text in place of a part of one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Replacement {
    /// First line that is replaced, from 1.
    pub line: u64,
    /// Column of the first character that is replaced, from 1, in code points.
    pub column: u64,
    /// Line of the last character that is replaced.
    pub end_line: u64,
    /// Column behind the last one.
    pub end_column: u64,
    /// Text in its place.
    pub text: String,
}

/// A comment, added by the change, that accepts findings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Accepted {
    /// Path below the folder that was judged, `/`-separated.
    pub file: String,
    /// Line of the comment, from 1.
    pub line: u64,
    /// Codes that it accepts.
    pub codes: Vec<String>,
    /// Its reason.
    pub reason: String,
}
