//! Copies of a value: of one parameter on two ranks, or at two steps.

use crate::dtype::Dtype;
use crate::hash;
use crate::read::dump::TensorRecord;

/// Roundoff that separates 32-bit types from 16-bit types.
const SHORT: f64 = 1e-5;

/// Everything that was recorded of a tensor's values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TensorCopy {
    /// Largest value, smallest value, mean and 2-norm, where they are numbers.
    pub statistics: [Option<f64>; 4],
    /// Checksum of all values, hashed.
    pub checksum: Option<u64>,
    /// Shape and element type, hashed.
    pub form: u64,
    /// Elements.
    pub elements: u64,
    /// Largest relative error of rounding a number to its element type.
    pub roundoff: f64,
}

impl TensorCopy {
    /// The copy that a dump recorded.
    pub(crate) fn from_record(record: &TensorRecord<'_>) -> Self {
        Self {
            statistics: record.statistics().map(|one| one.as_f64()),
            checksum: record.checksum.map(|text| hash::hash_of(&text)),
            form: hash::hash_of(&(record.dtype, record.shape)),
            elements: record.elements(),
            roundoff: record.element.map_or(0.0, Dtype::unit_roundoff),
        }
    }

    /// The copy of a value of which only the statistics are known, assumed to have 32 bits.
    pub(crate) fn from_statistics(statistics: [Option<f64>; 4]) -> Self {
        Self { statistics, checksum: None, form: 0, elements: 1, roundoff: Dtype::F32.unit_roundoff() }
    }

    /// Whether its elements have 16 bits or fewer.
    pub(crate) fn is_low_precision(&self) -> bool {
        self.roundoff > SHORT
    }

    /// Whether it can be compared: it has elements, and a checksum or finite statistics.
    pub(crate) fn is_comparable(&self) -> bool {
        let mut known = self.statistics.iter().flatten().peekable();
        let is_finite = known.peek().is_some() && known.all(|value| value.is_finite());
        self.elements > 0 && (self.checksum.is_some() || is_finite)
    }

    /// Whether equal numbers mean equal values (except by coincidence): it has a checksum or all four statistics.
    pub(crate) fn is_distinctive(&self) -> bool {
        self.elements > 0
            && (self.checksum.is_some() || self.statistics.iter().all(|one| one.is_some_and(f64::is_finite)))
    }

    /// Whether all its elements are the same number, according to its statistics.
    pub(crate) fn is_constant(&self) -> bool {
        let [max, min, ..] = self.statistics;
        matches!((max, min), (Some(max), Some(min)) if (max - min).abs() <= 0.0)
    }

    /// Whether both were recorded as the same numbers, to the last bit.
    pub(crate) fn is_identical(&self, other: &Self) -> bool {
        let bits = |copy: &Self| copy.statistics.map(|one| one.map(f64::to_bits));
        self.form == other.form && bits(self) == bits(other) && self.checksum == other.checksum
    }

    /// Distance of two copies relative to their scale: max, min and mean relative to the largest magnitude, norms
    /// relative to the norm; infinite where checksums differ and nothing else was recorded.
    pub fn distance(&self, other: &Self) -> f64 {
        let size = |one: Option<f64>| one.map_or(0.0, f64::abs);
        let scale = [self, other]
            .iter()
            .flat_map(|copy| copy.statistics.iter().take(3))
            .fold(0.0_f64, |scale, one| scale.max(size(*one)));
        let norm = [self, other].iter().fold(0.0_f64, |norm, copy| norm.max(size(copy.statistics[3])));
        let pairs = self.statistics.iter().zip(&other.statistics).enumerate();
        let parts = pairs.filter_map(|(place, (one, other))| {
            let (apart, scale) = ((one.as_ref()? - other.as_ref()?).abs(), if place == 3 { norm } else { scale });
            Some(if apart > 0.0 { apart / scale } else { 0.0 })
        });
        let farthest = parts.reduce(f64::max);
        farthest.unwrap_or(if self.checksum == other.checksum { 0.0 } else { f64::INFINITY })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(statistics: [f64; 4]) -> TensorCopy {
        TensorCopy::from_statistics(statistics.map(Some))
    }

    #[test]
    fn copies_lie_apart_in_parts_of_their_scale() {
        let one = copy([2.0, -4.0, 1e-9, 8.0]);
        assert!(one.distance(&one.clone()).abs() <= 0.0 && one.is_identical(&one.clone()));
        let mean = copy([2.0, -4.0, 2e-9, 8.0]);
        assert!((one.distance(&mean) - 2.5e-10).abs() < 1e-15, "a mean near 0 is held against the largest value");
        let norm = copy([2.0, -4.0, 1e-9, 8.8]);
        assert!((one.distance(&norm) - 0.8 / 8.8).abs() < 1e-12);
    }

    #[test]
    fn checksums_alone_are_equal_or_not() {
        let of = |checksum| TensorCopy { checksum: Some(checksum), elements: 4, ..TensorCopy::default() };
        assert!(of(1).is_comparable() && of(1).is_distinctive());
        assert!(of(1).distance(&of(2)).is_infinite() && of(1).distance(&of(1)).abs() <= 0.0);
    }

    #[test]
    fn ends_alone_or_values_that_are_not_finite_show_nothing() {
        let ends = TensorCopy::from_statistics([Some(28.0), Some(4.0), None, None]);
        assert!(ends.is_comparable() && !ends.is_distinctive());
        assert!(!copy([f64::NAN; 4]).is_comparable());
        assert!(!TensorCopy { elements: 0, ..copy([1.0; 4]) }.is_comparable());
    }
}
