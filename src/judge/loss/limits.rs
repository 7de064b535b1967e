//! A pair of limits, and how the policy replaces it.

use super::mode::Weights;
use crate::compare::curve::{TAKEN_OUT, WINDOW_FILLED};
use crate::policy::loss::Mode;
use crate::policy::loss::limit::Band;

/// Warns above `warn`, fails above `fail`; `None` where a rule only reports.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LimitPair {
    /// Warns above this.
    pub warn: Option<f64>,
    /// Fails above this.
    pub fail: Option<f64>,
}

impl LimitPair {
    /// Both limits.
    pub const fn new(warn: f64, fail: f64) -> Self {
        Self { warn: Some(warn), fail: Some(fail) }
    }

    /// No limit: shown only.
    pub(crate) const NONE: Self = Self { warn: None, fail: None };

    /// Both limits, raised by these amounts: of the warning limit, and of the failing one.
    #[must_use]
    pub fn raised(self, by: (f64, f64)) -> Self {
        let raise = |limit: Option<f64>, by: f64| limit.map(|limit| limit + by);
        Self { warn: raise(self.warn, by.0), fail: raise(self.fail, by.1) }
    }

    /// Replaces the limits by those of the policy, where it has any.
    #[must_use]
    pub fn overridden(self, band: Option<Band>) -> Self {
        let Some(band) = band else { return self };
        let fail = band.fail.map(|limit| limit.get()).or(self.fail);
        let warn = band.warn.map(|limit| limit.get()).or(self.warn);
        // A stricter failing limit lowers the default warning too, which would otherwise lie above it.
        Self { warn: warn.map(|warn| fail.map_or(warn, |fail| warn.min(fail))), fail }
    }
}

/// Number of steps of `n` that may lie outside the spread: one in a hundred, and none of fewer than 50. Healthy runs from different
/// weights spike more: one in twenty is allowed there, up to the length of one excursion, if that is more.
pub(crate) fn allowed_outside(n: usize, weights: Weights) -> usize {
    let share = if n < 50 { 0 } else { n / 100 };
    match weights {
        Weights::Same => share,
        Weights::Own => share.max((n / 20).clamp(1, WINDOW_FILLED)),
    }
}

/// Limits of the number of steps in a row outside the spread, after the rolling median, however long the run is.
///
/// An excursion that the median does not remove lasted longer than noise does. With different weights it only warns while it is
/// shorter than the whole window of the median: excursions of healthy runs were seen to last 8 steps.
#[allow(clippy::cast_precision_loss, reason = "a few steps")]
pub(crate) fn longest_run_limits(weights: Weights) -> LimitPair {
    let (taken_out, filled) = (TAKEN_OUT as f64, WINDOW_FILLED as f64);
    match weights {
        Weights::Same => LimitPair { warn: None, fail: Some(taken_out) },
        Weights::Own => LimitPair::new(taken_out, filled),
    }
}

/// Number of single steps of `n` outside the spread that the rolling median may remove: one in twenty.
pub(crate) fn allowed_single(n: usize) -> usize {
    n / 20
}

impl From<Mode> for Option<Weights> {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Auto => None,
            Mode::SameWeights => Some(Weights::Same),
            Mode::OwnWeights => Some(Weights::Own),
        }
    }
}
