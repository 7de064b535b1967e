//! Outcome of a rule about the elements of one tensor.

/// A value that was measured of a tensor, with its limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TensorOutcome {
    /// The value measured.
    pub value: f64,
    /// Its limit.
    pub limit: f64,
    /// Whether the rule is met.
    pub is_met: bool,
}

impl TensorOutcome {
    /// A value that may not lie below its limit.
    pub(super) fn at_least(value: f64, limit: f64) -> Self {
        Self { value, limit, is_met: value >= limit }
    }

    /// A value that may not lie above its limit.
    pub(super) fn at_most(value: f64, limit: f64) -> Self {
        Self { value, limit, is_met: value <= limit }
    }

    /// The same outcome, but not met if `condition` is false.
    pub(super) fn only_if(self, condition: bool) -> Self {
        Self { is_met: self.is_met && condition, ..self }
    }
}
