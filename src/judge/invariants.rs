//! The invariants of every sound run, whatever it trains: with the findings that break each one, and the reasons why it was not
//! checked.
//!
//! Each check looks at the invariants that its artifacts show. All are listed here, so that none is forgotten.

use super::evaluation::rules as evaluation;
use super::loss::code as loss;
use super::rule::Rule;
use super::run::rules as run;
use crate::result::run::{Invariant, InvariantState, Looked};

/// An invariant as the result lists it.
#[derive(Debug)]
pub struct InvariantRow {
    /// The invariant.
    pub invariant: Invariant,
    /// Codes of findings that break it. `curve-non-finite` breaks that of the metric it is about.
    pub rules: &'static [&'static Rule],
    /// Reasons why it is not checked; the first one applies to a run that has nothing of the kind.
    pub reasons: &'static [&'static str],
}

/// All invariants, in the order of reports.
pub const ALL: [InvariantRow; 14] = [
    InvariantRow {
        invariant: Invariant::Replicas,
        rules: &[&run::REPLICAS_DIFFER],
        reasons: &["no-copies", "one-rank", "one-step", "no-replicas"],
    },
    InvariantRow {
        invariant: Invariant::ParametersMove,
        rules: &[&run::NEVER_MOVE, &run::PARAMETER_FROZEN],
        reasons: &[
            "no-parameters",
            "one-step",
            "no-update-seen",
            "too-few-intervals",
            "parameters-rounded",
            "no-gradients",
        ],
    },
    InvariantRow { invariant: Invariant::Gradients, rules: &[&run::GRADIENT_MISSING], reasons: &["no-gradients"] },
    InvariantRow { invariant: Invariant::GradientSums, rules: &[&run::ACCUMULATES], reasons: &["no-sums", "one-step"] },
    InvariantRow {
        invariant: Invariant::Modes,
        rules: &[&run::DROPOUT_IN_EVALUATION, &run::BATCH_NORM_MODE],
        reasons: &["no-modes"],
    },
    InvariantRow {
        invariant: Invariant::Data,
        rules: &[&run::SAME_DATA, &run::BATCH_REPEATED],
        reasons: &["no-inputs"],
    },
    InvariantRow {
        invariant: Invariant::LearningRate,
        rules: &[&loss::LEARNING_RATE_ZERO, &loss::LEARNING_RATE_SCHEDULE],
        reasons: &["no-learning-rate", "learning-rate-rounded", "too-few-points"],
    },
    InvariantRow {
        invariant: Invariant::Updates,
        rules: &[&loss::UPDATES_SKIPPED, &loss::UPDATES_OVERFLOWED],
        reasons: &["no-updates"],
    },
    InvariantRow {
        invariant: Invariant::GradientNorm,
        rules: &[&loss::GRADIENT_NON_FINITE, &loss::GRADIENT_ZERO, &loss::NON_FINITE],
        reasons: &["no-gradient-norm", "constant-norm", "too-few-points"],
    },
    InvariantRow {
        invariant: Invariant::Curve,
        rules: &[
            &loss::NON_FINITE,
            &loss::FROZEN,
            &loss::EXPLODING,
            &loss::ENDS_HIGH,
            &loss::OVERFITS,
            &loss::AT_CHANCE,
            &loss::PERIODIC,
        ],
        reasons: &["no-loss", "too-few-points"],
    },
    InvariantRow {
        invariant: Invariant::Throughput,
        rules: &[&loss::THROUGHPUT_COLLAPSE],
        reasons: &["no-throughput", "too-few-points"],
    },
    InvariantRow {
        invariant: Invariant::NormsByLayer,
        rules: &[&loss::GROWTH_BY_LAYER],
        reasons: &["no-norms-by-layer", "few-layers"],
    },
    InvariantRow {
        invariant: Invariant::Generations,
        rules: &[
            &evaluation::GARBAGE,
            &evaluation::LOOPS,
            &evaluation::EMPTY,
            &evaluation::CUT,
            &evaluation::NON_FINITE_ANSWERS,
            &evaluation::DRIFT,
        ],
        reasons: &["no-generations", "too-few-answers"],
    },
    InvariantRow {
        invariant: Invariant::EndOfRun,
        rules: &[&loss::RUN_ENDED_WITH_ERROR],
        reasons: &["no-text-log", "log-stops"],
    },
];

/// Every invariant once, in the order of reports, with the states of all checks joined: broken goes before held, and held before not
/// checked.
pub(crate) fn all_invariants(looked: &[Looked]) -> Vec<Looked> {
    let of = |row: &InvariantRow| {
        let mut told = looked.iter().filter(|one| one.invariant == row.invariant);
        let nothing = || Looked::not(row.invariant, row.reasons.first().copied().unwrap_or_default());
        let first = told.next().cloned().unwrap_or_else(nothing);
        told.fold(first, joined)
    };
    ALL.iter().map(of).collect()
}

/// Joins two states of one invariant.
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
        let all = all_invariants(&[Looked::not(Invariant::Replicas, "one-rank"), held(3), broken]);
        assert_eq!(all.iter().map(|one| one.invariant).collect::<Vec<_>>(), Invariant::ALL);
        assert_eq!((all[0].state, all[0].counts["parameters"]), (InvariantState::Broken, 3));
        assert!(all[0].reason.is_empty());
        for one in &all[1..] {
            assert!(one.state == InvariantState::NotLooked && !one.reason.is_empty(), "{one:?}");
        }
    }
}
