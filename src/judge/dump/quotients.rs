//! Updates that are divided by the gradient's own size.
//!
//! Adam moves a parameter by `value · m / d`, the mean gradient over its root mean square. Where a gradient is zero in exact
//! arithmetic, both are roundings, and their quotient is as large as any other: such elements move by up to a whole update in
//! either direction, which differs between the sides. The extremes of `m` and `d` do not show these elements.

use super::item::Item;
use super::limits::AMPLIFICATION;
use crate::dtype::Dtype;
use crate::kind::TensorKind;
use crate::read::dump::name::{Direction, OpName};

/// The error of mean and norm of an updated parameter that such elements explain, if the smallest divisors are within the roundings
/// of a tensor whose error is `received`; 0 otherwise.
pub(super) fn explained_error(item: &Item<'_>, items: &[Item<'_>], received: f64, name: &OpName<'_>) -> f64 {
    if name.direction != Some(Direction::Forward) || !matches!(name.api(), "addcdiv" | "addcdiv_") {
        return 0.0;
    }
    let given: Vec<&Item<'_>> = items.iter().filter(|item| item.kind == TensorKind::Input).collect();
    let tensors: Vec<&&Item<'_>> = given.iter().filter(|item| item.dtype().is_some()).collect();
    let value =
        given.iter().find_map(|item| item.plain_number().filter(|_| item.row_below_operation().contains("value")));
    let [_, numerator, divisor, ..] = tensors.as_slice() else { return 0.0 };
    let (Some(mean), Some(root), Some(own)) = (numerator.rms(), divisor.rms(), item.rms()) else { return 0.0 };
    if !reaches_roundings(divisor, received) {
        return 0.0;
    }
    2.0 * value.unwrap_or(1.0).abs() * mean / root / own
}

/// Whether the smallest element of a tensor is no larger than the roundings of its largest element.
fn reaches_roundings(item: &Item<'_>, received: f64) -> bool {
    let unit = item.dtype().map_or(0.0, Dtype::unit_roundoff);
    let [baseline, _] = item.records();
    let ends = baseline.and_then(|record| record.finite_statistics()).map(|[max, min, ..]| [max.abs(), min.abs()]);
    ends.is_some_and(|[max, min]| min <= AMPLIFICATION * (received.min(1.0) + unit) * max)
}
