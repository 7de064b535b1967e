//! NaN and infinity in the statistics of a record, and calls that return uninitialised memory.
//!
//! A smallest value of -inf with a largest value that is neither NaN nor +inf is a mask: `masked_fill`, an additive mask, log(0)
//! cut off by `where`.

use crate::read::dump::name::OpName;
use crate::read::dump::{Leaf, LeafValue, Operation, TensorRecord};

use super::item::is_input;

/// Calls that return uninitialised memory, which may hold anything.
const UNINITIALISED: [&str; 5] = ["empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"];

/// Whether a tensor holds NaN or +inf; `false` where it has no statistics.
pub(super) fn is_poisoned(record: &TensorRecord<'_>) -> bool {
    let ends = [record.max.as_f64(), record.min.as_f64()];
    ends.into_iter().flatten().any(|end| end.is_nan() || (end.is_infinite() && end > 0.0))
}

/// Whether a value is a tensor that holds NaN or +inf.
pub(super) fn is_poisoned_value(leaf: Leaf<'_>) -> bool {
    leaf.record().is_some_and(|record| is_poisoned(&record))
}

/// Whether a tensor holds -inf and is a mask.
pub(super) fn is_mask(record: &TensorRecord<'_>) -> bool {
    record.min.as_f64().is_some_and(|min| min.is_infinite() && min < 0.0) && !is_poisoned(record)
}

/// Whether a call returns uninitialised memory.
pub(super) fn is_uninitialised(operation: &str) -> bool {
    UNINITIALISED.contains(&OpName::parse(operation).api())
}

/// Index of the first result of an operation that holds NaN or +inf, if none of its inputs does.
pub(super) fn newly_poisoned_output(operation: Operation<'_>) -> Option<usize> {
    if is_uninitialised(operation.name) {
        return None;
    }
    let poisoned = |wants_input: bool| {
        let mut leaves = operation.leaves.iter();
        leaves.position(|leaf| is_input(leaf.kind) == wants_input && is_poisoned_value(leaf))
    };
    poisoned(false).filter(|_| poisoned(true).is_none())
}

/// A plain number, or that of a text such as `inf`; `None` for anything else.
pub(super) fn plain_number(leaf: Leaf<'_>) -> Option<f64> {
    match leaf.value {
        LeafValue::Plain { value, .. } => value.as_f64().or_else(|| value.as_str()?.parse().ok()),
        _ => None,
    }
}
