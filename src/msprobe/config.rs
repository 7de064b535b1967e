//! msprobe 26.2.0's config check of two packs: rows, levels, and the exception it ends with.
//!
//! msprobe writes its sheets after the last checker, so one exception hides all six. Here a checker fails alone:
//! it is `failed` with the kind of the exception, and the others say what they would have said.

mod dataset;
mod env;
mod hyperparameters;
mod pip;
mod random;
mod value;
mod weights;

use std::fmt;

use super::table::{Cell, Table};
use crate::error::Error;
use crate::read::pack::{Checker, Malformed, Pack};
use crate::redact::Redactor;

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
struct Sheet {
    rows: Vec<Vec<Cell<'static>>>,
    level: Level,
}

/// Result of msprobe for one checker.
#[derive(Clone, Debug)]
pub struct Report {
    /// The checker.
    pub checker: Checker,
    /// Its level; absent where an exception came first.
    pub level: Option<Level>,
    /// The exception msprobe ends with because of this checker.
    pub error: Option<Exception>,
    /// Its sheet; absent where an exception came first.
    pub table: Option<Table>,
}

impl Report {
    /// The level as the result carries it: `failed` where msprobe writes none.
    pub fn level_text(&self) -> &'static str {
        self.level.map_or("failed", Level::as_str)
    }
}

/// Compares two packs, checker by checker; one that is absent on a side is left out, as msprobe leaves it out.
///
/// Values of settings whose names look secret are replaced by `redactor`.
pub fn compare(bench: &Pack, cmp: &Pack, redactor: &Redactor) -> Vec<Report> {
    let both = Checker::ALL.into_iter().filter(|checker| bench.has(*checker) && cmp.has(*checker));
    both.map(|checker| report(checker, bench, cmp, redactor)).collect()
}

fn report(checker: Checker, bench: &Pack, cmp: &Pack, redactor: &Redactor) -> Report {
    let sheet = match checker {
        Checker::Env => env::compare(bench, cmp, redactor),
        Checker::Pip => pip::compare(bench, cmp),
        Checker::Dataset => dataset::compare(bench, cmp),
        Checker::Weights => weights::compare(bench, cmp),
        Checker::Hyperparameters => hyperparameters::compare(bench, cmp, redactor),
        Checker::Random => random::compare(bench, cmp, redactor),
    };
    match sheet {
        Ok(sheet) => {
            // The summary is written first, so that the level stands although the sheet is refused.
            let refused = sheet.rows.iter().flatten().any(is_refused);
            Report {
                checker,
                level: Some(sheet.level),
                error: refused.then_some(Exception::Runtime),
                table: Some(table(checker, sheet.rows)),
            }
        }
        Err(error) => Report { checker, level: None, error: Some(error), table: None },
    }
}

/// Whether msprobe refuses to write the cell into a workbook.
fn is_refused(cell: &Cell<'static>) -> bool {
    matches!(cell, Cell::Text(text) if super::table::is_formula_like(text))
}

fn table(checker: Checker, rows: Vec<Vec<Cell<'static>>>) -> Table {
    let columns: &[&str] = match checker {
        Checker::Env => &["bench_env_name", "cmp_env_name", "bench_value", "cmp_value", "level"],
        Checker::Pip => &["package", "bench version", "cmp version", "level"],
        Checker::Dataset => &dataset::COLUMNS,
        Checker::Weights => &weights::COLUMNS,
        Checker::Hyperparameters => {
            &["file_name", "bench_para", "cmp_para", "bench_value", "cmp_value", "matched_with", "level"]
        }
        Checker::Random => &["op", "rank", "bench_stack", "cmp_stack", "bench_count", "cmp_count", "check_result"],
    };
    Table {
        name: format!("config_check_{}", checker.as_str()),
        sheet: checker.as_str().to_owned(),
        columns: columns.iter().map(|title| (*title).to_owned()).collect(),
        rows,
    }
}

/// The sheet that comes first in a workbook.
pub fn summary(reports: &[Report]) -> Table {
    let row = |report: &Report| {
        report.level.map(|level| vec![Cell::from(report.checker.as_str()), Cell::from(level.as_str())])
    };
    Table {
        name: "config_check_summary".into(),
        sheet: "summary".into(),
        columns: vec!["filename".into(), "pass_check".into()],
        rows: reports.iter().filter_map(row).collect(),
    }
}

/// `error` where any cell of the last column says so, else `warning` where any does, else `pass`.
fn worst_level(rows: &[Vec<Cell<'static>>]) -> Level {
    let level = |row: &Vec<Cell<'static>>| match row.last() {
        Some(Cell::Text(text)) if text == "error" => Level::Error,
        Some(Cell::Text(text)) if text == "warning" => Level::Warning,
        _ => Level::Pass,
    };
    rows.iter().map(level).max().unwrap_or(Level::Pass)
}

/// `error` where `false` stands in the column, else `pass`.
fn level_of_booleans(rows: &[Vec<Cell<'static>>], column: usize) -> Level {
    let any_false = rows.iter().any(|row| row.get(column) == Some(&Cell::Bool(false)));
    if any_false { Level::Error } else { Level::Pass }
}

fn step_and_rank((step, rank): (u64, u64)) -> [Cell<'static>; 2] {
    [step, rank].map(whole)
}

/// A whole number, as text where a cell cannot hold it.
fn whole(value: u64) -> Cell<'static> {
    i64::try_from(value).map_or_else(|_| Cell::from(value.to_string()), Cell::Int)
}
