//! Limits of the policy that count elements, applied to every tensor that they select.

use super::{Suspect, View};
use crate::compare::dump::{LeafComparison, OperationComparison};
use crate::judge::dump::element_limits::{ALLCLOSE, KINDS, element_outcomes, first_fitting_limit};
use crate::judge::dump::flow::UncountedTensors;
use crate::judge::dump::item::dtype_of;
use crate::judge::dump::rules;
use crate::judge::dump::tensor_outcome::TensorOutcome;
use crate::policy::Policy;
use crate::policy::dump::LimitRule;
use crate::read::dump::Leaf;
use crate::read::dump::name::OpName;
use crate::result::finding::Finding;
use crate::result::outcome::{Note, RuleKind, RuleOutcome};
use crate::verdict::Verdict;

/// A limit applied to one tensor.
struct Applied<'a> {
    limit: &'a LimitRule,
    kind: &'static str,
    outcome: TensorOutcome,
    operation: &'a OperationComparison,
    leaf: &'a LeafComparison,
}

impl<'a> Applied<'a> {
    /// Whether it is worse than `other`: not met where `other` is, or farther on the wrong side of its limit. Different limits are
    /// compared by the part of each that is used.
    fn is_worse(&self, other: &Self) -> bool {
        let (_, direction) = RuleKind::held(self.kind);
        let margin = |one: &Self| direction.margin(one.outcome.value, None, Some(one.outcome.limit));
        let by_margin = match (margin(self), margin(other)) {
            (Some(own), Some(others)) => others.total_cmp(&own),
            _ => direction.badness(self.outcome.value, other.outcome.value),
        };
        other.outcome.is_met.cmp(&self.outcome.is_met).then(by_margin).is_gt()
    }

    fn rule_outcome(&self, view: &View<'_>) -> RuleOutcome {
        let TensorOutcome { value, limit, is_met } = self.outcome;
        let verdict = if is_met { Verdict::Pass } else { Verdict::Fail };
        let tensor = view.row(self.operation, self.leaf).unwrap_or_default();
        let mut of = Note::new(Note::LIMIT).with(Note::LIMIT, selector(self.limit));
        if let Some([relative, absolute]) = self.limit.tolerance().filter(|_| self.kind == ALLCLOSE) {
            of = Note::new(Note::TOLERANCE).with(Note::LIMIT, selector(self.limit));
            of = of.with("rtol", relative).with("atol", absolute);
        }
        RuleOutcome::new(self.kind, Some(value), (None, Some(limit)), verdict)
            .noting([Note::new(Note::TENSOR).with(Note::TENSOR, tensor), of])
    }
}

/// The selector of a limit; `*` for one that fits everything.
fn selector(limit: &LimitRule) -> String {
    Some(limit.selector()).filter(|name| !name.is_empty()).unwrap_or_else(|| "*".to_owned())
}

impl<'a> View<'a> {
    /// The limits that count elements of one tensor, applied.
    fn applied(
        &self,
        operation: &'a OperationComparison,
        leaf: &'a LeafComparison,
        policy: &'a Policy,
    ) -> Vec<Applied<'a>> {
        let found = || {
            let candidate = self.candidate_operation(operation)?;
            let baseline = self.input.baseline.operations.get(operation.pair.baseline()?)?;
            let baseline_record = baseline.leaves.get(leaf.pair.baseline()?).and_then(Leaf::record);
            let candidate_record = candidate.leaves.get(leaf.pair.candidate()?).and_then(Leaf::record);
            let dtype = dtype_of([baseline_record.as_ref(), candidate_record.as_ref()])?;
            let direction = OpName::parse(candidate.name).direction;
            let (_, limit) = first_fitting_limit(&policy.dump, candidate.name, direction, Some(dtype))?;
            Some((limit, element_outcomes(limit, leaf.stats()?, leaf.closeness(), dtype)?))
        };
        let Some((limit, outcomes)) = found() else { return Vec::new() };
        let applied = |(kind, outcome)| Applied { limit, kind, outcome, operation, leaf };
        outcomes.into_iter().map(applied).collect()
    }

    /// Each kind of limit with the tensor that lies farthest on the wrong side of it.
    pub(super) fn limit_outcomes(&self, policy: &'a Policy) -> Vec<RuleOutcome> {
        if !policy.dump.counts_elements() {
            return Vec::new();
        }
        let mut worst: [Option<Applied<'_>>; KINDS.len()] = [const { None }; KINDS.len()];
        for applied in self.leaf_comparisons().flat_map(|(operation, leaf)| self.applied(operation, leaf, policy)) {
            let place = KINDS.iter().position(|kind| *kind == applied.kind).and_then(|place| worst.get_mut(place));
            if let Some(known) = place
                && known.as_ref().is_none_or(|known| applied.is_worse(known))
            {
                *known = Some(applied);
            }
        }
        worst.into_iter().flatten().map(|applied| applied.rule_outcome(self)).collect()
    }

    /// A finding with the first limit that its value misses.
    pub(super) fn with_missed_limit(&self, finding: Finding, suspect: &Suspect<'_>, policy: &'a Policy) -> Finding {
        let operation = self.input.comparison.operations.get(suspect.order);
        let applied = operation.map(|operation| self.applied(operation, suspect.comparison, policy));
        let Some(missed) = applied.into_iter().flatten().find(|applied| !applied.outcome.is_met) else {
            return finding;
        };
        let [relative, absolute] = missed.limit.tolerance().unwrap_or_default();
        finding
            .with("kind", missed.kind)
            .with("selector", selector(missed.limit))
            .with("value", missed.outcome.value)
            .with("limit", missed.outcome.limit)
            .with("rtol", relative)
            .with("atol", absolute)
    }

    /// The finding about tensors that a limit could not be applied to.
    pub(super) fn uncounted_finding(&self, uncounted: &UncountedTensors, policy: &Policy) -> Finding {
        let limit = policy.dump.limits.get(uncounted.rule);
        Finding::new(&rules::LIMIT_NEEDS_DATA, &uncounted.first)
            .with("unit", self.place())
            .with("selector", limit.map(selector).unwrap_or_default())
            .with("key", limit.and_then(|limit| limit.element_keys().next()).unwrap_or_default())
            .with("count", uncounted.count)
    }
}
