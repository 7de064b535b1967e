//! A request to the gate: the runs to judge, and how.

use crate::msprobe::dump::Matching;
use crate::policy::Policy;
use crate::verdict::CheckId;

/// Runs to judge, and how.
#[derive(Clone, Debug)]
pub struct Request {
    /// Location of the trusted run.
    pub baseline: String,
    /// Location of the run to judge.
    pub candidate: String,
    /// The checks to run, in this order; a command for one check names just that one.
    pub checks: Vec<CheckId>,
    /// Policy that decides the verdict.
    pub policy: Policy,
    /// Matching of rows in msprobe's compare tables whose names differ.
    pub matching: Matching,
}

impl Request {
    /// Every check, in the order of reports.
    pub const ALL_CHECKS: &'static [CheckId] = CheckId::CHECKS;

    /// Whether the candidate is judged alone: the policy allows it, and no baseline is named.
    pub fn is_alone(&self) -> bool {
        self.policy.health && self.baseline.is_empty()
    }
}
