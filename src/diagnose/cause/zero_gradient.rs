//! A gradient that is all zero on one side: a backward kernel that does nothing, or the graph cut in between.
//!
//! Where the operation was dumped its output shows it. Where it was not, the gradient is intact in what the last
//! dumped operation before made, and gone in what the next one receives; the baseline's gradient, which reappears with
//! the same largest and smallest value on both sides of the gap, tells that the operation between only moves elements
//! (an index, a gather, a view).

use super::super::context::{DumpContext, Suspect};
use super::super::entry::Cause;
use super::super::evidence::LOST_IN_GAP;
use super::super::value_pair::{ValuePair, operations_of, values_of};
use crate::judge::loss::code as curve_rules;
use crate::kind::TensorKind;
use crate::read::dump::name::OpName;
use crate::read::dump::{Dump, Leaf};
use crate::read::frame::calling_frame;
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};

/// Advice to rewrite an index whose backward pass gives zeros.
pub(crate) const GRADIENT_OF_INDEX: &str = "zero-gradient-of-index";

pub(super) const CAUSE: Cause = Cause {
    in_dump,
    supported_by: &[&curve_rules::GRAD_NORM],
    links: &["https://docs.pytorch.org/docs/stable/generated/torch.index_select.html"],
    ..Cause::new("zero-gradient")
};

/// Calls whose backward pass scatters a gradient to the places they picked.
const PICKS: [&str; 9] = [
    "__getitem__",
    "index",
    "index_put",
    "index_put_",
    "take",
    "gather",
    "masked_select",
    "take_along_dim",
    "embedding",
];

fn in_dump(context: &DumpContext<'_>) -> Option<Diagnosis> {
    let suspect = context.suspect().filter(|suspect| suspect.is_backward())?;
    let side = zero_side(&suspect)?;
    let diagnosis =
        Diagnosis::new(&CAUSE, suspect.culprit.tensor.as_str(), Sureness::Certain).because(zeros(&suspect, side));
    Some(if suspect.is_result() {
        dumped(diagnosis, context, &suspect)
    } else {
        in_a_gap(diagnosis, context, &suspect)
    })
}

/// States which side returns zeros: the whole result, or the culprit alone among others that are none.
fn zeros(suspect: &Suspect<'_>, side: &str) -> Statement {
    let statement = Statement::new("zeros-on-one-side").with("side", side).with("op", suspect.culprit.op.as_str());
    let leaf = |both: ValuePair<'_>| is_zero(if side == "candidate" { both.candidate } else { both.baseline });
    let results = suspect.values().filter(|both| both.kind == TensorKind::Output);
    let is_alone = results.filter_map(leaf).any(|is_zero| !is_zero) && suspect.is_result();
    if is_alone { statement.with("tensor", suspect.culprit.tensor.as_str()) } else { statement }
}

/// The side whose gradient is all zero, where the other's is not.
fn zero_side(suspect: &Suspect<'_>) -> Option<&'static str> {
    match (is_zero(suspect.value.baseline)?, is_zero(suspect.value.candidate)?) {
        (false, true) => Some("candidate"),
        (true, false) => Some("baseline"),
        _ => None,
    }
}

/// Whether a tensor is all zero; `None` where its statistics do not say.
fn is_zero(leaf: Leaf<'_>) -> Option<bool> {
    let record = leaf.record()?;
    let (max, min) = (record.max.as_f64()?, record.min.as_f64()?);
    Some(max.abs() <= 0.0 && min.abs() <= 0.0)
}

/// The operation itself was dumped: its forward call, and where its gradient goes from here.
fn dumped(mut diagnosis: Diagnosis, context: &DumpContext<'_>, suspect: &Suspect<'_>) -> Diagnosis {
    let input = suspect.inputs().filter_map(|both| is_zero(both.candidate)).any(|zero| !zero);
    if input {
        diagnosis = diagnosis.because(Statement::new("gradient-arrives").with("op", suspect.culprit.op.as_str()));
    }
    diagnosis = diagnosis.because_all(forward_sign(context.input.candidate, &suspect.name));
    let trace = context.trace();
    let next = suspect.value.baseline.record().and_then(|record| trace.used_after(&record, suspect.order));
    if let Some(next) = next {
        diagnosis = diagnosis.because(Statement::new("same-value-next").with("next", next.operation.name));
    }
    let api = suspect.api().to_owned();
    if PICKS.contains(&api.as_str()) {
        return diagnosis.advise(Statement::new(GRADIENT_OF_INDEX).with("api", api));
    }
    diagnosis
}

/// The forward call of a backward operation and the line of the user's code that made it.
fn forward_sign(dump: &Dump, name: &OpName<'_>) -> Option<Statement> {
    let names = name.forward_names();
    let forward = dump.operations.iter().find(|operation| names.iter().any(|name| name == operation.name))?;
    let statement = Statement::new("forward-of").with("forward", forward.name);
    Some(match frame_of(dump, forward.name) {
        Some(frame) => statement.with("place", frame),
        None => statement,
    })
}

/// The line of the model, or of the user's own code, that makes a forward call, as `file:line: code`; empty where no stack says.
fn frame_of(dump: &Dump, forward: &str) -> Option<String> {
    let frame = calling_frame(dump.stacks.as_ref()?.get(forward)?)?;
    Some(format!("{}:{} {}", frame.file, frame.line, frame.code))
}

/// The operation was not dumped: the gap, and the lines of code on either side of it.
fn in_a_gap(diagnosis: Diagnosis, context: &DumpContext<'_>, suspect: &Suspect<'_>) -> Diagnosis {
    let trace = context.trace();
    let moved = suspect.value.baseline.record().and_then(|record| trace.made_before(&record, suspect.order));
    let last = moved.map(|appearance| appearance.order).or_else(|| last_intact(context, suspect.order));
    let comparison = last.and_then(|order| context.input.comparison.operations.get(order));
    let Some((_, before)) = comparison.and_then(|comparison| operations_of(context.input, comparison)) else {
        return diagnosis;
    };
    let dump = context.input.candidate;
    let statement = Statement::new(LOST_IN_GAP)
        .with("before", before.name)
        .with("after", suspect.culprit.op.as_str())
        .with("places", gap_places(dump, &suspect.name, &OpName::parse(before.name)));
    let diagnosis = diagnosis.because(statement);
    match moved {
        Some(_) => {
            diagnosis.because(Statement::new("only-moved")).advise(Statement::new("zero-gradient-of-undumped-index"))
        }
        None => diagnosis.advise(Statement::new("zero-gradient-undumped")),
    }
}

/// Lines of code of the forward calls on either side of the gap; the gap's code lies between them. A call without a
/// recorded stack is left out.
fn gap_places(dump: &Dump, first: &OpName<'_>, second: &OpName<'_>) -> Vec<String> {
    let place = |name: &OpName<'_>| {
        let call = name.call.unwrap_or(0);
        let api = frame_of(dump, &format!("{}.{call}.forward", name.base));
        api.or_else(|| frame_of(dump, &format!("{}.forward.{call}", name.base)))
    };
    [first, second].into_iter().filter_map(place).collect()
}

/// The last backward operation before `order` that made a gradient which agrees and is not zero.
fn last_intact(context: &DumpContext<'_>, order: usize) -> Option<usize> {
    let before = context.input.comparison.operations.iter().enumerate().take(order);
    let is_intact = |(order, comparison): (usize, &_)| {
        let (baseline, candidate) = operations_of(context.input, comparison)?;
        let mut outputs = values_of(comparison, baseline, candidate).filter(|both| both.kind == TensorKind::Output);
        let is_backward = candidate.name.contains("backward");
        let is_tensor = |leaf: Leaf<'_>| leaf.record().is_some();
        (is_backward && outputs.any(|both| is_tensor(both.candidate) && is_zero(both.candidate) == Some(false)))
            .then_some(order)
    };
    before.filter_map(is_intact).next_back()
}
