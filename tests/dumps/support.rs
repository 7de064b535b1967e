//! Reading dump folders and expected tables.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use precision_gate::compare::measurements::Measurements;
use precision_gate::error::Result;
use precision_gate::fetch::{self, Fetcher};
use precision_gate::gate::discover::{self, Inventory};
use precision_gate::gate::dump_tables::{self, Dumps};
use precision_gate::gate::search;
use precision_gate::gate::{Quiet, Surroundings};
use precision_gate::msprobe::dump::Matching;
use precision_gate::msprobe::table::{Cell, MsprobeTable};
use precision_gate::pair::unit;
use precision_gate::report::sink::MemorySink;
use precision_gate::report::{JudgedRun, RunOutcome};
use serde_json::Value;

use crate::changes::data::fixture;

/// Folder of the cases of dumps.
pub(crate) fn fixtures() -> PathBuf {
    fixture("dumps")
}

/// Inventory of the files at a path.
pub(crate) fn look(path: &Path) -> Inventory {
    let files = fetch::open(path.to_str().expect("UTF-8")).expect("there");
    discover::inventory_of_files(files, search(None), &Quiet).expect("listed")
}

/// The tables of all pairs of units under two paths.
pub(crate) fn tables(baseline: &Path, candidate: &Path, matching: &Matching) -> Vec<MsprobeTable> {
    let (baseline, candidate) = (look(baseline), look(candidate));
    let (pairs, _) = unit::pair_units(baseline.artifacts(), candidate.artifacts());
    let table = |folders: &unit::UnitPair<'_>| {
        let (baseline, candidate) = (folders.baseline.read().ok()?, folders.candidate.read().ok()?);
        let dumps = Dumps { folders: *folders, baseline: &baseline, candidate: &candidate };
        dump_tables::table(&dumps, matching, &HashMap::new(), &Measurements::default()).map(MsprobeTable::from)
    };
    pairs.iter().filter_map(table).collect()
}

/// A table the real tool wrote.
pub(crate) struct Expected {
    /// Column titles.
    pub(crate) columns: Vec<String>,
    /// Cells: text where it came from a CSV file, with their types where it came from a workbook.
    pub(crate) rows: Vec<Vec<Value>>,
}

/// Reads an expected table.
pub(crate) fn expected(path: &Path) -> Expected {
    let json: Value = serde_json::from_slice(&std::fs::read(path).expect("readable")).expect("JSON");
    let list = |value: &Value| value.as_array().expect("a list").clone();
    let columns = list(&json["columns"]).iter().map(|title| title.as_str().expect("text").to_owned()).collect();
    Expected { columns, rows: list(&json["rows"]).iter().map(list).collect() }
}

/// Equal text. `EucDist` may be 4 ulp away, as the real tool's order of summation is not specified; numbers in a
/// workbook have 16 digits and no kind.
fn same_cell(column: &str, want: &Value, got: &Cell<'static>) -> bool {
    let close = |want: f64, got: &str| {
        let got = got.trim().parse::<f64>().unwrap_or(f64::NAN);
        let ulps = if column == "EucDist" { 4.0 } else { 0.0 };
        let rounded: f64 = format!("{got:.15e}").parse().expect("a number");
        want == got || rounded == want || (want - got).abs() <= ulps * f64::EPSILON * want.abs()
    };
    match (want, got) {
        (Value::String(want), _) if *want == got.text() => !matches!(got, Cell::Empty),
        (Value::String(want), _) if column == "EucDist" => want.parse().is_ok_and(|want| close(want, &got.text())),
        (Value::String(want), Cell::Infinite(_)) => *want == got.text().trim(),
        (Value::Bool(want), Cell::Bool(got)) => want == got,
        (Value::Number(want), Cell::Int(_) | Cell::Float(_)) => {
            want.as_f64().is_some_and(|want| close(want, &got.text()))
        }
        _ => false,
    }
}

/// Cells that differ, counted by column, with an example.
#[derive(Default)]
pub(crate) struct Difference {
    pub(crate) cells: usize,
    pub(crate) equal: usize,
    pub(crate) by_column: BTreeMap<String, (usize, String)>,
}

impl Difference {
    /// Adds the comparison of one table.
    pub(crate) fn add(&mut self, name: &str, want: &Expected, got: Option<&MsprobeTable>) {
        self.cells += want.rows.len() * want.columns.len();
        let Some(got) = got else {
            return self.note(name, "no table".into());
        };
        if got.columns != want.columns {
            self.note(name, format!("columns {:?}, want {:?}", got.columns, want.columns));
        }
        if got.rows.len() != want.rows.len() {
            self.note(name, format!("{} rows, want {}", got.rows.len(), want.rows.len()));
        }
        for (index, (want_row, got_row)) in want.rows.iter().zip(&got.rows).enumerate() {
            for ((column, want), got) in want.columns.iter().zip(want_row).zip(got_row) {
                if same_cell(column, want, got) {
                    self.equal += 1;
                } else {
                    let row = &want_row[0];
                    self.note(column, format!("{name} row {index} {row}: want {want:?}, got {got:?}"));
                }
            }
        }
    }

    fn note(&mut self, column: &str, example: String) {
        self.by_column.entry(column.into()).or_insert_with(|| (0, example)).0 += 1;
    }

    /// Demands that every cell is equal.
    pub(crate) fn check(&self) {
        for (column, (count, example)) in &self.by_column {
            println!("{count} × {column}: {example}");
        }
        println!("{} of {} cells equal", self.equal, self.cells);
        assert_eq!(self.equal, self.cells);
        assert!(self.by_column.is_empty());
    }
}

/// Runs with nothing from outside: a fresh fetcher, and a baseline without a manifest. Everything is kept.
pub(crate) fn by_itself(run: impl FnOnce(&Surroundings<'_>) -> Result<JudgedRun>) -> Result<RunOutcome> {
    let (fetcher, kept) = (Fetcher::default(), MemorySink::default());
    let judged = run(&Surroundings::new(&fetcher, &kept))?;
    Ok(kept.into_outcome(judged))
}
