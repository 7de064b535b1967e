//! msprobe's compare tables of the dumps of a unit: measures what they need, names them.

use std::collections::HashMap;

use rayon::prelude::*;

use crate::compare::dump::UnitComparison;
use crate::compare::tensor::PairStats;
use crate::msprobe::dump::{self, Matching, Measured, Pair, Place};
use crate::msprobe::table::Table;
use crate::pair::unit::UnitPair;
use crate::read::dump::{Dump, DumpFolder, DumpFormat, Value};
use crate::read::tensor;

/// Two dumps that were read.
#[derive(Clone, Copy)]
pub struct Dumps<'a> {
    /// Where they lie.
    pub folders: UnitPair<'a>,
    /// What the baseline recorded.
    pub baseline: &'a Dump,
    /// What the candidate recorded.
    pub candidate: &'a Dump,
}

/// The table of one unit; `None` where msprobe writes none (`dump-compare.md` section 3.1).
///
/// `known` holds what has been measured of pairs of values already (candidate first); the others are measured here, in
/// parallel.
pub fn table(dumps: &Dumps<'_>, matching: &Matching, known: &HashMap<(Place, Place), &PairStats>) -> Option<Table> {
    let candidate = dumps.folders.candidate;
    let pair = Pair { candidate: dumps.candidate, baseline: dumps.baseline, format: candidate.format, matching };
    let measured: HashMap<(Place, Place), Measured> = dump::pairs(&pair)
        .into_par_iter()
        .map(|(candidate, baseline)| {
            let known = known.get(&(candidate, baseline)).and_then(|stats| Measured::of_stats(stats));
            ((candidate, baseline), known.unwrap_or_else(|| measure(dumps, candidate, baseline)))
        })
        .collect();
    let lookup = |candidate, baseline| measured.get(&(candidate, baseline)).cloned().unwrap_or(Measured::Unreadable);
    dump::table(&pair, &lookup, name(candidate))
}

/// What the comparison for the verdict measured of pairs of tensors of one shape, candidate first.
pub fn measured(comparison: &UnitComparison) -> HashMap<(Place, Place), &PairStats> {
    let place = |operation: Option<usize>, leaf: Option<usize>| Some(Place { operation: operation?, leaf: leaf? });
    let operations = comparison.operations.iter().flat_map(|operation| {
        operation.leaves.iter().filter_map(move |leaf| {
            let candidate = place(operation.pair.candidate, leaf.pair.candidate)?;
            let baseline = place(operation.pair.baseline, leaf.pair.baseline)?;
            Some(((candidate, baseline), leaf.stats.as_deref()?))
        })
    });
    operations.collect()
}

fn measure(dumps: &Dumps<'_>, candidate: Place, baseline: Place) -> Measured {
    let open =
        |folder: &DumpFolder, dump: &Dump, place| tensor::open(folder.open_tensor(file(dump, place)?).ok()?).ok();
    let candidate = open(dumps.folders.candidate, dumps.candidate, candidate);
    let baseline = open(dumps.folders.baseline, dumps.baseline, baseline);
    match (candidate, baseline) {
        (Some(candidate), Some(baseline)) => Measured::of(&candidate, &baseline).unwrap_or(Measured::Unreadable),
        _ => Measured::Unreadable,
    }
}

fn file(dump: &Dump, place: Place) -> Option<&str> {
    match &place.of(dump)?.value {
        Value::Tensor(record) => record.data_name.as_deref(),
        _ => None,
    }
}

/// `compare_result_step0_rank1`, `debug_compare_result_step0`, `compare_result_graph_step0_rank1`.
fn name(folder: &DumpFolder) -> String {
    let debug = if folder.format == DumpFormat::MsprobeDebug { "debug_" } else { "" };
    let layer = Some(folder.layer()).filter(|layer| !layer.is_empty()).map(|layer| format!("_{layer}"));
    let rank = folder.rank.map(|rank| format!("_rank{rank}"));
    format!("{debug}compare_result{}_step{}{}", layer.unwrap_or_default(), folder.step, rank.unwrap_or_default())
}
