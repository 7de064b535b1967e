//! The sheet of a checker: its rows, and the level they add up to.

use crate::msprobe::table::Cell;

/// The level of a checker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// No row speaks against it.
    Pass,
    /// Only warnings.
    Warning,
    /// At least one error.
    Error,
}

impl Level {
    /// The text in sheets and summary.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// Rows of a sheet with the level they add up to.
pub(super) struct Sheet {
    pub(super) rows: Vec<Vec<Cell<'static>>>,
    pub(super) level: Level,
}

/// `error` where any cell of the last column says so, else `warning` where any does, else `pass`.
pub(super) fn worst_level(rows: &[Vec<Cell<'static>>]) -> Level {
    let level = |row: &Vec<Cell<'static>>| match row.last() {
        Some(Cell::Text(text)) if text == "error" => Level::Error,
        Some(Cell::Text(text)) if text == "warning" => Level::Warning,
        _ => Level::Pass,
    };
    rows.iter().map(level).max().unwrap_or(Level::Pass)
}

/// `error` where `false` stands in the column, else `pass`.
pub(super) fn level_of_booleans(rows: &[Vec<Cell<'static>>], column: usize) -> Level {
    let any_false = rows.iter().any(|row| row.get(column) == Some(&Cell::Bool(false)));
    if any_false { Level::Error } else { Level::Pass }
}

pub(super) fn step_and_rank((step, rank): (u64, u64)) -> [Cell<'static>; 2] {
    [step, rank].map(whole_cell)
}

/// A whole number, as text where a cell cannot hold it.
pub(super) fn whole_cell(value: u64) -> Cell<'static> {
    i64::try_from(value).map_or_else(|_| Cell::from(value.to_string()), Cell::Int)
}
