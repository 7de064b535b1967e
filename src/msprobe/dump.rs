//! msprobe's compare tables of dumps (`docs/formats/msprobe-tables.md`).
//!
//! [`table`] pairs the rows of two dumps, fills every cell as msprobe 26.2.0 does, and lets its indicator rules write `Result` and
//! `Err_message`. It makes the rows of one operation at a time, since a row takes ten times the memory of its input. Tensors are
//! not read here: the caller measures the pairs that [`pairs`] lists.

mod cells;
mod difference;
mod hash;
pub mod mapping;
mod metrics;
mod mode;
mod pair;
mod pairing;
mod ptdbg;
mod row_pairs;
mod verdict;

pub use metrics::MeasuredPair;
pub use mode::{CompareMode, mode};
pub use pair::{DumpPair, Matching, RowPair, ValuePlace};

use rayon::prelude::*;

use crate::msprobe::python;
use crate::msprobe::table::{Cell, MsprobeRows};
use crate::read::dump::{Dump, DumpFormat, Leaf, TensorRecord};
use cells::Half;
use row_pairs::RowPairs;
use verdict::{Facts, Numbers};

/// The pairs of tensors whose files [`table`] asks about, in row order.
pub fn pairs(pair: &DumpPair<'_>) -> Vec<(ValuePlace, ValuePlace)> {
    if mode(pair.candidate, pair.baseline) != Ok(CompareMode::Tensor) {
        return Vec::new();
    }
    let is_saved = |record: TensorRecord<'_>| record.extension.is_some();
    let saved = |dump: &Dump, place: ValuePlace| place.value_in(dump).and_then(Leaf::record).is_some_and(is_saved);
    let rows = match pair.format {
        DumpFormat::Ptdbg => RowPairs::of_list(ptdbg::pair(pair)),
        _ => pairing::pair(pair),
    };
    rows.iter()
        .filter_map(|row| Some((row.candidate, row.baseline?)))
        .filter(|(candidate, baseline)| saved(pair.candidate, *candidate) && saved(pair.baseline, *baseline))
        .collect()
}

/// The table msprobe writes; `None` where it writes none: other tasks, a side without operations, or no row.
///
/// `measured` returns the measurement of a pair of tensor files; it is called only for the pairs that [`pairs`] lists, when their
/// row is made.
pub fn table<'a>(
    pair: &DumpPair<'a>,
    measured: impl Fn(ValuePlace, ValuePlace) -> MeasuredPair + Sync + 'a,
    name: String,
) -> Option<MsprobeRows<'a>> {
    let mode = mode(pair.candidate, pair.baseline).ok()?;
    if pair.format == DumpFormat::Ptdbg {
        return ptdbg::table(pair, mode, &measured, name).map(MsprobeRows::from);
    }
    let row_pairs = pairing::pair(pair);
    let groups = row_pairs.group_count();
    if pair.baseline.operations.is_empty() || groups == 0 {
        return None;
    }
    let maker = Maker {
        pair: *pair,
        mode,
        columns: Columns::of(pair, &row_pairs, mode),
        row_pairs,
        stacks: pair.candidate.stacks.is_some() && pair.format == DumpFormat::Msprobe,
        measured,
    };
    let columns = cells::columns(mode, maker.stacks);
    let rows = move |group: usize, hand_on: &mut dyn FnMut(&[Cell<'_>])| maker.rows(group, hand_on);
    Some(MsprobeRows { sheet: "Sheet1".into(), columns, name, groups, rows: Box::new(rows) })
}

/// Properties of whole columns that decide how each of their cells is printed.
struct Columns {
    candidate: cells::Inference,
    baseline: cells::Inference,
    /// Statistics of which both sides hold whole numbers only; those are subtracted as integers.
    whole: [bool; 4],
}

impl Columns {
    fn of(pair: &DumpPair<'_>, pairs: &RowPairs<'_>, mode: CompareMode) -> Self {
        let seen = |row: RowPair| {
            let baseline = row.baseline.and_then(|place| place.value_in(pair.baseline));
            [row.candidate.value_in(pair.candidate), baseline].map(cells::Inference::of)
        };
        let both = |[a, b]: [cells::Inference; 2], [c, d]: [cells::Inference; 2]| [a.and(c), b.and(d)];
        let rows = (0..pairs.group_count()).into_par_iter().flat_map_iter(|group| pairs.group(group));
        let [candidate, baseline] = rows.map(seen).reduce(Default::default, both);
        let mut columns = Self { candidate, baseline, whole: [true; 4] };
        for row in pairs.iter().filter(|_| mode == CompareMode::Statistics) {
            let (mut candidate, mut baseline) = statistics(pair, &row);
            columns.candidate.apply(&mut candidate);
            columns.baseline.apply(&mut baseline);
            for (whole, cells) in columns.whole.iter_mut().zip(candidate.iter().zip(&baseline)) {
                *whole = *whole && difference::are_whole(cells);
            }
            if columns.whole == [false; 4] {
                break;
            }
        }
        columns
    }
}

/// The statistics of both sides of a row, before whole columns are looked at.
fn statistics<'a>(pair: &DumpPair<'a>, row: &RowPair) -> ([Cell<'a>; 4], [Cell<'a>; 4]) {
    let of = |place: Option<ValuePlace>, dump: &'a Dump| {
        place
            .and_then(|place| place.value_in(dump))
            .map_or_else(|| cells::repeated_cell(cells::NOTHING), cells::statistics_of)
    };
    (of(Some(row.candidate), pair.candidate), of(row.baseline, pair.baseline))
}

/// Makes rows from the properties of the whole table.
struct Maker<'a, M> {
    pair: DumpPair<'a>,
    mode: CompareMode,
    columns: Columns,
    row_pairs: RowPairs<'a>,
    /// Whether a column shows call stacks.
    stacks: bool,
    measured: M,
}

impl<M: Fn(ValuePlace, ValuePlace) -> MeasuredPair> Maker<'_, M> {
    /// Hands on the rows of one operation.
    fn rows(&self, group: usize, hand_on: &mut dyn FnMut(&[Cell<'_>])) {
        let pairs = self.row_pairs.group(group);
        let lines: Vec<Line<'_>> = pairs.iter().filter_map(|row| self.line(row)).collect();
        let verdicts = verdict::judge(&self.facts(&pairs, &lines));
        for (index, ((line, row), verdict)) in lines.iter().zip(&pairs).zip(&verdicts).enumerate() {
            let stack = self.stacks.then(|| stack_cell(self.pair.candidate, row.candidate, index == 0));
            hand_on(&line.row(self.mode, verdict, stack));
        }
    }

    fn line(&self, row: &RowPair) -> Option<Line<'_>> {
        let mut candidate = Half::from_leaf(row.candidate.value_in(self.pair.candidate)?);
        let baseline = row.baseline.and_then(|place| place.value_in(self.pair.baseline));
        let mut baseline = baseline.map_or_else(Half::missing, Half::from_leaf);
        self.columns.candidate.apply(&mut candidate.statistics);
        self.columns.baseline.apply(&mut baseline.statistics);
        let tensor = match row.baseline {
            Some(place) if self.mode == CompareMode::Tensor && candidate.is_saved() && baseline.is_saved() => {
                (self.measured)(row.candidate, place).cells()
            }
            _ => [const { Cell::word("unsupported") }; 6],
        };
        let differences = match self.mode {
            CompareMode::Statistics => {
                difference::statistic_differences(&candidate.statistics, &baseline.statistics, self.columns.whole)
            }
            _ => [const { Cell::Empty }; 8],
        };
        Some(Line { candidate, baseline, tensor, differences })
    }

    fn facts<'l>(&self, pairs: &[RowPair], lines: &'l [Line<'l>]) -> Vec<Facts<'l>> {
        let fact = |(line, row): (&'l Line<'l>, &RowPair)| Facts {
            operation: row.candidate.operation(),
            candidate: &line.candidate,
            baseline: &line.baseline,
            numbers: match self.mode {
                CompareMode::Tensor => Numbers::Tensor(&line.tensor),
                CompareMode::Statistics => Numbers::Statistics { norm_relative: line.norm_relative() },
                CompareMode::Checksum => Numbers::Checksum,
            },
        };
        lines.iter().zip(pairs).map(fact).collect()
    }
}

/// Number of cells of the longest row.
const COLUMNS: usize = 32;

/// All parts of a row except its verdict.
struct Line<'a> {
    candidate: Half<'a>,
    baseline: Half<'a>,
    /// The six cells of tensor mode.
    tensor: [Cell<'static>; 6],
    /// Differences of statistics mode: four absolute, four relative.
    differences: [Cell<'static>; 8],
}

impl Line<'_> {
    fn norm_relative(&self) -> &Cell<'_> {
        let [.., norm_relative] = &self.differences;
        norm_relative
    }

    /// The cells in the order of [`cells::columns`].
    fn row<'l>(&'l self, mode: CompareMode, verdict: &verdict::Outcome, stack: Option<Cell<'l>>) -> Vec<Cell<'l>> {
        let (npu, bench) = (&self.candidate, &self.baseline);
        let mut row = Vec::with_capacity(COLUMNS);
        let texts = [&npu.name, &bench.name, &npu.dtype, &bench.dtype, &npu.shape, &bench.shape];
        row.extend(texts.map(|text| Cell::borrowed(text)));
        row.extend([npu.requires_grad, bench.requires_grad].map(Cell::word));
        match mode {
            CompareMode::Tensor => row.extend(self.tensor.iter().map(cells::table_cell)),
            CompareMode::Statistics => row.extend(self.differences.iter().map(Cell::reborrow)),
            CompareMode::Checksum => row.extend([&npu.hash, &bench.hash].map(|hash| Cell::borrowed(hash))),
        }
        if mode != CompareMode::Checksum {
            row.extend(npu.statistics.iter().chain(&bench.statistics).map(cells::table_cell));
        }
        row.push(Cell::Bool(npu.requires_grad == bench.requires_grad));
        row.push(Cell::word(verdict.level.as_str()));
        row.push(verdict.messages().into());
        row.extend(stack);
        if mode == CompareMode::Tensor {
            let mut names = String::from("[");
            python::write_quoted(&npu.data_name, &mut names);
            names.push_str(", ");
            python::write_quoted(&bench.data_name, &mut names);
            names.push(']');
            row.push(names.into());
        }
        row
    }
}

/// The stack of an operation, in its first row only.
fn stack_cell(dump: &Dump, place: ValuePlace, first: bool) -> Cell<'static> {
    let operation = dump.operations.get(place.operation()).filter(|_| first);
    let frames = operation.and_then(|operation| dump.stacks.as_ref()?.get(operation.name));
    let Some(frames) = frames else { return Cell::word(cells::NOTHING) };
    let mut text = String::from("[");
    for (index, frame) in frames.iter().enumerate() {
        text.push_str(if index == 0 { "" } else { ", " });
        python::write_quoted(frame, &mut text);
    }
    text.push(']');
    text.into()
}
