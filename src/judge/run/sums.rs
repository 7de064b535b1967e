//! Gradients must be reset before each update: a gradient that includes the one of the step before was not reset.
//!
//! The gradient of a linear layer's bias is the sum of the gradients of its outputs; the excess over that sum was there before. If
//! the parameter did not move in between, the steps are micro steps of one update, whose gradients add up by design.

use std::collections::{BTreeMap, BTreeSet};

use super::rules::{ACCUMULATES, SHOWN};
use crate::compare::run::Snapshot;
use crate::compare::run::copies::TensorCopy;
use crate::compare::run::sums::BiasSum;
use crate::result::finding::Finding;
use crate::result::run::{Invariant, Looked};

/// Sums of gradients, step by step.
#[derive(Debug, Default)]
pub struct Sums {
    /// Sums and biases of the step before, by rank.
    before: BTreeMap<u64, BTreeMap<String, (BiasSum, Option<TensorCopy>)>>,
    tested: BTreeSet<String>,
    steps: usize,
    broken: Option<(u64, BTreeSet<String>)>,
    /// Whether gradients of the last step add up while their parameters stand still.
    adds_up: bool,
}

impl Sums {
    /// Adds a step of all ranks; steps come in order.
    pub(crate) fn add_step(&mut self, step: u64, ranks: &BTreeMap<u64, Snapshot>) {
        let (mut grown, mut adding, mut resetting) = (BTreeSet::new(), 0_usize, 0_usize);
        let mut kept = BTreeMap::new();
        for (rank, snapshot) in ranks {
            let bias = |name: &String| snapshot.parameters.get(name).map(|parameter| parameter.copy.clone());
            for (name, sum) in &snapshot.sums {
                let before = self.before.get(rank).and_then(|before| before.get(name));
                let Some((earlier, copy)) = before else { continue };
                let Some(adds_up) = sum.is_excess_from(earlier) else { continue };
                self.tested.insert(name.clone());
                let has_moved = match (copy, bias(name)) {
                    (Some(copy), Some(now)) => !copy.is_identical(&now),
                    _ => continue,
                };
                match (has_moved, adds_up && !sum.is_identity()) {
                    (false, true) => adding += 1,
                    (false, false) => resetting += 1,
                    (true, true) => drop(grown.insert(name.clone())),
                    (true, false) => {}
                }
            }
            kept.insert(*rank, snapshot.sums.iter().map(|(name, sum)| (name.clone(), (*sum, bias(name)))).collect());
        }
        self.steps += 1;
        self.adds_up = adding > resetting;
        if self.broken.is_none() && !grown.is_empty() {
            self.broken = Some((step, grown));
        }
        self.before = kept;
    }

    /// Whether gradients of the last step include those of the step before, while their parameters stand still.
    pub(crate) fn adds_up(&self) -> bool {
        self.adds_up
    }

    /// The finding, and the state of the invariant.
    pub fn finish(self) -> (Option<Finding>, Looked) {
        const ID: Invariant = Invariant::GradientSums;
        let looked = if self.tested.is_empty() {
            Looked::not(ID, if self.steps == 1 { "one-step" } else { "no-sums" })
        } else {
            Looked::over(ID, self.broken.is_none(), [("sums", self.tested.len()), ("steps", self.steps)])
        };
        let finding = self.broken.map(|(step, names)| {
            Finding::new(&ACCUMULATES, names.first().map(String::as_str).unwrap_or_default())
                .with("step", step)
                .with("count", names.len())
                .with("of", self.tested.len())
                .with("names", names.into_iter().take(SHOWN).collect::<Vec<_>>())
        });
        (finding, looked)
    }
}
