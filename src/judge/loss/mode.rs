//! The mode of a run: whether both sides start from the same weights.
//!
//! The policy declares the mode, or it is inferred from the first five paired steps ([`start`](super::start)). An inferred mode
//! never leads to a pass by itself: a defect from the first step on must not get wide limits that way.

use super::start::{FORWARD_NOISE, Start};
use crate::compare::curve::CurvePoint;
use crate::policy::loss::Mode;

/// Relation of the initial weights of both sides, which decides the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weights {
    /// One checkpoint on both sides, no randomness.
    Same,
    /// Different weights on both sides, or randomness such as dropout.
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

/// The mode of a run, and whether the policy declares it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResolvedMode {
    /// Relation of the initial weights of both sides, which decides the limits.
    pub weights: Weights,
    /// Whether the policy declares it.
    pub declared: bool,
    /// Relative difference at the first paired step.
    pub first: Option<CurvePoint>,
    /// Result of comparing the first steps; `None` where there is no loss.
    pub start: Option<Start>,
}

impl ResolvedMode {
    /// The mode that the policy declares, or else the one that the first steps of the loss show.
    ///
    /// Without a loss nothing can be inferred, and the looser limits apply.
    pub fn resolve(declared: Mode, first: Option<CurvePoint>, start: Option<Start>) -> Self {
        let found = if start == Some(Start::Same) { Weights::Same } else { Weights::Own };
        let said: Option<Weights> = declared.into();
        Self { weights: said.unwrap_or(found), declared: said.is_some(), first, start }
    }

    /// The source of the mode, as results name it.
    pub fn source(&self) -> &'static str {
        if self.declared { "declared" } else { "inferred" }
    }

    /// Whether the limits are loose although the policy does not ask for that.
    pub(crate) fn is_loose_unasked(&self) -> bool {
        !self.declared && self.weights == Weights::Own
    }

    /// Whether the declared mode is looser than the equal first steps require.
    pub(crate) fn is_too_loose(&self) -> bool {
        let equal = self.first.is_some_and(|first| first.value <= FORWARD_NOISE / 100.0);
        let equal = equal && self.start == Some(Start::Same);
        self.declared && self.weights == Weights::Own && equal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_steps_tell_what_is_not_declared() {
        let first = Some(CurvePoint { step: 1, value: 0.0 });
        for (declared, start, weights, loose) in [
            (Mode::Auto, Start::Same, Weights::Same, false),
            (Mode::Auto, Start::Differs, Weights::Own, true),
            (Mode::Auto, Start::Uniform(None), Weights::Own, true),
            (Mode::SameWeights, Start::Differs, Weights::Same, false),
            (Mode::OwnWeights, Start::Differs, Weights::Own, false),
        ] {
            let mode = ResolvedMode::resolve(declared, first, Some(start));
            assert_eq!((mode.weights, mode.is_loose_unasked()), (weights, loose), "{declared:?} {start:?}");
        }
        assert!(ResolvedMode::resolve(Mode::OwnWeights, first, Some(Start::Same)).is_too_loose());
        assert!(!ResolvedMode::resolve(Mode::OwnWeights, first, Some(Start::Uniform(None))).is_too_loose());
        assert!(ResolvedMode::resolve(Mode::Auto, None, None).is_loose_unasked());
    }
}
