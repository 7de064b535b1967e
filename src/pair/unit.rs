//! Pairing of dump folders: by step and rank.
//!
//! Where the two sides of a step share no rank number and have the same number of ranks, they are paired in order, as msprobe
//! does. Other ranks without a partner are reported.

use std::collections::BTreeMap;

use crate::read::dump::{DumpFolder, DumpFormat, Tool};
use crate::verdict::Side;

/// Two folders of the same step and rank.
#[derive(Clone, Copy)]
pub struct UnitPair<'a> {
    /// The baseline's.
    pub baseline: &'a DumpFolder,
    /// The candidate's.
    pub candidate: &'a DumpFolder,
}

/// A folder without a partner.
pub enum UnpairedFolder<'a> {
    /// The whole step is missing on the other side; `side` is where it is missing.
    Step {
        /// The folder that has no partner.
        folder: &'a DumpFolder,
        /// The side without it.
        side: Side,
    },
    /// The step is there, the rank is not.
    Rank {
        /// The folder that has no partner.
        folder: &'a DumpFolder,
        /// The side without it.
        side: Side,
    },
    /// A second folder of the same step and rank on one side.
    Ambiguous {
        /// The folder left out.
        folder: &'a DumpFolder,
        /// The side that has two.
        side: Side,
    },
}

type Ranks<'a> = BTreeMap<Option<u64>, &'a DumpFolder>;
/// Ranks by step and by the tool that recorded them.
type Steps<'a> = BTreeMap<(u64, Recorder), Ranks<'a>>;

/// Recorder of a dump, as values saved by hand or by another tool do not pair with msprobe's calls: whether saved by hand, and
/// the tool.
type Recorder = (bool, Option<Tool>);

/// Pairs the dump folders of two sides.
pub fn pair_units<'a>(
    baseline: &'a [DumpFolder],
    candidate: &'a [DumpFolder],
) -> (Vec<UnitPair<'a>>, Vec<UnpairedFolder<'a>>) {
    let (mut pairs, mut missing) = (Vec::new(), Vec::new());
    let mut left = steps(baseline, Side::Baseline, &mut missing);
    let right = steps(candidate, Side::Candidate, &mut missing);
    // A single step on each side is the same step, whatever it is called: `compare step3 other/step5`.
    let renumbered = left.len() == 1 && right.len() == 1;
    for (key, candidates) in right {
        let partner = if renumbered { left.pop_first().map(|(_, ranks)| ranks) } else { left.remove(&key) };
        match partner {
            Some(baselines) => ranks(baselines, candidates, &mut pairs, &mut missing),
            None => missing
                .extend(candidates.into_values().map(|folder| UnpairedFolder::Step { folder, side: Side::Baseline })),
        }
    }
    let unpaired = left.into_values().flat_map(BTreeMap::into_values);
    missing.extend(unpaired.map(|folder| UnpairedFolder::Step { folder, side: Side::Candidate }));
    (pairs, missing)
}

/// The dump folders of one side in order of step and rank, and those that repeat the step and rank of another one.
pub(crate) fn units_of_one_side(folders: &[DumpFolder]) -> (Vec<&DumpFolder>, Vec<&DumpFolder>) {
    let mut doubled = Vec::new();
    let steps = steps(folders, Side::Candidate, &mut doubled);
    let folder = |missing| match missing {
        UnpairedFolder::Step { folder, .. }
        | UnpairedFolder::Rank { folder, .. }
        | UnpairedFolder::Ambiguous { folder, .. } => folder,
    };
    (steps.into_values().flat_map(BTreeMap::into_values).collect(), doubled.into_iter().map(folder).collect())
}

fn steps<'a>(folders: &'a [DumpFolder], side: Side, missing: &mut Vec<UnpairedFolder<'a>>) -> Steps<'a> {
    let mut steps = Steps::new();
    for folder in folders {
        let ranks = steps.entry((folder.step, recorder(folder))).or_default();
        match ranks.get(&folder.rank) {
            Some(_) => missing.push(UnpairedFolder::Ambiguous { folder, side }),
            None => {
                ranks.insert(folder.rank, folder);
            }
        }
    }
    steps
}

fn recorder(folder: &DumpFolder) -> Recorder {
    match folder.format {
        DumpFormat::OtherTool(tool) => (false, Some(tool)),
        format => (format == DumpFormat::MsprobeDebug, None),
    }
}

fn ranks<'a>(
    mut baselines: Ranks<'a>,
    candidates: Ranks<'a>,
    pairs: &mut Vec<UnitPair<'a>>,
    missing: &mut Vec<UnpairedFolder<'a>>,
) {
    let in_common = candidates.keys().any(|rank| baselines.contains_key(rank));
    if !in_common && baselines.len() == candidates.len() {
        let in_order = baselines.into_values().zip(candidates.into_values());
        return pairs.extend(in_order.map(|(baseline, candidate)| UnitPair { baseline, candidate }));
    }
    for (rank, candidate) in candidates {
        match baselines.remove(&rank) {
            Some(baseline) => pairs.push(UnitPair { baseline, candidate }),
            None => missing.push(UnpairedFolder::Rank { folder: candidate, side: Side::Baseline }),
        }
    }
    missing.extend(baselines.into_values().map(|folder| UnpairedFolder::Rank { folder, side: Side::Candidate }));
}
