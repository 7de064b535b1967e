//! Tables of msprobe's operator tests: `acc_check` replays every operator of a dump on one device and on a CPU, and
//! `api_precision_compare` holds two devices against each other. docs/formats/msprobe-operators.md describes them.

mod compared;
mod details;
mod place;
mod rows;
mod status;

pub use compared::ComparedRow;
pub use details::OperatorOutput;
pub use place::{OperatorPlace, TableKind};
pub use rows::{OperatorDamage, OperatorRows};
pub use status::OperatorStatus;

use crate::error::Result;
use crate::fetch::ByteSource;

/// One operator in a table of results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiResult {
    /// The operator: `Functional.linear.0`.
    pub api: String,
    /// Status of its forward pass.
    pub forward: OperatorStatus,
    /// Status of its backward pass.
    pub backward: OperatorStatus,
}

/// Reads a table of details of `acc_check`.
///
/// # Errors
/// Errors for a file that cannot be read at all, or is too large.
pub fn read_details(source: &dyn ByteSource) -> Result<OperatorRows<OperatorOutput>> {
    rows::read(source, TableKind::Details, details::TITLES, details::output_row)
}

/// Reads a table of results, of `acc_check` or of `api_precision_compare`.
///
/// # Errors
/// As [`read_details`].
pub fn read_results(source: &dyn ByteSource, kind: TableKind) -> Result<OperatorRows<ApiResult>> {
    rows::read(source, kind, ["Forward Test Success", "Backward Test Success"], |name, [forward, backward]| {
        let status = |cell: rows::Cell<'_>| OperatorStatus::parse(cell.text()?);
        Some(ApiResult { api: name.to_owned(), forward: status(forward)?, backward: status(backward)? })
    })
}

/// Reads a table of details of `api_precision_compare`.
///
/// # Errors
/// As [`read_details`].
pub fn read_compared(source: &dyn ByteSource) -> Result<OperatorRows<ComparedRow>> {
    rows::read(source, TableKind::ComparedDetails, compared::TITLES, compared::compared_row)
}
