//! Direction in which a rule's values get worse. Tests and lines use badness: a number that is larger the worse a value is.

use crate::result::outcome::LimitDirection;
use crate::result::trend::Trend;

/// Correlations are rounded: one may lie this far above 1.
const ROUNDING: f64 = 1e-6;

/// Conversion of a rule's values into numbers that are larger the worse they are, and back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum WorseSide {
    /// Larger values are worse, or the direction is unknown: the badness is the value.
    Above,
    /// Values have a sign, and their magnitude has to stay within the limits.
    Magnitude,
    /// Smaller values are worse: the badness is the distance to this best value.
    ///
    /// The best value of a correlation or a share is 1, so that 0.999 is ten times as bad as 0.9999. Where the best value is unknown, it is 0.
    Below(f64),
}

impl WorseSide {
    /// The side of values with limits `(warn, fail)`; without limits no direction is worse, and it is [`Above`](Self::Above).
    pub(super) fn from_limits(
        direction: LimitDirection,
        (warn, fail): (Option<f64>, Option<f64>),
        values: impl Iterator<Item = f64>,
    ) -> Self {
        let mut limits = warn.into_iter().chain(fail).peekable();
        if limits.peek().is_none() {
            return Self::Above;
        }
        match direction {
            LimitDirection::AtMost => Self::Above,
            LimitDirection::Within => Self::Magnitude,
            LimitDirection::AtLeast => {
                let has_best =
                    limits.chain(values.filter(|value| value.is_finite())).all(|value| value <= 1.0 + ROUNDING);
                Self::Below(if has_best { 1.0 } else { 0.0 })
            }
        }
    }

    /// The side of the values of a trend.
    pub(super) fn from_trend(trend: &Trend) -> Self {
        let limits = (trend.warn.map(|limit| limit.0), trend.fail.map(|limit| limit.0));
        Self::from_limits(trend.direction, limits, trend.last.iter().map(|run| run.value.0))
    }

    /// A value as a trend shows it.
    pub(super) fn shown_value(self, value: f64) -> f64 {
        if self == Self::Magnitude { value.abs() } else { value }
    }

    /// Badness of a shown value or a limit: larger is worse.
    pub(super) fn badness(self, value: f64) -> f64 {
        match self {
            Self::Above | Self::Magnitude => value,
            Self::Below(best) => best - value,
        }
    }

    /// The shown value for a badness; the inverse of [`badness`](Self::badness).
    pub(super) fn value_of_badness(self, badness: f64) -> f64 {
        match self {
            Self::Above | Self::Magnitude => badness,
            Self::Below(best) => best - badness,
        }
    }

    /// Change of a value whose badness rises by `rise`.
    pub(super) fn value_rise(self, rise: f64) -> f64 {
        if matches!(self, Self::Below(_)) { -rise } else { rise }
    }
}
