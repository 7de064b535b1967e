//! Fingerprints: records that distinguish a tensor from every other one.
//!
//! Max and Min are elements, and bit-equal where the data is; Mean and Norm are sums, equal within the bound of summation
//! in another order; equal checksums are equal data.

use crate::compare::dump::bounds_of_sums;
use crate::read::dump::TensorRecord;

/// Whether two records are of the same data in the same shape.
pub(super) fn is_same_data(left: &TensorRecord<'_>, right: &TensorRecord<'_>) -> bool {
    let is_alike = left.shape == right.shape && left.dtype == right.dtype;
    match (left.checksum, right.checksum) {
        (Some(one), Some(other)) => is_alike && one == other,
        _ => is_alike && has_same_values(left, right),
    }
}

/// Whether two records may be of the same values, in whatever order and shape.
pub(super) fn has_same_values(left: &TensorRecord<'_>, right: &TensorRecord<'_>) -> bool {
    if left.elements() != right.elements() {
        return false;
    }
    let Some((one, other)) = left.finite_statistics().zip(right.finite_statistics()) else { return false };
    let are_close =
        |bounds: [f64; 4]| one.into_iter().zip(other).zip(bounds).all(|((a, b), bound)| (a - b).abs() <= bound);
    // Whole dumps are searched, and nearly every tensor has other extremes.
    are_close([0.0, 0.0, f64::INFINITY, f64::INFINITY]) && are_close(bounds_of_sums(left, right, left.elements()))
}

/// Whether a tensor's fingerprint is unique: it has many elements, is not constant, and does not consist of the few
/// numbers that masks and counts have.
pub(super) fn is_distinctive(record: &TensorRecord<'_>) -> bool {
    let (max, min) = (record.max.as_f64(), record.min.as_f64());
    let is_common = |value: f64| (value * 16.0).fract().abs() <= 0.0;
    let ends = max.zip(min).is_some_and(|(max, min)| max > min && !(is_common(max) && is_common(min)));
    record.elements() > 1 && (ends || record.checksum.is_some() && max.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::Dtype;
    use crate::read::dump::Statistic;

    fn record(numbers: [f64; 4], shape: &[u64]) -> TensorRecord<'_> {
        let [max, min, mean, norm] = numbers.map(Statistic::Float);
        let (requires_grad, checksum, extension) = (Some(true), None, None);
        TensorRecord {
            dtype: "torch.float32",
            element: Some(Dtype::F32),
            shape,
            max,
            min,
            mean,
            norm,
            requires_grad,
            checksum,
            extension,
            precision: crate::read::dump::Precision::Exact,
        }
    }

    #[test]
    fn sums_in_another_order_are_the_same_and_other_ends_are_not() {
        let numbers = [1.3, -1.7, 0.05, 4.4];
        let one = record(numbers, &[4, 8]);
        assert!(is_same_data(&one, &record([1.3, -1.7, 0.05 + 1e-9, 4.4 * (1.0 + 1e-7)], &[4, 8])));
        assert!(!is_same_data(&one, &record([1.300_001, -1.7, 0.05, 4.4], &[4, 8])));
        let other_shape = record(numbers, &[8, 4]);
        assert!(!is_same_data(&one, &other_shape) && has_same_values(&one, &other_shape));
        assert!(!has_same_values(&one, &record(numbers, &[4, 4])));
    }

    #[test]
    fn a_checksum_decides() {
        let numbers = [1.3, -1.7, 0.05, 4.4];
        let one = TensorRecord { checksum: Some("aa"), ..record(numbers, &[4, 8]) };
        let other = TensorRecord { checksum: Some("bb"), ..record(numbers, &[4, 8]) };
        assert!(!is_same_data(&one, &other) && is_same_data(&one, &one));
    }

    #[test]
    fn masks_constants_and_scalars_tell_nothing() {
        assert!(is_distinctive(&record([1.3, -1.7, 0.05, 4.4], &[4, 8])));
        assert!(!is_distinctive(&record([1.0, 0.0, 0.5, 4.0], &[4, 8])));
        assert!(!is_distinctive(&record([1.3, 1.3, 1.3, 7.0], &[4, 8])));
        assert!(!is_distinctive(&record([1.3, 1.3, 1.3, 1.3], &[1])));
    }
}
