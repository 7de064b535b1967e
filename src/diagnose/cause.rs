//! The register of causes: every code a diagnosis can carry, stable for ever, one file per cause.
//!
//! A cause may be seen in a dump, in training curves, or by what the config check found; each file says what it takes
//! as evidence and how sure that makes it.

mod argument_differs;
mod checksum_differs;
mod communication;
mod dtype_differs;
mod gradient_only;
mod gradient_reduction;
mod hyperparameters_differ;
mod input_differs;
mod lost_update;
mod missing_operations;
mod near_tie;
pub(super) mod operator_inaccurate;
mod optimizer_differs;
mod other_algorithm;
mod other_tensor;
mod overflow;
mod overwritten;
mod permuted;
mod randomness;
mod reduced_precision;
mod reward_dead;
mod rollout_mismatch;
mod saturation;
mod scaled;
mod shape_differs;
mod silent_corruption;
mod wrong_weights_or_data;
mod zero_gradient;

use super::context::Context;
use super::curves::Curves;
use super::rl::Rollouts;
use crate::judge::rule::Rule;
use crate::result::diagnosis::{Diagnosis, Statement};
use crate::result::finding::Finding;

/// One cause: how it is recognised, and what joins it.
#[derive(Debug)]
pub struct Cause {
    /// Stable, kebab-case.
    pub code: &'static str,
    /// Pages to read on.
    pub links: &'static [&'static str],
    /// Looks at a dump's culprit and its surroundings.
    in_dump: fn(&Context<'_>) -> Option<Diagnosis>,
    /// Looks at training curves.
    in_curves: fn(&Curves<'_>) -> Option<Diagnosis>,
    /// Looks at the curves of a run of reinforcement learning.
    in_rl: fn(&Rollouts<'_>) -> Option<Diagnosis>,
    /// Looks at findings of the config check.
    in_config: fn(&[&Finding]) -> Option<Diagnosis>,
    /// Whether it only speaks where no cause before it in the register does: plain descriptions of a difference, and what is
    /// left when nothing more specific fits.
    is_last_resort: bool,
    /// Causes a dump may show that explain what curves show of this one.
    explained_by: &'static [&'static str],
    /// Codes of findings that are further evidence of this cause where a dump or a curve shows it.
    supported_by: &'static [&'static Rule],
}

impl Cause {
    /// A cause with no way to be seen yet.
    const fn new(code: &'static str) -> Self {
        Self {
            code,
            links: &[],
            in_dump: |_| None,
            in_curves: |_| None,
            in_rl: |_| None,
            in_config: |_| None,
            is_last_resort: false,
            explained_by: &[],
            supported_by: &[],
        }
    }

    pub(super) fn of_dump(&self, context: &Context<'_>) -> Option<Diagnosis> {
        (self.in_dump)(context)
    }

    pub(super) fn of_curves(&self, curves: &Curves<'_>) -> Option<Diagnosis> {
        (self.in_curves)(curves)
    }

    pub(super) fn of_rl(&self, rollouts: &Rollouts<'_>) -> Option<Diagnosis> {
        (self.in_rl)(rollouts)
    }

    pub(super) fn of_config(&self, findings: &[&Finding]) -> Option<Diagnosis> {
        (self.in_config)(findings)
    }

    pub(super) fn speaks_last(&self) -> bool {
        self.is_last_resort
    }

    /// Whether a diagnosis of the cause `other` explains what curves show of this one.
    pub(super) fn is_explained_by(&self, other: &str) -> bool {
        self.explained_by.contains(&other)
    }

    pub(super) fn is_supported_by(&self, finding: &Finding) -> bool {
        finding.is_any(self.supported_by)
    }
}

/// A value that an operation made which nothing dumped.
pub(super) const MADE_BY_UNDUMPED: &str = "made-by-undumped";
/// A gradient that was lost between two operations.
pub(super) const LOST_IN_GAP: &str = "lost-in-gap";
/// Advice to write an index otherwise, whose backward gives zeros.
pub const GRADIENT_OF_INDEX: &str = "zero-gradient-of-index";

/// PyTorch's notes on what is reproducible.
const RANDOMNESS_NOTES: &str = "https://docs.pytorch.org/docs/stable/notes/randomness.html";
/// PyTorch's notes on the accuracy of what it computes.
const ACCURACY_NOTES: &str = "https://docs.pytorch.org/docs/stable/notes/numerical_accuracy.html";

/// Every cause, the more specific before the more general: where two are as sure, the first is told first.
pub const ALL: [&Cause; 28] = [
    &saturation::CAUSE,
    &overflow::CAUSE,
    &randomness::CAUSE,
    &zero_gradient::CAUSE,
    &communication::CAUSE,
    &lost_update::CAUSE,
    &gradient_reduction::CAUSE,
    &optimizer_differs::CAUSE,
    &other_tensor::CAUSE,
    &permuted::CAUSE,
    &scaled::CAUSE,
    &overwritten::CAUSE,
    &silent_corruption::CAUSE,
    &near_tie::CAUSE,
    &hyperparameters_differ::CAUSE,
    &reward_dead::CAUSE,
    &rollout_mismatch::CAUSE,
    &wrong_weights_or_data::CAUSE,
    &reduced_precision::CAUSE,
    &argument_differs::CAUSE,
    &other_algorithm::CAUSE,
    &operator_inaccurate::CAUSE,
    &missing_operations::CAUSE,
    &input_differs::CAUSE,
    &shape_differs::CAUSE,
    &dtype_differs::CAUSE,
    &checksum_differs::CAUSE,
    &gradient_only::CAUSE,
];

/// The cause with this code.
pub fn find(code: &str) -> Option<&'static Cause> {
    ALL.into_iter().find(|cause| cause.code == code)
}

/// A diagnosis from findings of the config check of one of `rules`; nothing where there are none.
fn from_findings(
    cause: &Cause,
    sureness: super::Sureness,
    findings: &[&Finding],
    rules: &[&Rule],
) -> Option<Diagnosis> {
    let mut fitting = findings.iter().filter(|finding| finding.is_any(rules)).peekable();
    let first = fitting.peek()?;
    let diagnosis = Diagnosis::new(cause, first.place.as_str(), sureness);
    Some(diagnosis.because_all(fitting.take(MOST_FINDINGS).map(|finding| finding_as_evidence(finding))))
}

/// Findings of one kind that are told as evidence; the rest stand among the findings.
const MOST_FINDINGS: usize = 3;

/// A finding as a piece of evidence: its code, place and facts, so that it reads as it does among the findings.
pub(super) fn finding_as_evidence(finding: &Finding) -> Statement {
    let evidence = Statement { facts: finding.facts.clone(), ..Statement::new("finding") };
    evidence.with("finding_code", finding.code.as_str()).with("finding_place", finding.place.as_str())
}
