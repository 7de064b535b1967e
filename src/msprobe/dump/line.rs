//! One row of a table: what both sides recorded, and what was compared.

use super::cells::{self, Half};
use crate::msprobe::python;
use crate::msprobe::table::{Cell, TakeCells};

/// One row before its verdict.
pub(super) struct Line<'a> {
    pub(super) candidate: Half<'a>,
    pub(super) baseline: Half<'a>,
    pub(super) numbers: Numbers,
}

/// Cells of what was compared, by mode.
pub(super) enum Numbers {
    /// Cosine, distance, largest absolute and relative error, shares below a thousandth and below five.
    Tensor([Cell<'static>; 6]),
    /// Differences of the four statistics, and these relative to the baseline's.
    Statistics([Cell<'static>; 8]),
    /// Checksums, which stand beside each other.
    Checksum,
}

impl Line<'_> {
    /// Hands on the cells in the order of [`cells::columns`]: with those of its `verdict`, and with its `stack` where the table has a
    /// column for it.
    pub(super) fn write(&self, verdict: &[Cell<'_>], stack: Option<&str>, out: &mut dyn TakeCells) {
        let (npu, bench) = (&self.candidate, &self.baseline);
        for text in [&npu.name, &bench.name, &npu.dtype, &bench.dtype, &npu.shape, &bench.shape] {
            out.cell(&Cell::borrowed(text));
        }
        [npu.requires_grad, bench.requires_grad].iter().for_each(|flag| out.cell(&Cell::word(flag)));
        match &self.numbers {
            Numbers::Tensor(cells) => cells.iter().for_each(|cell| out.cell(&cells::table_cell(cell))),
            Numbers::Statistics(cells) => cells.iter().for_each(|cell| out.cell(cell)),
            Numbers::Checksum => [&npu.hash, &bench.hash].iter().for_each(|hash| out.cell(&Cell::borrowed(hash))),
        }
        if !matches!(self.numbers, Numbers::Checksum) {
            let statistics = npu.statistics.iter().chain(&bench.statistics);
            statistics.for_each(|cell| out.cell(&cells::table_cell(cell)));
        }
        out.cell(&Cell::Bool(npu.requires_grad == bench.requires_grad));
        verdict.iter().for_each(|cell| out.cell(cell));
        stack.into_iter().for_each(|stack| out.cell(&Cell::borrowed(stack)));
        if matches!(self.numbers, Numbers::Tensor(_)) {
            let mut names = String::from("[");
            python::write_quoted(&npu.data_name, &mut names);
            names.push_str(", ");
            python::write_quoted(&bench.data_name, &mut names);
            names.push(']');
            out.cell(&names.into());
        }
        out.end_row();
    }
}
