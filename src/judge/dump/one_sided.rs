//! Operations that only one side runs, as culprits.

use super::flow::OperationFlow;
use super::item::is_input;
use super::rules;
use super::suspicion::culprit_suspicion;
use crate::compare::dump::{OperationComparison, UnitComparison};
use crate::read::dump::name::{Direction, OpName};
use crate::read::dump::{Dump, Operation};

/// Blames an operation that only the candidate runs, if the first difference comes right after it: its results were not compared,
/// and the difference after it shows that they matter.
pub(super) fn blame(flows: &mut [OperationFlow], unit: &UnitComparison, candidate: &Dump) {
    let is_culprit = |flow: &OperationFlow| {
        let mut suspicions = flow.leaves.iter().filter_map(|leaf| leaf.suspicion.as_deref());
        suspicions.find(|suspicion| suspicion.is_culprit).map(|suspicion| suspicion.severity)
    };
    let Some((first, severity)) = flows.iter().enumerate().find_map(|(at, flow)| Some((at, is_culprit(flow)?))) else {
        return;
    };
    if !unit.operations.get(first).is_some_and(OperationComparison::is_paired) {
        return;
    }
    let operations = unit.operations.get(..first).unwrap_or_default();
    let before = operations.iter().enumerate().rev().take_while(|(_, one)| !one.is_paired());
    let own = before.filter_map(|(at, one)| Some((at, made_by(one, candidate)?))).last();
    let Some((at, output)) = own else { return };
    let flow = flows.get_mut(at).and_then(|flow| flow.leaves.get_mut(output));
    flow.into_iter()
        .for_each(|flow| flow.suspicion = culprit_suspicion(&rules::OTHER_OPERATION, severity).map(Box::new));
}

/// Index of the first result of a forward operation that only the candidate runs; `None` for any other operation.
fn made_by(comparison: &OperationComparison, candidate: &Dump) -> Option<usize> {
    let index = comparison.pair.candidate().filter(|_| comparison.pair.baseline().is_none())?;
    let operation: Operation<'_> = candidate.operations.get(index)?;
    let is_forward = OpName::parse(operation.name).direction == Some(Direction::Forward);
    operation.leaves.iter().position(|leaf| !is_input(leaf.kind)).filter(|_| is_forward)
}
