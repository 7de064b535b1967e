//! Comparison of two recorded values: what differs, and by how much relative to the tensor's scale.
//!
//! Errors are relative to the tensor's *scale*, never to the statistic or element itself: a mean or an element near
//! zero moves by 150 % of itself in a healthy run. From data the error is the relative L2 error; from statistics the
//! largest of |Δmax|, |Δmin| over the largest magnitude, |Δmean| over the root mean square, |Δnorm| over the norm.

mod ahead;
mod data;
mod folders;
mod measurement;
mod recorded;
mod sums;

use rayon::prelude::*;

use super::closeness::Closeness;
use super::tensor::PairStats;
use crate::fetch::Source;
use crate::kind::TensorKind;
use crate::pair::dump::{IndexPair, ModulePrefix};
use crate::read::dump::{Dump, Leaf, Operation};
use ahead::Prepared;
use data::{DataComparison, Saved};
use measurement::Examined;
use recorded::compare_records;

pub use folders::{CountedPair, Folders, Tolerances};
pub use measurement::{Basis, Details, ExactDifference, Measurement, ValueCoverage};
pub use sums::bounds as bounds_of_sums;

/// One unit, compared: every operation of both sides, in execution order.
#[derive(Clone, Debug, Default)]
pub struct UnitComparison {
    /// Operations in the candidate's execution order; operations of the baseline alone stand where they would have run.
    pub operations: Vec<OperationComparison>,
    /// Prefix by which the module names of the two sides differ, where one was found.
    pub prefix: ModulePrefix,
    /// Number of operations of a wrapper module that were left out.
    pub wrappers: usize,
}

impl UnitComparison {
    /// Whether there is data to read for any of its operations.
    pub fn has_data(&self) -> bool {
        self.operations.iter().any(|operation| operation.has_data)
    }
}

/// One operation, compared.
#[derive(Clone, Debug)]
pub struct OperationComparison {
    /// Indices of the operation among those of each dump.
    pub pair: IndexPair,
    /// Their values, paired; empty for an operation that only the baseline has.
    pub leaves: Box<[LeafComparison]>,
    /// Whether there is data of both sides to read for any of them.
    has_data: bool,
}

impl OperationComparison {
    /// Whether both sides have the operation.
    pub(crate) fn is_paired(&self) -> bool {
        self.pair.baseline().is_some() && self.pair.candidate().is_some()
    }

    /// The operation on each side; `None` where that side has no such operation.
    pub fn operations<'a>(
        &self,
        baseline: &'a Dump,
        candidate: &'a Dump,
    ) -> (Option<Operation<'a>>, Option<Operation<'a>>) {
        let of = |dump: &'a Dump, index: Option<usize>| index.and_then(|index| dump.operations.get(index));
        (of(baseline, self.pair.baseline()), of(candidate, self.pair.candidate()))
    }

    /// An operation of one side only; a candidate's values are kept, so that they can be judged by themselves.
    fn one_sided(pair: IndexPair, candidate: Option<Operation<'_>>) -> Self {
        let values = candidate.map_or(0, |operation| operation.leaves.len());
        let leaf = |index| LeafComparison { pair: IndexPair::new(None, Some(index)), measured: None, data: None };
        Self { pair, leaves: (0..values).map(leaf).collect(), has_data: false }
    }
}

/// One value, compared; kept to 32 bytes because there is one for every recorded value.
#[derive(Clone, Debug)]
pub struct LeafComparison {
    /// Indices of the value among those of each operation.
    pub pair: IndexPair,
    /// Result of comparing the two values; `None` where one side has no such value.
    pub measured: Option<Measurement>,
    /// Outcome of reading their data, where that was done.
    data: Option<Box<Result<DataComparison, Box<str>>>>,
}

impl LeafComparison {
    /// Numbers that one pass over the data gave; `None` where no data was read.
    pub fn stats(&self) -> Option<&PairStats> {
        match self.data.as_deref()? {
            Ok(DataComparison::Numbers(stats, _)) => Some(stats),
            _ => None,
        }
    }

    /// Elements counted by a tolerance, where that was asked for.
    pub(crate) fn closeness(&self) -> Option<&Closeness> {
        match self.data.as_deref()? {
            Ok(DataComparison::Numbers(_, closeness)) => closeness.as_ref(),
            _ => None,
        }
    }

    /// Reason why the data could not be read or compared; `None` where it was compared, or never asked for.
    pub fn unreadable(&self) -> Option<&str> {
        self.data.as_deref()?.as_ref().err().map(AsRef::as_ref)
    }

    /// Further numbers of the comparison, computed again from its two values.
    pub fn details(&self, baseline: Leaf<'_>, candidate: Leaf<'_>) -> Details {
        self.examine(baseline, candidate).details()
    }

    fn examine(&self, baseline: Leaf<'_>, candidate: Leaf<'_>) -> Examined {
        let recorded = |same| compare_records(baseline.value, candidate.value, same);
        match self.data.as_deref() {
            Some(Ok(DataComparison::Checksums { same })) => recorded(Some(*same)),
            Some(Ok(DataComparison::Numbers(stats, _))) if baseline.record().is_none() => data::compare_scalars(stats),
            Some(Ok(DataComparison::Numbers(stats, _))) => {
                data::combine_with_records(&recorded(None), stats, [baseline.record(), candidate.record()])
            }
            Some(Err(_)) | None => recorded(None),
        }
    }
}

/// Compares every paired operation of a unit, in parallel over operations.
pub fn compare_unit(baseline: &Dump, candidate: &Dump, pairs: &[IndexPair], folders: &Folders<'_>) -> UnitComparison {
    let prepare = |pair: &IndexPair| PreparedOperation::new(*pair, baseline, candidate, folders);
    let room = folders.read_ahead_room();
    let operations = match room.files {
        // One by one, since workers cannot share a batch that one of them has begun: a long batch would delay the end.
        0 => pairs.par_iter().with_max_len(1).map(|pair| prepare(pair).compare(folders)).collect(),
        _ => ahead::run_in_order(
            pairs,
            room,
            |pair| prepare(pair).opened(folders),
            |operation| operation.compare(folders),
        ),
    };
    UnitComparison { prefix: ModulePrefix::None, wrappers: 0, operations }
}

/// A pair of operations, about to be compared.
struct PreparedOperation<'a> {
    pair: IndexPair,
    baseline: Option<Operation<'a>>,
    candidate: Option<Operation<'a>>,
    /// Values of an operation that both sides have, paired, and their data where both sides saved it.
    leaves: Vec<(IndexPair, Option<Box<Saved<'a>>>)>,
}

impl<'a> PreparedOperation<'a> {
    fn new(pair: IndexPair, baseline: &'a Dump, candidate: &'a Dump, folders: &Folders<'_>) -> Self {
        let baseline = pair.baseline().and_then(|index| baseline.operations.get(index));
        let candidate = pair.candidate().and_then(|index| candidate.operations.get(index));
        let leaves = match (baseline, candidate) {
            (Some(left), Some(right)) => {
                let rule = folders.renaming.forward_call(right.name);
                let saved = |leaf: &IndexPair| {
                    // Dumps of statistics saved none, and their values are not needed here.
                    let are_saved = left.leaves.is_saved(leaf.baseline()?) && right.leaves.is_saved(leaf.candidate()?);
                    let pair = are_saved.then(|| leaves_of(*leaf, left, right));
                    let [Some(left), Some(right)] = pair? else { return None };
                    data::saved_pair(left, right).map(Box::new)
                };
                let leaves = crate::pair::dump::pair_values(left, right, rule).into_iter();
                leaves.map(|leaf| (leaf, saved(&leaf))).collect()
            }
            _ => Vec::new(),
        };
        Self { pair, baseline, candidate, leaves }
    }

    /// Opens the files whose data will be read.
    fn opened(mut self, folders: &Folders<'_>) -> Self {
        if let Some(candidate) = self.candidate {
            self.leaves
                .iter_mut()
                .filter_map(|(_, saved)| saved.as_mut())
                .for_each(|saved| saved.open(candidate.name, folders));
        }
        self
    }

    fn compare(self, folders: &Folders<'_>) -> OperationComparison {
        let (Some(baseline), Some(candidate)) = (self.baseline, self.candidate) else {
            return OperationComparison::one_sided(self.pair, self.candidate);
        };
        let has_data = self.leaves.iter().any(|(_, saved)| saved.is_some());
        let compare = |(pair, saved): (IndexPair, Option<Box<Saved<'_>>>)| {
            let mut comparison = LeafComparison { pair, measured: None, data: None };
            let [Some(left), Some(right)] = leaves_of(pair, baseline, candidate) else { return comparison };
            let found = saved.and_then(|saved| data::compare_data(candidate.name, *saved, folders));
            comparison.data = found.map(|found| Box::new(found.map_err(Into::into)));
            let mut measured = comparison.examine(left, right).measurement(folders.exact_sums);
            if comparison.data.is_none() {
                measured.coverage = data::coverage_without(measured.coverage, left, right);
            }
            comparison.measured = Some(measured);
            comparison
        };
        OperationComparison { pair: self.pair, leaves: self.leaves.into_iter().map(compare).collect(), has_data }
    }
}

impl Prepared for PreparedOperation<'_> {
    fn sources(&self) -> impl Iterator<Item = &Source> {
        self.leaves.iter().filter_map(|(_, saved)| saved.as_deref()).flat_map(Saved::sources)
    }
}

/// The values of a pair on each side; `None` where that side has no such value.
fn leaves_of<'a>(pair: IndexPair, baseline: Operation<'a>, candidate: Operation<'a>) -> [Option<Leaf<'a>>; 2] {
    [
        pair.baseline().and_then(|index| baseline.leaves.get(index)),
        pair.candidate().and_then(|index| candidate.leaves.get(index)),
    ]
}

/// The largest error among an operation's inputs; infinite where one differs in a property without size.
pub(crate) fn input_error(operation: Operation<'_>, comparison: &OperationComparison) -> f64 {
    let is_input = |leaf: &&LeafComparison| {
        let kind = leaf.pair.candidate().and_then(|index| operation.leaves.get(index)).map(|leaf| leaf.kind);
        matches!(kind, Some(TensorKind::Input))
    };
    comparison
        .leaves
        .iter()
        .filter(is_input)
        .filter_map(|leaf| leaf.measured.as_ref())
        .map(|measured| measured.error)
        .fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_is_small() {
        assert_eq!(size_of::<LeafComparison>(), 32);
        assert_eq!(size_of::<OperationComparison>(), 32);
    }
}
