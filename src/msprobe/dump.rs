//! msprobe's compare tables of dumps (`docs/formats/msprobe-tables.md`).
//!
//! [`table`] pairs the rows of two dumps, fills every cell as msprobe 26.2.0 does, and lets its indicator rules write `Result` and
//! `Err_message`. It makes the rows of one operation at a time, since a row takes ten times the memory of its input. Tensors are
//! not read here: the caller measures the pairs that [`pairs`] lists.

mod cells;
mod difference;
mod hash;
mod line;
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

use std::borrow::Cow;

use rayon::prelude::*;

use crate::msprobe::python;
use crate::msprobe::table::{Cell, MsprobeRows, TakeCells};
use crate::read::dump::{Dump, DumpFormat, Leaf, TensorRecord};
use cells::Half;
use line::{Line, Numbers};
use row_pairs::RowPairs;

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
    let has_stacks = pair.candidate.stacks.is_some() && pair.format == DumpFormat::Msprobe;
    let maker = Maker {
        pair: *pair,
        mode,
        columns: Columns::of(pair, &row_pairs, mode),
        row_pairs,
        stacks: has_stacks.then(|| stack_texts(pair.candidate)),
        measured,
    };
    let columns = cells::columns(mode, has_stacks);
    let rows = move |group: usize, out: &mut dyn TakeCells| maker.rows(group, out);
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
        let kinds = |place: Option<ValuePlace>, dump: &Dump| match place.and_then(|place| place.statistics_in(dump)) {
            // Most rows, whose other properties need not be looked at for it.
            Some(recorded) => cells::Inference::of_recorded(recorded),
            None => cells::Inference::of(place.and_then(|place| place.value_in(dump))),
        };
        let seen = |row: RowPair| [kinds(Some(row.candidate), pair.candidate), kinds(row.baseline, pair.baseline)];
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
    /// Texts of the first call stacks; `None` where no column shows any.
    stacks: Option<Vec<String>>,
    measured: M,
}

impl<M: Fn(ValuePlace, ValuePlace) -> MeasuredPair> Maker<'_, M> {
    /// Hands on the rows of one operation.
    fn rows(&self, group: usize, out: &mut dyn TakeCells) {
        let pairs = self.row_pairs.group(group);
        let lines: Vec<Line<'_>> = pairs.iter().filter_map(|row| self.line(row)).collect();
        // The stack of an operation stands in its first row only.
        let stacks = self.stacks.as_deref();
        let mut stack = pairs.first().zip(stacks).map(|(row, known)| self.stack(row.candidate, known));
        for (line, verdict) in lines.iter().zip(verdict::judge(&lines)) {
            line.write(&verdict.cells(), stack.as_deref(), out);
            stack = stack.map(|_| Cow::Borrowed(cells::NOTHING));
        }
    }

    /// The text of the stack of an operation: one of the `known`, or its own.
    fn stack<'k>(&self, place: ValuePlace, known: &'k [String]) -> Cow<'k, str> {
        let dump = self.pair.candidate;
        let find = || {
            let stacks = dump.stacks.as_ref()?;
            let index = stacks.index(dump.operations.get(place.operation())?.name)?;
            let known = known.get(index).map(|text| Cow::Borrowed(text.as_str()));
            known.or_else(|| Some(stack_text(stacks.values().get(index)?).into()))
        };
        find().unwrap_or(cells::NOTHING.into())
    }

    fn line(&self, row: &RowPair) -> Option<Line<'_>> {
        let mut candidate = Half::from_leaf(row.candidate.value_in(self.pair.candidate)?);
        let baseline = row.baseline.and_then(|place| place.value_in(self.pair.baseline));
        let mut baseline = baseline.map_or_else(Half::missing, Half::from_leaf);
        self.columns.candidate.apply(&mut candidate.statistics);
        self.columns.baseline.apply(&mut baseline.statistics);
        let (left, right) = (&candidate.statistics, &baseline.statistics);
        let numbers = match (self.mode, row.baseline) {
            (CompareMode::Tensor, Some(place)) if candidate.is_saved() && baseline.is_saved() => {
                Numbers::Tensor((self.measured)(row.candidate, place).cells())
            }
            (CompareMode::Tensor, _) => Numbers::Tensor([const { Cell::word("unsupported") }; 6]),
            (CompareMode::Statistics, _) => {
                Numbers::Statistics(difference::statistic_differences(left, right, self.columns.whole))
            }
            (CompareMode::Checksum, _) => Numbers::Checksum,
        };
        Some(Line { candidate, baseline, numbers })
    }
}

/// Texts of the first stacks of a dump.
fn stack_texts(dump: &Dump) -> Vec<String> {
    /// Operations share most stacks, so that these are all in most dumps.
    const MOST: usize = 4096;
    let stacks = dump.stacks.as_ref().map_or(&[][..], |stacks| stacks.values());
    stacks.iter().take(MOST).map(|frames| stack_text(frames)).collect()
}

/// The frames of a stack, as Python prints a list.
fn stack_text(frames: &[String]) -> String {
    let mut text = String::with_capacity(frames.iter().map(|frame| frame.len() + 4).sum::<usize>() + 2);
    text.push('[');
    for (index, frame) in frames.iter().enumerate() {
        text.push_str(if index == 0 { "" } else { ", " });
        python::write_quoted(frame, &mut text);
    }
    text.push(']');
    text
}
