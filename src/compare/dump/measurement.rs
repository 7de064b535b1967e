//! Numbers of one comparison of two values: those that are kept, and those that are computed again when needed.

use crate::verdict::Side;

/// Result of comparing two values, as it is kept for every value: 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measurement {
    /// Error relative to scale: 0 where nothing differs, infinite where a difference has no size (an integer, a NaN).
    pub error: f64,
    /// The first exact property that differs.
    pub exact: Option<ExactDifference>,
    /// Source of the error.
    pub basis: Basis,
    /// Whether everything that was recorded is equal to the last bit.
    pub identical: bool,
    /// Whether the two values are equal as far as they were recorded: identical, except for sums that each device
    /// computes in its own order.
    pub is_equal: bool,
    /// Part of the two values that was available for comparison.
    pub coverage: ValueCoverage,
}

/// Part of a pair of values that was available for comparison; a part that was not seen never counts as agreement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueCoverage {
    /// Everything that either side recorded.
    Whole,
    /// Tensors without elements: there is nothing to compare.
    Empty,
    /// Neither side recorded a number or a checksum.
    NoNumbers,
    /// Every number of both sides is infinite.
    Infinite,
    /// Every number of both sides is NaN, or some are NaN and the others infinite.
    NotANumber,
    /// This side lacks a statistic or a checksum that the other one has.
    StatisticMissing(Side),
    /// A statistic of this side is not a number: a text, a list.
    StatisticUnreadable(Side),
    /// Everything that either side recorded, but this side's statistics do not match its data.
    Contradicting(Side),
    /// This side names no data, and the other one saved it.
    DataMissing(Side),
    /// The record of a side is damaged: it lacks required fields.
    Damaged,
    /// The data was skipped by request, and nothing else was recorded.
    LeftOut,
}

/// Further numbers of a comparison, which are needed for few values only.
#[derive(Clone, Debug, PartialEq)]
pub struct Details {
    /// Largest absolute difference of an element, or of a statistic where there is no data; infinite where a difference
    /// has no size.
    pub absolute: f64,
    /// Root mean square of the baseline, where it is known; the unit of absolute errors.
    pub rms: Option<f64>,
    /// Number of elements of the baseline that were compared; 1 for plain values.
    pub elements: u64,
    /// Metrics by name, for reports.
    pub metrics: Vec<(&'static str, f64)>,
}

/// Source of an error: data, or one of the recorded values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Every element of both tensors.
    Data,
    /// Recorded statistics.
    Statistics,
    /// Checksums alone.
    Checksum,
    /// Plain values.
    Plain,
}

/// A property that has to be equal and is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExactDifference {
    /// Element type.
    Dtype,
    /// Shape.
    Shape,
    /// A plain argument: number, text, boolean, slice ...
    Argument,
    /// An integer or boolean tensor's values.
    Integer,
    /// Places or signs of NaN and infinity.
    NonFinite,
    /// Whether a gradient is required.
    RequiresGrad,
    /// Checksums, where nothing tells the size of the difference.
    Checksum,
    /// One side holds a value of another kind, or none.
    Kind,
}

/// All numbers of one comparison.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Examined {
    pub(super) exact: Option<ExactDifference>,
    pub(super) error: f64,
    /// The error with differences of sums counted in full, even within the bound for summation order.
    pub(super) error_of_sums: f64,
    pub(super) absolute: f64,
    pub(super) basis: Basis,
    pub(super) identical: bool,
    pub(super) is_equal: bool,
    pub(super) rms: Option<f64>,
    pub(super) elements: u64,
    pub(super) metrics: Vec<(&'static str, f64)>,
    pub(super) coverage: ValueCoverage,
}

impl Examined {
    /// Nothing is known: the record of a side is damaged.
    pub(super) fn unknown() -> Self {
        Self { identical: false, is_equal: false, coverage: ValueCoverage::Damaged, ..Self::equal(Basis::Plain) }
    }

    /// Nothing differs.
    pub(super) fn equal(basis: Basis) -> Self {
        Self {
            exact: None,
            error: 0.0,
            error_of_sums: 0.0,
            absolute: 0.0,
            basis,
            identical: true,
            is_equal: true,
            rms: None,
            elements: 1,
            metrics: Vec::new(),
            coverage: ValueCoverage::Whole,
        }
    }

    /// A property differs whose difference has no size.
    pub(super) fn differing(basis: Basis, exact: ExactDifference) -> Self {
        Self {
            exact: Some(exact),
            error: f64::INFINITY,
            error_of_sums: f64::INFINITY,
            absolute: f64::INFINITY,
            identical: false,
            is_equal: false,
            ..Self::equal(basis)
        }
    }

    /// The numbers that are kept; with `exact_sums`, differences of sums count in full.
    pub(super) fn measurement(&self, exact_sums: bool) -> Measurement {
        let Self { exact, basis, identical, coverage, .. } = *self;
        let (error, is_equal) = if exact_sums { (self.error_of_sums, identical) } else { (self.error, self.is_equal) };
        Measurement { error, exact, basis, identical, is_equal, coverage }
    }

    pub(super) fn details(self) -> Details {
        Details { absolute: self.absolute, rms: self.rms, elements: self.elements, metrics: self.metrics }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_of_every_value_is_small() {
        assert_eq!(size_of::<Option<Measurement>>(), 16);
    }
}
