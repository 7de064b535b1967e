//! msprobe 26.2.0's config check of two packs: rows, levels, and the exception it ends with.
//!
//! msprobe writes its sheets after the last checker, so one exception hides all six. Here a checker fails alone:
//! it is `failed` with the kind of the exception, and the others say what they would have said.

mod dataset;
mod env;
mod exception;
mod hyperparameters;
mod pip;
mod random;
mod sheet;
mod value;
mod weights;

use super::table::{Cell, MsprobeTable};
use crate::read::pack::{Checker, Pack};
use crate::redact::Redactor;

pub use exception::Exception;
pub use sheet::Level;

/// Result of msprobe for one checker.
#[derive(Clone, Debug)]
pub struct CheckerReport {
    /// The checker.
    pub checker: Checker,
    /// Its level; `None` if an exception came first.
    pub level: Option<Level>,
    /// The exception msprobe ends with because of this checker.
    pub error: Option<Exception>,
    /// Its sheet; `None` if an exception came first.
    pub table: Option<MsprobeTable>,
}

impl CheckerReport {
    /// The level as the result holds it: `failed` if msprobe writes none.
    pub(crate) fn level_text(&self) -> &'static str {
        self.level.map_or("failed", Level::as_str)
    }
}

/// Compares two packs, checker by checker; one that is absent on a side is left out, as msprobe leaves it out.
///
/// Values of settings whose names look secret are replaced by `redactor`.
pub fn compare(bench: &Pack, cmp: &Pack, redactor: &Redactor) -> Vec<CheckerReport> {
    let both = Checker::ALL.into_iter().filter(|checker| bench.has_any_of(*checker) && cmp.has_any_of(*checker));
    both.map(|checker| report(checker, bench, cmp, redactor)).collect()
}

fn report(checker: Checker, bench: &Pack, cmp: &Pack, redactor: &Redactor) -> CheckerReport {
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
            CheckerReport {
                checker,
                level: Some(sheet.level),
                error: refused.then_some(Exception::Runtime),
                table: Some(table(checker, sheet.rows)),
            }
        }
        Err(error) => CheckerReport { checker, level: None, error: Some(error), table: None },
    }
}

/// Whether msprobe refuses to write the cell into a workbook.
fn is_refused(cell: &Cell<'static>) -> bool {
    matches!(cell, Cell::Text(text) if super::table::is_formula_like(text))
}

fn table(checker: Checker, rows: Vec<Vec<Cell<'static>>>) -> MsprobeTable {
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
    MsprobeTable {
        name: format!("config_check_{}", checker.as_str()),
        sheet: checker.as_str().to_owned(),
        columns: columns.iter().map(|title| (*title).to_owned()).collect(),
        rows,
    }
}

/// The sheet that comes first in a workbook.
pub fn summary(reports: &[CheckerReport]) -> MsprobeTable {
    let row = |report: &CheckerReport| {
        report.level.map(|level| vec![Cell::from(report.checker.as_str()), Cell::from(level.as_str())])
    };
    MsprobeTable {
        name: "config_check_summary".into(),
        sheet: "summary".into(),
        columns: vec!["filename".into(), "pass_check".into()],
        rows: reports.iter().filter_map(row).collect(),
    }
}
