//! State of the values before an operation: how far they are off, and the loosest type they went through.

use super::limits::looser;
use crate::dtype::Dtype;

/// State of values that were seen before: largest relative error, whether all are identical, and loosest type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Upstream {
    pub(super) error: f64,
    pub(super) identical: bool,
    pub(super) loosest: Option<Dtype>,
}

impl Upstream {
    pub(super) const NOTHING: Self = Self { error: 0.0, identical: true, loosest: None };

    pub(super) fn add(&mut self, other: Self) {
        self.error = self.error.max(other.error);
        self.identical &= other.identical;
        self.loosest = looser(self.loosest, other.loosest);
    }
}
