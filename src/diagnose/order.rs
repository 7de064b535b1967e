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

/// Operations that pick elements, or put them to places, by values or indices.
const CHOOSES: [&str; 13] = [
    "gather",
    "index_select",
    "take",
    "take_along_dim",
    "embedding",
    "sort",
    "topk",
    "scatter",
    "masked_select",
    "getitem",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
];

/// Operations that move elements in a fixed way.
const MOVES: [&str; 10] = ["roll", "permute", "transpose", "flip", "repeat", "tile", "cat", "stack", "chunk", "split"];

/// Most arithmetic operations that are passed on the way back to one that moves elements.
const MOST_BETWEEN: usize = 4;

/// Least ratio of an error to its limit that no rounding of one element explains.
const FAR_OFF: f64 = 100.0;

/// States which operation made an operand of an arithmetic suspect by picking or moving elements, where only statistics were recorded.
pub(super) fn unseen_order(context: &DumpContext<'_>, suspect: &Suspect<'_>) -> Option<Statement> {
    // A gradient behind one that is put to chosen places is seen by every operation that receives it.
    let is_arithmetic = ARITHMETIC.contains(&plain(suspect.api())) && !suspect.is_backward();
    let is_far_off = suspect.error() > FAR_OFF * suspect.limit();
    if !is_far_off || !is_arithmetic && !suspect.is_backward() || context.data(&suspect.value).is_some() {
        return None;
    }
    let trace = Trace::from_baseline(context.input);
    let mut operands = suspect.inputs().filter_map(|both| both.baseline.record());
    let moving =
        operands.find_map(|record| moving(&trace, &record, suspect.order, MOST_BETWEEN, suspect.is_backward()))?;
    let statement = Statement::new(UNSEEN_ORDER).with("op", suspect.culprit.op.as_str()).with("moving", moving);
    Some(statement.with("arithmetic", u64::from(is_arithmetic)))
}

/// The operation that moved the elements of a value which was made before `order`, behind at most `between` arithmetic ones. On the way
/// of gradients only operations that choose count: nearly all pass through one that moves in a fixed way.
fn moving<'a>(
    trace: &Trace<'a>,
    value: &TensorRecord<'_>,
    order: usize,
    between: usize,
    is_backward: bool,
) -> Option<&'a str> {
    let made = trace.first_made(value, order)?;
    let name = OpName::parse(made.operation.name);
    let function = plain(name.function());
    if CHOOSES.contains(&function) || MOVES.contains(&function) && !is_backward {
        return Some(made.operation.name);
    }
    let between = between.checked_sub(1).filter(|_| ARITHMETIC.contains(&function))?;
    let leaves = made.operation.leaves.iter().filter(|leaf| leaf.kind == TensorKind::Input);
    let mut operands = leaves.filter_map(|leaf| leaf.record());
    operands.find_map(|operand| moving(trace, &operand, made.order, between, is_backward))
}

/// A function's name without the marks of a special method or of a call in place.
fn plain(function: &str) -> &str {
    function.trim_matches('_')
}
