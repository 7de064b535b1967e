//! Every trainable parameter whose module ran must have a gradient, if any parameter has one.

use std::collections::{BTreeMap, BTreeSet};

use super::rules::{GRADIENT_MISSING, SHOWN};
use crate::compare::run::Snapshot;
use crate::result::finding::Finding;
use crate::result::run::{Invariant, Looked};

/// Trainable parameters and their gradients.
#[derive(Debug, Default)]
pub struct Gradients {
    /// Parameters that could have a gradient, and whether one was recorded.
    has: BTreeMap<String, bool>,
    /// Parameters that equal another parameter with a gradient: a weight that two modules share has a single gradient.
    shared: BTreeSet<String>,
    steps: usize,
}

impl Gradients {
    /// Adds a step of all ranks.
    pub(crate) fn add_step(&mut self, ranks: &BTreeMap<u64, Snapshot>) {
        let counting = ranks.values().filter(|snapshot| snapshot.has_backward && !snapshot.gradients.is_empty());
        let mut has_any = false;
        for snapshot in counting {
            has_any = true;
            let trainable = snapshot.parameters.iter().filter(|(_, one)| one.is_trainable == Some(true));
            for (name, parameter) in trainable {
                let has = snapshot.gradients.contains_key(name);
                *self.has.entry(name.clone()).or_default() |= has;
                let is_twin = |(other, twin): (&String, &_)| {
                    let twin: &crate::compare::run::snapshot::Parameter = twin;
                    other != name && snapshot.gradients.contains_key(other) && twin.copy.is_identical(&parameter.copy)
                };
                if !has && parameter.copy.is_distinctive() && snapshot.parameters.iter().any(is_twin) {
                    self.shared.insert(name.clone());
                }
            }
        }
        self.steps += usize::from(has_any);
    }

    /// The finding, and the state of the invariant.
    pub fn finish(self) -> (Option<Finding>, Looked) {
        const ID: Invariant = Invariant::Gradients;
        if self.has.is_empty() {
            return (None, Looked::not(ID, "no-gradients"));
        }
        let is_missing = |(name, has): &(&String, &bool)| !**has && !self.shared.contains(*name);
        let missing: Vec<String> = self.has.iter().filter(is_missing).map(|(name, _)| name.clone()).collect();
        let looked = Looked::over(ID, missing.is_empty(), [("parameters", self.has.len()), ("steps", self.steps)]);
        let finding = missing.first().map(|first| {
            Finding::new(&GRADIENT_MISSING, first.as_str())
                .with("count", missing.len())
                .with("of", self.has.len())
                .with("names", missing.iter().take(SHOWN).cloned().collect::<Vec<_>>())
        });
        (finding, looked)
    }
}
