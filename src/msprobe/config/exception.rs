//! The exceptions that msprobe ends with.

use std::fmt;

use crate::error::Error;
use crate::read::pack::Malformed;

/// The exception a checker ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exception {
    /// A file could not be unpacked or is not JSON, or a cell may not be written.
    Runtime,
    /// A key is absent.
    Key,
    /// A value is of the wrong type.
    Type,
    /// A number was expected in a name.
    Value,
    /// The weights folder is not laid out in steps and ranks.
    Plain,
    /// A text is not UTF-8.
    UnicodeDecode,
    /// Nested too deep.
    Recursion,
}

impl fmt::Display for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Runtime => "RuntimeError",
            Self::Key => "KeyError",
            Self::Type => "TypeError",
            Self::Value => "ValueError",
            Self::Plain => "Exception",
            Self::UnicodeDecode => "UnicodeDecodeError",
            Self::Recursion => "MsprobeException",
        })
    }
}

impl From<&Error> for Exception {
    fn from(_: &Error) -> Self {
        Self::Runtime
    }
}

impl From<Malformed> for Exception {
    fn from(malformed: Malformed) -> Self {
        match malformed {
            Malformed::MissingKey => Self::Key,
            Malformed::WrongType => Self::Type,
        }
    }
}
