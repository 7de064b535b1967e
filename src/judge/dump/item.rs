//! One compared value of an operation with the records of both sides, and the keys that recognise it again.

use std::borrow::Cow;
use std::cell::OnceCell;

use super::limits::looser_dtype;
use crate::compare::closeness::Closeness;
use crate::compare::dump::{Details, LeafComparison, Measurement};
use crate::compare::tensor::PairStats;
use crate::dtype::Dtype;
use crate::hash::hash_of;
use crate::kind::TensorKind;
use crate::read::dump::{Leaf, LeafValue, Operation, Statistic, TensorRecord};

/// Recognises a value again: a hash of its side and its checksum, or of its number of elements, largest and smallest
/// value. A cast, a view or a transpose that was not dumped keeps these.
pub(super) type ValueKey = u64;

/// One value of an operation with its records.
pub(super) struct Item<'a> {
    comparison: &'a LeafComparison,
    pub(super) kind: TensorKind,
    baseline: Option<Leaf<'a>>,
    candidate: Option<Leaf<'a>>,
    dtype: Option<Dtype>,
    keys: [Option<ValueKey>; 2],
    /// Further numbers of the comparison, once they were asked for.
    details: OnceCell<Option<Details>>,
}

impl<'a> Item<'a> {
    pub(super) fn records(&self) -> [Option<&TensorRecord<'a>>; 2] {
        [&self.baseline, &self.candidate].map(|leaf| leaf.as_ref().and_then(Leaf::tensor))
    }

    /// Further numbers of the comparison; `None` where one side has no such value.
    pub(super) fn details(&self) -> Option<&Details> {
        let examine = || Some(self.comparison.details(self.baseline?, self.candidate?));
        self.details.get_or_init(examine).as_ref()
    }

    /// Root mean square of the baseline; `None` where it is not known, or zero.
    pub(super) fn rms(&self) -> Option<f64> {
        self.details()?.rms.filter(|rms| *rms > 0.0)
    }

    /// The largest error of the metrics of these names; `None` where none of them was recorded.
    pub(super) fn largest_metric(&self, names: &[&str]) -> Option<f64> {
        let metrics = self.details()?.metrics.iter();
        metrics.filter(|(name, _)| names.contains(name)).map(|(_, error)| *error).reduce(f64::max)
    }

    /// The largest finite magnitude of the baseline's extremes.
    pub(super) fn magnitude(&self) -> Option<f64> {
        let record = self.baseline.as_ref()?.tensor()?;
        let extremes = [record.max.as_f64()?.abs(), record.min.as_f64()?.abs()];
        extremes.into_iter().filter(|value| value.is_finite()).reduce(f64::max)
    }

    /// The number of a plain value of the candidate; `None` for anything else.
    pub(super) fn plain_number(&self) -> Option<f64> {
        match self.candidate.as_ref()?.value {
            LeafValue::Plain { value, .. } => value.as_f64(),
            _ => None,
        }
    }

    /// Whether each side's record is the same as that of `other` on that side: largest, smallest and mean value, norm and shape.
    pub(super) fn is_same_as(&self, other: &Self) -> [bool; 2] {
        let (own, others) = (self.records(), other.records());
        let is_same = |side: usize| {
            let (own, other) = (own.get(side).copied().flatten(), others.get(side).copied().flatten());
            own.zip(other).is_some_and(|(own, other)| {
                own.shape == other.shape
                    && own.finite_statistics().is_some_and(|numbers| Some(numbers) == other.finite_statistics())
            })
        };
        [is_same(0), is_same(1)]
    }

    /// Name of its row: the candidate's, or the baseline's if the candidate has no such value.
    pub(super) fn row(&self) -> Cow<'a, str> {
        self.candidate.as_ref().or(self.baseline.as_ref()).map_or_else(Cow::default, |leaf| leaf.row.text())
    }

    /// Part of the row name after the name of the operation.
    pub(super) fn row_below_operation(&self) -> &'a str {
        let leaf = self.candidate.as_ref().or(self.baseline.as_ref());
        leaf.map_or("", |leaf| leaf.row.below_operation())
    }

    /// Name of its row on the baseline; `None` where that has no such value.
    pub(super) fn baseline_row(&self) -> Option<Cow<'a, str>> {
        self.baseline.as_ref().map(|leaf| leaf.row.text())
    }

    /// Statistics of one pass over the data of both sides; `None` where no data was read.
    pub(super) fn stats(&self) -> Option<&PairStats> {
        self.comparison.stats()
    }

    pub(super) fn measurement(&self) -> Option<&Measurement> {
        self.comparison.measured.as_ref()
    }

    /// The looser of the floating-point types of both sides.
    pub(super) fn dtype(&self) -> Option<Dtype> {
        self.dtype
    }

    /// Counts of elements by a tolerance; `None` where no limit asks for them.
    pub(super) fn closeness(&self) -> Option<&Closeness> {
        self.comparison.closeness()
    }

    /// Whether neither side saved the data of a tensor that has elements.
    pub(super) fn is_without_data(&self) -> bool {
        let is_there = |record: &TensorRecord<'_>| record.extension.is_none() && record.elements() > 0;
        matches!(self.records(), [Some(baseline), Some(candidate)] if is_there(baseline) && is_there(candidate))
    }

    /// Reason why its data could not be read.
    pub(super) fn unreadable(&self) -> Option<&str> {
        self.comparison.unreadable()
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = ValueKey> {
        self.keys.into_iter().flatten()
    }
}

/// The looser of the floating-point types of both records; `None` where neither has one.
pub(super) fn dtype_of(records: [Option<&TensorRecord<'_>>; 2]) -> Option<Dtype> {
    let float = |record: Option<&TensorRecord<'_>>| {
        record.and_then(|record| record.element).filter(|dtype| dtype.unit_roundoff() > 0.0)
    };
    let [baseline, candidate] = records;
    looser_dtype(float(baseline), float(candidate))
}

fn key(is_candidate: bool, record: &TensorRecord<'_>) -> Option<ValueKey> {
    if let Some(checksum) = record.checksum {
        return Some(hash_of(&(is_candidate, checksum)));
    }
    // The statistics of a constant (all zeros, an empty mask) do not identify it.
    if record.max == record.min || record.max == Statistic::Null {
        return None;
    }
    let bits = |value: Statistic<'_>| value.as_f64().or_else(|| value.as_bool().map(f64::from)).map(f64::to_bits);
    Some(hash_of(&(is_candidate, record.elements(), bits(record.max)?, bits(record.min)?)))
}

/// A compared value, with the records that the sides have of it.
pub(super) fn item<'a>(comparison: &'a LeafComparison, baseline: Operation<'a>, candidate: Operation<'a>) -> Item<'a> {
    let of = |operation: Operation<'a>, index: Option<usize>| index.and_then(|index| operation.leaves.get(index));
    let (left, right) = (of(baseline, comparison.pair.baseline()), of(candidate, comparison.pair.candidate()));
    let kind = right.or(left).map_or(TensorKind::Input, |leaf| leaf.kind);
    let mut item = Item {
        comparison,
        kind,
        baseline: left,
        candidate: right,
        dtype: None,
        keys: [None; 2],
        details: OnceCell::new(),
    };
    let records = item.records();
    let keys = [records[0].and_then(|record| key(false, record)), records[1].and_then(|record| key(true, record))];
    (item.dtype, item.keys) = (dtype_of(records), keys);
    item
}

/// Whether a value is an input or a parameter of the operation.
pub(super) fn is_input(kind: TensorKind) -> bool {
    matches!(kind, TensorKind::Input | TensorKind::Parameter)
}
