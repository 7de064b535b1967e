//! State of the values before an operation: their error, and the loosest type they went through.

use super::limits::looser_dtype;
use crate::dtype::Dtype;

/// State of values that were seen before: largest relative error, whether all are identical, and loosest type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Upstream {
    pub(super) error: f64,
    /// The part of the error that records show; the rest is an assumption about error that statistics may hide.
    pub(super) shown: f64,
    pub(super) identical: bool,
    pub(super) loosest: Option<Dtype>,
    /// Whether the value holds roundings only, or an optimizer's update made of them: a value that is zero in exact arithmetic shares
    /// no digit with the other side's, and its error explains no error of other values.
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
        self.loosest = looser_dtype(self.loosest, other.loosest);
    }
}
