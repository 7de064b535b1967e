//! Ranks and steps must read different samples. The statistics of the first input and the first outputs of a step show whether they
//! do.

use std::collections::BTreeMap;

use super::rules::{BATCH_REPEATED, SAME_DATA, SHOWN};
use crate::compare::run::Snapshot;
use crate::compare::run::copies::TensorCopy;
use crate::result::finding::Finding;
use crate::result::run::{Invariant, Looked};

/// Number of steps in a row with the same input that is reported.
const REPEATED: usize = 3;
/// Least number of steps with equal data on all ranks that is no chance.
const STEPS: usize = 2;

/// First inputs and outputs, step by step.
#[derive(Debug, Default)]
pub struct Data {
    /// Whether all ranks begin with the same parameters; `None` before the first step.
    is_replicated: Option<bool>,
    /// Number of steps of two or more ranks, and number of those with equal data on all ranks.
    shared: usize,
    equal: usize,
    ranks: Vec<u64>,
    /// The latest first input of each rank, with the steps in a row that had it.
    inputs: BTreeMap<u64, Repeated>,
    /// Number of steps with an input whose record identifies it.
    told: usize,
    repeated: Option<Repeated>,
}

/// An input that comes again.
#[derive(Clone, Debug)]
struct Repeated {
    input: TensorCopy,
    count: usize,
    /// The first of these steps.
    steps: Vec<u64>,
}

impl Data {
    /// Adds a step of all ranks; steps come in order.
    pub(crate) fn add_step(&mut self, step: u64, ranks: &BTreeMap<u64, Snapshot>) {
        let is_replicated = || {
            let mut parameters = ranks.values().map(|snapshot| &snapshot.parameters);
            let first = parameters.next();
            first.is_some_and(|first| !first.is_empty() && parameters.all(|other| other == first))
        };
        self.is_replicated = self.is_replicated.or_else(|| Some(is_replicated()));
        self.between_ranks(ranks);
        let mut is_told = false;
        for (rank, snapshot) in ranks {
            let Some(input) = snapshot.first_input.as_ref().filter(|input| input.is_distinctive()) else { continue };
            is_told = true;
            match self.inputs.get_mut(rank) {
                Some(known) if known.input.is_identical(input) => {
                    known.count += 1;
                    if known.steps.len() < SHOWN {
                        known.steps.push(step);
                    }
                    let is_more = self.repeated.as_ref().is_none_or(|told| told.count < known.count);
                    if known.count >= REPEATED && !input.is_constant() && is_more {
                        self.repeated = Some(known.clone());
                    }
                }
                _ => {
                    self.inputs.insert(*rank, Repeated { input: input.clone(), count: 1, steps: vec![step] });
                }
            }
        }
        self.told += usize::from(is_told);
    }

    fn between_ranks(&mut self, ranks: &BTreeMap<u64, Snapshot>) {
        let mut all = ranks.values();
        let Some(first) = all.next().filter(|_| ranks.len() > 1) else { return };
        let tells = first
            .first_outputs
            .iter()
            .chain(&first.first_input)
            .any(|copy| copy.is_distinctive() && !copy.is_constant());
        if !tells {
            return;
        }
        let is_equal = |other: &Snapshot| {
            let same = |one: &TensorCopy, other: &TensorCopy| one.is_identical(other);
            let inputs =
                matches!((&first.first_input, &other.first_input), (Some(one), Some(other)) if same(one, other));
            let outputs = first.first_outputs.len() == other.first_outputs.len();
            inputs
                && outputs
                && first.first_outputs.iter().zip(&other.first_outputs).all(|(one, other)| same(one, other))
        };
        self.shared += 1;
        self.equal += usize::from(all.all(is_equal));
        self.ranks = ranks.keys().copied().collect();
    }

    /// The findings, and the state of the invariant.
    pub fn finish(self) -> (Vec<Finding>, Looked) {
        const ID: Invariant = Invariant::Data;
        let is_same = self.is_replicated == Some(true) && self.shared >= STEPS && self.equal == self.shared;
        let looked = if self.shared < STEPS && self.told < STEPS {
            Looked::not(ID, "no-inputs")
        } else {
            let counts = [("ranks", self.ranks.len().max(self.inputs.len())), ("steps", self.shared.max(self.told))];
            Looked::over(ID, !is_same && self.repeated.is_none(), counts)
        };
        let ranks: Vec<String> = self.ranks.iter().map(u64::to_string).collect();
        let same = is_same.then(|| Finding::new(&SAME_DATA, "data").with("ranks", ranks).with("steps", self.shared));
        let repeated = self.repeated.map(|Repeated { count, steps, .. }| {
            let steps: Vec<String> = steps.iter().map(u64::to_string).collect();
            Finding::new(&BATCH_REPEATED, "data").with("count", count).with("steps", steps)
        });
        (same.into_iter().chain(repeated).collect(), looked)
    }
}
