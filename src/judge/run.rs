//! One run judged by itself: rules that every sound run keeps, whatever it trains.
//!
//! Each invariant has its file, with the codes it may give. [`NEEDS`] lists all of them with the reason why one is not looked
//! at where a run holds nothing of the kind, so that none can be forgotten.

pub mod checkpoints;
pub mod data;
pub mod gradients;
pub mod modes;
pub mod motion;
pub mod replicas;
pub mod rules;
pub mod sums;
pub mod watch;

use crate::result::run::{Invariant, InvariantState, Looked};

/// Each invariant with the reason why it is not looked at in a run that holds nothing it could be read from.
pub const NEEDS: [(Invariant, &str); 14] = [
    (Invariant::Replicas, "no-copies"),
    (Invariant::ParametersMove, "no-parameters"),
    (Invariant::Gradients, "no-gradients"),
    (Invariant::GradientSums, "no-sums"),
    (Invariant::Modes, "no-modes"),
    (Invariant::Data, "no-inputs"),
    (Invariant::LearningRate, "no-learning-rate"),
    (Invariant::Updates, "no-updates"),
    (Invariant::GradientNorm, "no-gradient-norm"),
    (Invariant::Curve, "no-loss"),
    (Invariant::Throughput, "no-throughput"),
    (Invariant::NormsByLayer, "no-norms-by-layer"),
    (Invariant::Generations, "no-generations"),
    (Invariant::EndOfRun, "no-text-log"),
];

/// Every invariant once, in the order of reports: what any check looked at counts before what another could not, and what is
/// broken before all.
pub fn all_of(looked: &[Looked]) -> Vec<Looked> {
    let of = |(invariant, needs): (Invariant, &str)| {
        let mut told = looked.iter().filter(|one| one.invariant == invariant);
        let first = told.next().cloned().unwrap_or_else(|| Looked::not(invariant, needs));
        told.fold(first, joined)
    };
    NEEDS.into_iter().map(of).collect()
}

/// Two words about one invariant as one.
fn joined(mut one: Looked, other: &Looked) -> Looked {
    if other.state != InvariantState::NotLooked {
        one.reason.clear();
    }
    one.state = one.state.max(other.state);
    for (name, count) in &other.counts {
        let known = one.counts.entry(name.clone()).or_default();
        *known = (*known).max(*count);
    }
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_invariant_is_told_once_and_the_worst_word_counts() {
        let held = |count| Looked::over(Invariant::Replicas, true, [("parameters", count)]);
        let broken = Looked::over(Invariant::Replicas, false, [("parameters", 2)]);
        let all = all_of(&[Looked::not(Invariant::Replicas, "one-rank"), held(3), broken]);
        assert_eq!(all.iter().map(|one| one.invariant).collect::<Vec<_>>(), Invariant::ALL);
        assert_eq!((all[0].state, all[0].counts["parameters"]), (InvariantState::Broken, 3));
        assert!(all[0].reason.is_empty());
        for one in &all[1..] {
            assert!(one.state == InvariantState::NotLooked && !one.reason.is_empty(), "{one:?}");
        }
    }
}
