//! msprobe's compare tables of the dumps of a unit: measures what they need, names them.

use std::collections::HashMap;

use rayon::prelude::*;

use crate::compare::dump::UnitComparison;
use crate::compare::measurements::{Measurements, PairName};
use crate::compare::tensor::PairStats;
use crate::msprobe::dump::{self, DumpPair, Matching, MeasuredPair, ValuePlace};
use crate::msprobe::table::MsprobeRows;
use crate::pair::unit::UnitPair;
use crate::read::dump::{Dump, DumpFolder, DumpFormat};

/// Two dumps that were read.
#[derive(Clone, Copy)]
pub struct Dumps<'a> {
    /// Dump folders of both sides.
    pub folders: UnitPair<'a>,
    /// Records of the baseline.
    pub baseline: &'a Dump,
    /// Records of the candidate.
    pub candidate: &'a Dump,
}

/// The table of one unit; `None` where msprobe writes none (`docs/formats/msprobe-tables.md`, Which tables are
/// written).
///
/// `known` holds what has been measured of pairs of values already (candidate first); the others are measured here, in
/// parallel. There is no table of a sample or of checksums: its cells would not be msprobe's.
pub fn table<'a>(
    dumps: &Dumps<'a>,
    matching: &'a Matching,
    known: &'a HashMap<(ValuePlace, ValuePlace), &PairStats>,
    measurements: &Measurements,
) -> Option<MsprobeRows<'a>> {
    let candidate = dumps.folders.candidate;
    let pair = DumpPair { candidate: dumps.candidate, baseline: dumps.baseline, format: candidate.format, matching };
    let pairs = dump::pairs(&pair);
    if (measurements.sample().is_some() || measurements.by_checksum()) && !pairs.is_empty() {
        return None;
    }
    let known =
        move |places: &(ValuePlace, ValuePlace)| known.get(places).and_then(|stats| MeasuredPair::from_stats(stats));
    let measured: HashMap<(ValuePlace, ValuePlace), MeasuredPair> = pairs
        .into_par_iter()
        .with_max_len(1)
        .filter(|places| known(places).is_none())
        .map(|places| (places, measure(dumps, places.0, places.1, measurements)))
        .collect();
    let lookup = move |candidate, baseline| {
        let places = (candidate, baseline);
        known(&places).or_else(|| measured.get(&places).cloned()).unwrap_or(MeasuredPair::Unreadable)
    };
    dump::table(&pair, lookup, name(candidate))
}

/// Measurements that the comparison for the verdict took of pairs of tensors of one shape, by their places, candidate
/// first. Pairs whose data was not read are absent.
pub(crate) fn measured_pairs(comparison: &UnitComparison) -> HashMap<(ValuePlace, ValuePlace), &PairStats> {
    let place = |operation: Option<usize>, leaf: Option<usize>| Some(ValuePlace::new(operation?, leaf?));
    let operations = comparison.operations.iter().flat_map(|operation| {
        operation.leaves.iter().filter_map(move |leaf| {
            let candidate = place(operation.pair.candidate(), leaf.pair.candidate())?;
            let baseline = place(operation.pair.baseline(), leaf.pair.baseline())?;
            Some(((candidate, baseline), leaf.stats()?))
        })
    });
    operations.collect()
}

fn measure(
    dumps: &Dumps<'_>,
    candidate: ValuePlace,
    baseline: ValuePlace,
    measurements: &Measurements,
) -> MeasuredPair {
    let files = (file(dumps.baseline, baseline), file(dumps.candidate, candidate));
    let (Some(left), Some(right)) = files else { return MeasuredPair::Unreadable };
    let UnitPair { baseline: left_folder, candidate: right_folder } = dumps.folders;
    let paths = (left_folder.data_path(&left), right_folder.data_path(&right));
    let op = dumps.candidate.operations.get(candidate.operation()).map(|operation| operation.name);
    let pair = PairName { question: "cells", op, baseline: &paths.0, candidate: &paths.1, member: "", offset: 0 };
    let open = |folder: &DumpFolder, name: &str| folder.tensor_in_file(name, folder.open_tensor(name).ok()?).ok();
    let measured =
        measurements.get_or_measure_uncounted(&pair, || match (open(right_folder, &right), open(left_folder, &left)) {
            (Some(candidate), Some(baseline)) => {
                MeasuredPair::from_tensors(&candidate, &baseline).unwrap_or(MeasuredPair::Unreadable)
            }
            _ => MeasuredPair::Unreadable,
        });
    measured.unwrap_or(MeasuredPair::Unreadable)
}

fn file(dump: &Dump, place: ValuePlace) -> Option<String> {
    place.value_in(dump)?.data_name()
}

/// `compare_result_step0_rank1`, `debug_compare_result_step0`, `compare_result_graph_step0_rank1`.
fn name(folder: &DumpFolder) -> String {
    let debug = if folder.format == DumpFormat::MsprobeDebug { "debug_" } else { "" };
    let layer = Some(folder.layer()).filter(|layer| !layer.is_empty()).map(|layer| format!("_{layer}"));
    let rank = folder.rank.map(|rank| format!("_rank{rank}"));
    format!("{debug}compare_result{}_step{}{}", layer.unwrap_or_default(), folder.step, rank.unwrap_or_default())
}
