//! The order of elements, which statistics do not show: an addition cannot be far off by itself, but one of its operands may hold the
//! same values at other places.

use super::context::{DumpContext, Suspect};
use super::evidence::UNSEEN_ORDER;
use super::trace::Trace;
use crate::kind::TensorKind;
use crate::pair::dump::IndexPair;
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

/// Most calls before one whose input is joined.
const MOST_BEFORE_JOIN: usize = 16;

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
    let trace = context.trace();
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

/// States that an input of the suspect holds the results of two operations, one behind the other, which the sides call in another order:
/// what joins them was not dumped, and statistics do not show which comes first.
pub(super) fn joined_in_other_order(context: &DumpContext<'_>, suspect: &Suspect<'_>) -> Option<Statement> {
    if suspect.is_backward() || context.data(&suspect.value).is_some() {
        return None;
    }
    let before = suspect.order.saturating_sub(MOST_BEFORE_JOIN)..suspect.order;
    let calls = context.input.comparison.operations.get(before)?.iter();
    let results: Vec<Joined<'_>> = calls.filter_map(|call| Joined::from_pair(context, call.pair)).collect();
    let exchanged = || {
        results
            .iter()
            .flat_map(|first| results.iter().map(move |second| (first, second)))
            .filter(|(first, second)| first.places[0] < second.places[0] && first.places[1] > second.places[1])
    };
    exchanged().next()?;
    let trace = context.trace();
    let inputs = suspect.inputs().filter_map(|both| both.baseline.record());
    let mut joined = inputs.filter(|record| trace.first_made(record, suspect.order).is_none());
    let (first, second) = joined
        .find_map(|whole| exchanged().find(|(first, second)| is_join(&whole, [&first.result, &second.result])))?;
    let statement = Statement::new("joined-in-other-order").with("op", suspect.culprit.op.as_str());
    Some(statement.with("first", first.name).with("second", second.name))
}

/// A call that both sides make, and its result on the baseline.
struct Joined<'a> {
    name: &'a str,
    /// Its place among the calls of the baseline and of the candidate.
    places: [usize; 2],
    result: TensorRecord<'a>,
}

impl<'a> Joined<'a> {
    fn from_pair(context: &DumpContext<'a>, pair: IndexPair) -> Option<Self> {
        let places = [pair.baseline()?, pair.candidate()?];
        let operation = context.input.baseline.operations.get(places[0])?;
        let mut results = operation.leaves.iter().filter(|leaf| leaf.kind == TensorKind::Output);
        Some(Self { name: operation.name, places, result: results.find_map(|leaf| leaf.record())? })
    }
}

/// Whether a tensor has the elements of two others, by its number of elements, its ends and its sum of squares.
fn is_join(whole: &TensorRecord<'_>, parts: [&TensorRecord<'_>; 2]) -> bool {
    /// Relative distance of norms that were summed in another order.
    const CLOSE: f64 = 1e-5;
    let all = |of: fn(&TensorRecord<'_>) -> Option<f64>| Some([of(whole)?, of(parts[0])?, of(parts[1])?]);
    let is_made_of = || {
        let [max, first, second] = all(|record| record.max.as_f64())?;
        let has_max = max.total_cmp(&first.max(second)).is_eq();
        let [min, first, second] = all(|record| record.min.as_f64())?;
        let has_min = min.total_cmp(&first.min(second)).is_eq();
        let [norm, first, second] = all(|record| record.norm.as_f64())?;
        Some(has_max && has_min && (norm - first.hypot(second)).abs() <= CLOSE * norm)
    };
    whole.elements() == parts[0].elements() + parts[1].elements() && is_made_of().unwrap_or(false)
}

/// A function's name without the marks of a special method or of a call in place.
fn plain(function: &str) -> &str {
    function.trim_matches('_')
}
