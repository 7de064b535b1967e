//! Do both runs start from the same weights?
//!
//! Declared, or found out from the first paired step: a loss equal within the noise of one forward pass means the
//! same weights and no randomness left in. What is only found out never buys a pass: a defect that is there from
//! the first step must not get itself wide limits.

use crate::compare::curve::At;
use crate::policy::loss::Mode;

/// Differences of one forward pass between two platforms stay below this (measured: 4e-6; accepted by MindSpore
/// Transformers' worked example: 1e-4).
pub const FORWARD_NOISE: f64 = 1e-4;

/// Relation of the initial weights of both sides, which decides the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weights {
    /// One checkpoint on both sides, no randomness.
    Same,
    /// Own weights, or randomness such as dropout.
    Own,
}

impl Weights {
    /// The name in results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same-weights",
            Self::Own => "own-weights",
        }
    }
}

/// The mode of a run, and who says so.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResolvedMode {
    /// Relation of the initial weights of both sides, which decides the limits.
    pub weights: Weights,
    /// Whether the policy declares it.
    pub declared: bool,
    /// r of the first paired step.
    pub first: Option<At>,
}

impl ResolvedMode {
    /// The mode that `declared` says, or the first step of the loss shows.
    ///
    /// Without a loss there is nothing to find out from, and the looser limits apply.
    pub fn resolve(declared: Mode, first: Option<At>) -> Self {
        let found = match first {
            Some(first) if first.value <= FORWARD_NOISE => Weights::Same,
            _ => Weights::Own,
        };
        let said: Option<Weights> = declared.into();
        Self { weights: said.unwrap_or(found), declared: said.is_some(), first }
    }

    /// The name in results.
    pub fn source(&self) -> &'static str {
        if self.declared { "declared" } else { "inferred" }
    }

    /// Whether the limits are loose and nobody asked for that.
    pub fn is_loose_unasked(&self) -> bool {
        !self.declared && self.weights == Weights::Own
    }

    /// Whether the declared mode is looser than the first step needs.
    pub fn is_too_loose(&self) -> bool {
        let equal = self.first.is_some_and(|first| first.value <= FORWARD_NOISE / 100.0);
        self.declared && self.weights == Weights::Own && equal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_step_tells_what_is_not_declared() {
        let first = |value| Some(At { step: 1, value });
        for (declared, value, weights, loose) in [
            (Mode::Auto, 0.0, Weights::Same, false),
            (Mode::Auto, 5e-5, Weights::Same, false),
            (Mode::Auto, 7e-4, Weights::Own, true),
            (Mode::SameWeights, 0.5, Weights::Same, false),
            (Mode::OwnWeights, 0.5, Weights::Own, false),
        ] {
            let mode = ResolvedMode::resolve(declared, first(value));
            assert_eq!((mode.weights, mode.is_loose_unasked()), (weights, loose), "{declared:?} {value}");
        }
        assert!(ResolvedMode::resolve(Mode::OwnWeights, first(0.0)).is_too_loose());
        assert!(ResolvedMode::resolve(Mode::Auto, None).is_loose_unasked());
    }
}
