//! msprobe's compare tables of dumps (`dump-compare.md` sections 3 and 4).
//!
//! [`table`] pairs the rows of two dumps, fills every cell as msprobe 26.2.0 does, and lets its indicator rules
//! write `Result` and `Err_message`. Tensors are not read here: the caller measures the pairs that [`pairs`] lists.

mod cells;
mod difference;
mod hash;
pub mod mapping;
mod metrics;
mod pairing;
mod ptdbg;
mod verdict;

pub use metrics::Measured;
pub use pairing::Matching;

use crate::msprobe::python;
use crate::msprobe::table::{Cell, Table};
use crate::read::dump::{Dump, DumpFormat, Leaf, Value};
use crate::read::json::Json;
use cells::Half;
use verdict::{Facts, Numbers};

/// What msprobe compares, from what both sides recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Values of tensors.
    Tensor,
    /// Recorded statistics.
    Statistics,
    /// Checksums (CRC-32, or xor).
    Checksum,
}

/// A value of a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Index among the dump's operations.
    pub operation: usize,
    /// Index among the operation's leaves.
    pub leaf: usize,
}

impl Place {
    /// The value in its dump.
    pub fn of(self, dump: &Dump) -> Option<&Leaf> {
        dump.operations.get(self.operation)?.leaves.get(self.leaf)
    }
}

/// One row: a value of the candidate and the value of the baseline it is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowPair {
    /// The candidate's value.
    pub candidate: Place,
    /// The baseline's value; `None` where nothing matches by name.
    pub baseline: Option<Place>,
}

/// Two dumps to compare.
#[derive(Clone, Copy)]
pub struct Pair<'a> {
    /// The run to judge.
    pub candidate: &'a Dump,
    /// The trusted run.
    pub baseline: &'a Dump,
    /// The format of both.
    pub format: DumpFormat,
    /// How rows are matched.
    pub matching: &'a Matching,
}

/// What msprobe would compare, or why it would not.
///
/// Both sides need the same task, and checksums on both sides or on neither. A ptdbg dump is compared in ptdbg's
/// ways, which know the same three modes.
pub fn mode(candidate: &Dump, baseline: &Dump) -> Result<Mode, &'static str> {
    if candidate.task != baseline.task {
        return Err("the two dumps were collected for different tasks");
    }
    match (candidate.task.as_str(), has_checksums(candidate), has_checksums(baseline)) {
        ("tensor", ..) => Ok(Mode::Tensor),
        ("statistics", true, true) => Ok(Mode::Checksum),
        ("statistics", false, false) => Ok(Mode::Statistics),
        ("statistics", ..) => Err("one dump holds checksums, the other statistics"),
        ("structure", ..) => Err("dumps of task `structure` hold no values"),
        _ => Err("msprobe compares dumps of the tasks `tensor` and `statistics`"),
    }
}

fn has_checksums(dump: &Dump) -> bool {
    let mut leaves = dump.operations.iter().flat_map(|operation| &operation.leaves);
    leaves.any(|leaf| matches!(&leaf.value, Value::Tensor(record) if record.checksum.is_some()))
}

/// The pairs of tensors whose files [`table`] asks about, in row order.
pub fn pairs(pair: &Pair<'_>) -> Vec<(Place, Place)> {
    if mode(pair.candidate, pair.baseline) != Ok(Mode::Tensor) {
        return Vec::new();
    }
    let saved = |dump: &Dump, place: Place| matches!(place.of(dump).map(|leaf| &leaf.value), Some(Value::Tensor(record)) if record.data_name.is_some());
    let rows = match pair.format {
        DumpFormat::Ptdbg => ptdbg::pair(pair),
        _ => pairing::pair(pair),
    };
    rows.iter()
        .filter_map(|row| Some((row.candidate, row.baseline?)))
        .filter(|(candidate, baseline)| saved(pair.candidate, *candidate) && saved(pair.baseline, *baseline))
        .collect()
}

/// The table msprobe writes; `None` where it writes none: other tasks, a side without operations, or no row.
///
/// `measured` gives what was measured of a pair of tensor files; it is asked only about what [`pairs`] lists.
pub fn table(pair: &Pair<'_>, measured: &dyn Fn(Place, Place) -> Measured, name: String) -> Option<Table> {
    let mode = mode(pair.candidate, pair.baseline).ok()?;
    if pair.format == DumpFormat::Ptdbg {
        return ptdbg::table(pair, mode, measured, name);
    }
    if pair.baseline.operations.is_empty() {
        return None;
    }
    let rows = pairing::pair(pair);
    let mut lines = lines(pair, &rows, mode, measured);
    if lines.is_empty() {
        return None;
    }
    cells::infer(lines.iter_mut().map(|line| &mut line.candidate.statistics));
    cells::infer(lines.iter_mut().map(|line| &mut line.baseline.statistics));
    if mode == Mode::Statistics {
        difference::fill(&mut lines);
    }
    let verdicts = verdict::judge(&facts(&rows, &lines, mode));
    let stacks = pair.candidate.stacks.is_some() && pair.format == DumpFormat::Msprobe;
    let mut previous = None;
    let cells = lines.iter().zip(&rows).zip(&verdicts).map(|((line, row), verdict)| {
        let first = previous.replace(row.candidate.operation) != Some(row.candidate.operation);
        line.row(mode, verdict, stacks.then(|| stack_cell(pair.candidate, row.candidate, first)))
    });
    let rows = cells.collect();
    Some(Table { sheet: "Sheet1".into(), columns: cells::columns(mode, stacks), name, rows })
}

/// Everything of a row but its verdict.
struct Line {
    candidate: Half,
    baseline: Half,
    /// The six cells of tensor mode.
    tensor: [Cell; 6],
    /// Differences of statistics mode: four absolute, four relative.
    differences: [String; 8],
}

fn lines(pair: &Pair<'_>, rows: &[RowPair], mode: Mode, measured: &dyn Fn(Place, Place) -> Measured) -> Vec<Line> {
    let line = |row: &RowPair| {
        let candidate = Half::of(row.candidate.of(pair.candidate)?);
        let baseline = row.baseline.and_then(|place| place.of(pair.baseline)).map_or_else(Half::missing, Half::of);
        let tensor = match row.baseline {
            Some(place) if mode == Mode::Tensor && candidate.is_saved() && baseline.is_saved() => {
                measured(row.candidate, place).cells()
            }
            _ => cells::all("unsupported"),
        };
        Some(Line { candidate, baseline, tensor, differences: Default::default() })
    };
    rows.iter().filter_map(line).collect()
}

fn facts<'a>(rows: &[RowPair], lines: &'a [Line], mode: Mode) -> Vec<Facts<'a>> {
    let fact = |(line, row): (&'a Line, &RowPair)| Facts {
        operation: row.candidate.operation,
        candidate: &line.candidate,
        baseline: &line.baseline,
        numbers: match mode {
            Mode::Tensor => Numbers::Tensor(&line.tensor),
            Mode::Statistics => Numbers::Statistics { norm_relative: line.norm_relative() },
            Mode::Checksum => Numbers::Checksum,
        },
    };
    lines.iter().zip(rows).map(fact).collect()
}

impl Line {
    fn norm_relative(&self) -> &str {
        let [.., norm_relative] = &self.differences;
        norm_relative
    }

    /// The cells in the order of [`cells::columns`].
    fn row(&self, mode: Mode, verdict: &verdict::Outcome, stack: Option<Cell>) -> Vec<Cell> {
        let (npu, bench) = (&self.candidate, &self.baseline);
        let mut row: Vec<Cell> = vec![
            npu.name.clone().into(),
            bench.name.clone().into(),
            npu.dtype.clone().into(),
            bench.dtype.clone().into(),
            npu.shape.clone().into(),
            bench.shape.clone().into(),
            npu.requires_grad.into(),
            bench.requires_grad.into(),
        ];
        match mode {
            Mode::Tensor => row.extend(self.tensor.iter().map(cells::written)),
            Mode::Statistics => row.extend(self.differences.iter().map(|text| Cell::Text(text.clone()))),
            Mode::Checksum => row.extend([Cell::Text(npu.hash.clone()), Cell::Text(bench.hash.clone())]),
        }
        if mode != Mode::Checksum {
            row.extend(npu.statistics.iter().chain(&bench.statistics).map(cells::written));
        }
        row.push(Cell::Bool(npu.requires_grad == bench.requires_grad));
        row.push(verdict.level.as_str().into());
        row.push(verdict.messages().into());
        row.extend(stack);
        if mode == Mode::Tensor {
            let names = [&npu.data_name, &bench.data_name].map(|name| Json::Text(name.clone()));
            row.push(python::str(&Json::Array(names.to_vec())).into());
        }
        row
    }
}

/// The stack of an operation, in its first row only.
fn stack_cell(dump: &Dump, place: Place, first: bool) -> Cell {
    let operation = dump.operations.get(place.operation).filter(|_| first);
    let frames = operation.and_then(|operation| dump.stacks.as_ref()?.get(&operation.name));
    frames.map_or_else(
        || Cell::from("N/A"),
        |frames| {
            let frames = frames.iter().map(|frame| Json::Text(frame.clone())).collect();
            python::str(&Json::Array(frames)).into()
        },
    )
}
