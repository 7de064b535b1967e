//! Legitimate infinities of masks, which the table of one device reports as errors.
//!
//! `masked_fill(-inf)` makes the cosine similarity NaN on every device. The table does not say on which side an infinity is, so operators
//! that make or carry masks are doubtful, and all others are wrong.

use crate::compare::operators::operator_word;
use crate::read::operators::{OperatorOutput, OperatorStatus};

/// Operators that make or carry masks, without prefix, underscores and number.
const CARRIERS: [&str; 43] = [
    "masked_fill",
    "where",
    "full",
    "full_like",
    "new_full",
    "fill",
    "triu",
    "tril",
    "add",
    "radd",
    "iadd",
    "sub",
    "log",
    "clone",
    "view",
    "view_as",
    "reshape",
    "expand",
    "expand_as",
    "contiguous",
    "to",
    "type",
    "type_as",
    "float",
    "half",
    "bfloat16",
    "transpose",
    "permute",
    "t",
    "squeeze",
    "unsqueeze",
    "repeat",
    "slice",
    "getitem",
    "cat",
    "stack",
    "split",
    "chunk",
    "select",
    "narrow",
    "flatten",
    "detach",
    "masked_scatter",
];
/// Largest root mean square error over the finite elements at which the rest of an output is right.
const MOST_RMSE: f64 = 1e-3;

/// Whether an output that the tool calls wrong may hold a legitimate mask.
pub(super) fn is_mask(output: &OperatorOutput) -> bool {
    let is_lost = output.cosine.is_some_and(f64::is_nan);
    let rest_is_right = output.rmse.is_some_and(|error| error < MOST_RMSE);
    output.status == OperatorStatus::Error && is_lost && rest_is_right && carries_masks(output.api())
}

/// Whether an operator makes or carries masks, including in-place forms and Python operators.
fn carries_masks(api: &str) -> bool {
    let word = operator_word(api).trim_matches('_');
    CARRIERS.contains(&word)
}
