//! The lines of `operations.jsonl`.

use super::flow::{LeafFlow, OperationFlow};
use super::input::UnitInput;
use super::shown::show;
use super::unit::basis_name;
use crate::compare::dump::{ExactDifference, LeafComparison, OperationComparison};
use crate::judge::number::Number;
use crate::judge::operation::{OperationLine, State};
use crate::read::dump::{Dump, Leaf, Operation, TensorKind};

/// One line per value of the unit, each made when it is asked for.
pub fn of_unit<'a>(input: &'a UnitInput<'_>, flows: &'a [OperationFlow]) -> impl Iterator<Item = OperationLine> + 'a {
    let operations = input.comparison.operations.iter().zip(flows).enumerate();
    operations.flat_map(move |(order, (comparison, flow))| of_operation(input, order, comparison, flow))
}

fn of_operation(
    input: &UnitInput<'_>,
    order: usize,
    comparison: &OperationComparison,
    flow: &OperationFlow,
) -> Vec<OperationLine> {
    let (baseline, candidate) = (
        operation(input.baseline, comparison.pair.baseline()),
        operation(input.candidate, comparison.pair.candidate()),
    );
    let Some(named) = candidate.or(baseline) else { return Vec::new() };
    let blank = OperationLine {
        step: input.step,
        rank: input.rank,
        order: order as u64,
        op: named.name.to_owned(),
        module: input.candidate.parents.get(named.name).map(ToString::to_string).unwrap_or_default(),
        tensor: String::new(),
        kind: TensorKind::Input,
        state: State::Agrees,
        reason: String::new(),
        error: None,
        limit: None,
        reference: None,
        metrics: std::collections::BTreeMap::new(),
        baseline: None,
        candidate: None,
    };
    match (baseline, candidate) {
        (Some(baseline), Some(candidate)) => {
            let leaves = comparison.leaves.iter().zip(&flow.leaves);
            let line = |(leaf, leaf_flow): (&LeafComparison, &LeafFlow)| OperationLine {
                reference: input.reference.and_then(|errors| errors.of(comparison, leaf, leaf_flow.limit)),
                ..paired(&blank, leaf, leaf_flow, baseline, candidate)
            };
            leaves.map(line).collect()
        }
        (Some(only), None) => one_sided(&blank, only, State::MissingOnCandidate),
        (None, Some(only)) => one_sided(&blank, only, State::MissingOnBaseline),
        (None, None) => Vec::new(),
    }
}

fn operation(dump: &Dump, index: Option<usize>) -> Option<Operation<'_>> {
    index.and_then(|index| dump.operations.get(index))
}

fn one_sided(blank: &OperationLine, operation: Operation<'_>, state: State) -> Vec<OperationLine> {
    let line = |leaf: Leaf<'_>| {
        let shown = Some(show(leaf));
        let (baseline, candidate) = if state == State::MissingOnCandidate { (shown, None) } else { (None, shown) };
        OperationLine { tensor: leaf.row.to_string(), kind: leaf.kind, state, baseline, candidate, ..blank.clone() }
    };
    operation.leaves.iter().map(line).collect()
}

fn paired(
    blank: &OperationLine,
    comparison: &LeafComparison,
    flow: &LeafFlow,
    baseline: Operation<'_>,
    candidate: Operation<'_>,
) -> OperationLine {
    let left = comparison.pair.baseline().and_then(|index| baseline.leaves.get(index));
    let right = comparison.pair.candidate().and_then(|index| candidate.leaves.get(index));
    let named = right.or(left);
    let mut line = OperationLine {
        tensor: named.map(|leaf| leaf.row.to_string()).unwrap_or_default(),
        kind: named.map_or(TensorKind::Input, |leaf| leaf.kind),
        baseline: left.map(show),
        candidate: right.map(show),
        ..blank.clone()
    };
    (line.state, line.reason) = state(comparison, flow);
    if let Some(measured) = &comparison.measured {
        line.error = Some(Number(measured.error));
        line.limit = Some(Number(flow.limit));
        let details = left.zip(right).map(|(left, right)| comparison.details(left, right));
        let metrics = details.into_iter().flat_map(|details| details.metrics);
        line.metrics = metrics.map(|(name, value)| (name.to_owned(), Number(value))).collect();
        if line.reason.is_empty() && line.state == State::Differs {
            line.reason = basis_name(measured.basis).to_owned();
        }
    }
    line
}

fn state(comparison: &LeafComparison, flow: &LeafFlow) -> (State, String) {
    let Some(measured) = &comparison.measured else {
        let state =
            if comparison.pair.baseline().is_none() { State::MissingOnBaseline } else { State::MissingOnCandidate };
        return (state, String::new());
    };
    if let Some(reason) = comparison.unreadable() {
        return (State::NotCompared, reason.to_owned());
    }
    let reason = measured.exact.map(exact_name).unwrap_or_default();
    (if flow.differs { State::Differs } else { State::Agrees }, reason.to_owned())
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
