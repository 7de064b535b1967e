//! The lines of `operations.jsonl`.

use std::borrow::Cow;

use super::flow::{LeafFlow, OperationFlow};
use super::input::UnitInput;
use super::shown::recorded_value;
use super::unit::basis_name;
use crate::compare::dump::{ExactDifference, LeafComparison};
use crate::kind::TensorKind;
use crate::read::dump::{Leaf, Operation};
use crate::result::number::Number;
use crate::result::operation::{OperationLine, State};

/// Adds the lines of the values of the operation at `order`, one per value.
pub(crate) fn add_operation_lines<'a>(
    input: &'a UnitInput<'_>,
    flows: &'a [OperationFlow],
    order: usize,
    lines: &mut Vec<OperationLine<'a>>,
) {
    let (Some(comparison), Some(flow)) = (input.comparison.operations.get(order), flows.get(order)) else { return };
    let (baseline, candidate) = comparison.operations(input.baseline, input.candidate);
    let Some(named) = candidate.or(baseline) else { return };
    let module = match comparison.pair.candidate() {
        Some(index) => input.candidate.parent_of(index),
        None => input.candidate.parents.get(named.name).map(AsRef::as_ref),
    };
    let operation = Lines { input, order: order as u64, op: named.name, module: module.unwrap_or_default() };
    match (baseline, candidate) {
        (Some(baseline), Some(candidate)) => {
            let leaves = comparison.leaves.iter().zip(&flow.leaves);
            let line = |(leaf, leaf_flow): (&'a LeafComparison, &LeafFlow)| {
                let mut line = operation.paired(leaf, leaf_flow, baseline, candidate);
                line.reference = input.reference.and_then(|errors| errors.errors_of(comparison, leaf, leaf_flow.limit));
                line
            };
            lines.extend(leaves.map(line));
        }
        (Some(only), None) => lines.extend(operation.one_sided(only, State::MissingOnCandidate)),
        (None, Some(only)) => lines.extend(operation.one_sided(only, State::MissingOnBaseline)),
        (None, None) => {}
    }
}

/// The lines of one operation.
struct Lines<'a> {
    input: &'a UnitInput<'a>,
    order: u64,
    op: &'a str,
    module: &'a str,
}

impl<'a> Lines<'a> {
    /// A line of a value, without the results of its comparison.
    fn line(&self, [baseline, candidate]: [Option<Leaf<'a>>; 2]) -> OperationLine<'a> {
        let named = candidate.or(baseline);
        let tensor = named.map(|leaf| leaf.row.text()).unwrap_or_default();
        let own = |leaf: Leaf<'a>| recorded_value(leaf, named.is_none_or(|named| named.row != leaf.row));
        OperationLine {
            step: self.input.step,
            rank: self.input.rank,
            order: self.order,
            op: Cow::Borrowed(self.op),
            module: Cow::Borrowed(self.module),
            tensor,
            kind: named.map_or(TensorKind::Input, |leaf| leaf.kind),
            state: State::Agrees,
            reason: Cow::Borrowed(""),
            error: None,
            limit: None,
            reference: None,
            metrics: Vec::new(),
            baseline: baseline.map(own),
            candidate: candidate.map(own),
        }
    }

    fn one_sided(&self, operation: Operation<'a>, state: State) -> impl Iterator<Item = OperationLine<'a>> {
        let sides =
            move |leaf| if state == State::MissingOnCandidate { [Some(leaf), None] } else { [None, Some(leaf)] };
        operation.leaves.iter().map(move |leaf| OperationLine { state, ..self.line(sides(leaf)) })
    }

    fn paired(
        &self,
        comparison: &'a LeafComparison,
        flow: &LeafFlow,
        baseline: Operation<'a>,
        candidate: Operation<'a>,
    ) -> OperationLine<'a> {
        let left = comparison.pair.baseline().and_then(|index| baseline.leaves.get(index));
        let right = comparison.pair.candidate().and_then(|index| candidate.leaves.get(index));
        let mut line = self.line([left, right]);
        let (state, reason) = state(comparison, flow);
        (line.state, line.reason) = (state, Cow::Borrowed(reason));
        if let Some(measured) = &comparison.measured {
            line.error = Some(Number(measured.error));
            line.limit = Some(Number(flow.limit));
            let details = left.zip(right).map(|(left, right)| comparison.details(left, right));
            let metrics = details.into_iter().flat_map(|details| details.metrics);
            line.metrics = metrics.map(|(name, value)| (Cow::Borrowed(name), Number(value))).collect();
            line.order_metrics();
            if line.reason.is_empty() && line.state == State::Differs {
                line.reason = Cow::Borrowed(basis_name(measured.basis));
            }
        }
        line
    }
}

fn state<'a>(comparison: &'a LeafComparison, flow: &LeafFlow) -> (State, &'a str) {
    let Some(measured) = &comparison.measured else {
        let state =
            if comparison.pair.baseline().is_none() { State::MissingOnBaseline } else { State::MissingOnCandidate };
        return (state, "");
    };
    if let Some(reason) = comparison.unreadable() {
        return (State::NotCompared, reason);
    }
    let reason = measured.exact.map(exact_name).unwrap_or_default();
    (if flow.differs { State::Differs } else { State::Agrees }, reason)
}

fn exact_name(exact: ExactDifference) -> &'static str {
    match exact {
        ExactDifference::Dtype => "dtype",
        ExactDifference::Shape => "shape",
        ExactDifference::Argument => "argument",
        ExactDifference::Integer => "integer",
        ExactDifference::NonFinite => "non-finite",
        ExactDifference::RequiresGrad => "requires_grad",
        ExactDifference::Checksum => "checksum",
        ExactDifference::Kind => "kind",
    }
}
