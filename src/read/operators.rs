//! Tables of msprobe's operator tests: `acc_check` replays every operator of a dump on one device and on a CPU, and
//! `api_precision_compare` holds two devices against each other. docs/formats/msprobe-operators.md describes them.

mod compared;
mod details;
mod place;
mod rows;

pub use compared::ComparedRow;
pub use details::Output;
pub use place::{Place, TableKind};
pub use rows::Damage;

use crate::error::Result;
use crate::fetch::ByteSource;

/// Pass of an operator that was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// Nothing was checked: `SKIP`, or one space.
    Skip,
    /// `pass`
    Pass,
    /// `warning`
    Warning,
    /// `error`
    Error,
}

impl Status {
    /// The status that a cell says; `None` for any other word.
    pub fn parse(cell: &str) -> Option<Self> {
        let cell = cell.trim();
        let is = |word: &str| cell.eq_ignore_ascii_case(word);
        match () {
            () if cell.is_empty() || is("skip") => Some(Self::Skip),
            () if is("pass") => Some(Self::Pass),
            () if is("warning") => Some(Self::Warning),
            () if is("error") => Some(Self::Error),
            () => None,
        }
    }

    /// The word as msprobe writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Skip => "SKIP",
            Self::Pass => "pass",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One operator in a table of results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiResult {
    /// The operator: `Functional.linear.0`.
    pub api: String,
    /// Status of its forward pass.
    pub forward: Status,
    /// Status of its backward pass.
    pub backward: Status,
}

/// Rows of a table, and what of it could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows<T> {
    /// The rows, in the order of the file.
    pub rows: Vec<T>,
    /// Reason why the table is not whole; `None` where it is.
    pub damage: Option<Damage>,
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Self { rows: Vec::new(), damage: None }
    }
}

/// Reads a table of details of `acc_check`.
///
/// # Errors
/// A file that cannot be read at all, or is larger than what is read.
pub fn read_details(source: &dyn ByteSource) -> Result<Rows<Output>> {
    rows::read(source, TableKind::Details, details::row)
}

/// Reads a table of results, of `acc_check` or of `api_precision_compare`.
///
/// # Errors
/// As [`read_details`].
pub fn read_results(source: &dyn ByteSource, kind: TableKind) -> Result<Rows<ApiResult>> {
    rows::read(source, kind, |row| {
        let backward = row.cell("Backward Test Success")?;
        Some(ApiResult {
            api: row.name()?.to_owned(),
            forward: Status::parse(row.cell("Forward Test Success")?)?,
            backward: Status::parse(backward)?,
        })
    })
}

/// Reads a table of details of `api_precision_compare`.
///
/// # Errors
/// As [`read_details`].
pub fn read_compared(source: &dyn ByteSource) -> Result<Rows<ComparedRow>> {
    rows::read(source, TableKind::ComparedDetails, compared::row)
}
