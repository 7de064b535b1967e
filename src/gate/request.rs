//! A request to the gate: the runs to judge, and how.

use crate::error::Result;
use crate::msprobe::dump::Matching;
use crate::policy::Policy;
use crate::policy::location::{Held, Holder};
use crate::verdict::CheckId;

/// A request as somebody asks for it: nothing says yet that the locations it names count.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Location of the trusted run.
    pub baseline: String,
    /// Location of the run to judge.
    pub candidate: String,
    /// The checks to run.
    pub checks: Vec<CheckId>,
    /// The policy, with what flags put in place of its values.
    pub policy: Policy,
    /// Matching of rows whose names differ.
    pub matching: Matching,
}

impl Asked {
    /// The request of a job whose files are all its own.
    pub fn of_own_files(self) -> Request {
        let Self { baseline, candidate, checks, policy, matching } = self;
        Request { baseline: Held::own(baseline), candidate, checks, policy: policy.of_own_files(), matching }
    }

    /// The request, once `by` has held each location that decides.
    ///
    /// # Errors
    /// As `by` says.
    pub fn hold(self, by: &mut Holder<'_>) -> Result<Request> {
        let Self { baseline, candidate, checks, mut policy, matching } = self;
        policy.baseline.location = baseline.into();
        policy.candidate.location = candidate.clone().into();
        policy.hold(by)?;
        let baseline = policy.baseline.location.held()?.clone();
        Ok(Request { baseline, candidate, checks, policy, matching })
    }
}

/// Runs to judge, and how.
#[derive(Clone, Debug)]
pub struct Request {
    /// Location of the trusted run.
    pub baseline: Held,
    /// Location of the run to judge.
    pub candidate: String,
    /// The checks to run, in this order; a command for one check names just that one.
    pub checks: Vec<CheckId>,
    /// Policy that decides the verdict; its locations are held.
    pub policy: Policy,
    /// Matching of rows in msprobe's compare tables whose names differ.
    pub matching: Matching,
}

impl Request {
    /// Every check, in the order of reports.
    pub const ALL_CHECKS: &'static [CheckId] = CheckId::CHECKS;

    /// Whether the candidate is judged alone: the policy allows it, and no baseline is named.
    pub fn is_alone(&self) -> bool {
        self.policy.health.alone && self.baseline.is_empty()
    }
}
