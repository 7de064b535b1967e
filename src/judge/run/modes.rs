//! Dropout and batch norm must be in the mode of the step: training if gradients are recorded, evaluation if they are off, and the
//! same mode on every rank.

use std::collections::BTreeMap;

use super::rules::{BATCH_NORM_MODE, DROPOUT_IN_EVALUATION};
use crate::compare::run::Snapshot;
use crate::compare::run::modes::{CallMode, ModeKind};
use crate::result::finding::Finding;
use crate::result::run::{Invariant, Looked};
use crate::verdict::Severity;

/// Modes of calls, step by step.
#[derive(Debug, Default)]
pub struct Modes {
    calls: usize,
    steps: usize,
    dropout: Option<Finding>,
    batch_norm: Option<Finding>,
}

impl Modes {
    /// Adds a step of all ranks.
    pub(crate) fn add_step(&mut self, step: u64, ranks: &BTreeMap<u64, Snapshot>) {
        let calls: usize = ranks.values().map(|snapshot| snapshot.modes.len()).sum();
        self.calls += calls;
        self.steps += usize::from(calls > 0);
        self.apart(step, ranks);
        for (rank, snapshot) in ranks.iter().filter(|(_, snapshot)| snapshot.is_gradient_off) {
            let trains = |kind: ModeKind| snapshot.modes.iter().find(move |mode| mode.kind == kind && mode.is_training);
            let say =
                |rule, mode: &CallMode| Finding::new(rule, mode.name.as_str()).with("step", step).with("rank", *rank);
            let dropout = || trains(ModeKind::Dropout).map(|mode| say(&DROPOUT_IN_EVALUATION, mode));
            self.dropout = self.dropout.take().or_else(dropout);
            let batch_norm = || {
                let finding = trains(ModeKind::BatchNorm).map(|mode| say(&BATCH_NORM_MODE, mode))?;
                Some(finding.with_severity(Severity::Warn).with("is_evaluation", 1_u64))
            };
            self.batch_norm = self.batch_norm.take().or_else(batch_norm);
        }
    }

    /// Looks for a call whose mode differs between ranks; the finding names the rank in evaluation.
    fn apart(&mut self, step: u64, ranks: &BTreeMap<u64, Snapshot>) {
        let mut seen: BTreeMap<&str, (u64, bool)> = BTreeMap::new();
        for (rank, snapshot) in ranks {
            for mode in snapshot.modes.iter().filter(|mode| mode.kind == ModeKind::BatchNorm) {
                let (first, was_training) = *seen.entry(&mode.name).or_insert((*rank, mode.is_training));
                if was_training == mode.is_training {
                    continue;
                }
                let evaluating = if was_training { *rank } else { first };
                let other = if was_training { first } else { *rank };
                let finding = Finding::new(&BATCH_NORM_MODE, mode.name.as_str());
                let finding = finding.with("step", step).with("rank", evaluating).with("other", other);
                // This is worse than batch norm that trains in an evaluation, and replaces that finding.
                let is_told = self.batch_norm.as_ref().is_some_and(|told| told.severity == Severity::Fail);
                if !is_told {
                    self.batch_norm = Some(finding);
                }
                return;
            }
        }
    }

    /// The findings, and the state of the invariant.
    pub fn finish(self) -> (Vec<Finding>, Looked) {
        const ID: Invariant = Invariant::Modes;
        let holds = self.dropout.is_none() && self.batch_norm.is_none();
        let looked = if self.calls == 0 {
            Looked::not(ID, "no-modes")
        } else {
            Looked::over(ID, holds, [("operations", self.calls), ("steps", self.steps)])
        };
        (self.dropout.into_iter().chain(self.batch_norm).collect(), looked)
    }
}
