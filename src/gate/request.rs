//! A request to the gate: the runs to judge, and how.

use crate::error::Result;
use crate::msprobe::dump::Matching;
use crate::policy::Policy;
use crate::policy::location::{LocationResolver, TrustedLocation};
use crate::verdict::CheckId;

/// A request as a user states it. Nothing has confirmed yet that the locations it names may be trusted.
#[derive(Clone, Debug)]
pub struct UncheckedRequest {
    /// Location of the trusted run.
    pub baseline: String,
    /// Location of the run to judge.
    pub candidate: String,
    /// Further runs of both sides.
    pub several: FurtherRuns<String>,
    /// The checks to run.
    pub checks: Vec<CheckId>,
    /// The policy, with what flags put in place of its values.
    pub policy: Policy,
    /// Matching of rows whose names differ.
    pub matching: Matching,
}

impl UncheckedRequest {
    /// The request of a job that trusts all of its files.
    pub fn trust_own_files(self) -> Request {
        let Self { baseline, candidate, several, checks, policy, matching } = self;
        let baselines = several.baseline.iter().map(TrustedLocation::own).collect();
        let several = several.with_baselines(baselines);
        Request {
            baseline: TrustedLocation::own(baseline),
            candidate,
            several,
            checks,
            policy: policy.trust_own_files(),
            matching,
        }
    }

    /// The request, after `by` has resolved each location that can affect the verdict.
    ///
    /// # Errors
    /// Errors of `by`.
    pub fn resolve_locations(self, by: &mut LocationResolver<'_>) -> Result<Request> {
        let Self { baseline, candidate, several, checks, mut policy, matching } = self;
        policy.baseline.location = [vec![baseline], several.baseline.clone()].concat().into();
        policy.candidate.location = [vec![candidate.clone()], several.candidate.clone()].concat().into();
        policy.resolve_locations(by)?;
        let mut held = policy.baseline.location.trusted()?.into_iter();
        let baseline = held.next().unwrap_or_default();
        let several = several.with_baselines(held.collect());
        Ok(Request { baseline, candidate, several, checks, policy, matching })
    }
}

/// Runs to judge, and how.
#[derive(Clone, Debug)]
pub struct Request {
    /// Location of the trusted run.
    pub baseline: TrustedLocation,
    /// Location of the run to judge.
    pub candidate: String,
    /// Further runs of both sides.
    pub several: FurtherRuns,
    /// The checks to run, in this order; a command for one check names just that one.
    pub checks: Vec<CheckId>,
    /// Policy that decides the verdict; its locations are held.
    pub policy: Policy,
    /// Matching of rows in msprobe's compare tables whose names differ.
    pub matching: Matching,
}

/// Further runs of both sides, which are judged as samples.
#[derive(Clone, Debug)]
pub struct FurtherRuns<L = TrustedLocation> {
    /// Locations of the baseline's.
    pub baseline: Vec<L>,
    /// Locations of the candidate's.
    pub candidate: Vec<String>,
    /// Whether each entry of a location is one run, of the baseline and of the candidate.
    pub are_runs: [bool; 2],
    /// The machine that the candidate was made on; empty where nobody said.
    pub node: String,
    /// Runs of the candidate that were made again, each with its machine.
    pub reruns: Vec<(String, String)>,
}

impl<L> Default for FurtherRuns<L> {
    fn default() -> Self {
        let (baseline, candidate, node, reruns) = Default::default();
        Self { baseline, candidate, are_runs: [false; 2], node, reruns }
    }
}

impl<L> FurtherRuns<L> {
    /// Replaces the locations of the baseline's runs.
    fn with_baselines<M>(self, baseline: Vec<M>) -> FurtherRuns<M> {
        let Self { candidate, are_runs, node, reruns, .. } = self;
        FurtherRuns { baseline, candidate, are_runs, node, reruns }
    }

    /// Whether a side may hold more than one run.
    pub fn has_several(&self) -> bool {
        !self.baseline.is_empty() || !self.candidate.is_empty() || self.are_runs.contains(&true)
    }
}

impl Request {
    /// Every check, in the order of reports.
    pub const ALL_CHECKS: &'static [CheckId] = CheckId::CHECKS;

    /// Whether the candidate is judged alone: the policy allows it, and no baseline is named.
    pub fn is_alone(&self) -> bool {
        self.policy.health.alone && self.baseline.is_empty()
    }
}
