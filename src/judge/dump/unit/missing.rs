//! Operations without a partner.

use std::collections::HashSet;

use super::{View, stack_of};
use crate::compare::dump::OperationComparison;
use crate::judge::dump::rules;
use crate::read::dump::name::{Direction, OpName};
use crate::read::dump::{Leaf, Operation};
use crate::result::finding::Finding;
use crate::verdict::Severity;

impl<'a> View<'a> {
    /// Whether all operations without a partner are calls of the baseline that the candidate runs as one fused kernel: forward calls,
    /// with compared operations after them that show their effect, and their backward calls. All operations of the candidate were
    /// compared then.
    pub(super) fn is_fused(&self) -> bool {
        let of_baseline =
            |comparison: &OperationComparison| self.input.baseline.operations.get(comparison.pair.baseline()?);
        let parts = |operation: Operation<'a>| OpName::parse(operation.name);
        let missing = || self.input.comparison.operations.iter().filter(|comparison| !comparison.is_paired());
        let paired = || self.input.comparison.operations.iter().filter(|comparison| comparison.is_paired());
        let is_forward = |operation: &Operation<'a>| parts(*operation).direction == Some(Direction::Forward);
        let forward: HashSet<(&str, Option<u64>)> = missing()
            .filter_map(of_baseline)
            .filter(is_forward)
            .map(|operation| (parts(operation).base, parts(operation).call))
            .collect();
        let is_seen = |operation: Operation<'a>| forward.contains(&(parts(operation).base, parts(operation).call));
        missing()
            .all(|comparison| comparison.pair.candidate().is_none() && of_baseline(comparison).is_some_and(is_seen))
            && self.input.comparison.operations.last().is_some_and(OperationComparison::is_paired)
            && missing().count() < paired().count()
    }

    /// Place of the first operation of an optimizer that only one side recorded; `usize::MAX` without one. It starts a stretch of
    /// operations without a partner that follows the backward pass, lasts to the end, and updates trained tensors in place. Tools
    /// record nothing of an optimizer that updates all parameters with one call (foreach, fused).
    fn start_of_optimizer(&self) -> usize {
        let operations = &self.input.comparison.operations;
        let paired = operations.iter().rposition(OperationComparison::is_paired).map_or(0, |last| last + 1);
        let of = |comparison: &OperationComparison| match (comparison.pair.baseline(), comparison.pair.candidate()) {
            (Some(index), None) => self.input.baseline.operations.get(index),
            (None, Some(index)) => self.input.candidate.operations.get(index),
            _ => None,
        };
        let is_forward =
            |operation: &Operation<'_>| OpName::parse(operation.name).direction == Some(Direction::Forward);
        let is_update = |operation: &Operation<'_>| {
            let first = operation.leaves.iter().find_map(Leaf::record);
            OpName::parse(operation.name).api().ends_with('_')
                && first.is_some_and(|record| record.requires_grad == Some(true))
        };
        let mut before = operations.iter().take(paired).filter_map(|comparison| self.candidate_operation(comparison));
        let is_after_backward =
            before.next_back().is_some_and(|last| OpName::parse(last.name).direction != Some(Direction::Forward));
        let tail = || operations.iter().skip(paired).filter_map(of);
        match is_after_backward && tail().all(|operation| is_forward(&operation)) && tail().any(|one| is_update(&one)) {
            true => paired,
            false => usize::MAX,
        }
    }

    /// One finding per stretch of operations without a partner. It is a warning if nothing differs and one side fused operations, or
    /// if one side did not record its optimizer.
    pub(super) fn missing_findings(&self, all_agrees: bool) -> Vec<Finding> {
        let severity = if all_agrees && self.is_fused() { Severity::Warn } else { rules::OPERATIONS_MISSING.severity };
        let optimizer = self.start_of_optimizer();
        let mut findings = Vec::new();
        let mut stretch: Vec<&'a str> = Vec::new();
        let mut side = "";
        let mut after = "";
        let mut stack: Vec<String> = Vec::new();
        let mut begun = 0;
        let frameworks = self.input.baseline.differing_frameworks(self.input.candidate);
        let mut flush = |stretch: &mut Vec<&'a str>, stack: &mut Vec<String>, side: &str, after: &str, begun: usize| {
            let severity = if begun >= optimizer { Severity::Warn } else { severity };
            if let Some(first) = stretch.first() {
                let finding = Finding::new(&rules::OPERATIONS_MISSING, *first)
                    .with_severity(severity)
                    .with("unit", self.place())
                    .with("side", side)
                    .with("count", stretch.len())
                    .with("operations", stretch.iter().take(12).map(|name| (*name).to_owned()).collect::<Vec<_>>())
                    .with("after", after)
                    .with("stack", std::mem::take(stack));
                findings.push(match frameworks {
                    Some([baseline, candidate]) => {
                        finding.with("framework", baseline).with("candidate_framework", candidate)
                    }
                    None => finding,
                });
            }
            stretch.clear();
        };
        for (order, comparison) in self.input.comparison.operations.iter().enumerate() {
            let (missing_on, dump, index) = match (comparison.pair.baseline(), comparison.pair.candidate()) {
                (None, Some(index)) => ("baseline", self.input.candidate, index),
                (Some(index), None) => ("candidate", self.input.baseline, index),
                _ => {
                    flush(&mut stretch, &mut stack, side, after, begun);
                    after = self.candidate_operation(comparison).map_or("", |operation| operation.name);
                    continue;
                }
            };
            if side != missing_on {
                flush(&mut stretch, &mut stack, side, after, begun);
            }
            side = missing_on;
            let Some(operation) = dump.operations.get(index) else { continue };
            if stretch.is_empty() {
                begun = order;
                stack = stack_of(dump, operation.name);
            }
            stretch.push(operation.name);
        }
        flush(&mut stretch, &mut stack, side, after, begun);
        findings
    }
}
