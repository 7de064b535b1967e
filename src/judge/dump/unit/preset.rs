//! A published rule, applied to every tensor whose data was compared.

use super::{View, most_telling};
use crate::compare::dump::{LeafComparison, OperationComparison};
use crate::judge::dump::preset;
use crate::judge::dump::rules;
use crate::judge::dump::tensor_outcome::TensorOutcome;
use crate::policy::Policy;
use crate::policy::dump::TensorPreset;
use crate::result::finding::Finding;
use crate::result::outcome::{Note, RuleKind, RuleOutcome};
use crate::verdict::Verdict;

impl<'a> View<'a> {
    /// Outcomes of a preset for every tensor whose data was compared; tensors that it does not apply to are left out.
    pub(super) fn preset_outcomes(
        &self,
        preset: TensorPreset,
    ) -> impl Iterator<Item = (&'a OperationComparison, &'a LeafComparison, TensorOutcome)> {
        self.leaf_comparisons().filter_map(move |(operation, leaf)| {
            let outcome = preset::apply(preset, leaf.stats()?, leaf.closeness())?;
            Some((operation, leaf, outcome))
        })
    }

    pub(super) fn preset_findings(&self, preset: TensorPreset, policy: &Policy) -> Vec<Finding> {
        let mut outcomes = self.preset_outcomes(preset).peekable();
        if outcomes.peek().is_none() {
            return vec![Finding::new(&rules::PRESET_NEEDS_DATA, self.place()).with("preset", preset.as_str())];
        }
        let unmet = outcomes.filter(|(_, _, outcome)| !outcome.is_met);
        let finding = |(operation, leaf, outcome): (&OperationComparison, &LeafComparison, TensorOutcome)| {
            let op = self.candidate_operation(operation).map_or("", |operation| operation.name);
            Finding::new(&rules::PRESET_NOT_MET, self.row(operation, leaf).unwrap_or_default())
                .with("unit", self.place())
                .with("op", op)
                .with("preset", preset.as_str())
                .with("value", outcome.value)
                .with("limit", outcome.limit)
        };
        most_telling(unmet.map(finding).collect(), policy)
    }

    /// The preset as a rule of the unit, with its worst value: the first of the tensors that lie farthest on the wrong
    /// side, those that do not meet it before all others.
    pub(super) fn preset_outcome(&self, preset: TensorPreset) -> Option<RuleOutcome> {
        let (_, direction) = RuleKind::held(preset.as_str());
        let badness =
            |a: &TensorOutcome, b: &TensorOutcome| b.is_met.cmp(&a.is_met).then(direction.badness(a.value, b.value));
        let (operation, leaf, outcome) = self
            .preset_outcomes(preset)
            .reduce(|worst, next| if badness(&next.2, &worst.2).is_gt() { next } else { worst })?;
        let verdict = if outcome.is_met { Verdict::Pass } else { Verdict::Fail };
        let tensor = self.row(operation, leaf).unwrap_or_default();
        Some(
            RuleOutcome::new(preset.as_str(), Some(outcome.value), (None, Some(outcome.limit)), verdict)
                .noting([Note::new(Note::TENSOR).with(Note::TENSOR, tensor)]),
        )
    }
}
