//! All invariants of a dump, checked step by step; only the step before is kept.

use std::collections::BTreeMap;

use super::data::Data;
use super::gradients::Gradients;
use super::modes::Modes;
use super::motion::{Interval, Motion};
use super::replicas::Replicas;
use super::sums::Sums;
use crate::compare::run::Snapshot;
use crate::judge::rule::policy::SELECTOR_UNUSED;
use crate::policy::health::ReplicaPolicy;
use crate::result::finding::Finding;
use crate::result::run::Looked;
use crate::verdict::Severity;

/// A watch over the steps of a run.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    replicas: Replicas,
    motion: Motion,
    gradients: Gradients,
    sums: Sums,
    modes: Modes,
    data: Data,
    before: Option<(u64, BTreeMap<u64, Snapshot>)>,
    first: Option<u64>,
}

impl Watch {
    /// A watch that has seen no step; `policy` names copies and parts of parameters.
    pub(crate) fn new(policy: &ReplicaPolicy) -> Self {
        Self { replicas: Replicas::new(policy), ..Self::default() }
    }

    /// Adds a step of all ranks; steps come in order.
    pub(crate) fn add_step(&mut self, step: u64, ranks: BTreeMap<u64, Snapshot>) {
        self.first = self.first.or(Some(step));
        self.replicas.add_step(step, &ranks.iter().map(|(rank, snapshot)| (*rank, &snapshot.parameters)).collect());
        self.gradients.add_step(&ranks);
        self.sums.add_step(step, &ranks);
        self.modes.add_step(step, &ranks);
        self.data.add_step(step, &ranks);
        if let Some((since, before)) = &self.before {
            let intervals: Vec<Interval<'_>> = before
                .iter()
                .filter_map(|(rank, before)| {
                    let after = &ranks.get(rank)?.parameters;
                    Some(Interval { before: &before.parameters, after, gradients: &before.gradients })
                })
                .collect();
            self.motion.add_interval(*since, &intervals, self.sums.adds_up());
        }
        self.before = Some((step, ranks));
    }

    /// The findings, and the states of the invariants. `training_steps` is the number of training steps that a log of the run counts.
    pub(crate) fn finish(self, training_steps: Option<u64>) -> (Vec<Finding>, Vec<Looked>) {
        let last = self.before.as_ref().map(|(step, _)| *step);
        let recorded = self.first.zip(last).map(|(first, last)| last.saturating_sub(first) + 1);
        let is_counted = training_steps.zip(recorded).is_some_and(|(counted, recorded)| counted >= recorded);
        let unused = self.replicas.unused_selectors();
        let (replicas, of_replicas) = self.replicas.finish();
        let (motion, of_motion) = self.motion.finish(is_counted);
        let (gradients, of_gradients) = self.gradients.finish();
        let (sums, of_sums) = self.sums.finish();
        let (modes, of_modes) = self.modes.finish();
        let (data, of_data) = self.data.finish();
        let findings =
            replicas.into_iter().chain(motion).chain(gradients).chain(sums).chain(modes).chain(data).chain(unused);
        (findings.collect(), vec![of_replicas, of_motion, of_gradients, of_sums, of_modes, of_data])
    }
}

/// A watch over both runs of a pair.
#[derive(Debug, Default)]
pub(crate) struct PairWatch {
    baseline: Watch,
    candidate: Watch,
}

impl PairWatch {
    /// A watch that has seen no step; `policy` names copies and parts of parameters.
    pub(crate) fn new(policy: &ReplicaPolicy) -> Self {
        Self { baseline: Watch::new(policy), candidate: Watch::new(policy) }
    }

    /// Adds a step of all ranks of baseline and candidate; steps come in order.
    pub(crate) fn add_step(&mut self, step: u64, [baseline, candidate]: [BTreeMap<u64, Snapshot>; 2]) {
        self.baseline.add_step(step, baseline);
        self.candidate.add_step(step, candidate);
    }

    /// The findings about the candidate; those that the baseline has too are notes. Training steps are not counted here, because micro
    /// steps and updates look alike: a standstill is compared with the baseline's only.
    pub(crate) fn finish(self) -> Vec<Finding> {
        let (of_baseline, _) = self.baseline.finish(None);
        let (of_candidate, _) = self.candidate.finish(None);
        // Unused selectors of the policy are reported for the candidate, and never become notes.
        let is_shared = |finding: &Finding| {
            !finding.is(&SELECTOR_UNUSED) && of_baseline.iter().any(|other| other.code == finding.code)
        };
        let told = of_candidate.into_iter().filter(|finding| finding.severity >= Severity::Warn);
        told.map(|finding| if is_shared(&finding) { finding.with_severity(Severity::Info) } else { finding }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::run::copies::TensorCopy;
    use crate::compare::run::snapshot::Parameter;

    fn ranks(values: [f64; 2]) -> BTreeMap<u64, Snapshot> {
        let snapshot = |value: f64| {
            let copy = TensorCopy::from_statistics([value, -value, value / 8.0, 3.0 * value].map(Some));
            let parameter = Parameter { copy, is_trainable: Some(true) };
            Snapshot { parameters: BTreeMap::from([("fc.weight".to_owned(), parameter)]), ..Snapshot::default() }
        };
        (0..).zip(values.map(snapshot)).collect()
    }

    #[test]
    fn what_both_runs_show_is_a_note_and_what_one_shows_a_fault() {
        let of = |baseline: [f64; 2], candidate: [f64; 2]| {
            let mut both = PairWatch::default();
            both.add_step(0, [ranks([1.0, 1.0]), ranks([1.0, 1.0])]);
            both.add_step(1, [ranks(baseline), ranks(candidate)]);
            both.finish().iter().map(|finding| finding.severity).collect::<Vec<_>>()
        };
        assert_eq!(of([1.1, 1.1], [1.1, 1.2]), [Severity::Fail]);
        assert_eq!(of([1.1, 1.2], [1.1, 1.2]), [Severity::Info]);
        assert_eq!(of([1.1, 1.2], [1.1, 1.1]), []);
    }
}
