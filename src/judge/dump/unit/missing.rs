//! Operations without a partner.

use std::collections::HashSet;

use super::{View, stack_of};
use crate::compare::dump::OperationComparison;
use crate::judge::dump::rules;
use crate::read::dump::Operation;
use crate::read::dump::name::{Direction, OpName};
use crate::result::finding::Finding;
use crate::verdict::Severity;

impl<'a> View<'a> {
    /// Whether every operation without a partner is one of the baseline whose effect was seen: forward calls that the
    /// candidate's kernels run as one, with others compared after them, and their backward calls. Everything that the
    /// candidate ran was compared then.
    pub(super) fn is_fused(&self) -> bool {
        let of_baseline =
            |comparison: &OperationComparison| self.input.baseline.operations.get(comparison.pair.baseline()?);
        let parts = |operation: Operation<'_>| OpName::parse(operation.name);
        let missing = || self.input.comparison.operations.iter().filter(|comparison| !comparison.is_paired());
        let paired = || self.input.comparison.operations.iter().filter(|comparison| comparison.is_paired());
        let is_forward = |operation: &Operation<'_>| parts(*operation).direction == Some(Direction::Forward);
        let forward: HashSet<(String, Option<u64>)> = missing()
            .filter_map(of_baseline)
            .filter(is_forward)
            .map(|operation| (parts(operation).base, parts(operation).call))
            .collect();
        let is_seen = |operation: Operation<'_>| forward.contains(&(parts(operation).base, parts(operation).call));
        missing()
            .all(|comparison| comparison.pair.candidate().is_none() && of_baseline(comparison).is_some_and(is_seen))
            && self.input.comparison.operations.last().is_some_and(OperationComparison::is_paired)
            && missing().count() < paired().count()
    }

    /// One finding per stretch of operations without a partner; a warning where nothing differs and one side fused them.
    pub(super) fn missing_findings(&self, all_agrees: bool) -> Vec<Finding> {
        let severity = if all_agrees && self.is_fused() { Severity::Warn } else { rules::OPERATIONS_MISSING.severity };
        let mut findings = Vec::new();
        let mut stretch: Vec<&'a str> = Vec::new();
        let mut side = "";
        let mut after = "";
        let mut stack: Vec<String> = Vec::new();
        let mut flush = |stretch: &mut Vec<&'a str>, stack: &mut Vec<String>, side: &str, after: &str| {
            if let Some(first) = stretch.first() {
                findings.push(
                    Finding::new(&rules::OPERATIONS_MISSING, *first)
                        .with_severity(severity)
                        .with("unit", self.place())
                        .with("side", side)
                        .with("count", stretch.len())
                        .with("operations", stretch.iter().take(12).map(|name| (*name).to_owned()).collect::<Vec<_>>())
                        .with("after", after)
                        .with("stack", std::mem::take(stack)),
                );
            }
            stretch.clear();
        };
        for comparison in &self.input.comparison.operations {
            let (missing_on, dump, index) = match (comparison.pair.baseline(), comparison.pair.candidate()) {
                (None, Some(index)) => ("baseline", self.input.candidate, index),
                (Some(index), None) => ("candidate", self.input.baseline, index),
                _ => {
                    flush(&mut stretch, &mut stack, side, after);
                    after = self.candidate_operation(comparison).map_or("", |operation| operation.name);
                    continue;
                }
            };
            if side != missing_on {
                flush(&mut stretch, &mut stack, side, after);
            }
            side = missing_on;
            let Some(operation) = dump.operations.get(index) else { continue };
            if stretch.is_empty() {
                stack = stack_of(dump, operation.name);
            }
            stretch.push(operation.name);
        }
        flush(&mut stretch, &mut stack, side, after);
        findings
    }
}
