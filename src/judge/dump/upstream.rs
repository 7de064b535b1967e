//! State of the values before an operation: how far they are off, and the loosest type they went through.

use super::limits::looser;
use crate::dtype::Dtype;

/// State of values that were seen before: largest relative error, whether all are identical, and loosest type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Upstream {
    pub(super) error: f64,
    /// The part of that which records show: statistics may hide some of it, which is only supposed.
    pub(super) shown: f64,
    pub(super) identical: bool,
    pub(super) loosest: Option<Dtype>,
    /// Whether the error is that of roundings alone, and of what an optimizer made of them: a value that is zero in mathematics
    /// has no digit in common with the other side's, and no other value is judged by that.
    pub(super) of_rounding: bool,
}

impl Upstream {
    pub(super) const NOTHING: Self =
        Self { error: 0.0, shown: 0.0, identical: true, loosest: None, of_rounding: false };

    pub(super) fn add(&mut self, other: Self) {
        self.error = self.error.max(other.error);
        self.shown = self.shown.max(other.shown);
        self.identical &= other.identical;
        self.of_rounding |= other.of_rounding;
        self.loosest = looser(self.loosest, other.loosest);
    }
}
