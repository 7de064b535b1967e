//! Rows of a table: a tensor at a step, with its statistics.

use std::sync::Arc;

use crate::kind::{MonitorKind, Statistic};

/// Statistics of a tensor; `None` for each statistic without a column.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MonitorStatistics([Option<f64>; 4]);

impl MonitorStatistics {
    /// Value of one statistic; `None` if it was not written.
    pub fn get(&self, statistic: Statistic) -> Option<f64> {
        self.0.get(statistic as usize).copied().flatten()
    }

    /// Statistics that were written, with their values.
    pub fn written(&self) -> impl Iterator<Item = (Statistic, f64)> + '_ {
        Statistic::ALL.into_iter().filter_map(|statistic| Some((statistic, self.get(statistic)?)))
    }

    /// Larger magnitude of max and min; `None` if neither was written, or the result is not finite.
    pub fn largest(&self) -> Option<f64> {
        let ends = [self.get(Statistic::Max), self.get(Statistic::Min)];
        ends.into_iter().flatten().map(f64::abs).reduce(f64::max).filter(|value| value.is_finite())
    }

    /// Whether every statistic that was written is finite.
    pub(crate) fn are_finite(&self) -> bool {
        self.0.iter().flatten().all(|value| value.is_finite())
    }

    /// Whether all statistics have the same bits.
    pub fn is_same(&self, other: &Self) -> bool {
        self.0.map(|value| value.map(f64::to_bits)) == other.0.map(|value| value.map(f64::to_bits))
    }

    /// Only the largest and the smallest element.
    pub fn ends(&self) -> Self {
        let mut ends = Self::default();
        for statistic in [Statistic::Min, Statistic::Max] {
            self.get(statistic).into_iter().for_each(|value| ends.set(statistic, value));
        }
        ends
    }

    pub(super) fn set(&mut self, statistic: Statistic, value: f64) {
        if let Some(place) = self.0.get_mut(statistic as usize) {
            *place = Some(value);
        }
    }
}

/// One row: a tensor at a step.
#[derive(Clone, Debug, PartialEq)]
pub struct MonitorRow {
    /// Kind of the tensor.
    pub kind: MonitorKind,
    /// Stage of the pipeline on this rank; 0 if the model has no stages.
    pub stage: i64,
    /// Name of the tensor as the tool wrote it.
    pub name: Arc<str>,
    /// Canonical name, which is the same for both tools.
    pub canonical: Arc<str>,
    /// The step as written.
    pub step: u64,
    /// Micro step, from 0, if the table counts them.
    pub micro_step: Option<u64>,
    /// The statistics.
    pub statistics: MonitorStatistics,
    /// Number of NaN elements, if it was recorded.
    pub nans: Option<f64>,
    /// Shape, if it was recorded.
    pub shape: Option<Arc<str>>,
    /// Element type, if it was recorded.
    pub dtype: Option<Arc<str>>,
}

impl MonitorRow {
    /// Whether the row says that there was no tensor. The tool then writes `nan` into every column.
    pub(crate) fn is_absent(&self) -> bool {
        says_absent(&self.statistics, self.nans, [self.shape.as_deref(), self.dtype.as_deref()])
    }

    /// Sizes of its shape: 4 and 12 for `[4, 12]`.
    pub fn sizes(&self) -> Option<Vec<u64>> {
        let inner = self.shape.as_deref()?.trim().strip_prefix(['[', '('])?.strip_suffix([']', ')'])?;
        inner.split(',').map(str::trim).filter(|size| !size.is_empty()).map(|size| size.parse().ok()).collect()
    }

    /// Whether all written statistics are NaN, while no column shows whether there was a tensor.
    pub(crate) fn is_undecided(&self) -> bool {
        let columns = self.nans.is_none() && self.dtype.is_none() && self.shape.is_none();
        let mut written = self.statistics.written().peekable();
        columns && written.peek().is_some() && written.all(|(_, value)| value.is_nan())
    }
}

/// Whether all recorded statistics, the number of NaN elements, the shape and the type are `nan`, which means that there was no
/// tensor. At least one column other than the statistics must be recorded.
pub(super) fn says_absent(statistics: &MonitorStatistics, nans: Option<f64>, words: [Option<&str>; 2]) -> bool {
    let says_so = nans.is_some() || words.iter().any(Option::is_some);
    says_so
        && nans.is_none_or(f64::is_nan)
        && words.into_iter().flatten().all(|word| word == "nan")
        && statistics.written().all(|(_, value)| value.is_nan())
}
