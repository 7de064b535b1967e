//! The input of judging one step and rank.

use super::reference::ReferenceErrors;
use crate::compare::dump::UnitComparison;
use crate::read::dump::Dump;

/// One step and rank to judge.
#[derive(Clone, Copy)]
pub struct UnitInput<'a> {
    /// The step.
    pub step: u64,
    /// The rank.
    pub rank: Option<u64>,
    /// The baseline's records.
    pub baseline: &'a Dump,
    /// The candidate's records.
    pub candidate: &'a Dump,
    /// Comparison of the two dumps, operation by operation.
    pub comparison: &'a UnitComparison,
    /// Errors of both against a reference run, where there is one.
    pub reference: Option<&'a ReferenceErrors>,
}
