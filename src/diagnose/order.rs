//! The order of elements, which statistics do not show: an addition cannot be far off by itself, but one of its operands may hold the
//! same values at other places.

use super::context::{DumpContext, Suspect};
use super::evidence::UNSEEN_ORDER;
use super::trace::Trace;
use crate::kind::TensorKind;
use crate::read::dump::TensorRecord;
use crate::read::dump::name::OpName;
use crate::result::diagnosis::Statement;

/// Operations that round each element once and by itself, so that no device is far off.
const ARITHMETIC: [&str; 13] =
    ["add", "sub", "mul", "div", "iadd", "isub", "imul", "itruediv", "truediv", "radd", "rsub", "rmul", "rtruediv"];

/// Operations that only pick, move or repeat elements.
const MOVES: [&str; 19] = [
    "gather",
    "index_select",
    "getitem",
    "take",
    "take_along_dim",
    "embedding",
    "roll",
    "permute",
    "transpose",
    "flip",
    "sort",
    "scatter",
    "repeat",
    "tile",
    "cat",
    "stack",
    "chunk",
    "split",
    "masked_select",
];

/// Most arithmetic operations that are passed on the way back to one that moves elements.
const MOST_BETWEEN: usize = 4;

/// Least ratio of an error to its limit that no rounding of one element explains.
const FAR_OFF: f64 = 100.0;

/// States which operation made an operand of an arithmetic suspect by picking or moving elements, where only statistics were recorded.
pub(super) fn unseen_order(context: &DumpContext<'_>, suspect: &Suspect<'_>) -> Option<Statement> {
    let is_arithmetic = ARITHMETIC.contains(&plain(suspect.api())) && suspect.error() > FAR_OFF * suspect.limit();
    if !is_arithmetic || suspect.is_backward() || context.data(&suspect.value).is_some() {
        return None;
    }
    let trace = Trace::from_baseline(context.input);
    let mut operands = suspect.inputs().filter_map(|both| both.baseline.record());
    let moving = operands.find_map(|record| moving(&trace, &record, suspect.order, MOST_BETWEEN))?;
    Some(Statement::new(UNSEEN_ORDER).with("op", suspect.culprit.op.as_str()).with("moving", moving))
}

/// The operation that moved the elements of a value which was made before `order`, behind at most `between` arithmetic ones.
fn moving<'a>(trace: &Trace<'a>, value: &TensorRecord<'_>, order: usize, between: usize) -> Option<&'a str> {
    let made = trace.first_made(value, order)?;
    let name = OpName::parse(made.operation.name);
    if MOVES.contains(&plain(name.function())) {
        return Some(made.operation.name);
    }
    let between = between.checked_sub(1).filter(|_| ARITHMETIC.contains(&plain(name.function())))?;
    let leaves = made.operation.leaves.iter().filter(|leaf| leaf.kind == TensorKind::Input);
    leaves.filter_map(|leaf| leaf.record()).find_map(|operand| moving(trace, &operand, made.order, between))
}

/// A function's name without the marks of a special method or of a call in place.
fn plain(function: &str) -> &str {
    function.trim_matches('_')
}
