//! `operators_result.csv`: every output with msprobe's status and the gate's.

use crate::compare::operators::RatioKind;
use crate::judge::operators::output::JudgedRow;
use crate::msprobe::table::{Cell, MsprobeTable};
use crate::read::operators::OperatorStatus;

/// Name of the table.
const NAME: &str = "operators_result";
/// Columns before and behind the ratios.
const BEFORE: [&str; 4] = ["Test", "API Name", "DEVICE Dtype", "Level"];
const BEHIND: [&str; 6] = ["Baseline Status", "Candidate Status", "msprobe", "Gate", "Rule", "Skipped On"];

pub(super) fn table(tests: &[(String, Vec<JudgedRow>)]) -> MsprobeTable {
    let columns = BEFORE.into_iter().chain(RatioKind::ALL.map(RatioKind::as_str)).chain(BEHIND);
    let rows = tests.iter().flat_map(|(test, rows)| rows.iter().map(move |row| cells(test, row)));
    MsprobeTable {
        name: NAME.to_owned(),
        sheet: NAME.to_owned(),
        columns: columns.map(str::to_owned).collect(),
        rows: rows.collect(),
    }
}

fn cells(test: &str, row: &JudgedRow) -> Vec<Cell<'static>> {
    let text = |text: &str| if text.is_empty() { Cell::Empty } else { Cell::from(text) };
    let status = |status: Option<OperatorStatus>| status.map_or(Cell::Empty, |status| status.as_str().into());
    let ratio = |kind| row.ratios.and_then(|ratios| ratios.get(kind).value()).map_or(Cell::Empty, Cell::Float);
    let mut cells = vec![
        text(test),
        text(&row.name),
        text(&row.dtype),
        row.level.map_or(Cell::Empty, |level| level.as_str().into()),
    ];
    cells.extend(RatioKind::ALL.map(ratio));
    cells.extend([
        status(row.baseline),
        status(Some(row.candidate)),
        status(row.msprobe),
        status(Some(row.status)),
        text(row.reason.as_ref().map_or("", |reason| reason.as_str())),
        text(row.skipped_on.map_or("", |side| side.as_str())),
    ]);
    cells
}
