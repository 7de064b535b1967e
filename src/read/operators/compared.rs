//! Rows of `api_precision_compare_details`: the tool's own verdict on an output, one device against another.

use super::details::name_parts;
use super::rows::Cell;
use super::status::OperatorStatus;
use crate::kind::Direction;

/// One output of an operator, as `api_precision_compare` judged it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedRow {
    /// The row's name: `Functional.linear.0.forward.output.0`.
    pub name: String,
    /// Length of the operator's part of the name, in bytes.
    api_len: usize,
    /// Direction of the call.
    pub direction: Direction,
    /// Number of the output; `None` if the name has none.
    pub output: Option<u64>,
    /// The tool's verdict.
    pub status: OperatorStatus,
}

impl ComparedRow {
    /// Name of the operator: `Functional.linear.0`.
    pub fn api(&self) -> &str {
        self.name.get(..self.api_len).unwrap_or(&self.name)
    }
}

/// Title of the column that is read.
pub(super) const TITLES: [&str; 1] = ["比对结果"];

/// Reads a row from the cell below [`TITLES`]; `None` if it cannot be read.
pub(super) fn compared_row(name: &str, [verdict]: [Cell<'_>; 1]) -> Option<ComparedRow> {
    let (api_len, direction, output) = name_parts(name)?;
    let status = OperatorStatus::parse(verdict.text()?)?;
    Some(ComparedRow { name: name.to_owned(), api_len, direction, output, status })
}
