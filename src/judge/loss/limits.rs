//! A pair of limits, and how the policy replaces it.

use super::mode::Weights;
use crate::policy::loss::Mode;
use crate::policy::loss::limit::Band;

/// Warns above `warn`, fails above `fail`; `None` where a rule only reports.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Warns above this.
    pub warn: Option<f64>,
    /// Fails above this.
    pub fail: Option<f64>,
}

impl Limits {
    /// Both limits.
    pub const fn new(warn: f64, fail: f64) -> Self {
        Self { warn: Some(warn), fail: Some(fail) }
    }

    /// No limit: shown only.
    pub const NONE: Self = Self { warn: None, fail: None };

    /// Replaces the limits by those of the policy, where it has any.
    #[must_use]
    pub fn overridden(self, band: Option<Band>) -> Self {
        let Some(band) = band else { return self };
        let fail = band.fail.map(|limit| limit.get()).or(self.fail);
        let warn = band.warn.map(|limit| limit.get()).or(self.warn);
        // A stricter failing limit takes the default warning along, which would otherwise lie above it.
        Self { warn: warn.map(|warn| fail.map_or(warn, |fail| warn.min(fail))), fail }
    }
}

/// Number of steps that may lie outside the spread: one in a hundred, none of fewer than 50.
pub fn allowed_outside(n: usize) -> usize {
    if n < 50 { 0 } else { n / 100 }
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
